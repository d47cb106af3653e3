"""Leave-one-out intervals of methods and of all their paired differences (docs/intervals.md).

The mean over B tasks that reuse images is an incomplete U-statistic. Its variance over new images
(classes, superclasses) is V, the jackknife's (:mod:`analysis_sql.leave_one_out.jackknife`), plus
v_mc, the noise of finitely many tasks. With T = max(V, 0) + v_mc and τ the standard error of V::

    h = q √( T + (z²+1)/4 · τ²/(T+2τ) )

where z is the normal quantile and q is z for images, Student's for classes and superclasses. For a
bound, a multiple of v_mc, τ is 0 and q is Student's with B-1 degrees of freedom, or C-1 for classes
if these are fewer; for images q is Student's with B-1 if there are fewer than 30 tasks.

Every term is bilinear in the values of tasks, so a difference j - k has G_jj + G_kk - 2 G_jk of G =
A W A'. Where two methods hardly differ this cancels, and sums are of the differences themselves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from analysis_sql.comparisons import Kind, Laws, Positions, constant_p
from analysis_sql.intervals.arrays import Bools, Floats, Ints
from analysis_sql.intervals.counts import (
    NO_RUNS,
    REFERENCE,
    Counts,
    Moments,
    RightQueries,
    RunTerms,
    for_new_runs,
    p_for_new_runs,
)
from analysis_sql.intervals.intervals import round_significant
from analysis_sql.leave_one_out.all_ways import AllWayDesign, AllWaySums
from analysis_sql.leave_one_out.design import LEAST_TASKS, LEFT_OUT, LeftOut, TaskDesign
from analysis_sql.leave_one_out.episodes import EpisodeDesign
from analysis_sql.leave_one_out.jackknife import Forms, Jackknife, blocks_of
from analysis_sql.leave_one_out.queries import ProductSums

Design = TaskDesign | EpisodeDesign | AllWayDesign
"""Tasks of one size, of different ones, or of all classes."""

_NEARLY_EQUAL = 1e-4
"""Share of two methods' sums of squares below which that of the difference is computed directly."""

_CONSTANT = 1e-9
"""Values that differ by less are equal: fractions of queries differ by 1e-5 or more."""

_STEPS = 30
"""Steps of the search for a p-value, more than it needs."""


