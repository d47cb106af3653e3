"""What a proposed change of a results repository would bring: a comment for whoever decides.

Nothing here trusts what is proposed.  Its files are read as every submission is, strangers' texts
are shown so that nothing in them works (:mod:`fslbench_data.render.escaping`), and the settings
are those of the repository as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark_spec.naming import one_line
from fslbench_data.files import sha256_of
from fslbench_data.leaderboard.admission import Admitted, Refused
from fslbench_data.leaderboard.intake import admit_all
from fslbench_data.leaderboard.leaderboard import Board, boards_of
from fslbench_data.leaderboard.lfs_pointers import pointers_among
from fslbench_data.leaderboard.repository import (
    SUBMISSIONS,
    ResultsFiles,
    check_regular,
    list_submissions,
    open_releases,
    read_board,
    submission_name,
)
from fslbench_data.release.release import Release
from fslbench_data.sandbox.untrusted import LIMITS, Limits, read_untrusted
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score
from fslbench_data.scoring.selection import reference_results

MOST_SCORED = 10
"""Files of a proposal that are compared with the reference methods in detail."""


@dataclass(frozen=True)
class Review:
    """What is said of a proposal.

    Attributes
    ----------
    boards
        The tables with the proposal in them, of the task sets that it answers.
    accepted
        The files that would be scored.
    reports
        Of the first of these, comparisons with the reference methods; None where there are none.
    refused
        The other files, with the reasons.
    pointers
        How many of the repository's own submissions are pointers of Git LFS, and of how many.
    """

    boards: tuple[Board, ...]
    accepted: tuple[Admitted, ...]
    reports: tuple[Report | None, ...]
    refused: tuple[Refused, ...]
    pointers: tuple[int, int] = (0, 0)

    @property
    def markdown(self) -> str:
        """The comment."""
        from fslbench_data.leaderboard.review_text import review_text

        return review_text(self)


class LooseFiles:
    """Files from anywhere, under the names that they have or would have in a repository.

    A file below a folder `submissions` is called as it is there; any other one as a submission of
    its content.  Symbolic links are not followed.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths: dict[str, Path] = {}
        for path in paths:
            self.paths.setdefault(_name_of(path), path)

    @property
    def where(self) -> str:
        """What they are."""
        return "the files"

    def names(self) -> Sequence[str]:
        """Their names."""
        return list(self.paths)

    def path(self, name: str) -> Path:
        """Where a file lies."""
        path = self.paths[name]
        check_regular(path, path.name)
        return path

    def came(self, names: Sequence[str]) -> Mapping[str, int]:
        """Nothing: such files have no history."""
        return {}


def _name_of(path: Path) -> str:
    if SUBMISSIONS in path.parts[:-1]:
        start = len(path.parts) - 1 - path.parts[::-1].index(SUBMISSIONS)
        return "/".join(path.parts[start:])
    try:
        if not path.is_symlink() and path.is_file() and path.stat().st_size <= LIMITS.file_bytes:
            return submission_name(sha256_of(path))
    except OSError:
        pass
    return path.name


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
        The repository as proposed, and the paths of the files in it that are new or changed.
    base
        The repository as it stands: its settings hold.
    releases
        By default those of its settings.
    level
        Confidence level of intervals, and of the set of methods that could be the best.

    Raises
    ------
    ResultsError, HubError
        If the repository itself cannot be read.
    """
    releases = open_releases(read_board(base).releases) if releases is None else releases
    new = dict.fromkeys(names)
    there = list_submissions(base).submissions
    old = [name for name in there if name not in new]
    sources = [*((base, name) for name in old), *((proposed, name) for name in new)]
    came = base.came(there)
    admitted, refused = admit_all(sources, releases, limits, lambda _: None, came)
    shown = {one_line(name) for name in new}
    ours = tuple(one for one in admitted if one.name in new)
    answered = {(one.release, result.info.text) for one in ours for result in one.results}
    boards = boards_of(
        admitted, releases, lambda number, info: (number, info.text) in answered, level=level
    )
    return Review(
        tuple(board for board in boards if board.sets),
        ours,
        tuple(
            _report(proposed, one, releases[one.release], level, limits)
            for one in ours[:MOST_SCORED]
        ),
        tuple(each for each in refused if each.name in shown),
        (pointers_among(each for each in refused if each.name not in shown), len(old)),
    )


def _report(
    files: ResultsFiles, one: Admitted, release: Release, level: float, limits: Limits
) -> Report | None:
    """Comparisons of a file's methods with the reference methods; None without any."""
    known = reference_results(release)
    if known is None:
        return None
    answered = {result.info.text for result in one.results}
    rivals = [group.method for group in known.groups if group.info.text in answered]
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
