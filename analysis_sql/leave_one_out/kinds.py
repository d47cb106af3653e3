"""The kinds of interval that leave one out, of methods' counts on the tasks of a set.

The same four functions as every kind of interval has (:mod:`analysis_sql.interval_kinds`), in
percentage points.  Where nothing can be estimated there is NaN.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from analysis_sql.comparison.pairs import Pairs
from analysis_sql.intervals.arrays import Floats, Ints, settled
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.sign_flip import constant_p
from analysis_sql.intervals.training_runs import REFERENCE, Terms, for_new_runs
from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences, LeaveOneOut

_ROWS = 64
"""Methods that are compared with all others at once."""

_KEPT = 20
"""Such blocks that are kept."""


@dataclass(frozen=True, eq=False)
class FirstTasks:
    """The design of a set, and of its first tasks, as many as methods answered."""

    whole: TaskDesign
    """Of all tasks."""
    _designs: dict[int, TaskDesign] = field(default_factory=dict, repr=False)
    _pairs: dict[int, _AllPairs] = field(default_factory=dict, repr=False)

    def at(self, tasks: int, name: LeftOut) -> TaskDesign | None:
        """Return the design of the first tasks; None where they have no interval of the kind."""
        if tasks < 2:
            return None
        if tasks not in self._designs:
            self._designs[tasks] = self.whole.prefix(tasks)
        return None if name in self._designs[tasks].why else self._designs[tasks]

    def pairs(self, counts: Counts, level: float) -> _AllPairs:
        """Return all pairs of some methods; the last that were asked for are kept for all kinds."""
        kept = self._pairs.get(0)
        if kept is None or kept.counts is not counts or kept.level != level:
            kept = self._pairs[0] = _AllPairs(self, counts, level)
        return kept


def method_halfwidths(name: LeftOut, design: FirstTasks, counts: Counts, level: float) -> Floats:
    """Compute half-widths (M,) of the methods' means, each over the tasks that it answered."""
    widths = np.full(len(counts), np.nan)
    for _, rows, found in _own(name, design, counts, level):
        terms = counts.run_variance[rows], counts.run_square[rows]
        widths[rows] = _widths(name, found, (slice(None), 0), terms, level)
    return widths


def one_sided_p(name: LeftOut, design: FirstTasks, ahead: Counts) -> Floats:
    """Compute p-values (P,) of "the leader is better" from by how much it is ahead.

    1 where the mean is not above 0.
    """
    p = np.full(len(ahead), np.nan)
    moments = ahead.moments()
    for at, rows, found in _own(name, design, ahead, REFERENCE):
        p[rows] = _p_values(name, at, found, (slice(None), 0), moments.some(rows))
    return np.where(np.isnan(p) | (np.asarray(moments.total) > 0), p / 2.0, 1.0)


def p_values(
    name: LeftOut, design: FirstTasks, counts: Counts, methods: Ints, versus: Ints
) -> Floats:
    """Compute two-sided p-values (P,) of pairs of methods at two lists of positions."""
    p = np.full(len(methods), np.nan)
    pairs = design.pairs(counts, REFERENCE)
    common = np.minimum(counts.tasks[methods], counts.tasks[versus])
    for method, tasks in sorted(set(zip(methods.tolist(), common.tolist(), strict=True))):
        at = np.flatnonzero((methods == method) & (common == tasks))
        found, row = pairs.row(name, method, tasks)
        first = design.at(tasks, name)
        if found is not None and first is not None:
            difference = counts.differences(method, versus[at], tasks).moments()
            p[at] = _p_values(name, first, found, (row, versus[at]), difference)
    return p


def _widths(name: LeftOut, found: LeaveOneOut, at: Any, terms: Terms, level: float) -> Floats:
    """Give half-widths in percentage points at some rows and columns, NaN for infinite ones.

    With the term of runs, which may have fewer degrees of freedom the less the tasks' own variance
    is, each kind is still at least as wide as the ones before it.
    """
    widths: Floats = np.array(-np.inf)
    for kind in _up_to(name):
        own = getattr(found, kind).halfwidth[at]
        own = np.where(np.isinf(own), np.nan, settled(100.0 * own))
        widths = np.maximum(widths, for_new_runs(own, terms, level))
    return widths


