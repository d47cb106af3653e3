"""Leave-one-out intervals of methods and of all their paired differences (docs/intervals.md).

The mean over B tasks that reuse images is an incomplete U-statistic. Its variance over new images
(classes, superclasses) is V, the jackknife's (:mod:`analysis_sql.leave_one_out.jackknife`), plus
v_mc, the noise of finitely many tasks. With T = max(V, 0) + v_mc and τ the standard error of V::

    h = q √( T + (z²+1)/4 · τ²/(T+2τ) )

where z is the normal quantile and q is z for images, Student's for classes and superclasses. Of a
bound, a multiple of v_mc, τ is 0 and q Student's with B-1 degrees of freedom, for classes C-1 where
these are fewer; for images q is the former with fewer than 30 tasks.

Every term is bilinear in the values of tasks, so a difference j - k has G_jj + G_kk - 2 G_jk of G =
A W A'. Where two methods hardly differ this cancels, and the difference itself is taken.
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

from analysis_sql.comparison.pairs import Kind, Laws, Positions
from analysis_sql.comparison.verdicts import constant_p
from analysis_sql.intervals.arrays import Bools, Floats, Ints, round_significant
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
from analysis_sql.leave_one_out.all_ways import AllWayDesign, AllWaySums
from analysis_sql.leave_one_out.design import LEAST_TASKS, LEFT_OUT, LeftOut, TaskDesign
from analysis_sql.leave_one_out.episodes import EpisodeDesign
from analysis_sql.leave_one_out.jackknife import Forms, Jackknife, some_of
from analysis_sql.leave_one_out.queries import ProductSums

Design = TaskDesign | EpisodeDesign | AllWayDesign
"""Tasks of one size, of different ones, or of all classes."""

_NEARLY_EQUAL = 1e-4
"""Where the squares of a difference sum to less than this share of the methods' own, they are
computed from the difference itself."""

_CONSTANT = 1e-9
"""Values that differ by less are equal: fractions of queries differ by 1e-5 or more."""

_STEPS = 30
"""Of the search for a p-value: more than any needs."""


class Law(NamedTuple):
    """What half-widths of one kind are computed from, elementwise; see the module."""

    variance: Floats
    """T."""
    tau: Floats
    df: Any
    """Those of q, infinite for the normal law: a number, or an array."""
    draws: RunTerms = NO_RUNS
    """D and V_rq of draws of all classes; see :mod:`analysis_sql.leave_one_out.all_ways`."""

    @property
    def whole(self) -> Floats:
        """The variance, with what new draws add."""
        of_draws, _, both = self.draws
        return np.asarray(np.maximum(self.variance + np.maximum(of_draws - both, 0.0), of_draws))

    @property
    def _uncertainty(self) -> Floats:
        """τ²/(T+2τ), 0 where both are."""
        below = self.variance + 2.0 * self.tau
        none = np.zeros_like(self.tau)
        return np.asarray(np.divide(self.tau**2, below, out=none, where=below > 0))

    def _of_tasks(self, level: float) -> Floats:
        """Return h without draws."""
        tail = (1.0 - level) / 2.0
        z = ndtri(tail)
        more = (z * z + 1.0) / 4.0 * self._uncertainty
        return np.asarray(-stdtrit(self.df, tail) * np.sqrt(self.variance + more))

    def halfwidth(self, level: float) -> Floats:
        """Return h."""
        return np.asarray(for_new_runs(self._of_tasks(level), self.draws, level))

    def p(self, mean: Floats) -> Floats:
        """Return 1 minus the largest level at which the interval of a mean excludes 0.

        z with h(z) = |mean| solves a quadratic equation in z² for the normal law, and else lies
        between 0 and that root.
        """
        size, c = np.abs(mean), self._uncertainty
        linear = self.variance + c / 4.0
        root = np.sqrt(linear**2 + c * size**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(size > 0, np.sqrt(2.0 * size**2 / (linear + root)), 0.0)
        if not np.isinf(self.df).all():
            some = (z > 0) & np.isfinite(z)
            df = np.broadcast_to(self.df, z.shape)
            z[some] = _students_z(z[some], size[some], self.variance[some], c[some], df[some])
        p = np.asarray(np.minimum(2.0 * ndtr(-z), 1.0))
        if self.draws is NO_RUNS:
            return p
        return np.asarray(p_for_new_runs(p, mean, self._of_tasks(REFERENCE), self.draws))


def _students_z(highest: Floats, size: Floats, variance: Floats, c: Floats, df: Floats) -> Floats:
    """Return the z (N,) at which intervals end at 0, by Steffensen's method between bounds."""

    def own(at: Floats) -> Floats:
        width = np.sqrt(variance + (at * at + 1.0) / 4.0 * c)
        return np.asarray(np.clip(-ndtri(stdtr(df, -size / width)), 0.0, highest))

    z = highest
    for _ in range(_STEPS):
        first = own(z)
        second = own(first)
        bend = second - 2.0 * first + z
        step = np.divide((first - z) ** 2, bend, out=np.zeros_like(z), where=bend != 0)
        between = np.minimum(z, first), np.maximum(z, first)
        z = np.clip(np.where(bend != 0, z - step, first), *between)
        if (np.abs(first - second) <= 1e-12 * np.maximum(second, 1e-12)).all():
            break
    return z


