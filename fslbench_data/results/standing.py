"""One task set of a leaderboard: methods by accuracy, and which of them could be the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.best import could_be_best, lead, leader_of, one_sided_p, one_sided_p_new_classes
from analysis_sql.class_aware import method_halfwidths
from analysis_sql.class_effects import ClassDesign
from analysis_sql.comparison import VERDICTS, Verdict, paired_verdicts
from analysis_sql.intervals import Interval, halfwidths
from analysis_sql.pairs import Counts
from benchmark_spec.protocol import IntervalKind
from fslbench_data.results.admission import Result
from fslbench_data.scores import ScoredSet

REFERENCE = "reference"
"""Stands in place of a submission's digest where a method is one of the release's own."""

MOST_PREFIXES = 32
"""Numbers of tasks, the largest ones, for which class-aware intervals are computed: each takes
eigenvectors of its own, and strangers choose how many tasks they answer."""

_BLOCK = 1 << 21
"""Counts that are worked on at once."""
_IDENTICAL, _UNKNOWN = (VERDICTS.index(v) for v in (Verdict.IDENTICAL, Verdict.NOT_ESTIMABLE))
_NUMBERS = np.dtype(
    [
        *((name, np.int64) for name in ("tasks", "common", "rank")),
        *((name, np.float64) for name in ("mean", "width", "width_new")),
        *((name, np.float64) for name in ("behind", "behind_width", "behind_width_new")),
        *((name, np.float64) for name in ("p", "p_new")),
        *((name, np.bool_) for name in ("constant", "behind_constant")),
        *((name, np.bool_) for name in ("possible", "possible_new")),
    ]
)
_NAMES = tuple(_NUMBERS.names or ())
"""What is known of each method: `behind` is the difference from the leader over `common` tasks.