def _p_values(
    name: LeftOut, design: TaskDesign, found: LeaveOneOut, at: Any, difference: Moments
) -> Floats:
    """Give two-sided p-values at some rows and columns; the sign test's of constants."""
    constant = np.asarray(difference.constant)
    p: Floats = np.zeros(())
    for kind in _up_to(name):
        spread = getattr(found, kind)
        sign = constant_p(design.disjoint_tasks(kind))
        own = np.where(constant, sign, settled(spread.p[at]))
        widths = spread.halfwidth[at]
        own = difference.p_for_new_runs(own, partial(settled, 100.0 * widths))
        p = np.maximum(p, np.where(np.asarray(difference.all_zero), 1.0, own))
    return p


def _up_to(name: LeftOut) -> tuple[LeftOut, ...]:
    return LEFT_OUT[: LEFT_OUT.index(name) + 1]


def _own(
    name: LeftOut, design: FirstTasks, counts: Counts, level: float
) -> Iterator[tuple[TaskDesign, Ints, LeaveOneOut]]:
    """Intervals of methods by themselves, those of one number of tasks after another: (N, 1)."""
    for tasks in np.unique(counts.tasks).tolist():
        at = design.at(tasks, name)
        if at is None:
            continue
        rows = np.flatnonzero(counts.tasks == tasks)
        yield at, rows, Influences(at, shares(counts.some(rows), tasks)).own(level)


def shares(counts: Counts, tasks: int) -> Floats:
    """Return accuracies in 0..1 on the first tasks (M, tasks)."""
    return np.asarray(counts.correct[:, :tasks] / counts.queries_per_task[:, None])


class _AllPairs:
    """All pairs of some methods by all kinds, some rows at a time; the last rows are kept."""

    def __init__(self, design: FirstTasks, counts: Counts, level: float) -> None:
        self.counts, self.level, self._design = counts, level, design
        self._influences: dict[int, Influences] = {}
        self._own: dict[int, LeaveOneOut] = {}
        self._blocks: OrderedDict[tuple[int, int], LeaveOneOut] = OrderedDict()

    def row(self, name: LeftOut, method: int, tasks: int) -> tuple[LeaveOneOut | None, int]:
        """Return a block of pairs over the first tasks, and in which of its rows a method is.

        None where these tasks have no interval.
        """
        design = self._design.at(tasks, name)
        if design is None:
            return None, 0
        key = tasks, method // _ROWS
        if key not in self._blocks:
            everything = np.arange(len(self.counts))
            rows = everything[key[1] * _ROWS : (key[1] + 1) * _ROWS]
            influences = self._influences_at(tasks, design)
            self._blocks[key] = influences.block(rows, everything, self.level)
            if len(self._blocks) > _KEPT:
                self._blocks.popitem(last=False)
        return self._blocks[key], method % _ROWS

    def own(self, name: LeftOut, tasks: int) -> LeaveOneOut | None:
        """Return the intervals of the methods by themselves over the first tasks, (M, 1)."""
        design = self._design.at(tasks, name)
        if design is not None and tasks not in self._own:
            self._own[tasks] = self._influences_at(tasks, design).own(self.level)
        return None if design is None else self._own[tasks]

    def _influences_at(self, tasks: int, design: TaskDesign) -> Influences:
        if tasks not in self._influences:
            self._influences[tasks] = Influences(design, shares(self.counts, tasks))
        return self._influences[tasks]


def pairs(name: LeftOut, design: FirstTasks, counts: Counts, level: float) -> Pairs:
    """Make what compares the methods of a task set by one kind."""
    every = design.pairs(counts, level)

    def own(tasks: int, rows: Ints, own: Moments) -> Floats:
        found = every.own(name, tasks)
        nothing = np.full(len(rows), np.nan)
        return nothing if found is None else _widths(name, found, (rows, 0), own.run_terms, level)

    def widths(tasks: int, methods: Ints, versus: Ints, difference: Moments) -> Floats:
        widths = np.full(len(methods), np.nan)
        for block in np.unique(methods // _ROWS).tolist():
            at = np.flatnonzero(methods // _ROWS == block)
            found, _ = every.row(name, int(methods[at[0]]), tasks)
            if found is not None:
                terms = difference.some(at).run_terms
                places = methods[at] % _ROWS, versus[at]
                widths[at] = _widths(name, found, places, terms, level)
        return widths

    def independent(tasks: int) -> int:
        first = design.at(tasks, name)
        return 0 if first is None else first.disjoint_tasks(name)

    return Pairs(name, counts, level, own, widths, independent)
