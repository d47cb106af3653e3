"""Ranking the methods of a task set: accuracies, differences from the leader, who could be best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.multiplicity import one_sided_p
from analysis_sql.comparison.verdicts import IDENTICAL, NOT_ESTIMABLE, paired_verdicts
from analysis_sql.interval_kinds import BESIDE, Designs, kinds_of
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.intervals.moments import Moments
from analysis_sql.ranking.best import could_be_best, lead, leader_of
from benchmark_spec.suites import IntervalKind
from fslbench_data.leaderboard.duplicate_results import duplicates
from fslbench_data.leaderboard.standing import KIND_NUMBERS, Entry, Standing
from fslbench_data.scoring.designs import NO_UNITS, Units
from fslbench_data.scoring.signature import ScoredSet

MOST_PREFIXES = 32
"""Numbers of tasks for which class-aware intervals are computed: each takes eigenvectors of its
own, and strangers choose how many tasks they answer."""

_COUNTS_AT_ONCE = 1 << 21
"""Counts that are worked on at once."""


def ranked(
    scored: ScoredSet,
    interval_kind: IntervalKind,
    entries: Sequence[Entry],
    level: float,
    designs: Designs,
    units: Units = NO_UNITS,
) -> Standing:
    """Rank methods, which have different labels, on a task set, by the kinds it has designs for.

    Time and memory grow as the number of methods: each is compared with the leader alone.
    """
    # of equals the one that came first leads; only where nothing tells, the first label
    entries = sorted(entries, key=lambda entry: (entry.came, entry.label))
    ordinary = np.array([entry.result.ordinary for entry in entries])
    by_kind = {
        kind: np.full(len(entries), np.nan, KIND_NUMBERS)
        for kind in kinds_of(interval_kind, designs)
    }
    lengths, blocks = _lengths(entries), list(_blocks(entries))
    own = Moments.join(
        _fill(by_kind, "width", rows, _counts(entries, rows), level, designs, lengths)
        for rows in blocks
    )
    leader, behind = None, None
    if ordinary.any():
        first = leader_of(own.mean, np.asarray(own.tasks), ordinary)
        leader, best = entries[first], _counts(entries, np.array([first]))
        most = best.correct.shape[1]
        differences = ((rows, lead(best, _counts(entries, rows, most))) for rows in blocks)
        behind = -Moments.join(
            _fill(by_kind, "behind_width", rows, ahead, level, designs, lengths)
            for rows, ahead in differences
        )
    compared = int(ordinary.sum())
    stopped = [entry.result.stopped is not None for entry in entries]
    for kind, numbers in by_kind.items():
        silent = ~ordinary | (kind == "closed")
        numbers["possible"] = could_be_best(numbers["p"], compared, level) | silent
        numbers["width"][stopped] = numbers["behind_width"][stopped] = np.nan
    ranks, order = _ranks(own, behind, ordinary)
    return Standing(
        scored=scored,
        units=units,
        interval_kind=interval_kind,
        level=level,
        leader=None if leader is None else leader.label,
        compared=compared,
        entries=tuple(entries[i] for i in order.tolist()),
        ranks=ranks[order],
        own=own.some(order),
        behind=None if behind is None else behind.some(order),
        by_kind={kind: numbers[order] for kind, numbers in by_kind.items()},
        duplicates=duplicates(entries),
    )


def _lengths(entries: Sequence[Entry]) -> NDArray[np.int64]:
    """The first :data:`MOST_PREFIXES` numbers of tasks: the largest, then as methods came."""
    came: dict[int, int] = {}
    for entry in entries:
        came.setdefault(len(entry.result.counts), entry.came)
    most = max(came, default=0)
    order = sorted(came, key=lambda tasks: (tasks != most, came[tasks], -tasks))
    return np.array(order[:MOST_PREFIXES], np.int64)


def _blocks(entries: Sequence[Entry]) -> Iterator[NDArray[np.int64]]:
    """Divide the positions of methods into blocks of not too many counts."""
    rows = np.arange(len(entries))
    step = max(1, _COUNTS_AT_ONCE // max(1, *(len(entry.result.counts) for entry in entries)))
    yield from (rows[at : at + step] for at in range(0, len(rows), step))


def _counts(entries: Sequence[Entry], rows: NDArray[np.int64], most: int | None = None) -> Counts:
    """Join the counts of some methods, of the first `most` tasks."""
    results = [entries[i].result for i in rows.tolist()]
    return Counts.of(
        [r.counts[:most] for r in results],
        [r.queries_per_task for r in results],
        [r.run_spread for r in results],
        [r.runs for r in results],
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
            part, beside = counts.some(usable), BESIDE[kind]
            numbers[name][rows[usable]] = beside.halfwidths(designs[kind], part, level)
            if name == "behind_width":
                numbers["p"][rows[usable]] = beside.one_sided_p(designs[kind], part)
            continue
        width = halfwidths(moments, kind, level)
        if name == "behind_width":
            verdict = paired_verdicts(moments, width, kind, level)
            width = np.where(verdict == IDENTICAL, 0.0, width)
            width = np.where(verdict == NOT_ESTIMABLE, np.nan, width)
            if kind != "closed":
                numbers["p"][rows] = one_sided_p(moments)
        numbers[name][rows] = width
    return moments


def _ranks(
    own: Moments, behind: Moments | None, ordinary: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ranks, 0 where there is none, and the methods' order, best first."""
    tasks = np.asarray(own.tasks)
    whole = ordinary & (tasks == tasks[ordinary].max(initial=0))
    ranks = np.where(whole, np.searchsorted(np.sort(-own.mean[whole]), -own.mean) + 1, 0)
    # those without a rank stand by their differences, which are over tasks in common
    value = np.where(whole, own.mean, 0.0 if behind is None else behind.mean)
    return ranks, np.asarray(np.lexsort((np.arange(len(whole)), -value, ~whole)))
