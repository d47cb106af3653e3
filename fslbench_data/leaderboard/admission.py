"""One file of a results repository: which release it answers and how, or why it is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import (
    FSLBenchError,
    HubError,
    ResultsError,
    SubmissionError,
    TooLargeError,
)
from benchmark_spec.naming import one_line
from fslbench_data.files import sha256_of
from fslbench_data.leaderboard.lfs_pointers import check_is_no_pointer
from fslbench_data.leaderboard.repository import ResultsFiles, submission_name
from fslbench_data.release.release import Release
from fslbench_data.sandbox.untrusted import LIMITS, Limits, read_untrusted
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.runs import Group
from fslbench_data.validation.validate import Validated, fits, validate


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What one method answered of one task set: all that a leaderboard needs of it.

    Attributes
    ----------
    counts : int16 or int32 (tasks,)
        Correct queries of each task, summed over runs.
    runs, run_spread
        As in :class:`fslbench_data.scoring.scores.Score`.
    stopped
        The method that a run was compared with while it ran, if it stopped by a rule.
    prefix
        Whether only the first tasks are answered, as many as the submitter chose.
    """

    method: str
    info: TaskSetInfo
    counts: NDArray[np.integer]
    runs: int
    run_spread: float | None
    stopped: str | None
    transductive: bool
    prefix: bool = False

    @property
    def ordinary(self) -> bool:
        """Whether the number of tasks was fixed before the results were known."""
        return self.stopped is None and not self.prefix

    @property
    def unit(self) -> int:
        """Queries in a task, over all runs."""
        return self.info.protocol.n_query * self.runs


@dataclass(frozen=True, eq=False)
class Admitted:
    """A submission that answers a release.

    Attributes
    ----------
    name, digest
        Path in the repository, and the SHA-256 (hex) of the file.
    release
        Position of the release that it answers.
    content
        SHA-256 of what it says: the same for a file that is written in another way.
    also
        Digests of other files that say the same, of which nothing tells that they came later.
    came
        Its place in the history of the repository: of two, the smaller came first.
    """

    name: str
    digest: str
    release: int
    results: tuple[Result, ...]
    content: str
    also: tuple[str, ...] = ()
    came: int = 0

    @property
    def digests(self) -> tuple[str, ...]:
        """Of all files that say it."""
        return (self.digest, *self.also)

    @property
    def values(self) -> int:
        """Counts that it holds."""
        return sum(len(result.counts) for result in self.results)


@dataclass(frozen=True)
class Refused:
    """A file that is not scored, and why; every text is printable, on one line and not long."""

    name: str
    what: str
    where: str = ""
    expected: str = ""
    fix: str = ""

    @property
    def reason(self) -> str:
        """What is wrong, and where."""
        return one_line(f"{self.what} ({self.where})" if self.where else self.what)


def admit(
    files: ResultsFiles, name: str, releases: Sequence[Release], limits: Limits = LIMITS
) -> Admitted | Refused:
    """Check a submission of a repository as if nobody had done so before.

    Its name must be the SHA-256 of its bytes.  It is scored on the first of the releases whose
    task sets and fingerprints are those that it names, or refused.

    Raises
    ------
    HubError
        If the file could not be fetched, which says nothing of it.
    """
    try:
        path = files.path(name)
    except (ResultsError, SubmissionError) as error:
        return refusal(name, error)
    return admit_file(name, path, releases, limits)


def admit_file(
    name: str, path: Path, releases: Sequence[Release], limits: Limits = LIMITS
) -> Admitted | Refused:
    """As :func:`admit`, of a file that lies at `path` and has or shall have that name."""
    try:
        digest = _checked_digest(name, path, limits)
        submission = replace(read_untrusted(path, limits), source="the file")
        number = answered(submission, releases)
        found = validate(submission, releases[number])
        results = tuple(_result(found, group) for group in found.groups)
    except HubError:
        raise  # of a release's tables
    except FSLBenchError as error:
        return refusal(name, error, path)
    except Exception as error:
        return refusal(name, SubmissionError(f"it cannot be checked: {error!r}"), path)
    return Admitted(name, digest, number, results, _content(results))


def results_of(found: Validated) -> tuple[Result, ...]:
    """What was validated, such as a release's reference methods."""
    return tuple(_result(found, group) for group in found.groups)


def refusal(name: str, error: FSLBenchError, path: Path | None = None) -> Refused:
    """A refusal that says what an error says, without where the file lies on this machine."""

    def said(text: str) -> str:
        return one_line(text if path is None else text.replace(str(path), "the file"))

    return Refused(
        one_line(name), said(error.what), said(error.where), said(error.expected), said(error.fix)
    )


def _checked_digest(name: str, path: Path, limits: Limits) -> str:
    """The SHA-256 of the file, which must be its name; of an oversized one nothing is read."""
    try:
        size = path.stat().st_size
        if size > limits.file_bytes:
            raise TooLargeError(
                f"the file has {size} bytes",
                expected=f"at most {limits.file_bytes}",
                fix="split it into several files",
            )
        check_is_no_pointer(path, size)
        digest = sha256_of(path)
    except OSError as error:
        raise ResultsError(f"it cannot be opened: {error.strerror}") from None
    if name != submission_name(digest):
        raise ResultsError(
            "its name is not the SHA-256 of its bytes",
            expected=submission_name(digest),
            fix="rename it; a file that changes is another submission and has another name",
        )
    return digest


def answered(submission: Submission, releases: Sequence[Release]) -> int:
    """The first release whose task sets and fingerprints the submission names; else the first.

    Validation by a release that it does not answer then says what is wrong.
    """
    named = {(d, s, bound.fingerprint) for (_, d, s), bound in submission.bindings.items()}
    table = submission.table.select(
        [n for n in ("dataset", "task_set", "fingerprint") if n in submission.table.column_names]
    )
    for row in table.group_by(table.column_names).aggregate([]).to_pylist():
        named.add((row["dataset"], row["task_set"], row.get("fingerprint")))
    for number, release in enumerate(releases):
        infos = {(info.dataset, str(info.name)): info for info in release.task_sets}
        if all(
            (d, s) in infos and (fingerprint is None or fits(fingerprint, infos[d, s]))
            for d, s, fingerprint in named
        ):
            return number
    return 0


def _result(found: Validated, group: Group) -> Result:
    about = found.submission.methods.get(group.method)
    binding = found.submission.bindings.get(
        (group.method, group.info.dataset, str(group.info.name))
    )
    return Result(
        method=group.method,
        info=group.info,
        counts=group.counts,
        runs=max(len(group.runs), 1),
        run_spread=group.run_spread,
        stopped=binding.stopping.versus if binding is not None and binding.stopping else None,
        transductive=about is not None and about.transductive,
        prefix=found.is_prefix(group),
    )


def _content(results: Sequence[Result]) -> str:
    """A digest of results that does not depend on their order or on how they are written."""
    parts = []
    for r in results:
        about = (r.method, r.info.text, r.runs, r.run_spread, r.stopped, r.transductive)
        counts = hashlib.sha256(np.ascontiguousarray(r.counts, "<i8").tobytes()).hexdigest()
        parts.append(f"{about!r} {counts}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()
