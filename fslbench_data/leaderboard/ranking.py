"""Ranking the methods of a task set: accuracies, differences from the leader, who could be best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparison.multiplicity import one_sided_p
from analysis_sql.comparison.verdicts import IDENTICAL, NOT_ESTIMABLE, paired_verdicts
from analysis_sql.interval_kinds import BESIDE, kinds_of
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.ranking.best import could_be_best, lead, leader_of
from benchmark_spec.protocol import IntervalKind
from fslbench_data.leaderboard.duplicate_results import duplicates
from fslbench_data.leaderboard.standing import KIND_NUMBERS, NUMBERS, Entry, Standing
from fslbench_data.scoring.scores import ScoredSet

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
    design: ClassDesign | None,
) -> Standing:
    """Rank methods, which have different labels, on a task set; there is no design of closed sets.

    Time and memory grow as the number of methods: each is compared with the leader alone.
    """
    # of equals the one that came first leads; only where nothing tells, the first label
    entries = sorted(entries, key=lambda entry: (entry.came, entry.label))
    numbers = np.zeros(len(entries), NUMBERS)
    by_kind = {kind: _nothing(len(entries)) for kind in kinds_of(interval_kind, design)}
    numbers["behind"] = np.nan
    numbers["tasks"] = [len(entry.result.counts) for entry in entries]
    ordinary = np.array([entry.result.ordinary for entry in entries])
    lengths = _lengths(entries)
    blocks = list(_blocks(entries, numbers["tasks"]))
    for rows in blocks:
        counts = _counts(entries, rows)
        moments = counts.moments()
        numbers["mean"][rows], numbers["constant"][rows] = moments.mean, moments.constant
        by_kind[interval_kind]["width"][rows] = halfwidths(moments, interval_kind, level)
        _fill_beside(by_kind, "width", rows, counts, level, design, lengths)
    first = None
    if ordinary.any():
        first = leader_of(numbers["mean"], numbers["tasks"], ordinary)
        best = entries[first].result
        for rows in blocks:
            others = _counts(entries, rows, most=len(best.counts))
            ahead = lead(best.counts, best.queries_per_task, others)
            _behind(numbers, by_kind[interval_kind], rows, ahead, interval_kind, level)
            _fill_beside(by_kind, "behind_width", rows, ahead, level, design, lengths)
    compared = int(ordinary.sum())
    silent = ~ordinary | (interval_kind == "closed")
    for own in by_kind.values():
        own["possible"] = could_be_best(own["p"], compared, level) | silent
    order = _rank(numbers, ordinary)
    return Standing(
        scored=scored,
        interval_kind=interval_kind,
        level=level,
        leader=None if first is None else entries[first].label,
        compared=compared,
        entries=tuple(entries[i] for i in order.tolist()),
        numbers=numbers[order],
        by_kind={kind: own[order] for kind, own in by_kind.items()},
        duplicates=duplicates(entries),
    )


def _nothing(methods: int) -> NDArray[Any]:
    numbers = np.zeros(methods, KIND_NUMBERS)
    for name in ("width", "behind_width", "p"):
        numbers[name] = np.nan
    return numbers


def _lengths(entries: Sequence[Entry]) -> NDArray[np.int64]:
    """The first :data:`MOST_PREFIXES` numbers of tasks: the largest, then as methods came."""
    came: dict[int, int] = {}
    for entry in entries:
        came.setdefault(len(entry.result.counts), entry.came)
    most = max(came, default=0)
    order = sorted(came, key=lambda tasks: (tasks != most, came[tasks], -tasks))
    return np.array(order[:MOST_PREFIXES], np.int64)


def _blocks(entries: Sequence[Entry], tasks: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Divide the positions of methods into blocks of not too many counts."""
    rows = np.arange(len(entries))
    step = max(1, _COUNTS_AT_ONCE // max(int(tasks.max(initial=1)), 1))
    yield from (rows[at : at + step] for at in range(0, len(rows), step))


def _counts(entries: Sequence[Entry], rows: NDArray[np.int64], most: int | None = None) -> Counts:
    """Join the counts of some methods, of the first `most` tasks."""
    results = [entries[i].result for i in rows.tolist()]
    return Counts.of([r.counts[:most] for r in results], [r.queries_per_task for r in results])


def _fill_beside(
    by_kind: Mapping[IntervalKind, NDArray[Any]],
    name: Literal["width", "behind_width"],
    rows: NDArray[np.int64],
    counts: Counts,
    level: float,
    design: ClassDesign | None,
    lengths: NDArray[np.int64],
) -> None:
    """Fill in half-widths of the kinds beside the carried one, and p-values of differences."""
    if design is None:
        return
    usable = np.isin(counts.tasks, lengths)
    part = counts.some(usable)
    for kind, own in by_kind.items():
        if kind in BESIDE:
            own[name][rows[usable]] = BESIDE[kind].halfwidths(design, part, level)
            if name == "behind_width":
                own["p"][rows[usable]] = BESIDE[kind].one_sided_p(design, part)


def _behind(
    numbers: NDArray[Any],
    own: NDArray[Any],
    rows: NDArray[np.int64],
    ahead: Counts,
    interval_kind: IntervalKind,
    level: float,
) -> None:
    """Fill in the differences from the leader, with the intervals that the task set carries."""
    moments = ahead.moments()
    width = halfwidths(moments, interval_kind, level)
    verdict = paired_verdicts(moments, width, level)
    numbers["common"][rows] = ahead.tasks
    numbers["behind"][rows] = 0.0 - np.asarray(moments.mean)
    numbers["behind_constant"][rows] = moments.constant
    own["behind_width"][rows] = np.where(
        verdict == NOT_ESTIMABLE, np.nan, np.where(verdict == IDENTICAL, 0.0, width)
    )
    if interval_kind != "closed":
        own["p"][rows] = one_sided_p(moments)


def _rank(numbers: NDArray[Any], ordinary: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Fill in ranks, and give the methods' order, best first."""
    most = numbers["tasks"][ordinary].max(initial=0)
    whole = ordinary & (numbers["tasks"] == most)
    means = np.sort(-numbers["mean"][whole])
    numbers["rank"] = np.where(whole, np.searchsorted(means, -numbers["mean"]) + 1, 0)
    # those without a rank stand by their differences, which are over tasks in common
    value = np.nan_to_num(np.where(whole, numbers["mean"], numbers["behind"]))
    return np.asarray(np.lexsort((np.arange(len(whole)), -value, ~whole)))