class Law(NamedTuple):
    """The sampling distributions of one kind, elementwise; see the module's docstring."""

    variance: Floats
    """T."""
    tau: Floats
    df: Any
    """The degrees of freedom of q, infinite for the normal quantile: a number, or an array."""
    draws: RunTerms = NO_RUNS
    """D and V_rq of draws of all classes; see :mod:`analysis_sql.leave_one_out.all_ways`."""

    @property
    def total(self) -> Floats:
        """The variance, with that of new draws."""
        d, _, v_rq = self.draws
        return np.asarray(np.maximum(self.variance + np.maximum(d - v_rq, 0.0), d))

    @property
    def _uncertainty(self) -> Floats:
        """τ²/(T+2τ), 0 where both are 0."""
        denominator = self.variance + 2.0 * self.tau
        zeros = np.zeros_like(self.tau)
        return np.asarray(np.divide(self.tau**2, denominator, out=zeros, where=denominator > 0))

    def _task_halfwidth(self, level: float) -> Floats:
        """Return h without draws."""
        tail = (1.0 - level) / 2.0
        z = ndtri(tail)
        of_tau = (z * z + 1.0) / 4.0 * self._uncertainty
        return np.asarray(-stdtrit(self.df, tail) * np.sqrt(self.variance + of_tau))

    def halfwidth(self, level: float) -> Floats:
        """Return h."""
        return np.asarray(for_new_runs(self._task_halfwidth(level), self.draws, level))

    def p(self, mean: Floats) -> Floats:
        """Return 1 minus the largest level at which the interval of a mean excludes 0.

        If q is z, the z with h(z) = |mean| solves a quadratic equation in z²; else it lies between
        0 and that root.
        """
        size, c = np.abs(mean), self._uncertainty
        linear = self.variance + c / 4.0
        root = np.sqrt(linear**2 + c * size**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(size > 0, np.sqrt(2.0 * size**2 / (linear + root)), 0.0)
        if not np.isinf(self.df).all():
            rows = (z > 0) & np.isfinite(z)
            df = np.broadcast_to(self.df, z.shape)
            z[rows] = _students_z(z[rows], size[rows], self.variance[rows], c[rows], df[rows])
        p = np.asarray(np.minimum(2.0 * ndtr(-z), 1.0))
        if self.draws is NO_RUNS:
            return p
        return np.asarray(p_for_new_runs(p, mean, self._task_halfwidth(REFERENCE), self.draws))


def _students_z(highest: Floats, size: Floats, variance: Floats, c: Floats, df: Floats) -> Floats:
    """Return the z (N,) at which intervals end at 0, by Steffensen's method between bounds."""

    def improved(z: Floats) -> Floats:
        width = np.sqrt(variance + (z * z + 1.0) / 4.0 * c)
        return np.asarray(np.clip(-ndtri(stdtr(df, -size / width)), 0.0, highest))

    z = highest
    for _ in range(_STEPS):
        first = improved(z)
        second = improved(first)
        bend = second - 2.0 * first + z
        step = np.divide((first - z) ** 2, bend, out=np.zeros_like(z), where=bend != 0)
        accelerated = np.where(bend != 0, z - step, first)
        z = np.clip(accelerated, np.minimum(z, first), np.maximum(z, first))
        if (np.abs(first - second) <= 1e-12 * np.maximum(second, 1e-12)).all():
            break
    return z


class Spread(Struct, frozen=True, eq=False, dict=True):
    """Intervals of one kind, (R, S): row against column, or of a method on the diagonal."""

    halfwidth: Floats
    """In fractions; infinite where nothing can be estimated (all tasks have the same value), 0
    where two methods are identical."""
    df: Floats
    """Degrees of freedom of Student's t, infinite for the normal quantile."""
    monte_carlo_share: Floats
    """v_mc/T, the part of the variance that more tasks of the same images would remove; for draws
    of all classes the part of D."""
    _mean: Floats
    _laws: tuple[Law, ...]

    @cached_property
    def p(self) -> Floats:
        """Two-sided p-values: 1 minus the largest level at which h excludes 0, or 1."""
        p = np.zeros_like(self._mean)
        for law in self._laws:
            p = np.maximum(p, law.p(self._mean))
        estimable = np.isfinite(self.halfwidth) & (self.halfwidth > 0)
        return np.where(estimable, p, 1.0)


class LeaveOneOut(Struct, frozen=True, eq=False):
    """Means of methods and of their differences, with their intervals."""

    mean: Floats
    """(R, S): the accuracy of a method where row and column are the same, else the accuracy of the
    row minus that of the column."""
    images: Spread | None
    classes: Spread | None
    superclasses: Spread | None
    """None where there is no interval; `why` has the reason."""
    why: Mapping[LeftOut, str]


def leave_one_out(
    design: Design,
    y: NDArray[Any],
    level: float,
    right: Sequence[RightQueries | None] = (),
) -> LeaveOneOut:
    """Compute the intervals of M methods and of all pairs, from values (M, B) of the tasks.

    `right` are the right queries of inductive methods, None for others.
    """
    methods = np.arange(len(np.atleast_2d(y)))
    return Influences(design, y, right).block(methods, methods, level)


class Sums:
    """V, τ and the degrees of freedom of a jackknife, of methods (3, M) and of differences."""

    def __init__(self, design: Any, name: LeftOut, values: Floats) -> None:
        self._of_values, self._values = partial(Sums, design, name), values
        jackknife: Jackknife = design.jackknives[name]
        x = design.residuals(values, name)
        self._jackknife, self._a = jackknife, jackknife.coordinates(x)
        self._forms = Forms(self._a, jackknife.weights), Forms(x, jackknife.noise)
        self.total = Forms(self._a, jackknife.totals)

    @property
    def variance(self) -> Floats:
        """V of each method (M,)."""
        return self._forms[0].own + self._forms[1].own

    @property
    def own(self) -> Floats:
        """V, τ and the degrees of freedom of each method (3, M)."""
        return self._stacked(self.variance, self.total.own, self._jackknife.freedom(self._a))

    def block(self, rows: Ints, columns: Ints, close: Any) -> Floats:
        """Return V, τ and the degrees of freedom of pairs (3, R, S).

        Those of `close` pairs (P, 2) are computed from their differences, which keeps all digits.
        """
        variance, noise, total = (form.block(rows, columns) for form in (*self._forms, self.total))
        freedom = self._jackknife.freedom(self._a)
        if self._jackknife.tails:  # fourth powers are of the differences themselves
            freedom = np.empty(total.shape)
            for i, row in enumerate(rows.tolist()):
                a = self._a[row] - self._a[columns]
                a[columns == row] = self._a[row]
                freedom[i] = self._jackknife.freedom(a)
        sums = self._stacked(variance + noise, total, freedom)
        for index in blocks_of(close, self._values.shape[1]):
            differences = self._values[rows[index[0]]] - self._values[columns[index[1]]]
            sums[:, *index] = self._of_values(differences).own
        return sums

    def _stacked(self, variance: Floats, total: Floats, freedom: Floats) -> Floats:
        tau = self._jackknife.error(variance, total)
        return np.stack([variance, tau, np.broadcast_to(freedom, tau.shape)])


class Influences:
    """The influence of each image, class and superclass on the means of M methods."""

    def __init__(
        self, design: Design, y: NDArray[Any], right: Sequence[RightQueries | None] = ()
    ) -> None:
        values = np.asarray(y, np.float64)
        self._y, self._mean = values, values.mean(axis=1)
        self._constant = np.ptp(values, axis=1) <= _CONSTANT
        self._design: Any = design
        self._noise = self._noise_of(values)
        tasks, unknown = design.tasks, [None] * len(values)
        self._right = [queries and queries.first_tasks(tasks) for queries in right] or unknown
        self._sums: dict[LeftOut, Sums] = {}
        self._queries: ProductSums | None = None
        self._all_ways: AllWaySums | None = None
        if isinstance(design, AllWayDesign):
            self._all_ways = AllWaySums(design, self._right)
        elif design.queries is not None and any(right is not None for right in self._right):
            self._queries = design.queries.sums(design.residuals(values), self._right)

    def _noise_of(self, values: Floats) -> Forms:
        """Return v_mc: the squares of centred values over B(B-1)."""
        tasks = self._design.tasks
        centred = values - values.mean(axis=1, keepdims=True)
        return Forms(centred, np.full(tasks, 1.0 / (tasks * max(tasks - 1, 1))))

    def _sums_of(self, name: LeftOut) -> Sums:
        """Return the sums of whole tasks, which are computed once."""
        if name not in self._sums:
            self._sums[name] = Sums(self._design, name, self._y)
        return self._sums[name]

    def block(self, rows: Ints, columns: Ints, level: float) -> LeaveOneOut:
        """Compute rows and columns of :func:`leave_one_out`, by positions of methods."""
        same = rows[:, None] == columns
        mean = np.where(same, self._mean[rows, None], self._mean[rows, None] - self._mean[columns])
        constant = same & self._constant[columns]
        noise, own = self._noise.block(rows, columns), self._noise.own
        rounding = _CONSTANT**2  # for two constant methods
        least = np.maximum(_NEARLY_EQUAL * (own[rows, None] + own[columns]), rounding)
        close = np.argwhere(~same & (noise <= least))
        for index in blocks_of(close, self._design.tasks):
            differences = self._y[rows[index[0]]] - self._y[columns[index[1]]]
            mean[index], noise[index] = differences.mean(axis=1), self._noise_of(differences).own
            constant[index] = np.ptp(differences, axis=1) <= _CONSTANT
        if self._all_ways is not None:
            laws, noise, constant = self._laws_of_draws(self._all_ways.block(rows, columns))
        else:
            laws = self._laws(noise, lambda sums: sums.block(rows, columns, close))
        mean = np.where(constant & (np.abs(mean) <= _CONSTANT), 0.0, mean)
        identical = constant & (mean == 0) & ~same
        for i, j in np.argwhere(identical).tolist():  # equal counts, perhaps of different queries
            right, versus = self._right[rows[i]], self._right[columns[j]]
            if right and versus and not np.array_equal(right.shares, versus.shares):
                identical[i, j] = False
                constant[i, j] &= self._queries is None
        return self._result(mean, noise, laws, constant, identical, level)

    def own(self, level: float) -> LeaveOneOut:
        """Compute the intervals of the methods' accuracies, (M, 1)."""
        noise, constant = self._noise.own[:, None], self._constant[:, None]
        if self._all_ways is not None:
            laws, noise, constant = self._laws_of_draws(self._all_ways.own[..., None])
        else:
            laws = self._laws(noise, lambda sums: sums.own[..., None])
        identical = np.zeros_like(constant)
        return self._result(self._mean[:, None], noise, laws, constant, identical, level)

    def variance(self, name: LeftOut) -> Floats:
        """Return V of each method (M,), the jackknife's variance, which may be below 0."""
        return self._sums_of(name).variance

    def total(self, name: LeftOut) -> Floats:
        """Return tot of each method (M,): V before the noise of finitely many tasks is removed."""
        return self._sums_of(name).total.own

    def _laws(self, noise: Floats, values_of: Callable[[Any], Floats]) -> dict[LeftOut, Law]:
        """Return the laws of methods or pairs; `values_of` takes theirs from sums."""
        laws: dict[LeftOut, Law] = {}
        design, noise = self._design, np.maximum(noise, 0.0)
        for name in LEFT_OUT:
            if name in design.bounded:
                bound = design.bound(name) * noise
                laws[name] = Law(bound, np.zeros_like(bound), design.bound_freedom(name))
            elif name in design.jackknives:
                df: Any = np.inf
                values = values_of(self._queries) if name == "images" and self._queries else None
                if values is None or np.isnan(values).any():
                    variance, tau, df = values_of(self._sums_of(name))
                    of_tasks = np.stack([variance, tau])
                    values = (
                        of_tasks if values is None else np.where(np.isnan(values), of_tasks, values)
                    )
                if name == "images":
                    # with few tasks v_mc itself is hardly known
                    df = design.tasks - 1.0 if design.tasks < LEAST_TASKS else np.inf
                laws[name] = Law(np.maximum(values[0], 0.0) + noise, values[1], df)
        return laws

    def _laws_of_draws(self, sums: Floats) -> tuple[dict[LeftOut, Law], Floats, Bools]:
        """Return the laws of draws of all classes from :class:`AllWaySums`.

        The variance of draws, and where nothing varies, are returned with them.
        """
        images, df, d, v_rq = sums[:4]
        draws, no_tau = RunTerms(d, d**2 / max(self._design.tasks - 1, 1), v_rq), 0 * v_rq
        laws: dict[LeftOut, Law] = {"images": Law(images, no_tau, df, draws)}
        if len(sums) > 4:
            laws["classes"] = Law(sums[4], no_tau, float(self._design.class_of_image.max()), draws)
        return laws, d, laws["images"].total == 0

    def _result(
        self,
        mean: Floats,
        noise: Floats,
        laws: Mapping[LeftOut, Law],
        constant: Bools,
        identical: Bools,
        level: float,
    ) -> LeaveOneOut:
        """Compute intervals, each kind at least as wide as the kinds before it."""
        spreads: dict[LeftOut, Spread] = {}
        so_far: tuple[Law, ...] = ()
        widest = np.zeros(mean.shape)
        for name, law in laws.items():
            widest, so_far = np.maximum(widest, law.halfwidth(level)), (*so_far, law)
            widths = np.where(identical, 0.0, np.where(constant, np.inf, widest))
            share = np.divide(noise, law.total, out=np.zeros_like(widest), where=law.total > 0)
            freedom = np.broadcast_to(law.df, mean.shape)
            spreads[name] = Spread(widths, freedom, share, mean, so_far)
        images, classes, superclasses = map(spreads.get, LEFT_OUT)
        return LeaveOneOut(mean, images, classes, superclasses, self._design.why)


_ROWS = 64
"""Methods that are compared with all others at once."""

_MOST_CACHED = 20
"""Blocks of so many methods that are cached."""


class FirstTasks:
    """The design of a set, `whole`, and of its first tasks, as many as methods answered.

    Results of the last counts are cached for all kinds and levels.
    """

    def __init__(self, whole: Design) -> None:
        self.whole = whole
        self._designs: dict[int, Design] = {}
        self._counts: Counts | None = None
        self._influences: dict[int, Influences] = {}
        self._cache: OrderedDict[tuple[int, int, float], LeaveOneOut] = OrderedDict()

    def at(self, tasks: int, name: LeftOut) -> Design | None:
        """Return the design of the first tasks; None where they have no interval of the kind."""
        if tasks < (1 if self.whole.tasks == 1 and isinstance(self.whole, AllWayDesign) else 2):
            return None
        design = self._first(tasks)
        return None if name in design.why else design

    def _first(self, tasks: int) -> Design:
        if tasks not in self._designs:
            self._designs[tasks] = self.whole.prefix(tasks)
        return self._designs[tasks]

    def own(self, counts: Counts, tasks: int, level: float) -> LeaveOneOut:
        """Return the intervals of the methods' accuracies over the first tasks, (M, 1)."""
        key = tasks, -1, level
        return self._cached(counts, key, lambda influences: influences.own(level))

    def row(self, counts: Counts, tasks: int, method: int, level: float) -> LeaveOneOut:
        """Return the intervals of the method's block of :data:`_ROWS` methods with all others."""
        methods, block = np.arange(len(counts)), method // _ROWS
        rows = methods[block * _ROWS : (block + 1) * _ROWS]
        key = tasks, block, level
        return self._cached(counts, key, lambda influences: influences.block(rows, methods, level))

    def _cached(
        self,
        counts: Counts,
        key: tuple[int, int, float],
        compute: Callable[[Influences], LeaveOneOut],
    ) -> LeaveOneOut:
        if self._counts is not counts:
            self._counts, self._influences = counts, {}
            self._cache.clear()
        tasks = key[0]
        if tasks not in self._influences:
            y = counts.shares(tasks)
            self._influences[tasks] = Influences(self._first(tasks), y, counts.right)
        if key not in self._cache:
            self._cache[key] = compute(self._influences[tasks])
            if len(self._cache) > _MOST_CACHED:
                self._cache.popitem(last=False)
        return self._cache[key]


class LeftOutLaws(Struct, frozen=True):
    """The laws of some methods, or pairs, over the first tasks by one kind alone."""

    name: LeftOut
    intervals_at: Callable[[float], LeaveOneOut]
    """Computes intervals at a level."""
    index: Any
    """Rows and columns of the methods or pairs."""
    independent: int
    """Tasks without a common unit, which decide where values are all equal."""

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths in percentage points; NaN if infinite."""
        widths = getattr(self.intervals_at(level), self.name).halfwidth[self.index]
        widths = np.where(np.isinf(widths), np.nan, round_significant(100.0 * widths))
        return np.asarray(for_new_runs(widths, moments.run_terms, level))

    def p(self, moments: Moments) -> Floats:
        """Compute two-sided p-values; those of the sign-flip test for constants, or NaN."""
        spread = getattr(self.intervals_at(REFERENCE), self.name)
        widths = spread.halfwidth[self.index]
        p = np.where(np.isfinite(widths), round_significant(spread.p[self.index]), np.nan)
        constant = np.asarray(moments.constant) & (self.independent > 0)
        p = np.where(constant, constant_p(self.independent), p)
        at_reference = partial(round_significant, 100.0 * widths)
        bends = bool(np.isfinite(spread.df).any())
        p = moments.p_for_new_runs(p, at_reference, bends=bends, constant=constant)
        return np.where(np.asarray(moments.all_zero), 1.0, p)


class LeftOutKind(Kind, frozen=True):
    """A kind of interval that leaves out images, classes or superclasses."""

    name: LeftOut
    of_queries = True

    def laws(
        self,
        design: FirstTasks,
        counts: Counts,
        tasks: int,
        pairs: Positions | None,
        moments: Moments,
    ) -> Iterator[tuple[Any, Laws]]:
        """Yield the laws of the kind and of the kinds before it, none of which is wider."""
        if (first := design.at(tasks, self.name)) is None:
            return
        kinds = LEFT_OUT[: LEFT_OUT.index(self.name) + 1]
        if pairs is None:
            own = partial(design.own, counts, tasks)
            own_index = slice(None), 0
            for kind in kinds:
                yield slice(None), LeftOutLaws(kind, own, own_index, first.disjoint_tasks(kind))
            return
        methods, versus = pairs
        for method in np.unique(methods).tolist():
            rows = np.flatnonzero(methods == method)
            of_method = partial(design.row, counts, tasks, method)
            pair_index = method % _ROWS, versus[rows]
            for kind in kinds:
                yield rows, LeftOutLaws(kind, of_method, pair_index, first.disjoint_tasks(kind))

    def independent(self, design: FirstTasks, tasks: int) -> int:
        """Count the tasks without a common unit."""
        first = design.at(tasks, self.name)
        return 0 if first is None else first.disjoint_tasks(self.name)
