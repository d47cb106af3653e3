"""A leaderboard: all that the submissions of a results repository allow to conclude."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import ResultsError, UnknownNameError
from fslbench_data.leaderboard.acceptance import Accepted, Rejected, check_all, results_of
from fslbench_data.leaderboard.labels import unique_labels
from fslbench_data.leaderboard.repository import Ignored, ResultsFiles, list_submissions
from fslbench_data.leaderboard.standing import REFERENCE, Entry, Standing, ranked
from fslbench_data.release.release import Release
from fslbench_data.sandbox.client import LIMITS, Limits
from fslbench_data.scoring.designs import designs_of, estimable
from fslbench_data.scoring.scores import Signature, scored_set
from fslbench_data.scoring.selection import reference_results
from fslbench_data.tasks import TaskSetInfo, names_of, task_set_names

Wanted = Callable[[int, TaskSetInfo], bool]
"""Whether a task set of the release number so and so shall have a table."""


@dataclass(frozen=True, eq=False, repr=False)
class Board:
    """The table of one release: only submissions that answer its own tasks.

    `submissions` are the SHA-256 of the files, the first to come first, else by name; `came`
    numbers them, 0 for those that came first; `sets` are the task sets that some method answers.
    """

    release: str
    signature: Signature
    submissions: tuple[str, ...]
    came: tuple[int, ...]
    sets: tuple[Standing, ...]

    def __repr__(self) -> str:
        about = f"{len(self.submissions)} submissions on {len(self.sets)} task sets"
        return f"<Board of {self.release}: {about}>"

    @property
    def submissions_digest(self) -> str:
        """SHA-256 (hex) of the submissions' digests, a line each, with when they came, if known."""
        lines: Iterable[str] = self.submissions
        if any(self.came):
            lines = (f"{n} {d}" for n, d in zip(self.came, self.submissions, strict=True))
        return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()

    def __str__(self) -> str:
        names = f"{len(self.submissions)}#{self.submissions_digest[:12]}"
        return f"{self.signature}|submissions:{names}"


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard:
    """The tables of all releases, newest first, and the files that are in none."""

    title: str
    where: str
    boards: tuple[Board, ...]
    rejected: tuple[Rejected, ...]
    ignored: tuple[Ignored, ...]

    def __repr__(self) -> str:
        about = f"{len(self.boards)} releases, {len(self.rejected)} files rejected"
        return f"<Leaderboard of {self.where}: {about}>"

    @property
    def signature(self) -> str:
        """What the tables rest on, one part a release: the line that every output starts with."""
        return " + ".join(str(board) for board in self.boards)


def leaderboard(
    files: ResultsFiles,
    releases: Sequence[Release],
    *,
    title: str = "",
    datasets: str | Sequence[str] = (),
    task_sets: str | Sequence[str] = (),
    level: float = 0.95,
    limits: Limits = LIMITS,
    progress: Callable[[str], None] | None = None,
) -> Leaderboard:
    """Read, check and rank all submissions of a results repository.

    Every file is checked again.  A rejected one changes nothing for the others.  Raises a
    ResultsError or an UnknownNameError if there is no release, or none with a data set or task set
    that is asked for.

    Parameters
    ----------
    releases
        Whose tasks may be answered, newest first (:func:`.acceptance.answered`).
    datasets, task_sets
        Only these; by default all that are answered, but those made with attributes of images.
    progress
        Told what is being done.
    """
    check_level(level)
    if not releases:
        raise ResultsError("no release is given", expected="at least one whose tasks are answered")
    tell = progress or (lambda _: None)
    names, ignored = list_submissions(files)
    sources = [(files, name) for name in names]
    accepted, rejected = check_all(sources, releases, limits, tell, files.came(names))
    wanted = _wanted(releases, names_of(datasets), task_set_names(task_sets))
    boards = boards_of(accepted, releases, wanted, level=level, tell=tell)
    return Leaderboard(title, files.where, boards, tuple(rejected), ignored)


def _wanted(
    releases: Sequence[Release], datasets: Sequence[str], task_sets: Sequence[str]
) -> Wanted:
    """Choose what is asked for, if some release has it."""
    infos = [info for release in releases for info in release.task_sets]
    for kind, asked, available in (
        ("data set", datasets, dict.fromkeys(info.dataset for info in infos)),
        ("task set", task_sets, dict.fromkeys(str(info.name) for info in infos)),
    ):
        for name in asked:
            if name not in available:
                where = "the releases of the leaderboard"
                raise UnknownNameError(kind, name, available, where=where)

    def wanted(_: int, info: TaskSetInfo) -> bool:
        chosen = str(info.name) in task_sets if task_sets else not info.name.attributes
        return chosen and (not datasets or info.dataset in datasets)

    return wanted


def boards_of(
    accepted: Sequence[Accepted],
    releases: Sequence[Release],
    wanted: Wanted,
    *,
    level: float,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Board, ...]:
    """Make the tables of the newest release, and of the older ones that some file answers."""
    boards = []
    for number in sorted({one.release for one in accepted} | {0}):
        release = releases[number]
        ours = [one for one in accepted if one.release == number]
        ours.sort(key=lambda one: (one.came, one.name))
        entries = _entries(release, ours)
        infos = [i for i in release.task_sets if i.text in entries and wanted(number, i)]
        sets = []
        for info in infos:
            tell(str(info))
            designs, units = estimable(*designs_of(release, info))
            kind, of_set = info.name.interval, entries[info.text]
            sets.append(ranked(scored_set(info), kind, of_set, level, designs, units))
        places = {came: n for n, came in enumerate(sorted({one.came for one in ours}))}
        board = Board(
            release=str(release),
            signature=Signature.of(release, infos, level),
            submissions=tuple(digest for one in ours for digest in one.digests),
            came=tuple(places[one.came] for one in ours for _ in one.digests),
            sets=tuple(sets),
        )
        boards.append(board)
    return tuple(boards)


def _entries(release: Release, accepted: Sequence[Accepted]) -> dict[str, list[Entry]]:
    """List the methods of a release's tables, by task set: the references come first."""
    references = reference_results(release)
    methods = [
        (method, one.digest)
        for one in accepted
        for method in dict.fromkeys(result.method for result in one.results)
    ]
    labels = dict(zip(methods, unique_labels(methods, release.methods), strict=True))
    entries: dict[str, list[Entry]] = defaultdict(list)
    for result in () if references is None else results_of(references):
        entries[result.info.text].append(Entry(result.method, REFERENCE, result))
    for one in accepted:
        for result in one.results:
            label = labels[result.method, one.digest]
            entry = Entry(label, one.digest, result, one.also, one.came)
            entries[result.info.text].append(entry)
    return entries
