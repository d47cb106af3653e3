"""Who sent what, in which order it came, and the command that gives its numbers again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from benchmark_spec.errors import listing
from fslbench_data.leaderboard.leaderboard import Board, Leaderboard
from fslbench_data.leaderboard.repository import EMBEDDED, submission_name
from fslbench_data.leaderboard.standing import REFERENCE
from fslbench_data.leaderboard.tables import DIGITS
from fslbench_data.render.table import Column, Table, right

MOST_FILES = 500
"""Submissions that the table holds, the first to come."""
MOST_LEFT_OUT = 50
_MOST_METHODS = 5


@dataclass(frozen=True)
class Source:
    """A submission, or a release's own methods.

    Attributes
    ----------
    came
        1 for the first to come; None where nothing tells, and for the release's own methods.
    sets
        Task sets of the page that it answers.
    """

    digest: str
    came: int | None
    methods: tuple[str, ...]
    sets: int
    release: str

    @property
    def name(self) -> str:
        """The first digits of the file's name, or ``reference``."""
        return self.digest if self.digest == REFERENCE else self.digest[:DIGITS]

    @property
    def command(self) -> str:
        """What gives its numbers again, in a checkout of the results repository."""
        file = [] if self.digest == REFERENCE else [submission_name(self.digest)]
        release = ["--release", self.release] if self.release else []
        return shlex.join(["fslbench", "score", *file, *release, "--details"])


def sources_of(board: Board) -> list[Source]:
    """List who is on a release's tables: its own methods, then submissions as they came."""
    methods: dict[str, dict[str, None]] = {}
    sets: dict[str, int] = {}
    for standing in board.sets:
        in_set = [(source, entry.label) for entry in standing.entries for source in entry.sources]
        for source, label in in_set:
            methods.setdefault(source, {})[label] = None
        for source in {source for source, _ in in_set}:
            sets[source] = sets.get(source, 0) + 1
    came: dict[str, int | None] = {REFERENCE: None}
    known = any(board.came)
    for digest, number in zip(board.submissions, board.came, strict=True):
        came[digest] = number + 1 if known else None
    embedded = board.release.startswith(f"{EMBEDDED}@")
    release = board.signature.hub or ("" if embedded else board.release)
    return [
        Source(digest, number, (*sorted(methods[digest]),), sets[digest], release)
        for digest, number in came.items()
        if digest in methods
    ]


def sources_table(board: Board) -> Table:
    """Return who is on a release's tables, and how its numbers are made again."""
    sources = sources_of(board)
    columns = (
        Column("file", lambda source: source.name),
        right("came", lambda source: source.came, missing="–"),
        Column("methods", lambda source: listing(source.methods, _MOST_METHODS)),
        right("task sets", lambda source: source.sets),
        Column("its numbers again", lambda source: source.command),
    )
    notes = [
        "came: the order of the commits that brought the files; the board keeps no dates, since a "
        "commit's date is whatever its author says. –: no history tells.",
    ]
    if len(sources) > MOST_FILES:
        notes.append(f"… and {len(sources) - MOST_FILES} more: fslbench leaderboard --format json.")
    title = f"Submissions to {board.release}, and its reference methods"
    return Table(title, columns, sources[:MOST_FILES], (*notes,))


def left_out_table(ranking: Leaderboard) -> Table | None:
    """Return the files that are in no table, and why; None if there are none."""
    files = [("refused", file.name, file.reason) for file in ranking.rejected]
    files += [("ignored", file.name, file.reason) for file in ranking.ignored]
    if not files:
        return None
    numbers = {what: len([*some]) for what, some in groupby(files, lambda file: file[0])}
    columns = (
        Column("file", lambda file: file[1]),
        Column("what", lambda file: file[0]),
        Column("why", lambda file: file[2]),
    )
    title = ", ".join(f"{number} {what}" for what, number in numbers.items())
    return Table(title, columns, files[:MOST_LEFT_OUT], _cut_note(files))


def _cut_note(files: Sequence[object]) -> tuple[str, ...]:
    more = len(files) - MOST_LEFT_OUT
    return (f"… and {more} more: fslbench leaderboard --format json.",) if more > 0 else ()