class Spread(Struct, frozen=True, eq=False, dict=True):
    """Intervals of one kind, (R, S): row against column, or a method itself on the diagonal."""

    halfwidth: Floats
    """In fractions; infinite where nothing can be estimated (a value that is the same in all
    tasks), 0 where two methods are identical."""
    df: Floats
    """Degrees of freedom of Student's t, infinite for the normal law."""
    monte_carlo_share: Floats
    """v_mc/T: the part of the variance that more tasks of the same images would take away; of
    draws of all classes D's."""
    _mean: Floats
    _laws: tuple[Law, ...]

    @cached_property
    def p(self) -> Floats:
        """Two-sided p-values: 1 minus the largest level at which h excludes 0; 1 if none."""
        p = np.zeros_like(self._mean)
        for law in self._laws:
            p = np.maximum(p, law.p(self._mean))
        estimable = np.isfinite(self.halfwidth) & (self.halfwidth > 0)
        return np.where(estimable, p, 1.0)


class LeaveOneOut(Struct, frozen=True, eq=False):
    """Means of methods and of their differences, and how far new data may move them."""

    mean: Floats
    """(R, S): on the diagonal, where a row and a column are the same method, its accuracy; else
    that of the row less that of the column."""
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

    `right` has which queries were right for inductive methods, None for others.
    """
    everything = np.arange(len(np.atleast_2d(y)))
    return Influences(design, y, right).block(everything, everything, level)


class Sums:
    """V, τ and the degrees of freedom of a jackknife, of methods (3, M) and of differences."""

    def __init__(self, design: Any, name: LeftOut, values: Floats) -> None:
        self._of, self._values = partial(Sums, design, name), values
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
        """Return those of each method."""
        return self._found(self.variance, self.total.own, self._jackknife.freedom(self._a))

    def block(self, rows: Ints, columns: Ints, close: Any) -> Floats:
        """Return those of pairs (3, R, S), of `close` ones (P, 2) from differences themselves."""
        variance, noise, total = (form.block(rows, columns) for form in (*self._forms, self.total))
        freedom = self._jackknife.freedom(self._a)
        if self._jackknife.tails:  # whose fourth powers would cancel
            freedom, every = np.empty(total.shape), self._a[columns]
            for values, row in zip(freedom, rows.tolist(), strict=True):
                apart = self._a[row] - every
                apart[columns == row] = self._a[row]
                values[:] = self._jackknife.freedom(apart)
        found = self._found(variance + noise, total, freedom)
        for at in some_of(close, self._values.shape[1]):
            differences = self._values[rows[at[0]]] - self._values[columns[at[1]]]
            found[:, *at] = self._of(differences).own
        return found

    def _found(self, variance: Floats, total: Floats, freedom: Floats) -> Floats:
        tau = self._jackknife.error(variance, total)
        return np.stack([variance, tau, np.broadcast_to(freedom, tau.shape)])


class Influences:
    """How far each image, class and superclass moves the means of M methods, for any pairs."""

    def __init__(
        self, design: Design, y: NDArray[Any], right: Sequence[RightQueries | None] = ()
    ) -> None:
        values = np.asarray(y, np.float64)
        self._y, self._mean = values, values.mean(axis=1)
        self._constant = np.ptp(values, axis=1) <= _CONSTANT
        self._design: Any = design
        self._noise = self._noise_of(values)
        self._right = [own and own.first_tasks(design.tasks) for own in right] or [None] * len(
            values
        )
        self._sums: dict[LeftOut, Sums] = {}
        self._queries: ProductSums | None = None
        self._all_ways: AllWaySums | None = None
        if isinstance(design, AllWayDesign):
            self._all_ways = AllWaySums(design, self._right)
        elif design.queries is not None and any(own is not None for own in self._right):
            self._queries = design.queries.sums(design.residuals(values), self._right)

    def _noise_of(self, values: Floats) -> Forms:
        """Return v_mc, 1/(B(B-1)) times the squares of centred values."""
        tasks = self._design.tasks
        centred = values - values.mean(axis=1, keepdims=True)
        return Forms(centred, np.full(tasks, 1.0 / (tasks * max(tasks - 1, 1))))

    def _sums_of(self, name: LeftOut) -> Sums:
        """Return the sums of whole tasks, made at their first use."""
        if name not in self._sums:
            self._sums[name] = Sums(self._design, name, self._y)
        return self._sums[name]

    def block(self, rows: Ints, columns: Ints, level: float) -> LeaveOneOut:
        """Compute some rows and columns of :func:`leave_one_out`, by methods' positions."""
        same = rows[:, None] == columns
        mean = np.where(same, self._mean[rows, None], self._mean[rows, None] - self._mean[columns])
        constant = same & self._constant[columns]
        noise, own = self._noise.block(rows, columns), self._noise.own
        rounding = _CONSTANT**2  # of two constant methods, rounding alone is left
        least = np.maximum(_NEARLY_EQUAL * (own[rows, None] + own[columns]), rounding)
        close = np.argwhere(~same & (noise <= least))
        for at in some_of(close, self._design.tasks):
            differences = self._y[rows[at[0]]] - self._y[columns[at[1]]]
            mean[at], noise[at] = differences.mean(axis=1), self._noise_of(differences).own
            constant[at] = np.ptp(differences, axis=1) <= _CONSTANT
        if self._all_ways is not None:
            laws, noise, constant = self._laws_of_draws(self._all_ways.block(rows, columns))
        else:
            laws = self._laws(noise, lambda sums: sums.block(rows, columns, close))
        mean = np.where(constant & (np.abs(mean) <= _CONSTANT), 0.0, mean)
        identical = constant & (mean == 0) & ~same
        for row, column in np.argwhere(identical).tolist():  # as many right, perhaps of others
            one, other = self._right[rows[row]], self._right[columns[column]]
            if one and other and not np.array_equal(one.shares, other.shares):
                identical[row, column] = False
                constant[row, column] &= self._queries is None
        return self._result(mean, noise, laws, constant, identical, level)

    def own(self, level: float) -> LeaveOneOut:
        """Compute the intervals of the methods by themselves, (M, 1)."""
        noise, constant = self._noise.own[:, None], self._constant[:, None]
        if self._all_ways is not None:
            laws, noise, constant = self._laws_of_draws(self._all_ways.own[..., None])
        else:
            laws = self._laws(noise, lambda sums: sums.own[..., None])
        no = np.zeros_like(constant)
        return self._result(self._mean[:, None], noise, laws, constant, no, level)

    def variance(self, name: LeftOut) -> Floats:
        """Return V of each method (M,): the jackknife's variance, by chance perhaps below 0."""
        return self._sums_of(name).variance

    def total(self, name: LeftOut) -> Floats:
        """Return tot of each method (M,): V before the noise of finitely many tasks is removed."""
        return self._sums_of(name).total.own

    def _laws(self, noise: Floats, of: Callable[[Any], Floats]) -> dict[LeftOut, Law]:
        """Return what half-widths are computed from, by what sums have `of` methods or pairs."""
        laws: dict[LeftOut, Law] = {}
        design, noise = self._design, np.maximum(noise, 0.0)
        for name in LEFT_OUT:
            if name in design.bounded:
                whole = design.bound(name) * noise
                laws[name] = Law(whole, np.zeros_like(whole), design.bound_freedom(name))
            elif name in design.jackknives:
                df: Any = np.inf
                found = of(self._queries) if name == "images" and self._queries else None
                if found is None or np.isnan(found).any():
                    variance, tau, df = of(self._sums_of(name))
                    whole = np.stack([variance, tau])
                    found = whole if found is None else np.where(np.isnan(found), whole, found)
                if name == "images":
                    # of few tasks v_mc itself is hardly known
                    df = design.tasks - 1.0 if design.tasks < LEAST_TASKS else np.inf
                laws[name] = Law(np.maximum(found[0], 0.0) + noise, found[1], df)
        return laws

    def _laws_of_draws(self, found: Floats) -> tuple[dict[LeftOut, Law], Floats, Bools]:
        """Return those of draws of all classes from the numbers of :class:`AllWaySums`.

        And the variance that draws add, and where nothing varies.
        """
        images, df, of_draws, both = found[:4]
        draws, no = RunTerms(of_draws, of_draws**2 / max(self._design.tasks - 1, 1), both), 0 * both
        laws: dict[LeftOut, Law] = {"images": Law(images, no, df, draws)}
        if len(found) > 4:
            laws["classes"] = Law(found[4], no, float(self._design.class_of_image.max()), draws)
        return laws, of_draws, laws["images"].whole == 0

    def _result(
        self,
        mean: Floats,
        noise: Floats,
        laws: Mapping[LeftOut, Law],
        constant: Bools,
        identical: Bools,
        level: float,
    ) -> LeaveOneOut:
        """Compute intervals: each kind at least as wide as the ones before it."""
        spreads: dict[LeftOut, Spread] = {}
        so_far: tuple[Law, ...] = ()
        widest = np.zeros(mean.shape)
        for name, law in laws.items():
            widest, so_far = np.maximum(widest, law.halfwidth(level)), (*so_far, law)
            widths = np.where(identical, 0.0, np.where(constant, np.inf, widest))
            share = np.divide(noise, law.whole, out=np.zeros_like(widest), where=law.whole > 0)
            freedom = np.broadcast_to(law.df, mean.shape)
            spreads[name] = Spread(widths, freedom, share, mean, so_far)
        images, classes, superclasses = map(spreads.get, LEFT_OUT)
        return LeaveOneOut(mean, images, classes, superclasses, self._design.why)


