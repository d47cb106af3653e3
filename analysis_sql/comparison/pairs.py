"""All pairs of methods on a task set at once: one matrix product gives every covariance.

With X the counts of correct queries (methods x tasks), X X' holds Σ_t x_it x_jt of every pair,
exactly, since counts are integers; so Σ(x_i - x_j)² = Σx_i² + Σx_j² - 2 Σx_i x_j in one pass.
The unit of a method's counts depends on its runs; each pair has the least common multiple of its
two units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import (
    IDENTICAL,
    NOT_ESTIMABLE,
    PairColumns,
    direct_verdicts,
    paired_p,
    paired_verdicts,
)
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts, Integers, Moments
from analysis_sql.intervals.intervals import halfwidths
from benchmark_spec.protocol import IntervalKind

_EXACT_FLOAT32 = 2**24
_EXACT_FLOAT64 = 2**53
_PAIRS_AT_ONCE = 1 << 15
_NUMBERS_AT_ONCE = 1 << 20
"""Differences of counts that are held at once."""


class PairArrays(Struct, frozen=True, eq=False):
    """Comparisons of F methods with M over their common tasks: arrays (F, M)."""

    tasks: NDArray[np.int64]
    difference: NDArray[np.float64]
    halfwidth: NDArray[np.float64]
    """Mean paired difference and half-width of its interval, percentage points; NaN where T < 2."""
    verdict: NDArray[np.int8]
    direct: NDArray[np.int8]
    """Positions in :data:`analysis_sql.comparison.verdicts.VERDICTS`."""


def pair_arrays(
    counts: Counts, requested: NDArray[np.bool_], kind: IntervalKind, level: float
) -> PairArrays:
    """Compare the first F methods with the `requested` ones (F, M), over their common tasks.

    A few rows are computed at a time, so that they stay in the processor's cache.
    """
    shape = requested.shape
    products = _Products(counts)
    own_mean = products.own.mean
    own_width = halfwidths(products.own, kind, level)
    tasks = np.zeros(shape, np.int64) if products.lengths_differ else counts.tasks[:1]
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
        method_moments, versus_moments, difference = products.moments(*block)
        widths = halfwidths(difference, kind, level)
        if products.lengths_differ:
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
    """Return half-widths: NaN where equal differences allow no verdict, 0 of identical methods."""
    widths = np.where(verdict == NOT_ESTIMABLE, np.nan, widths)
    return np.where((verdict == IDENTICAL) & np.isnan(widths), 0.0, widths)


Positions = tuple[Ints, Ints]
"""Positions of the first and the second methods of pairs (P,)."""


class Laws(Protocol):
    """The sampling distributions of means or of differences, which depend on their moments too.

    Half-widths are continuous in the level, and p is their inverse: a difference is significant at
    a level exactly where p is below 1 - level, and p is 1 - level where the interval ends at 0
    (nearly, where training runs count, for which p is interpolated).  Both count training runs.
    """

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths (P,), percentage points; NaN without an interval."""
        ...

    def p(self, moments: Moments) -> Floats:
        """Compute two-sided p-values (P,) of the hypothesis that a mean is 0; NaN without one."""
        ...


_Compute = Callable[[Laws, Moments], Floats]
"""Computes half-widths or p-values."""


class Kind(Struct, frozen=True):
    """A kind of interval: half-widths and p-values, given the design of a task set.

    An interval is mean ± half-width.  The order of tasks, and the order and names of methods,
    change nothing.  A kind that is not to be narrower than another yields the laws of both: the
    wider half-width and the larger p count.
    """

    name: IntervalKind
    of_queries: ClassVar[bool] = False
    """Whether laws may see which queries were right, so that equal counts are not equal answers."""

    def laws(
        self, design: Any, counts: Counts, tasks: int, pairs: Positions | None, moments: Moments
    ) -> Iterator[tuple[Any, Laws]]:
        """Yield blocks of rows, and their laws, over the first tasks.

        A row is one of the pairs (P,), or if these are None one of all methods (M,); `moments` are
        those of the rows.
        """
        raise NotImplementedError

    def independent(self, design: Any, tasks: int) -> int | None:
        """Count the independent tasks among the first, or return None if all are.

        They decide where all differences are equal.
        """
        return None

    def method_halfwidths(self, design: Any, counts: Counts, level: float) -> Floats:
        """Compute half-widths (M,) of methods' means, each over the tasks that it answered."""
        return self._by_method(design, counts, lambda laws, part: laws.halfwidths(part, level))

    def method_p_values(self, design: Any, counts: Counts) -> Floats:
        """Compute two-sided p-values (M,) of methods' means, or mean differences, being 0."""
        return self._by_method(design, counts, lambda laws, part: laws.p(part))

    def _by_method(self, design: Any, counts: Counts, compute: _Compute) -> Floats:
        values, all_moments = np.full(len(counts), np.nan), counts.moments()
        for tasks, rows in _by_tasks(counts.tasks):
            part = counts if len(rows) == len(counts) else counts.select(rows)
            moments = all_moments.select(rows)
            laws = self.laws(design, part, tasks, None, moments)
            values[rows] = _largest(laws, moments, compute)
        return values

    def pairs(self, design: Any, counts: Counts, level: float) -> Pairs:
        """Return the comparisons of a set's methods."""
        return Pairs(self, design, counts, level)

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute two-sided p-values (P,) of pairs of methods, at two arrays of positions."""
        p, differences = np.full(len(methods), np.nan), pair_differences(counts, methods, versus)
        for tasks, rows in _by_tasks(np.minimum(counts.tasks[methods], counts.tasks[versus])):
            moments = differences.select(rows)
            laws = self.laws(design, counts, tasks, (methods[rows], versus[rows]), moments)
            p[rows] = _largest(laws, moments, lambda laws, part: laws.p(part))
        return p


def _by_tasks(tasks: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each number of tasks above 0, and the positions that have it."""
    for number in np.unique(tasks[tasks > 0]).tolist():
        yield number, np.flatnonzero(tasks == number)


