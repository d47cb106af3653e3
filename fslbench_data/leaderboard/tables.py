"""A leaderboard as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from analysis_sql.interval_kinds import BESIDE
from analysis_sql.ranking.best import claim
from benchmark_spec.errors import listing
from benchmark_spec.suites import IntervalKind
from fslbench_data.leaderboard.leaderboard import Leaderboard
from fslbench_data.leaderboard.standing import REFERENCE, Entry, RankedInterval, Row, Standing
from fslbench_data.render.interval_text import (
    STOPPED,
    TRANSDUCTIVE,
    TRANSDUCTIVE_NOTE,
    bracket,
    missing_text,
    one_model_text,
    plus_minus,
    set_title,
    with_bracket,
)
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.scores import PREFIX

DIGITS = 8
"""Digits of a submission's name that tables show; the machines' formats have all."""
_MOST_FILES = 3
"""Submissions of one entry that tables name."""
_MOST_ALIKE = 5
_MOST_GROUPS = 10

NO_CLAIM = "Tasks of a closed set reuse images: among which methods a best one is, is not claimed."
PARTIAL_NOTE = (
    "Methods without a rank did not answer all tasks; they are compared with the leader over those "
    "that they did."
)
PREFIX_NOTE = (
    f"{PREFIX}, neither excluded nor the leader: who looks before choosing how many tasks to "
    "answer finds a number that flatters."
)
STOPPED_NOTE = (
    f"{STOPPED} run under a rule to stop when conclusive: its ordinary intervals do not hold and "
    "are left out; it is neither excluded nor the leader."
)
COPIES_NOTE = (
    "Several files under from: they say the same, and no history of the repository tells which "
    "came first."
)


def leaderboard_tables(
    ranking: Leaderboard, most: int | None = None
) -> Iterator[tuple[Table, int]]:
    """Give one table a release and task set, best first, and how many methods are left out.

    Parameters
    ----------
    most
        Of the methods of a table; None for all.
    """
    for board in ranking.boards:
        before = f"{board.release}: " if len(ranking.boards) > 1 else ""
        for standing in board.sets:
            rows = list(standing.rows(most))
            yield set_table(standing, rows, before), len(standing) - len(rows)


def leaderboard_legend(ranking: Leaderboard) -> list[str]:
    """What the columns mean; nothing where there is no table."""
    sets = [standing for board in ranking.boards for standing in board.sets]
    return [legend_of(sets)] if sets else []


def legend_of(sets: Sequence[Standing]) -> str:
    """What the columns of these tables mean, of which there is at least one."""
    text = ""
    if any(standing.claims for standing in sets):
        level = sets[0].level
        text = (
            f"could be best: on new images of these classes, {claim(level)}. no: the leader is "
            f"better in a one-sided paired test at {100 * (1 - level):.6g} % / (methods - 1). new "
            "classes: the same for new classes. "
        )
    return (
        f"{text}behind: paired difference from the leader, the highest mean of the methods that "
        "answered most tasks; its interval stands alone, uncorrected, and to be chosen as the "
        "highest flatters a mean."
    )


def set_table(standing: Standing, rows: Sequence[Row], before: str = "") -> Table:
    """Return some rows of a task set's table, with what a reader of this one table must know."""
    scored, kinds = standing.scored, standing.kinds
    return Table(
        title=f"{before}{scored}: {set_title(scored, standing.units, standing.level, kinds)})",
        columns=tuple(_columns(standing, rows)),
        rows=rows,
        notes=(
            summary(standing),
            *missing_text(standing.units),
            *marks(rows),
            *duplicates_text(standing),
        ),
    )


def _columns(standing: Standing, rows: Sequence[Row]) -> Iterator[Column]:
    yield right("rank", lambda row: row.rank or "-")
    yield Column("method", label)
    yield right("accuracy", accuracy)
    yield right("behind", behind)
    if any(row.accuracy.tasks != standing.scored.n_tasks for row in rows):
        yield right("T", lambda row: row.accuracy.tasks)
    for kind in standing.claiming:
        heading = BESIDE[kind].about if kind in BESIDE else "could be best"
        yield Column(heading, partial(_claim, kind=kind))
    yield Column("from", lambda row: origins(row.submission, row.also))