_ROWS = 64
"""Methods that are compared with all others at once."""

_KEPT = 20
"""Such blocks that are kept."""


class FirstTasks:
    """The design of a set, `whole`, and of its first tasks, as many as methods answered.

    What was computed of the last methods is kept for all kinds and levels.
    """

    def __init__(self, whole: Design) -> None:
        self.whole = whole
        self._designs: dict[int, Design] = {}
        self._counts: Counts | None = None
        self._influences: dict[int, Influences] = {}
        self._found: OrderedDict[tuple[int, int, float], LeaveOneOut] = OrderedDict()

    def at(self, tasks: int, name: LeftOut) -> Design | None:
        """Return the design of the first tasks; None where they have no interval of the kind."""
        if tasks < (1 if self.whole.tasks == 1 and isinstance(self.whole, AllWayDesign) else 2):
            return None
        if tasks not in self._designs:
            self._designs[tasks] = self.whole.prefix(tasks)
        return None if name in self._designs[tasks].why else self._designs[tasks]

    def own(self, counts: Counts, tasks: int, level: float) -> LeaveOneOut:
        """Return the intervals of the methods by themselves over the first tasks, (M, 1)."""
        return self._kept(counts, (tasks, -1, level), lambda found: found.own(level))

    def row(self, counts: Counts, tasks: int, method: int, level: float) -> LeaveOneOut:
        """Return those of all pairs of :data:`_ROWS` methods, one among them, with all others."""
        every, block = np.arange(len(counts)), method // _ROWS
        rows = every[block * _ROWS : (block + 1) * _ROWS]
        key = tasks, block, level
        return self._kept(counts, key, lambda found: found.block(rows, every, level))

    def _kept(
        self,
        counts: Counts,
        key: tuple[int, int, float],
        compute: Callable[[Influences], LeaveOneOut],
    ) -> LeaveOneOut:
        if self._counts is not counts:
            self._counts, self._influences = counts, {}
            self._found.clear()
        tasks = key[0]
        if tasks not in self._influences:
            y = counts.correct[:, :tasks] / counts.queries_per_task[:, None]
            self._influences[tasks] = Influences(self._designs[tasks], y, counts.right)
        if key not in self._found:
            self._found[key] = compute(self._influences[tasks])
            if len(self._found) > _KEPT:
                self._found.popitem(last=False)
        return self._found[key]


