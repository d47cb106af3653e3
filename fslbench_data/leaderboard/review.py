"""Review a proposed change of a results repository, for whoever decides.

Nothing here trusts what is proposed.  Its files are read as every submission is, and the settings
are those of the repository as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark_spec.naming import one_line
from fslbench_data.leaderboard.acceptance import Accepted, Rejected
from fslbench_data.leaderboard.checking import check_all
from fslbench_data.leaderboard.leaderboard import Board, boards_of
from fslbench_data.leaderboard.opening import open_releases
from fslbench_data.leaderboard.repository import ResultsFiles, list_submissions, read_board
from fslbench_data.release.release import Release
from fslbench_data.sandbox.client import LIMITS, Limits, read_untrusted
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score
from fslbench_data.scoring.selection import reference_results

MOST_SCORED = 10
"""Files of a proposal that are compared with the reference methods in detail."""


@dataclass(frozen=True)
class Review:
    """What a proposal would bring: its files that would be scored, and the others.

    Attributes
    ----------
    boards
        The tables with the proposal in them, of the task sets that it answers.
    reports
        Comparisons of the first accepted files with the reference methods; None without any.
    pointers
        Number of pointers of Git LFS among the repository's own submissions, and of all of these.
    """

    boards: tuple[Board, ...]
    accepted: tuple[Accepted, ...]
    reports: tuple[Report | None, ...]
    rejected: tuple[Rejected, ...]
    pointers: tuple[int, int] = (0, 0)


def review(
    proposed: ResultsFiles,
    names: Sequence[str],
    base: ResultsFiles,
    releases: Sequence[Release] | None = None,
    *,
    level: float = 0.95,
    limits: Limits = LIMITS,
) -> Review:
    """Check the files that somebody proposes to add, and say where their methods would stand.

    Parameters
    ----------
    proposed, names
        The repository as proposed, and the paths of its new or changed files.
    base
        The repository as it stands: its settings hold, and its releases if none are given.
    """
    releases = open_releases(read_board(base).releases) if releases is None else releases
    new = dict.fromkeys(names)
    submissions = list_submissions(base).submissions
    old = [name for name in submissions if name not in new]
    sources = [*((base, name) for name in old), *((proposed, name) for name in new)]
    accepted, rejected = check_all(
        sources, releases, limits, lambda _: None, base.came(submissions)
    )
    ours = tuple(one for one in accepted if one.name in new)
    answered = {(one.release, result.info.text) for one in ours for result in one.results}
    boards = boards_of(
        accepted, releases, lambda number, info: (number, info.text) in answered, level=level
    )
    shown = {one_line(name) for name in new}
    return Review(
        tuple(board for board in boards if board.sets),
        ours,
        tuple(
            _report(proposed, one, releases[one.release], level, limits)
            for one in ours[:MOST_SCORED]
        ),
        tuple(one for one in rejected if one.name in shown),
        (sum(one.is_pointer and one.name not in shown for one in rejected), len(old)),
    )


def _report(
    files: ResultsFiles, one: Accepted, release: Release, level: float, limits: Limits
) -> Report | None:
    """Compare a file's methods with the reference methods; None without any."""
    answered = {result.info.text: result.info for result in one.results}
    references = reference_results(release, answered.values())
    groups = () if references is None else references.groups
    rivals = [group.method for group in groups if group.info.text in answered]
    if not rivals:
        return None
    submission = read_untrusted(files.path(one.name), limits)
    return score(
        submission,
        release,
        against=list(dict.fromkeys(rivals)),
        level=level,
        only_compared=True,
    )
