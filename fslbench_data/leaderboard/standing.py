"""Rank the methods of a leaderboard on one task set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.comparisons import IDENTICAL, NOT_ESTIMABLE, paired_verdicts
from analysis_sql.interval_kinds import ABOUT, ADDITIONAL_KINDS, Designs, kinds_of
from analysis_sql.intervals.counts import Counts, Moments
from analysis_sql.intervals.intervals import Interval, halfwidths, intervals
from analysis_sql.multiple_comparisons import ahead_p, could_be_best, lead, leader_of
from benchmark_spec.protocol import IntervalKind
from fslbench_data.scoring.designs import NO_UNITS, Units
from fslbench_data.tasks import TaskSetInfo

REFERENCE = "reference"
"""The source of the release's own methods, in place of a submission's digest."""

KIND_NUMBERS = np.dtype([(name, np.float64) for name in ("width", "behind_width", "p")])
"""Numbers of each method by a kind of interval: half-widths of its mean and of its difference from
the leader, or NaN; and the one-sided p-value of "the leader is better"."""


class Entry(Struct, frozen=True, eq=False):
    """The results of one method on one task set.

    Attributes
    ----------
    method
        Its label on the leaderboard, or before that its name in the file.
    counts
        Correct queries of each task, summed over runs, int16 or int32; episodes have accuracies
        from 0 to 1.
    stopped
        The method that the run was compared with, if it stopped by a rule.
    prefix
        Whether the submitter chose how many tasks are answered.
    of_one_model
        Whether it is one training run of a method that may differ from run to run.
    source, copies
        The digest of the file, or :data:`REFERENCE`; digests of other files with the same results,
        if it is not known which came first.
    arrival
        Of two entries, that of the smaller number came first.
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
    copies: tuple[str, ...] = ()
    arrival: int = -1

    @property
    def ordinary(self) -> bool:
        """Whether the number of tasks was fixed before the results were known."""
        return self.stopped is None and not self.prefix

    @property
    def queries_per_task(self) -> int:
        """Queries of a task, over all runs; 1 for accuracies."""
        return 1 if self.counts.dtype.kind == "f" else self.info.protocol.n_query * self.runs

    @property
    def content(self) -> bytes:
        """The counts as bytes that depend neither on their type nor on the machine."""
        kind = "<f8" if self.counts.dtype.kind == "f" else "<i8"
        return np.ascontiguousarray(self.counts, kind).tobytes()

    @property
    def sources(self) -> tuple[str, ...]:
        """The digests of all files with these results, or ``reference``."""
        return (self.source, *self.copies)


class RankedInterval(Struct, frozen=True):
    """A method's interval of one kind on a leaderboard.

    `difference` is the paired difference from the leader, over the tasks that both answered; None
    for the leader itself.  `could_be_best` (:mod:`analysis_sql.multiple_comparisons`) is
    None if nothing is claimed: in closed sets, and for stopped runs and prefixes that submitters
    chose.
    """

    accuracy: Interval
    difference: Interval | None
    could_be_best: bool | None


class Row(Struct, frozen=True):
    """A method's line on one task set.

    The rank is 1 for the highest mean, and the same for equal means.  It is None, and the method
    below the others, if it did not answer all tasks of the leader, or their number was not fixed
    beforehand.  The primary kind of interval comes first.
    """

    rank: int | None
    entry: Entry
    intervals: Mapping[IntervalKind, RankedInterval]

    @property
    def method(self) -> str:
        """The method's label."""
        return self.entry.method

    @property
    def first(self) -> RankedInterval:
        """The interval of the primary kind."""
        return next(iter(self.intervals.values()))

    @property
    def accuracy(self) -> Interval:
        """The mean with the primary interval."""
        return self.first.accuracy

    @property
    def difference(self) -> Interval | None:
        """The difference from the leader with the primary interval."""
        return self.first.difference


class Standing(Struct, frozen=True, eq=False, dict=True):
    """A task set's table, best first.

    Attributes
    ----------
    leader, compared
        The leader's label, None if no method is ordinary; and the number of ordinary methods: all
        except stopped runs, and prefixes that submitters chose.
    kinds
        The primary kind of interval, then the additional ones.
    """

    scored: TaskSetInfo
    units: Units
    interval_kind: IntervalKind
    level: float
    leader: str | None
    compared: int
    kinds: tuple[IntervalKind, ...]
    rows: tuple[Row, ...]

    @property
    def claiming(self) -> tuple[IntervalKind, ...]:
        """The kinds of interval by which methods could be best: all but `closed`."""
        return tuple(kind for kind in self.kinds if kind != "closed")

    @cached_property
    def by_method(self) -> Mapping[str, Row]:
        """The lines by label, best first."""
        return {row.method: row for row in self.rows}

    def kind_about(self, about: str) -> IntervalKind | None:
        """Return the kind of interval about new images, new classes or others, if there is one."""
        return next((kind for kind in self.claiming if ABOUT[kind] == about), None)

    def could_be_best(self, kind: IntervalKind) -> int | None:
        """Return how many of the compared methods could be best; None if nothing is claimed."""
        if self.leader is None or kind not in self.claiming:
            return None
        return sum(row.intervals[kind].could_be_best is True for row in self.rows)


