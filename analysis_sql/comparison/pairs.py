"""All pairs of methods on a task set at once: one matrix product gives every covariance.

With X the counts of correct queries (methods x tasks), X X' holds Σ_t x_it x_jt of every pair,
exactly, since counts are integers; so Σ(x_i - x_j)² = Σx_i² + Σx_j² - 2 Σx_i x_j in one pass.
Methods of several runs count in units of their own; each pair is taken to the least common multiple
of its two units, never all methods to one of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import (
    IDENTICAL,
    NOT_ESTIMABLE,
    PairColumns,
    direct_verdicts,
    paired_verdicts,
)
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts, Integers, Moments
from analysis_sql.intervals.intervals import halfwidths
from benchmark_spec.protocol import IntervalKind

_EXACT_FLOAT32 = 2**24
_EXACT_FLOAT64 = 2**53
_PAIRS_AT_ONCE = 1 << 15
"""Pairs that are computed at once."""
_NUMBERS_AT_ONCE = 1 << 20
"""Differences of counts that are held at once."""


class PairArrays(Struct, frozen=True, eq=False):
    """Comparisons of F methods with M over their T tasks, all pairs at once: (F, M)."""

    tasks: NDArray[np.int64]
    difference: NDArray[np.float64]
    halfwidth: NDArray[np.float64]
    """Mean paired difference and half-width of its interval, percentage points; NaN where T < 2."""
    verdict: NDArray[np.int8]
    direct: NDArray[np.int8]
    """Positions in :data:`analysis_sql.comparison.verdicts.VERDICTS`, int8."""


def pair_arrays(
    counts: Counts, requested: NDArray[np.bool_], kind: IntervalKind, level: float
) -> PairArrays:
    """Compare the first F methods with the `requested` ones (F, M), over their common tasks.

    Rows are done a few at a time, so that what is computed stays in the processor's cache.
    """
    shape = requested.shape
    product = _Products(counts)
    own_mean = product.own.mean
    own_width = halfwidths(product.own, kind, level)
    tasks = np.zeros(shape, np.int64) if product.lengths_differ else counts.tasks[:1]
    arrays = PairArrays(
        np.broadcast_to(tasks, shape),
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.full(shape, -1, np.int8),
        np.full(shape, -1, np.int8),
    )
    step = max(1, _PAIRS_AT_ONCE // max(len(counts), 1))
    for start in range(0, shape[0], step):
        rows = slice(start, min(start + step, shape[0]))
        wanted = np.flatnonzero(requested[rows].any(axis=0))
        if not wanted.size:
            continue
        block = (rows, slice(int(wanted[0]), int(wanted[-1]) + 1))
        method_moments, versus_moments, difference = product.moments(*block)
        widths = halfwidths(difference, kind, level)
        if product.lengths_differ:
            tasks[block] = difference.tasks
            method = (method_moments.mean, halfwidths(method_moments, kind, level))
            versus = (versus_moments.mean, halfwidths(versus_moments, kind, level))
        else:
            method = (own_mean[rows, None], own_width[rows, None])
            versus = (own_mean[None, block[1]], own_width[None, block[1]])
        verdict = paired_verdicts(difference, widths, kind, level)
        arrays.difference[block] = difference.mean
        arrays.halfwidth[block] = _reported_widths(widths, verdict)
        arrays.verdict[block] = verdict
        arrays.direct[block] = direct_verdicts(*method, *versus)
    return arrays


def _reported_widths(widths: Any, verdict: NDArray[np.int8]) -> Floats:
    """Return half-widths, NaN where equal differences allow no conclusion, 0 of identical ones."""
    widths = np.where(verdict == NOT_ESTIMABLE, np.nan, widths)
    return np.where((verdict == IDENTICAL) & np.isnan(widths), 0.0, widths)


class Pairs:
    """Compares the methods of a task set by one kind of interval, each pair over the tasks of both.

    `own` computes half-widths (M,) of means from a number of tasks, the positions of methods (M,)
    and their moments; `widths` those (P,) of differences from a number of tasks, the positions of
    first and second methods (P,), and the differences' moments: a kind about more than images takes
    the larger of its own and these. Both are NaN without an interval. `independent` counts the
    independent ones of the first tasks, by which differences that are all equal are judged.
    """

    def __init__(
        self,
        kind: IntervalKind,
        counts: Counts,
        level: float,
        own: Callable[[int, Ints, Moments], Floats],
        widths: Callable[[int, Ints, Ints, Moments], Floats],
        independent: Callable[[int], int] | None = None,
    ) -> None:
        self.kind, self.counts, self.level = kind, counts, level
        self._own, self.widths, self._independent = own, widths, independent

    def columns(self, methods: int | Ints, versus: Ints) -> PairColumns:
        """Compare methods, or one, with others (P,), at least one pair, by their positions."""
        methods, versus = np.broadcast_arrays(methods, versus)
        common = np.minimum(self.counts.tasks[methods], self.counts.tasks[versus])
        order = np.argsort(common, kind="stable")
        parts = []
        for places in np.split(order, np.flatnonzero(np.diff(common[order])) + 1):
            tasks = int(common[places[0]])
            step = max(1, _NUMBERS_AT_ONCE // max(tasks, 1))
            for start in range(0, places.size, step):
                some = places[start : start + step]
                parts.append(self._first(tasks, methods[some], versus[some]))
        return PairColumns.join(parts).some(np.argsort(order))

    def _first(self, tasks: int, methods: Ints, versus: Ints) -> PairColumns:
        """Compare methods with others over the first tasks."""
        rows, at = np.unique([methods, versus], return_inverse=True)
        own = self.counts.some(rows).first(tasks).moments()
        width = self._own(tasks, rows, own)
        difference = self.counts.differences(methods, versus, tasks).moments()
        paired = self.widths(tasks, methods, versus, difference)
        independent = None
        if self._independent is not None and np.any(difference.constant):
            independent = self._independent(tasks)  # takes long to find, and matters rarely
        verdict = paired_verdicts(difference, paired, self.kind, self.level, independent)
        if self.kind in ("closed", "open"):
            paired = _reported_widths(paired, verdict)
        if self.kind in ("images", "classes", "superclasses"):  # as many right, but others
            verdict = np.where((verdict == IDENTICAL) & np.isnan(paired), NOT_ESTIMABLE, verdict)
        mean, halfwidth, constant = (
            np.stack([*of_methods[at.reshape(2, -1)], of_pairs])
            for of_methods, of_pairs in (
                (own.mean, difference.mean),
                (width, paired),
                (own.constant, difference.constant),
            )
        )
        direct = direct_verdicts(mean[0], halfwidth[0], mean[1], halfwidth[1])
        same = np.full(len(methods), tasks)
        about = self.kind, self.level
        return PairColumns(*about, same, mean, halfwidth, constant, verdict, direct)


def primary_pairs(counts: Counts, kind: IntervalKind, level: float) -> Pairs:
    """Return the comparisons of a task set by its primary kind of interval."""

    def widths(*parts: Any) -> Floats:
        return np.asarray(halfwidths(parts[-1], kind, level))

    return Pairs(kind, counts, level, widths, widths)


def pair_differences(counts: Counts, first: NDArray[Any], second: NDArray[Any]) -> Moments:
    """Compute moments of differences of pairs of methods, arrays (P,), on the tasks of both."""
    tasks = counts.tasks
    if first.size < len(counts) and (tasks == tasks[0]).all():  # no need of all pairs
        return counts.differences(first, second, tasks[0]).moments()
    rows, columns = (slice(int(own.min()), int(own.max()) + 1) for own in (first, second))
    moments = _Products(counts).moments(rows, columns)[2]
    return moments.some((first - rows.start, second - columns.start))


class _Products:
    """The sums over common tasks of all pairs, some rows and columns at a time."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        x, tasks = counts.correct, counts.tasks
        self._x = _Factor(x)
        self.own = counts.moments()
        self.lengths_differ = bool((tasks != tasks[0]).any())
        self._runs = bool(counts.run_variance.any())
        self._units_differ = bool((counts.queries_per_task != counts.queries_per_task[0]).any())
        if self.lengths_differ:
            self._answered = _Factor((np.arange(x.shape[1]) < tasks[:, None]).astype(np.int32))
            self._squared = _Factor(x.astype(np.result_type(x, np.int64)) ** 2)

    def moments(self, rows: slice, columns: slice) -> tuple[Moments, Moments, Moments]:
        """Return moments of `rows`, `columns` and their differences, or that broadcast to these."""
        block, units = (rows, columns), self._counts.queries_per_task
        products = self._x.times(self._x, *block)
        if not self.lengths_differ:
            common = self._counts.tasks[:1, None]
            total, squares = np.asarray(self.own.total), np.asarray(self.own.squares)
            row = (total[rows, None], squares[rows, None])
            column = (total[None, columns], squares[None, columns])
        else:
            common = self._answered.times(self._answered, *block)
            row = (
                self._x.times(self._answered, *block),
                self._squared.times(self._answered, *block),
            )
            column = (
                self._answered.times(self._x, *block),
                self._answered.times(self._squared, *block),
            )
        of_each = self._counts.run_variance, self._counts.run_square
        of_rows, of_columns = ((0.0, 0.0), (0.0, 0.0))
        if self._runs:
            of_rows = tuple(term[rows, None] for term in of_each)
            of_columns = tuple(term[columns] for term in of_each)
        own = (
            Moments(common, *row, units[rows, None], *of_rows, self._counts.own_tasks),
            Moments(common, *column, units[columns], *of_columns, self._counts.own_tasks),
        )
        unit: Integers = int(units[0])
        if self._units_differ:
            unit = np.lcm(units[rows, None], units[columns])
            a, b = unit // units[rows, None], unit // units[columns]
            row, column = (a * row[0], a * a * row[1]), (b * column[0], b * b * column[1])
            products *= a * b
        products *= -2
        products += row[1]
        products += column[1]
        variance, square = 0.0, 0.0
        if self._runs:
            places = np.arange(len(self._counts))
            variance, square = self._counts.terms_of_pairs(places[rows, None], places[columns])
        difference = row[0] - column[0]
        terms = variance, square, self._counts.own_tasks
        return *own, Moments(common, difference, products, unit, *terms)


class _Factor:
    """A matrix, ready to be multiplied; of integers exactly, by the fastest product that is."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values
        self._floats = values.dtype.kind == "f"
        self._largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
        self._as: dict[Any, NDArray[Any]] = {}

    def times(self, other: _Factor, rows: slice, columns: slice) -> NDArray[Any]:
        """Return some rows and columns of A B'; exact integers, if both are of integers."""
        if self._floats or other._floats:
            return np.asarray(self._in(np.float64)[rows] @ other._in(np.float64)[columns].T)
        bound = self._largest * other._largest * self._values.shape[1]
        exact = ((np.float32, _EXACT_FLOAT32), (np.float64, _EXACT_FLOAT64))
        kind: Any = next((kind for kind, limit in exact if bound < limit), np.int64)
        product = np.matmul(self._in(kind)[rows], other._in(kind)[columns].T)
        return np.asarray(product.astype(np.int64, copy=False))

    def _in(self, kind: Any) -> NDArray[Any]:
        if kind not in self._as:
            self._as[kind] = self._values.astype(kind)
        return self._as[kind]
