"""What ``fslbench validate`` checks, for Python: submissions, or a log of one's own tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from fslbench_data.release.release import Release
from fslbench_data.scoring.own_release import log_of
from fslbench_data.scoring.selection import Answers
from fslbench_data.submission.model import Source
from fslbench_data.validation.validate import Validated
from fslbench_data.validation.validate import validate as by_rules


def validate(
    submission: Answers,
    release: Release | None = None,
    *,
    taken: Collection[str] | None = None,
    allow_unbound: bool = False,
) -> Validated:
    """Check a submission against a release, or several as one; or a log of one's own tasks.

    Parameters
    ----------
    submission
        As read or recorded, a file, or a frame of pandas or polars; or several, which
        :func:`fslbench_data.merge` joins.  Or a log, as :func:`fslbench_data.open_log` takes or
        gives it, for which the other parameters change nothing.
    release
        Whose tasks were answered; None is the one inside the package.
    taken
        Names that a method may not have; by default those of the release's reference methods.
    allow_unbound
        Accept answers without a fingerprint.

    Raises
    ------
    FSLBenchError
        Its kind says which rule is broken; of several, it names the file and its rows.
    """
    own = log_of(submission)
    if own is not None:
        return own.answers
    sources = cast("Source | Sequence[Source]", submission)
    return by_rules(sources, release, taken=taken, allow_unbound=allow_unbound)