def _largest(blocks: Iterable[tuple[Any, Laws]], moments: Moments, compute: _Compute) -> Floats:
    """Compute the largest value (P,) by all laws that a row has; NaN if it has none."""
    values = np.full(np.shape(moments.total), -np.inf)
    for rows, laws in blocks:
        values[rows] = np.maximum(values[rows], compute(laws, moments.select(rows)))
    return np.where(np.isneginf(values), np.nan, values)


class Pairs:
    """The comparisons of a task set's methods by one kind, each pair over its common tasks."""

    def __init__(self, kind: Kind, design: Any, counts: Counts, level: float) -> None:
        self.kind, self.counts, self.level = kind.name, counts, level
        self._kind, self._design = kind, design
        self._own_widths: dict[int, Floats] = {}  # (M,) of means over the first tasks

    def columns(self, methods: int | Ints, versus: Ints) -> PairColumns:
        """Compare one method or several with others (P,), at least one pair, by positions."""
        methods, versus = np.broadcast_arrays(methods, versus)
        common = np.minimum(self.counts.tasks[methods], self.counts.tasks[versus])
        order = np.argsort(common, kind="stable")
        parts = []
        for rows in np.split(order, np.flatnonzero(np.diff(common[order])) + 1):
            tasks = int(common[rows[0]])
            step = max(1, _NUMBERS_AT_ONCE // max(tasks, 1))
            for start in range(0, rows.size, step):
                block = rows[start : start + step]
                parts.append(self._over_first_tasks(tasks, methods[block], versus[block]))
        return PairColumns.join(parts).select(np.argsort(order))

    def _widths(self, tasks: int, pairs: Positions | None, moments: Moments) -> Floats:
        """Compute half-widths of pairs, or of all methods, over the first tasks; NaN without."""
        blocks = self._kind.laws(self._design, self.counts, tasks, pairs, moments)
        return _largest(blocks, moments, lambda laws, part: laws.halfwidths(part, self.level))

    def _over_first_tasks(self, tasks: int, methods: Ints, versus: Ints) -> PairColumns:
        used, position = np.unique([methods, versus], return_inverse=True)
        position = position.reshape(2, -1)
        own = self.counts.select(used).first_tasks(tasks).moments()
        if tasks not in self._own_widths:
            moments = self.counts.first_tasks(tasks).moments()
            self._own_widths[tasks] = self._widths(tasks, None, moments)
        own_widths = self._own_widths[tasks][used]
        difference = self.counts.differences(methods, versus, tasks).moments()
        paired = self._widths(tasks, (methods, versus), difference)
        independent = None
        if np.any(difference.constant):  # the search takes long, and is rarely needed
            independent = self._kind.independent(self._design, tasks)
        verdict = paired_verdicts(difference, paired, self.kind, self.level, independent)
        if isinstance(self._kind, PrimaryKind):
            paired = _reported_widths(paired, verdict)
        if self._kind.of_queries:
            verdict = np.where((verdict == IDENTICAL) & np.isnan(paired), NOT_ESTIMABLE, verdict)
        mean = np.stack([*own.mean[position], difference.mean])
        halfwidth = np.stack([*own_widths[position], paired])
        return PairColumns(
            kind=self.kind,
            level=self.level,
            tasks=np.full(len(methods), tasks),
            mean=mean,
            halfwidth=halfwidth,
            constant=np.stack([*own.constant[position], difference.constant]),
            verdict=verdict,
            direct=direct_verdicts(mean[0], halfwidth[0], mean[1], halfwidth[1]),
        )


class PrimaryLaws(Struct, frozen=True):
    """The laws of a kind that needs moments alone: ``open`` or ``closed``."""

    kind: IntervalKind

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths (P,) by :func:`analysis_sql.intervals.intervals.halfwidths`."""
        return np.asarray(halfwidths(moments, self.kind, level))

    def p(self, moments: Moments) -> Floats:
        """Compute p-values (P,) by :func:`analysis_sql.comparison.verdicts.paired_p`."""
        return np.asarray(paired_p(moments, self.kind), np.float64)


class PrimaryKind(Kind, frozen=True):
    """A kind that needs no design."""

    def laws(self, *_: Any) -> Iterator[tuple[Any, Laws]]:
        """Yield all rows as one block."""
        yield slice(None), PrimaryLaws(self.name)


def pair_differences(counts: Counts, first: NDArray[Any], second: NDArray[Any]) -> Moments:
    """Compute moments (P,) of differences of pairs of methods, over their common tasks."""
    tasks = counts.tasks
    if first.size < len(counts) and (tasks == tasks[0]).all():  # few pairs: not all are needed
        return counts.differences(first, second, tasks[0]).moments()
    rows, columns = (slice(int(i.min()), int(i.max()) + 1) for i in (first, second))
    moments = _Products(counts).moments(rows, columns)[2]
    return moments.select((first - rows.start, second - columns.start))


class _Products:
    """The sums over common tasks of all pairs, a block of rows and columns at a time.

    Sums of integers are exact, by the fastest type of number that is exact for them.
    """

    def __init__(self, counts: Counts) -> None:
        self._counts, self.own = counts, counts.moments()
        x, tasks = counts.correct, counts.tasks
        self._sum_type: Any = np.float64
        product_type: Any = np.float64
        if x.dtype.kind != "f":
            self._sum_type = np.int64
            largest = max(int(x.max(initial=0)), -int(x.min(initial=0)), 1)
            bound = largest**2 * x.shape[1]
            if bound < _EXACT_FLOAT32:
                product_type = np.float32
            elif bound >= _EXACT_FLOAT64:
                product_type = np.int64
        self._x = x.astype(product_type)
        self.lengths_differ = bool((tasks != tasks[0]).any())
        self._runs = bool(counts.run_variance.any())
        self._units_differ = bool((counts.queries_per_task != counts.queries_per_task[0]).any())
        if self.lengths_differ:
            self._answered = (np.arange(x.shape[1]) < tasks[:, None]).astype(self._x.dtype)
            self._squared = self._x**2

    def moments(self, rows: slice, columns: slice) -> tuple[Moments, Moments, Moments]:
        """Return the moments of methods, of others and of their differences.

        Methods are at `rows` and others at `columns`; all moments broadcast to (rows, columns).
        """

        def times(a: NDArray[Any], b: NDArray[Any], dtype: Any = self._sum_type) -> NDArray[Any]:
            return np.asarray(a[rows] @ b[columns].T).astype(dtype, copy=False)

        counts, units = self._counts, self._counts.queries_per_task
        products = times(self._x, self._x)
        if self.lengths_differ:
            answered = self._answered
            common = times(answered, answered, np.int64)
            total, squares = times(self._x, answered), times(self._squared, answered)
            versus_total, versus_squares = times(answered, self._x), times(answered, self._squared)
        else:
            common = counts.tasks[:1, None]
            totals, all_squares = np.asarray(self.own.total), np.asarray(self.own.squares)
            total, squares = totals[rows, None], all_squares[rows, None]
            versus_total, versus_squares = totals[None, columns], all_squares[None, columns]

        def own(total: Any, squares: Any, index: Any) -> Moments:
            terms = counts.run_variance[index], counts.run_square[index]
            return Moments(common, total, squares, units[index], *terms, counts.own_tasks)

        method = own(total, squares, (rows, None))
        versus = own(versus_total, versus_squares, (None, columns))
        unit: Integers = int(units[0])
        if self._units_differ:
            unit = np.lcm(units[rows, None], units[columns])
            a, b = unit // units[rows, None], unit // units[columns]
            total, squares = a * total, a * a * squares
            versus_total, versus_squares = b * versus_total, b * b * versus_squares
            products *= a * b
        products *= -2
        products += squares
        products += versus_squares
        variance, square = 0.0, 0.0
        if self._runs:
            positions = np.arange(len(counts))
            variance, square = counts.terms_of_pairs(positions[rows, None], positions[columns])
        terms = variance, square, counts.own_tasks
        return method, versus, Moments(common, total - versus_total, products, unit, *terms)