class LeftOutLaws(Struct, frozen=True):
    """The law of some methods, or pairs, over the first tasks by one kind alone."""

    name: LeftOut
    found: Callable[[float], LeaveOneOut]
    """Gives intervals at a level."""
    at: Any
    """Their rows and columns."""
    independent: int
    """Tasks without a unit in common: by these equal values are judged."""

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths in percentage points; NaN if infinite."""
        own = getattr(self.found(level), self.name).halfwidth[self.at]
        own = np.where(np.isinf(own), np.nan, round_significant(100.0 * own))
        return np.asarray(for_new_runs(own, moments.run_terms, level))

    def p(self, moments: Moments) -> Floats:
        """Compute two-sided p-values; the sign test's of constants, or NaN."""
        spread = getattr(self.found(REFERENCE), self.name)
        widths = spread.halfwidth[self.at]
        p = np.where(np.isfinite(widths), round_significant(spread.p[self.at]), np.nan)
        alike = np.asarray(moments.constant) & (self.independent > 0)
        p = np.where(alike, constant_p(self.independent), p)
        at_reference, bends = (
            partial(round_significant, 100.0 * widths),
            bool(np.isfinite(spread.df).any()),
        )
        p = moments.p_for_new_runs(p, at_reference, bends=bends, alike=alike)
        return np.where(np.asarray(moments.all_zero), 1.0, p)


class LeftOutKind(Kind, frozen=True):
    """A kind of interval that leaves out images, classes or superclasses; see the module."""

    name: LeftOut

    def laws(
        self,
        design: FirstTasks,
        counts: Counts,
        tasks: int,
        pairs: Positions | None,
        moments: Moments,
    ) -> Iterator[tuple[Any, Laws]]:
        """Give the laws of the kind and of those before it, none of which is wider."""
        if (first := design.at(tasks, self.name)) is None:
            return
        for method in [-1] if pairs is None else np.unique(pairs[0]).tolist():
            some: Any = slice(None)
            at: Any = slice(None), 0
            found = partial(design.own, counts, tasks)
            if pairs is not None:
                some = np.flatnonzero(pairs[0] == method)
                at = method % _ROWS, pairs[1][some]
                found = partial(design.row, counts, tasks, method)
            for kind in LEFT_OUT[: LEFT_OUT.index(self.name) + 1]:
                yield some, LeftOutLaws(kind, found, at, first.disjoint_tasks(kind))

    def independent(self, design: FirstTasks, tasks: int) -> int:
        """Count tasks that have no unit in common."""
        first = design.at(tasks, self.name)
        return 0 if first is None else first.disjoint_tasks(self.name)
