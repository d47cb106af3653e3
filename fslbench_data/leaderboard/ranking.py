"""Ranking the methods of a task set: accuracies, differences from the leader, who could be best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import method_halfwidths
from analysis_sql.comparison.verdicts import VERDICTS, Verdict, paired_verdicts
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.ranking.best import (
    could_be_best,
    lead,
    leader_of,
    one_sided_p,
    one_sided_p_new_classes,
)
from benchmark_spec.protocol import IntervalKind
from fslbench_data.leaderboard.duplicate_results import coincident
from fslbench_data.leaderboard.standing import NUMBERS, Entry, Standing
from fslbench_data.scoring.scores import ScoredSet

MOST_PREFIXES = 32
"""Numbers of tasks for which class-aware intervals are computed: each takes eigenvectors of its
own, and strangers choose how many tasks they answer."""

_BLOCK = 1 << 21
"""Counts that are worked on at once."""
_IDENTICAL, _UNKNOWN = (VERDICTS.index(v) for v in (Verdict.IDENTICAL, Verdict.NOT_ESTIMABLE))


def ranked(
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
        Methods under different labels, in any order.
    design
        The classes of the tasks; None for closed sets.
    """
    # of equals the one that came first leads; only where nothing tells, the first label
    entries = sorted(entries, key=lambda entry: (entry.came, entry.label))
    found = np.zeros(len(entries), NUMBERS)
    for name in ("width_new", "behind", "behind_width", "behind_width_new", "p", "p_new"):
        found[name] = np.nan
    found["tasks"] = [len(entry.result.counts) for entry in entries]
    ordinary = np.array([entry.result.ordinary for entry in entries])
    lengths = _lengths(entries)
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
        numbers=found[order],
        coincident=coincident(entries),
    )


def _lengths(entries: Sequence[Entry]) -> NDArray[np.int64]:
    """The first :data:`MOST_PREFIXES` numbers of tasks: the largest, those that came first, others.

    Parameters
    ----------
    entries
        The first to come first.
    """
    came: dict[int, int] = {}
    for entry in entries:
        came.setdefault(len(entry.result.counts), entry.came)
    most = max(came, default=0)
    order = sorted(came, key=lambda tasks: (tasks != most, came[tasks], -tasks))
    return np.array(order[:MOST_PREFIXES], np.int64)


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
        found["width_new"][rows[usable]] = method_halfwidths(design, counts.some(usable), level)


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
        part = ahead.some(usable)
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
