"""All pairs of methods on a task set at once: one matrix product gives every covariance.

With X the counts of correct queries (methods x tasks), X X' holds Σ_t x_it x_jt of every pair,
exactly, since counts are integers; so Σ(x_i - x_j)² = Σx_i² + Σx_j² - 2 Σx_i x_j in one pass.
Methods of several runs count in units of their own; each pair is taken to the least common multiple
of its two units, never all methods to one of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

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


Places = tuple[Ints, Ints]
"""Positions of the first and the second methods of pairs (P,)."""


class Laws(Protocol):
    """What half-widths and p-values of means, or of differences, follow from, given their moments.

    Half-widths are continuous in the level, and p is their inverse: a difference is significant at
    a level exactly where p is below 1 - level, and p is 1 - level where the interval ends at 0
    (nearly, where training runs count, which p interpolates); both count training runs.
    """

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths (P,), percentage points; NaN without an interval."""
        ...

    def p(self, moments: Moments) -> Floats:
        """Compute two-sided p-values (P,), of means being 0; NaN where there is none."""
        ...


class Kind(Struct, frozen=True):
    """Computes half-widths and p-values of a kind of interval, by a set's design.

    An interval is mean ± half-width.  The order of tasks, and the order and names of methods,
    change nothing.  A kind about more than another gives the laws of both: the wider half-width and
    the larger p count.
    """

    name: IntervalKind

    def laws(
        self, design: Any, counts: Counts, tasks: int, pairs: Places | None, moments: Moments
    ) -> Iterator[tuple[Any, Laws]]:
        """Give some places at a time, and their laws, over the first tasks.

        Of pairs (P,), or of None all methods (M,); their moments are those of the same.
        """
        raise NotImplementedError

    def independent(self, design: Any, tasks: int) -> int | None:
        """Count the independent ones of the first tasks, None of all.

        By these, differences that are all equal are judged.
        """
        return None

    def method_halfwidths(self, design: Any, counts: Counts, level: float) -> Floats:
        """Compute half-widths (M,) of methods' means, each over the tasks that it answered."""
        return self._by_method(design, counts, lambda laws, own: laws.halfwidths(own, level))

    def method_p_values(self, design: Any, counts: Counts) -> Floats:
        """Compute two-sided p-values (M,) of methods' means, which may be differences, being 0."""
        return self._by_method(design, counts, lambda laws, own: laws.p(own))

    def _by_method(
        self, design: Any, counts: Counts, compute: Callable[[Laws, Moments], Floats]
    ) -> Floats:
        values, moments = np.full(len(counts), np.nan), counts.moments()
        for tasks, rows in _by_tasks(counts.tasks):
            some = counts if len(rows) == len(counts) else counts.some(rows)
            own = moments.some(rows)
            values[rows] = _largest(self.laws(design, some, tasks, None, own), own, compute)
        return values

    def pairs(self, design: Any, counts: Counts, level: float) -> Pairs:
        """Return the comparisons of a set's methods."""
        return Pairs(self, design, counts, level)

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute two-sided p-values (P,) of pairs of methods, at two lists of positions."""
        p, differences = np.full(len(methods), np.nan), pair_differences(counts, methods, versus)
        for tasks, at in _by_tasks(np.minimum(counts.tasks[methods], counts.tasks[versus])):
            some = differences.some(at)
            every = self.laws(design, counts, tasks, (methods[at], versus[at]), some)
            p[at] = _largest(every, some, lambda laws, difference: laws.p(difference))
        return p


def _by_tasks(tasks: Ints) -> Iterator[tuple[int, Ints]]:
    """Give each number of tasks above 0, and its places."""
    for number in np.unique(tasks[tasks > 0]).tolist():
        yield number, np.flatnonzero(tasks == number)


def _largest(
    every: Iterable[tuple[Any, Laws]], moments: Moments, compute: Callable[[Laws, Moments], Floats]
) -> Floats:
    """Compute the largest value (P,) by the laws of some places at a time; NaN of none."""
    values = np.full(np.shape(moments.total), -np.inf)
    for at, laws in every:
        values[at] = np.maximum(values[at], compute(laws, moments.some(at)))
    return np.where(np.isneginf(values), np.nan, values)


class Pairs:
    """Compares methods of a task set by one kind of interval, each pair over the tasks of both."""

    def __init__(self, how: Kind, design: Any, counts: Counts, level: float) -> None:
        self.kind, self.counts, self.level = how.name, counts, level
        self._how, self._design = how, design
        self._own: dict[int, Floats] = {}  # half-widths (M,) of means over the first tasks

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

    def _widths(self, tasks: int, pairs: Places | None, moments: Moments) -> Floats:
        """Compute half-widths of pairs, or all methods, over the first tasks; NaN of none."""
        every = self._how.laws(self._design, self.counts, tasks, pairs, moments)
        return _largest(every, moments, lambda laws, of: laws.halfwidths(of, self.level))

    def _first(self, tasks: int, methods: Ints, versus: Ints) -> PairColumns:
        """Compare methods with others over the first tasks."""
        rows, at = np.unique([methods, versus], return_inverse=True)
        own = self.counts.some(rows).first(tasks).moments()
        if tasks not in self._own:
            self._own[tasks] = self._widths(tasks, None, self.counts.first(tasks).moments())
        difference = self.counts.differences(methods, versus, tasks).moments()
        paired = self._widths(tasks, (methods, versus), difference)
        independent = None
        if np.any(difference.constant):  # it takes long to find, and matters rarely
            independent = self._how.independent(self._design, tasks)
        verdict = paired_verdicts(difference, paired, self.kind, self.level, independent)
        if isinstance(self._how, PrimaryKind):
            paired = _reported_widths(paired, verdict)
        if self.kind in ("images", "classes", "superclasses"):  # as many right, but others
            verdict = np.where((verdict == IDENTICAL) & np.isnan(paired), NOT_ESTIMABLE, verdict)
        mean, halfwidth, constant = (
            np.stack([*of_methods[at.reshape(2, -1)], of_pairs])
            for of_methods, of_pairs in (
                (own.mean, difference.mean),
                (self._own[tasks][rows], paired),
                (own.constant, difference.constant),
            )
        )
        direct = direct_verdicts(mean[0], halfwidth[0], mean[1], halfwidth[1])
        same = np.full(len(methods), tasks)
        about = self.kind, self.level
        return PairColumns(*about, same, mean, halfwidth, constant, verdict, direct)


class PrimaryLaws(Struct, frozen=True):
    """The law of a kind that needs moments alone: ``open`` or ``closed``."""

    kind: IntervalKind

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths (P,) by :func:`analysis_sql.intervals.intervals.halfwidths`."""
        return np.asarray(halfwidths(moments, self.kind, level))

    def p(self, moments: Moments) -> Floats:
        """Compute p-values (P,) by :func:`analysis_sql.comparison.verdicts.paired_p`."""
        return np.asarray(paired_p(moments, self.kind), np.float64)