MOST_PREFIXES = 32
"""Numbers of tasks for which class-aware intervals are computed: each needs its own eigenvectors,
and strangers choose how many tasks they answer."""

_BLOCK_COUNTS = 1 << 21
"""Counts in a block of methods."""


def ranked(
    scored: TaskSetInfo,
    interval_kind: IntervalKind,
    entries: Sequence[Entry],
    level: float,
    designs: Designs,
    units: Units = NO_UNITS,
) -> Standing:
    """Rank methods, which have different labels, on a task set, by the kinds it has designs for.

    Time and memory grow linearly with the number of methods: each is compared with the leader only.
    """
    # of equal means the first arrival leads, then the first label
    entries = sorted(entries, key=lambda entry: (entry.arrival, entry.method))
    ordinary = np.array([entry.ordinary for entry in entries])
    by_kind = {
        kind: np.full(len(entries), np.nan, KIND_NUMBERS)
        for kind in kinds_of(interval_kind, designs)
    }
    lengths = _lengths(entries)
    step = max(1, _BLOCK_COUNTS // max(1, *(len(entry.counts) for entry in entries)))
    blocks = np.split(np.arange(len(entries)), range(step, len(entries), step))
    moments = Moments.join(
        _fill(by_kind, "width", rows, _counts(entries, rows), level, designs, lengths)
        for rows in blocks
    )
    leader, behind = None, None
    if ordinary.any():
        first = leader_of(moments.mean, np.asarray(moments.tasks), ordinary)
        leader, best = entries[first].method, _counts(entries, np.array([first]))
        n_tasks = best.correct.shape[1]
        differences = ((rows, lead(best, _counts(entries, rows, n_tasks))) for rows in blocks)
        behind = -Moments.join(
            _fill(by_kind, "behind_width", rows, ahead, level, designs, lengths)
            for rows, ahead in differences
        )
    compared = int(ordinary.sum())
    stopped = [entry.stopped is not None for entry in entries]
    ranked_intervals: list[dict[IntervalKind, RankedInterval]] = [{} for _ in entries]
    for kind, numbers in by_kind.items():
        numbers["width"][stopped] = numbers["behind_width"][stopped] = np.nan
        means = intervals(moments, kind, level, numbers["width"])
        to_leader: Sequence[Interval | None] = [None] * len(entries)
        if behind is not None:
            to_leader = intervals(behind, kind, level, numbers["behind_width"])
        possible = could_be_best(numbers["p"], compared, level).tolist()
        claiming = leader is not None and kind != "closed"
        for i, entry in enumerate(entries):
            ranked_intervals[i][kind] = RankedInterval(
                means[i],
                None if entry.method == leader else to_leader[i],
                possible[i] if claiming and entry.ordinary else None,
            )
    ranks, order = _ranks(moments, behind, ordinary)
    return Standing(
        scored=scored,
        units=units,
        interval_kind=interval_kind,
        level=level,
        leader=leader,
        compared=compared,
        kinds=tuple(by_kind),
        rows=tuple(Row(ranks[i] or None, entries[i], ranked_intervals[i]) for i in order),
    )


def _lengths(entries: Sequence[Entry]) -> NDArray[np.int64]:
    """Return at most :data:`MOST_PREFIXES` numbers of tasks: the largest, then by arrival."""
    arrivals: dict[int, int] = {}
    for entry in entries:
        arrivals.setdefault(len(entry.counts), entry.arrival)
    most = max(arrivals, default=0)
    order = sorted(arrivals, key=lambda tasks: (tasks != most, arrivals[tasks], -tasks))
    return np.array(order[:MOST_PREFIXES], np.int64)


def _counts(
    entries: Sequence[Entry], rows: NDArray[np.int64], n_tasks: int | None = None
) -> Counts:
    """Join the counts of the methods in `rows`, of the first `n_tasks` tasks."""
    block = [entries[i] for i in rows.tolist()]
    return Counts.of(
        [entry.counts[:n_tasks] for entry in block],
        [entry.queries_per_task for entry in block],
        [entry.run_spread for entry in block],
        [entry.runs for entry in block],
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
        The counts of the methods, or the leader's minus theirs.
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
    moments: Moments, behind: Moments | None, ordinary: NDArray[np.bool_]
) -> tuple[list[int], list[int]]:
    """Return ranks, 0 for none, and the methods' order, best first."""
    tasks, mean = np.asarray(moments.tasks), moments.mean
    complete = ordinary & (tasks == tasks[ordinary].max(initial=0))
    ranks = np.where(complete, np.searchsorted(np.sort(-mean[complete]), -mean) + 1, 0)
    # methods without a rank are ordered by their differences, over the common tasks
    value = np.where(complete, mean, 0.0 if behind is None else behind.mean)
    return ranks.tolist(), np.lexsort((np.arange(len(complete)), -value, ~complete)).tolist()
