"""One task set of a leaderboard: its lines, best first."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import IDENTICAL, NOT_ESTIMABLE, paired_verdicts
from analysis_sql.interval_kinds import ABOUT, ADDITIONAL_KINDS, Designs, kinds_of
from analysis_sql.intervals.counts import Counts, Moments
from analysis_sql.intervals.intervals import Interval, halfwidths, intervals
from analysis_sql.ranking.multiple_comparisons import ahead_p, could_be_best, lead, leader_of
from benchmark_spec.protocol import IntervalKind
from fslbench_data.scoring.designs import NO_UNITS, Units
from fslbench_data.tasks import TaskSetInfo

REFERENCE = "reference"
"""The source of the release's own methods, in place of a submission's digest."""

KIND_NUMBERS = np.dtype([(name, np.float64) for name in ("width", "behind_width", "p")])
"""Numbers of each method by a kind of interval: half-widths of its mean and of its difference from
the leader, NaN where there are none; and the one-sided p-value of "the leader is better"."""


class Entry(Struct, frozen=True, eq=False):
    """The results of one method on one task set, as far as a leaderboard needs them.

    Attributes
    ----------
    method
        What it is called on the leaderboard, or before in its file.
    counts
        Correct queries of each task, summed over runs, int16 or int32; of episodes, accuracies of
        0 to 1.
    stopped
        The method that a run was compared with while it ran, if it stopped by a rule.
    prefix
        Whether the submitter chose how many tasks are answered.
    of_one_model
        Whether it is one training run of a method that may differ from run to run.
    source, also
        The digest of the file, or :data:`REFERENCE`; those of other files with the same results,
        where none is known to be the first.
    came
        Of two entries that of the smaller number came first.
    """

    method: str
    info: TaskSetInfo
    counts: NDArray[Any]
    runs: int
    run_spread: float | None
    stopped: str | None
    transductive: bool
    prefix: bool = False
    of_one_model: bool = False
    source: str = REFERENCE
    also: tuple[str, ...] = ()
    came: int = -1

    @property
    def ordinary(self) -> bool:
        """Whether the number of tasks was fixed before the results were known."""
        return self.stopped is None and not self.prefix

    @property
    def queries_per_task(self) -> int:
        """Queries in a task, over all runs; 1 of accuracies."""
        return 1 if self.counts.dtype.kind == "f" else self.info.protocol.n_query * self.runs

    @property
    def content(self) -> bytes:
        """The counts as bytes, whatever their type and the machine."""
        kind = "<f8" if self.counts.dtype.kind == "f" else "<i8"
        return np.ascontiguousarray(self.counts, kind).tobytes()

    @property
    def sources(self) -> tuple[str, ...]:
        """All files that it is from, or ``reference``."""
        return (self.source, *self.also)


class RankedInterval(Struct, frozen=True):
    """The interval of one kind of a method on a leaderboard.

    The difference is less the leader, paired, over the tasks that both answered; None for the
    leader itself.  Whether it could be best (:mod:`analysis_sql.ranking.multiple_comparisons`) is
    None where nothing is claimed: in closed sets, of stopped runs, and of a prefix that its
    submitter chose.
    """

    accuracy: Interval
    difference: Interval | None
    could_be_best: bool | None


class Row(Struct, frozen=True):
    """A method's line on one task set.

    The rank is 1 for the highest mean, the same for equal means; None where not all tasks that the
    leader answered are answered, or their number was not fixed beforehand: such methods are below
    the others.  The kind of interval that the task set has comes first.
    """

    rank: int | None
    entry: Entry
    intervals: Mapping[IntervalKind, RankedInterval]

    @property
    def method(self) -> str:
        """What the method is called."""
        return self.entry.method

    @property
    def first(self) -> RankedInterval:
        """The interval of the primary kind."""
        return next(iter(self.intervals.values()))

    @property
    def accuracy(self) -> Interval:
        """The mean by that kind."""
        return self.first.accuracy

    @property
    def difference(self) -> Interval | None:
        """Less the leader, by that kind."""
        return self.first.difference


class Standing(Struct, frozen=True, eq=False, dict=True):
    """A task set's table, best first.

    Attributes
    ----------
    leader, compared
        What the leader is called, None if no method has an ordinary interval; and the number of
        methods among which it leads: all but stopped runs, and prefixes that submitters chose.
    kinds
        The kind of interval that the set has, then the additional ones.
    duplicates
        Groups of methods whose counts are the same on every task; see :func:`duplicates`.
    """

    scored: TaskSetInfo
    units: Units
    interval_kind: IntervalKind
    level: float
    leader: str | None
    compared: int
    kinds: tuple[IntervalKind, ...]
    rows: tuple[Row, ...]
    duplicates: tuple[tuple[Entry, ...], ...]

    @property
    def claiming(self) -> tuple[IntervalKind, ...]:
        """The kinds by which it is claimed: all that are about new images or new classes."""
        return tuple(kind for kind in self.kinds if kind != "closed")

    @cached_property
    def by_method(self) -> Mapping[str, Row]:
        """The lines by what methods are called, best first."""
        return {row.method: row for row in self.rows}

    def kind_about(self, about: str) -> IntervalKind | None:
        """Return the kind of interval by which something is claimed about new images, or others."""
        return next((kind for kind in self.claiming if ABOUT[kind] == about), None)

    def could_be_best(self, kind: IntervalKind) -> int | None:
        """Return how many could be the best, of those compared; None where nothing is claimed."""
        if self.leader is None or kind not in self.claiming:
            return None
        return sum(row.intervals[kind].could_be_best is True for row in self.rows)


LEAST = 5
"""Tasks with some answers right and some wrong that there must be: others coincide easily."""


def duplicates(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], ...]:
    """Group the methods of a task set whose accuracies are the same on every task.

    Only results in which at least :data:`LEAST` tasks are neither without an error nor all wrong
    count, since others can be the same by chance.  A release's own methods are compared
    with submissions alone.  Takes time as the number of methods.
    """
    groups: defaultdict[bytes, list[Entry]] = defaultdict(list)
    for entry in entries:
        between = (entry.counts > 0) & (entry.counts < entry.queries_per_task)
        if np.count_nonzero(between) >= LEAST:
            if entry.counts.dtype.kind == "f":
                content = entry.content
            else:  # several runs that are all the same have the accuracies of one
                divisor = math.gcd(int(np.gcd.reduce(entry.counts)), entry.queries_per_task)
                reduced = np.append(entry.counts, entry.queries_per_task) // divisor
                content = reduced.astype(np.int64).tobytes()
            groups[hashlib.sha256(content).digest()].append(entry)
    return tuple(
        tuple(group)
        for group in groups.values()
        if len(group) > 1 and any(entry.source != REFERENCE for entry in group)
    )


MOST_PREFIXES = 32
"""Numbers of tasks for which class-aware intervals are computed: each takes eigenvectors of its
own, and strangers choose how many tasks they answer."""

_COUNTS_AT_ONCE = 1 << 21
"""Counts that are worked on at once."""


def ranked(
    scored: TaskSetInfo,
    interval_kind: IntervalKind,
    entries: Sequence[Entry],
    level: float,
    designs: Designs,
    units: Units = NO_UNITS,
) -> Standing:
    """Rank methods, which have different labels, on a task set, by the kinds it has designs for.

    Time and memory grow as the number of methods: each is compared with the leader alone.
    """
    # of equals the one that came first leads; where that is not known, the first label
    entries = sorted(entries, key=lambda entry: (entry.came, entry.method))
    ordinary = np.array([entry.ordinary for entry in entries])
    by_kind = {
        kind: np.full(len(entries), np.nan, KIND_NUMBERS)
        for kind in kinds_of(interval_kind, designs)
    }
    lengths = _lengths(entries)
    step = max(1, _COUNTS_AT_ONCE // max(1, *(len(entry.counts) for entry in entries)))
    blocks = np.split(np.arange(len(entries)), range(step, len(entries), step))
    own = Moments.join(
        _fill(by_kind, "width", rows, _counts(entries, rows), level, designs, lengths)
        for rows in blocks
    )
    leader, behind = None, None
    if ordinary.any():
        first = leader_of(own.mean, np.asarray(own.tasks), ordinary)
        leader, best = entries[first].method, _counts(entries, np.array([first]))
        most = best.correct.shape[1]
        differences = ((rows, lead(best, _counts(entries, rows, most))) for rows in blocks)
        behind = -Moments.join(
            _fill(by_kind, "behind_width", rows, ahead, level, designs, lengths)
            for rows, ahead in differences
        )
    compared = int(ordinary.sum())
    stopped = [entry.stopped is not None for entry in entries]
    places: list[dict[IntervalKind, RankedInterval]] = [{} for _ in entries]
    for kind, numbers in by_kind.items():
        numbers["width"][stopped] = numbers["behind_width"][stopped] = np.nan
        means = intervals(own, kind, level, numbers["width"])
        less: Sequence[Interval | None] = [None] * len(entries)
        if behind is not None:
            less = intervals(behind, kind, level, numbers["behind_width"])
        possible = could_be_best(numbers["p"], compared, level).tolist()
        for place, entry, mean, difference, could in zip(
            places, entries, means, less, possible, strict=True
        ):
            place[kind] = RankedInterval(
                mean,
                None if entry.method == leader else difference,
                could if leader is not None and kind != "closed" and entry.ordinary else None,
            )
    ranks, order = _ranks(own, behind, ordinary)
    return Standing(
        scored=scored,
        units=units,
        interval_kind=interval_kind,
        level=level,
        leader=leader,
        compared=compared,
        kinds=tuple(by_kind),
        rows=tuple(Row(ranks[i] or None, entries[i], places[i]) for i in order),
        duplicates=duplicates(entries),
    )


def _lengths(entries: Sequence[Entry]) -> NDArray[np.int64]:
    """Return :data:`MOST_PREFIXES` numbers of tasks: the largest, then as methods came."""
    came: dict[int, int] = {}
    for entry in entries:
        came.setdefault(len(entry.counts), entry.came)
    most = max(came, default=0)
    order = sorted(came, key=lambda tasks: (tasks != most, came[tasks], -tasks))
    return np.array(order[:MOST_PREFIXES], np.int64)


def _counts(entries: Sequence[Entry], rows: NDArray[np.int64], most: int | None = None) -> Counts:
    """Join the counts of some methods, of the first `most` tasks."""
    some = [entries[i] for i in rows.tolist()]
    return Counts.of(
        [entry.counts[:most] for entry in some],
        [entry.queries_per_task for entry in some],
        [entry.run_spread for entry in some],
        [entry.runs for entry in some],
    )


def _fill(
    by_kind: Mapping[IntervalKind, NDArray[Any]],
    name: Literal["width", "behind_width"],
    rows: NDArray[np.int64],
    counts: Counts,
    level: float,
    designs: Designs,
    lengths: NDArray[np.int64],
) -> Moments:
    """Fill in half-widths of every kind, and p-values of differences; return the moments.

    Parameters
    ----------
    counts
        Of the methods, or by how much the leader is ahead of them.
    """
    moments = counts.moments()
    usable = np.isin(counts.tasks, lengths)
    for kind, numbers in by_kind.items():
        if kind in designs:
            part, how = counts.select(usable), ADDITIONAL_KINDS[kind].how
            numbers[name][rows[usable]] = how.method_halfwidths(designs[kind], part, level)
            if name == "behind_width":
                numbers["p"][rows[usable]] = ahead_p(part, kind, designs[kind])
            continue
        width = halfwidths(moments, kind, level)
        if name == "behind_width":
            verdict = paired_verdicts(moments, width, kind, level)
            width = np.where(verdict == IDENTICAL, 0.0, width)
            width = np.where(verdict == NOT_ESTIMABLE, np.nan, width)
            if kind != "closed":
                numbers["p"][rows] = ahead_p(counts, kind)
        numbers[name][rows] = width
    return moments


def _ranks(
    own: Moments, behind: Moments | None, ordinary: NDArray[np.bool_]
) -> tuple[list[int], list[int]]:
    """Return ranks, 0 where there is none, and the methods' order, best first."""
    tasks = np.asarray(own.tasks)
    whole = ordinary & (tasks == tasks[ordinary].max(initial=0))
    ranks = np.where(whole, np.searchsorted(np.sort(-own.mean[whole]), -own.mean) + 1, 0)
    # those without a rank are ordered by their differences, which are over tasks in common
    value = np.where(whole, own.mean, 0.0 if behind is None else behind.mean)
    return ranks.tolist(), np.lexsort((np.arange(len(whole)), -value, ~whole)).tolist()