class PrimaryKind(Kind, frozen=True):
    """A kind that needs no design."""

    def laws(self, *of: Any) -> Iterator[tuple[Any, Laws]]:
        """Give all places, and one law."""
        yield slice(None), PrimaryLaws(self.name)


def pair_differences(counts: Counts, first: NDArray[Any], second: NDArray[Any]) -> Moments:
    """Compute moments of differences of pairs of methods, arrays (P,), on the tasks of both."""
    tasks = counts.tasks
    if first.size < len(counts) and (tasks == tasks[0]).all():  # no need of all pairs
        return counts.differences(first, second, tasks[0]).moments()
    rows, columns = (slice(int(own.min()), int(own.max()) + 1) for own in (first, second))
    moments = _Products(counts).moments(rows, columns)[2]
    return moments.some((first - rows.start, second - columns.start))


class _Products:
    """The sums over common tasks of all pairs, some rows and columns at a time.

    Of integers they are exact, by the fastest product that is.
    """

    def __init__(self, counts: Counts) -> None:
        self._counts, self.own = counts, counts.moments()
        x, tasks = counts.correct, counts.tasks
        self._exact: Any = None if x.dtype.kind == "f" else np.int64
        largest = max(int(x.max(initial=0)), -int(x.min(initial=0)), 1)
        bound = largest**2 * x.shape[1]
        kind: Any = np.float32 if bound < _EXACT_FLOAT32 else np.float64
        if self._exact and bound >= _EXACT_FLOAT64:
            kind = np.int64
        self._x = x.astype(kind if self._exact else np.float64)
        self.lengths_differ = bool((tasks != tasks[0]).any())
        self._runs = bool(counts.run_variance.any())
        self._units_differ = bool((counts.queries_per_task != counts.queries_per_task[0]).any())
        if self.lengths_differ:
            self._answered = (np.arange(x.shape[1]) < tasks[:, None]).astype(self._x.dtype)
            self._squared = self._x**2

    def moments(self, rows: slice, columns: slice) -> tuple[Moments, Moments, Moments]:
        """Return moments of `rows`, `columns` and their differences, or that broadcast to these."""

        def times(a: NDArray[Any], b: NDArray[Any], exact: Any = self._exact) -> NDArray[Any]:
            return np.asarray(a[rows] @ b[columns].T).astype(exact or np.float64, copy=False)

        counts, units = self._counts, self._counts.queries_per_task
        products = times(self._x, self._x)
        if self.lengths_differ:
            answered = self._answered
            common = times(answered, answered, np.int64)
            row = times(self._x, answered), times(self._squared, answered)
            column = times(answered, self._x), times(answered, self._squared)
        else:
            common = counts.tasks[:1, None]
            sums = np.asarray(self.own.total), np.asarray(self.own.squares)
            row, column = ((sums[0][at], sums[1][at]) for at in ((rows, None), (None, columns)))

        def own(sums: Any, at: Any) -> Moments:
            terms = counts.run_variance[at], counts.run_square[at]
            return Moments(common, sums[0], sums[1], units[at], *terms, counts.own_tasks)

        both = own(row, (rows, None)), own(column, (None, columns))
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
            places = np.arange(len(counts))
            variance, square = counts.terms_of_pairs(places[rows, None], places[columns])
        terms = variance, square, counts.own_tasks
        return *both, Moments(common, row[0] - column[0], products, unit, *terms)