def summary(standing: Standing) -> str:
    """Among how many methods a best one is, as one sentence."""
    if not standing.claiming or standing.leader is None:
        return NO_CLAIM
    first, *others = standing.claiming
    text = f"With {100 * standing.level:.8g} % confidence a best method is among the "
    text += f"{standing.could_be_best(first)} of {standing.compared} marked yes"
    for kind in others:
        text += f"; for {BESIDE[kind].about} among {standing.could_be_best(kind)}"
    return f"{text}."


def duplicates_text(standing: Standing) -> list[str]:
    """Which methods of the whole table have the same counts, as one sentence; the first of them."""
    groups = [
        " and ".join([*map(from_where, group[:_MOST_ALIKE]), *_more(group, _MOST_ALIKE)])
        for group in standing.duplicates[:_MOST_GROUPS]
    ]
    text = "; ".join([*groups, *_more(standing.duplicates, _MOST_GROUPS)])
    return [f"Identical on every task: {text}."] if text else []


def from_where(entry: Entry) -> str:
    """What a method is called, and where it is from."""
    origin = origins(entry.source, entry.also)
    return entry.label if entry.label.endswith(f" ({origin})") else f"{entry.label} ({origin})"


def origins(source: str, also: Sequence[str]) -> str:
    """First digits of the files that an entry is from, the first ones, or ``reference``."""
    if source == REFERENCE:
        return source
    files = (source, *also)
    return ", ".join([*(name[:DIGITS] for name in files[:_MOST_FILES]), *_more(files, _MOST_FILES)])


def _more(named: Sequence[object], shown: int) -> list[str]:
    return [f"{len(named) - shown} more"] if len(named) > shown else []


def label(row: Row) -> str:
    """What a method is called in a table: its label, and its marks."""
    marks = (TRANSDUCTIVE if row.transductive else "") + (STOPPED if row.stopped else "")
    return f"{row.method} {marks}" if marks else row.method


def behind(row: Row) -> str:
    """The difference from the leader as text."""
    difference = row.difference
    if difference is None:
        return "leader" if row.rank == 1 else ""
    if difference.constant and difference.mean == 0 and difference.tasks:
        return "identical"
    if difference.constant and difference.tasks > 1 and not difference.halfwidth:
        return f"{difference.mean:+.2f} on every task"
    beside = [interval.difference for interval in [*row.intervals.values()][1:]]
    return plus_minus(difference, signed=True) + bracket(i for i in beside if i is not None)


def accuracy(row: Row) -> str:
    """Return the accuracy with its interval, and half-widths of the other kinds in brackets."""
    intervals = {kind: interval.accuracy for kind, interval in row.intervals.items()}
    return with_bracket(intervals, [*intervals])


def _names(methods: Sequence[str]) -> str:
    """Methods, each once, the first of them."""
    return listing(list(dict.fromkeys(methods)), 10)


def claim_text(interval: RankedInterval | None) -> str | None:
    """Return whether a method could be the best as yes or no; None where nothing is claimed."""
    could = None if interval is None else interval.could_be_best
    return None if could is None else "yes" if could else "no"


def _claim(row: Row, kind: IntervalKind) -> str:
    return claim_text(row.intervals[kind]) or "-"


def marks(rows: Sequence[Row]) -> list[str]:
    """What the marks in these rows mean, and how much runs differ."""
    runs = "; ".join(
        f"{row.method}: {row.runs} runs, standard deviation between them {row.run_spread:.2f}, "
        "counted in intervals"
        for row in rows
        if row.run_spread is not None
    )
    prefixes = [row.method for row in rows if row.prefix]
    single = [row.method for row in rows if row.of_one_model]
    return [
        *([f"{runs}."] if runs else []),
        *([f"{one_model_text(single, 10)}."] if single else []),
        *([PARTIAL_NOTE] if any(row.rank is None and not row.stopped for row in rows) else []),
        *([COPIES_NOTE] if any(row.also for row in rows) else []),
        *([f"{_names(prefixes)}: {PREFIX_NOTE}"] if prefixes else []),
        *([TRANSDUCTIVE_NOTE] if any(row.transductive for row in rows) else []),
        *([STOPPED_NOTE] if any(row.stopped for row in rows) else []),
    ]