Means and half-widths are in percentage points, NaN where there are none; those that end in `new`
are about new classes.  A rank of 0 is none.
"""


@dataclass(frozen=True)
class Entry:
    """A method of the leaderboard on one task set: what it is called there and where it is from."""

    label: str
    source: str
    result: Result


@dataclass(frozen=True)
class Row:
    """A method's line on one task set.

    Attributes
    ----------
    rank
        1 for the highest mean, the same for equal means; None where not all tasks that the leader
        answered are answered, or the run stopped by a rule: such methods stand below the others.
    method, submission
        What it is called here, and the SHA-256 of the file, or ``reference``.
    accuracy, new_classes
        Mean with its interval, and with the class-aware one (None for closed sets).
    difference, difference_new_classes
        Less the leader, paired, over the tasks that both answered; None for the leader itself.
    could_be_best, could_be_best_new_classes
        Whether it is in the set of :mod:`analysis_sql.best`; None where nothing is claimed: in
        closed sets, and of runs that stopped by a rule.
    stopped
        The method that the run was compared with while it ran, if it stopped by a rule.
    runs, run_spread, transductive
        As in :class:`fslbench_data.scores.Score`.
    """

    rank: int | None
    method: str
    submission: str
    accuracy: Interval
    new_classes: Interval | None
    difference: Interval | None
    difference_new_classes: Interval | None
    could_be_best: bool | None
    could_be_best_new_classes: bool | None
    stopped: str | None
    runs: int
    run_spread: float | None
    transductive: bool


@dataclass(frozen=True, eq=False)
class Standing:
    """A task set's table, best first; held as arrays, a :class:`Row` being made on demand.

    Attributes
    ----------
    scored, kind, level
        The task set, the interval it carries, and the confidence level.
    leader
        What the leader is called; None if no method has an ordinary interval.
    compared
        M, the methods among which it leads: all but runs that stopped by a rule.
    aware
        Whether there are class-aware intervals: the set reuses no image.
    entries
        Best first, as the rows.
    """

    scored: ScoredSet
    kind: IntervalKind
    level: float
    leader: str | None
    compared: int
    aware: bool
    entries: tuple[Entry, ...]
    _numbers: NDArray[Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def could_be_best(self) -> int | None:
        """Methods that could be the best, of those that were compared; None in closed sets."""
        return self._counted("possible")

    @property
    def could_be_best_new_classes(self) -> int | None:
        """The same for new classes."""
        return self._counted("possible_new")

    def _counted(self, name: str) -> int | None:
        if self.kind == "closed" or self.leader is None:
            return None
        ordinary = np.array([entry.result.stopped is None for entry in self.entries])
        return int((self._numbers[name] & ordinary).sum())

    def rows(self, most: int | None = None) -> Iterator[Row]:
        """The lines, best first; all of them, or the first ones."""
        return map(self.row, range(len(self) if most is None else min(most, len(self))))

    def rows_of(self, source: str) -> Iterator[Row]:
        """The lines of one submission, best first."""
        return (self.row(i) for i, entry in enumerate(self.entries) if entry.source == source)

    def row(self, i: int) -> Row:
        """Line number `i`, from 0."""
        entry, found = self.entries[i], {name: self._numbers[name][i].item() for name in _NAMES}
        result = entry.result
        is_leader = self.leader is None or entry.label == self.leader
        claimed = self.kind != "closed" and result.stopped is None and self.leader is not None

        def made(kind: IntervalKind, tasks: str, mean: str, width: str) -> Interval:
            known = result.stopped is None and not isnan(found[width])
            return Interval(
                kind,
                self.level,
                found[tasks],
                found[mean],
                found[width] if known else None,
                found["constant" if mean == "mean" else "behind_constant"],
            )

        apart = ("common", "behind")
        return Row(
            rank=found["rank"] or None,
            method=entry.label,
            submission=entry.source,
            accuracy=made(self.kind, "tasks", "mean", "width"),
            new_classes=made("class-aware", "tasks", "mean", "width_new") if self.aware else None,
            difference=None if is_leader else made(self.kind, *apart, "behind_width"),
            difference_new_classes=made("class-aware", *apart, "behind_width_new")
            if self.aware and not is_leader
            else None,
            could_be_best=found["possible"] if claimed else None,
            could_be_best_new_classes=found["possible_new"] if claimed else None,
            stopped=result.stopped,
            runs=result.runs,
            run_spread=result.run_spread,
            transductive=result.transductive,
        )


def standing(
    scored: ScoredSet,
    kind: IntervalKind,
    entries: Sequence[Entry],
    level: float,
    design: ClassDesign | None,
) -> Standing:
    """The table of a task set.

    Time and memory grow as the number of methods: each is compared with the leader alone.

    Parameters
    ----------
    entries
        Methods under different labels; their order matters only among equal means and labels.
    design
        The classes of the tasks; None for closed sets.
    """
    entries = sorted(entries, key=lambda entry: entry.label)  # of equals the first one leads
    found = np.zeros(len(entries), _NUMBERS)
    for name in ("width_new", "behind", "behind_width", "behind_width_new", "p", "p_new"):
        found[name] = np.nan
    found["tasks"] = [len(entry.result.counts) for entry in entries]
    ordinary = np.array([entry.result.stopped is None for entry in entries])
    lengths = np.unique(found["tasks"])[-MOST_PREFIXES:]
    blocks = list(_blocks(entries, found["tasks"]))
    for rows in blocks:
        _own(found, rows, _counts(entries, rows), kind, level, design, lengths)
    first = leader_of(found["mean"], found["tasks"], ordinary) if ordinary.any() else None
    if first is not None:
        best = entries[first].result
        for rows in blocks:
            part = _counts(entries, rows, most=len(best.counts))
            ahead = lead(best.counts, best.unit, part)
            _behind(found, rows, ahead, kind, level, design, lengths)
    compared = int(ordinary.sum())
    silent = ~ordinary | (kind == "closed")
    found["possible"] = could_be_best(found["p"], compared, level) | silent
    found["possible_new"] = could_be_best(found["p_new"], compared, level) | silent
    order = _rank(found, ordinary)
    return Standing(
        scored=scored,
        kind=kind,
        level=level,
        leader=None if first is None else entries[first].label,
        compared=compared,
        aware=design is not None,
        entries=tuple(entries[i] for i in order.tolist()),
        _numbers=found[order],
    )


def _blocks(entries: Sequence[Entry], tasks: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Positions of methods that have a unit in common, not too many counts at a time."""
    units = np.array([entry.result.unit for entry in entries], np.int64)
    step = max(1, _BLOCK // max(int(tasks.max(initial=1)), 1))
    for unit in np.unique(units).tolist():
        rows = np.flatnonzero(units == unit)
        yield from (rows[at : at + step] for at in range(0, len(rows), step))


def _counts(entries: Sequence[Entry], rows: NDArray[np.int64], most: int | None = None) -> Counts:
    """Counts of some methods of one unit, of the first `most` tasks."""
    parts = [entries[i].result.counts[:most] for i in rows.tolist()]
    tasks = np.array([len(part) for part in parts], np.int64)
    correct = np.zeros((len(parts), int(tasks.max())), np.result_type(*parts))
    for row, part in zip(correct, parts, strict=True):
        row[: len(part)] = part
    return Counts(correct, tasks, entries[int(rows[0])].result.unit)


def _some(counts: Counts, rows: NDArray[Any]) -> Counts:
    return Counts(counts.correct[rows], counts.tasks[rows], counts.unit)


def _own(
    found: NDArray[Any],
    rows: NDArray[np.int64],
    counts: Counts,
    kind: IntervalKind,
    level: float,
    design: ClassDesign | None,
    lengths: NDArray[np.int64],
) -> None:
    """Fill in the methods' own means and intervals."""
    moments = counts.moments()
    found["mean"][rows] = moments.mean
    found["width"][rows] = halfwidths(moments, kind, level)
    found["constant"][rows] = moments.constant
    if design is not None:
        usable = np.isin(counts.tasks, lengths)
        found["width_new"][rows[usable]] = method_halfwidths(design, _some(counts, usable), level)


def _behind(
    found: NDArray[Any],
    rows: NDArray[np.int64],
    ahead: Counts,
    kind: IntervalKind,
    level: float,
    design: ClassDesign | None,
    lengths: NDArray[np.int64],
) -> None:
    """Fill in the differences from the leader, from by how much it is ahead."""
    moments = ahead.moments()
    width = halfwidths(moments, kind, level)
    verdict = paired_verdicts(moments, kind, level, width)
    found["common"][rows] = ahead.tasks
    found["behind"][rows] = 0.0 - np.asarray(moments.mean)
    found["behind_width"][rows] = np.where(
        verdict == _UNKNOWN, np.nan, np.where(verdict == _IDENTICAL, 0.0, width)
    )
    found["behind_constant"][rows] = moments.constant
    if kind != "closed":
        found["p"][rows] = one_sided_p(ahead)
    if design is not None:
        usable = np.isin(ahead.tasks, lengths)
        part = _some(ahead, usable)
        found["behind_width_new"][rows[usable]] = method_halfwidths(design, part, level)
        found["p_new"][rows[usable]] = one_sided_p_new_classes(design, part)


def _rank(found: NDArray[Any], ordinary: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Fill in ranks, and give the methods' order, best first."""
    most = found["tasks"][ordinary].max(initial=0)
    whole = ordinary & (found["tasks"] == most)
    means = np.sort(-found["mean"][whole])
    found["rank"] = np.where(whole, np.searchsorted(means, -found["mean"]) + 1, 0)
    # those without a rank stand by their differences, which are over tasks in common
    value = np.nan_to_num(np.where(whole, found["mean"], found["behind"]))
    return np.asarray(np.lexsort((np.arange(len(whole)), -value, ~whole)))
