"""A leaderboard as grids: for the terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from analysis_sql.interval_kinds import BESIDE, ESTIMANDS
from analysis_sql.ranking.best import claim
from benchmark_spec.errors import listing
from fslbench_data.leaderboard.leaderboard import Leaderboard
from fslbench_data.leaderboard.standing import REFERENCE, Entry, Row, Standing
from fslbench_data.render.grid import Grid
from fslbench_data.render.interval_text import (
    STOPPED,
    TRANSDUCTIVE,
    TRANSDUCTIVE_NOTE,
    bracket,
    in_brackets,
    plus_minus,
    with_bracket,
)
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


def leaderboard_grids(found: Leaderboard) -> list[Grid]:
    """One grid a release and task set, all methods, best first."""
    several = len(found.boards) > 1
    return [
        set_grid(each, list(each.rows()), f"{board.release}: " if several else "")
        for board in found.boards
        for each in board.sets
    ]


def leaderboard_legend(found: Leaderboard) -> list[str]:
    """What the columns mean; nothing where there is no table."""
    sets = [each for board in found.boards for each in board.sets]
    return [legend_of(sets)] if sets else []


def legend_of(sets: Sequence[Standing]) -> str:
    """What the columns of these tables mean, of which there is at least one."""
    text = ""
    if any(each.claims for each in sets):
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


def set_grid(each: Standing, rows: Sequence[Row], before: str = "") -> Grid:
    """Some rows of a task set's table, with what a reader of this one table must know."""
    claimed = each.kinds if each.claims else ()
    partial = any(row.accuracy.tasks != each.scored.n_tasks for row in rows)
    columns = [
        "rank",
        "method",
        "accuracy",
        "behind",
        *(["T"] if partial else []),
        *("could be best" if i == 0 else BESIDE[kind].about for i, kind in enumerate(claimed)),
        "from",
    ]
    return Grid(
        title=before + title(each),
        columns=tuple(columns),
        right=frozenset({"rank", "accuracy", "behind", "T"}),
        rows=tuple(
            (
                str(row.rank or "-"),
                label(row),
                accuracy(row),
                behind(row),
                *((str(row.accuracy.tasks),) if partial else ()),
                *(_claim(row.intervals[kind].could_be_best) for kind in claimed),
                _origins(row.submission, row.also),
            )
            for row in rows
        ),
        notes=(summary(each), *marks(rows), *duplicates_text(each)),
    )


def title(each: Standing) -> str:
    """The task set, with T, level, kind of interval and what this is about."""
    return (
        f"{each.scored}: {each.scored.n_tasks} tasks, {100 * each.level:.8g} % "
        f"{each.interval_kind} intervals ({ESTIMANDS[each.interval_kind]}{in_brackets(each.kinds)})"
    )


def summary(each: Standing) -> str:
    """Among how many methods a best one is, as one sentence."""
    could = each.could_be_best(each.interval_kind)
    if could is None:
        return NO_CLAIM
    text = f"With {100 * each.level:.8g} % confidence a best method is among the {could} of "
    text += f"{each.compared} marked yes"
    for kind in each.kinds[1:]:
        text += f"; for {BESIDE[kind].about} among {each.could_be_best(kind)}"
    return f"{text}."


def duplicates_text(each: Standing) -> list[str]:
    """Which methods of the whole table have the same counts, as one sentence; the first of them."""
    groups = [
        " and ".join([*map(from_where, group[:_MOST_ALIKE]), *_more(group, _MOST_ALIKE)])
        for group in each.duplicates[:_MOST_GROUPS]
    ]
    text = "; ".join([*groups, *_more(each.duplicates, _MOST_GROUPS)])
    return [f"Identical on every task: {text}."] if text else []


def from_where(entry: Entry) -> str:
    """What a method is called, and where it is from."""
    origin = _origins(entry.source, entry.also)
    return entry.label if entry.label.endswith(f" ({origin})") else f"{entry.label} ({origin})"


def _origins(source: str, also: Sequence[str]) -> str:
    """First digits of the files that an entry is from, the first ones, or ``reference``."""
    if source == REFERENCE:
        return source
    files = (source, *also)
    return ", ".join([*(name[:DIGITS] for name in files[:_MOST_FILES]), *_more(files, _MOST_FILES)])


def _more(found: Sequence[object], shown: int) -> list[str]:
    return [f"{len(found) - shown} more"] if len(found) > shown else []


def label(row: Row) -> str:
    """What a method is called in a table: its label, and its marks."""
    marks = (TRANSDUCTIVE if row.transductive else "") + (STOPPED if row.stopped else "")
    return f"{row.method} {marks}" if marks else row.method


def behind(row: Row) -> str:
    """The difference from the leader as text."""
    found = row.difference
    if found is None:
        return "leader" if row.rank == 1 else ""
    if found.constant and found.mean == 0 and found.tasks:
        return "identical"
    if found.constant and found.tasks > 1:
        return f"{found.mean:+.2f} on every task"
    beside = [interval.difference for interval in [*row.intervals.values()][1:]]
    return plus_minus(found, signed=True) + bracket(i for i in beside if i is not None)


def accuracy(row: Row) -> str:
    """Return the accuracy with its interval, and half-widths of the other kinds in brackets."""
    return with_bracket({kind: interval.accuracy for kind, interval in row.intervals.items()})


def _names(methods: Sequence[str]) -> str:
    """Methods, each once, the first of them."""
    return listing(list(dict.fromkeys(methods)), 10)


def _claim(could: bool | None) -> str:
    return "-" if could is None else "yes" if could else "no"


def marks(rows: Sequence[Row]) -> list[str]:
    """What the marks in these rows mean, and how much runs differ."""
    runs = "; ".join(
        f"{row.method}: {row.runs} runs, standard deviation between them {row.run_spread:.2f}"
        for row in rows
        if row.run_spread is not None
    )
    prefixes = [row.method for row in rows if row.prefix]
    return [
        *([f"{runs}."] if runs else []),
        *([PARTIAL_NOTE] if any(row.rank is None and not row.stopped for row in rows) else []),
        *([COPIES_NOTE] if any(row.also for row in rows) else []),
        *([f"{_names(prefixes)}: {PREFIX_NOTE}"] if prefixes else []),
        *([TRANSDUCTIVE_NOTE] if any(row.transductive for row in rows) else []),
        *([STOPPED_NOTE] if any(row.stopped for row in rows) else []),
    ]
