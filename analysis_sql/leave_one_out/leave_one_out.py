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
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from analysis_sql.comparison.pairs import Pairs
from analysis_sql.comparison.verdicts import constant_p
from analysis_sql.intervals.arrays import Bools, Floats, Ints, settled
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
from analysis_sql.leave_one_out.jackknife import Jackknife
from analysis_sql.leave_one_out.queries import ProductSums

Design = TaskDesign | EpisodeDesign | AllWayDesign
"""Tasks of one size, of different ones, or of all classes."""

_NEARLY_EQUAL = 1e-4
"""Where the squares of a difference sum to less than this share of the methods' own, they are
computed from the difference itself."""

_CONSTANT = 1e-9
"""Values that differ by less are equal: fractions of queries differ by 1e-5 or more."""

_NUMBERS_AT_ONCE = 1 << 24


class Law(NamedTuple):
    """What half-widths of one kind are computed from, elementwise; see the module."""

    variance: Floats
    """T."""
    tau: Floats
    df: Floats | None
    """Those of q, None for the normal law."""
    draws: RunTerms = NO_RUNS
    """D and V_rq of draws of all classes; see :mod:`analysis_sql.leave_one_out.all_ways`."""

    @property
    def whole(self) -> Floats:
        """The variance, with what new draws add."""
        of_draws, _, both = self.draws
        return np.asarray(np.maximum(self.variance + np.maximum(of_draws - both, 0.0), of_draws))

    def halfwidth(self, level: float) -> Floats:
        """Return h."""
        own = halfwidth(self.variance, self.tau, self.df, level)
        return np.asarray(for_new_runs(own, self.draws, level))

    def p(self, mean: Floats) -> Floats:
        """Return 1 minus the largest level at which the interval of a mean excludes 0."""
        p = p_value(mean, self.variance, self.tau, self.df)
        if self.draws is NO_RUNS:
            return p
        own = halfwidth(self.variance, self.tau, self.df, REFERENCE)
        return np.asarray(p_for_new_runs(p, mean, own, self.draws))


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


class Influences:
    """How far each image, class and superclass moves the means of M methods, for any pairs."""

    def __init__(
        self, design: Design, y: NDArray[Any], right: Sequence[RightQueries | None] = ()
    ) -> None:
        values = np.asarray(y, np.float64)
        self._y = values
        self._design: Any = design
        self._mean = values.mean(axis=1)
        tasks = design.tasks  # v_mc is 1/(B(B-1)) times the squares of centred values
        self._noise = Forms(centred(values), np.full(tasks, 1.0 / (tasks * max(tasks - 1, 1))))
        self._known = np.zeros(len(values), bool)
        self._queries: ProductSums | None = None
        self._width = 1
        self._right = [own and own.first(tasks) for own in right] or [None] * len(values)
        given = [own for own in self._right if own is not None]
        self._all_ways = (
            AllWaySums(design, self._right) if isinstance(design, AllWayDesign) else None
        )
        if given and design.queries is not None:
            self._known[:] = [own is not None for own in self._right]
            u = design.residuals(values[self._known])
            self._queries = design.queries.sums(u, given)
            self._width = given[0].counts.shape[1]
        self._place = np.cumsum(self._known) - 1  # of a method among those with known queries
        known = self._queries is not None and self._known.all()  # whole tasks say nothing of images
        self._whole = [name for name in design.jackknives if name != "images" or not known]
        self._sums: dict[LeftOut, Sums] = {}

    def _sums_of(self, name: LeftOut) -> Sums:
        """Return the sums of whole tasks, made at their first use."""
        if name not in self._sums:
            self._sums[name] = Sums(self._design, name, self._y)
        return self._sums[name]

    def _put_queries(
        self,
        parts: dict[LeftOut, tuple[Floats, ...]],
        where: Any,
        found: tuple[Floats, Floats],
        shape: tuple[int, ...],
    ) -> None:
        """Put V and τ of methods with known queries in place of those of whole tasks."""
        if "images" not in parts:
            parts["images"] = tuple(np.zeros(shape) for _ in range(4))
        for sums, own in zip(parts["images"], found, strict=False):
            sums[where] = own

    def _directly(
        self,
        parts: Mapping[LeftOut, tuple[Floats, ...]],
        pairs: tuple[Ints, Ints],
        where: tuple[Ints, Ints],
        differences: Floats,
    ) -> None:
        """Put the same of pairs that hardly differ, from their differences (P, B)."""
        both = np.flatnonzero(self._known[pairs[0]] & self._known[pairs[1]])
        if not both.size or self._design.queries is None:
            return
        right = [
            RightQueries(self._right[j].shares - self._right[k].shares, 1)
            for j, k in zip(*(side[both].tolist() for side in pairs), strict=True)
        ]
        u = self._design.residuals(differences[both])
        found = self._design.queries.sums(u, right).own
        for sums, own in zip(parts["images"], found, strict=False):
            sums[where[0][both], where[1][both]] = own

    def block(self, rows: Ints, columns: Ints, level: float) -> LeaveOneOut:
        """Compute some rows and columns of :func:`leave_one_out`, by methods' positions."""
        same = rows[:, None] == columns[None, :]
        mean = np.where(same, self._mean[rows, None], self._mean[rows, None] - self._mean[columns])
        noise = self._noise.block(rows, columns, same)
        parts: dict[LeftOut, tuple[Floats, ...]] = {
            name: self._sums_of(name).block(rows, columns, same) for name in self._whole
        }
        first, second = np.flatnonzero(self._known[rows]), np.flatnonzero(self._known[columns])
        if self._queries is not None and first.size and second.size:
            found = self._queries.block(self._place[rows[first]], self._place[columns[second]])
            self._put_queries(parts, np.ix_(first, second), found, mean.shape)
        own = self._noise.diagonal
        both = own[rows, None] + own[columns]
        rounding = _CONSTANT**2  # of two constant methods, rounding alone is left
        nearly_equal = np.argwhere(~same & (noise <= np.maximum(_NEARLY_EQUAL * both, rounding)))
        constant = np.zeros(mean.shape, bool)
        step = max(1, _NUMBERS_AT_ONCE // (self._design.tasks * self._width))
        for start in range(0, len(nearly_equal), step):
            at = nearly_equal[start : start + step]
            where = (at[:, 0], at[:, 1])
            differences = self._y[rows[at[:, 0]]] - self._y[columns[at[:, 1]]]
            mean[where] = differences.mean(axis=1)
            constant[where] = np.ptp(differences, axis=1) <= _CONSTANT
            noise[where] = Forms(centred(differences), self._noise.weights).diagonal
            for name in self._whole:
                direct = Sums(self._design, name, differences).own
                for sums, own_sums in zip(parts[name], direct, strict=True):
                    sums[where] = own_sums
            self._directly(parts, (rows[at[:, 0]], columns[at[:, 1]]), where, differences)
        for row, column in np.argwhere(same).tolist():
            constant[row, column] = np.ptp(self._y[rows[row]]) <= _CONSTANT
        if self._all_ways is not None:
            laws, noise, constant = self._laws_of_draws(self._all_ways.block(rows, columns))
        else:
            laws = self._laws(parts, noise)
        mean = np.where(constant & (np.abs(mean) <= _CONSTANT), 0.0, mean)
        identical = constant & (mean == 0) & ~same
        for row, column in np.argwhere(identical).tolist():  # as many right, perhaps of others
            one, other = self._right[rows[row]], self._right[columns[column]]
            if (
                one is not None
                and other is not None
                and not np.array_equal(one.shares, other.shares)
            ):
                identical[row, column] = False
                constant[row, column] &= self._queries is None
        return self._result(mean, noise, laws, constant, identical, level)

    def own(self, level: float) -> LeaveOneOut:
        """Compute the intervals of the methods by themselves, (M, 1)."""
        constant = np.ptp(self._y, axis=1, keepdims=True) <= _CONSTANT
        mean = self._mean[:, None]
        parts: dict[LeftOut, tuple[Floats, ...]] = {
            name: tuple(values[:, None] for values in self._sums_of(name).own)
            for name in self._whole
        }
        noise = self._noise.diagonal[:, None]
        if self._queries is not None:
            self._put_queries(parts, (self._known, 0), self._queries.own, mean.shape)
        if self._all_ways is not None:
            own = [values[:, None] for values in self._all_ways.own]
            laws, noise, constant = self._laws_of_draws(own)
        else:
            laws = self._laws(parts, noise)
        return self._result(mean, noise, laws, constant, np.zeros_like(constant), level)

    def variance(self, name: LeftOut) -> Floats:
        """Return V of each method (M,): the jackknife's variance, by chance perhaps below 0."""
        return self._sums_of(name).own[0]

    def total(self, name: LeftOut) -> Floats:
        """Return tot of each method (M,): V before the noise of finitely many tasks is removed."""
        return np.asarray(self._sums_of(name).total.diagonal)

    def _laws(
        self, parts: Mapping[LeftOut, tuple[Floats, ...]], noise: Floats
    ) -> dict[LeftOut, Law]:
        """Turn sums into what half-widths are computed from."""
        laws: dict[LeftOut, Law] = {}
        for name in LEFT_OUT:
            if name in self._design.bounded:
                whole = self._design.bound(name) * np.maximum(noise, 0.0)
                freedom = np.full(noise.shape, self._design.bound_freedom(name))
                laws[name] = Law(whole, np.zeros_like(whole), freedom)
            elif name in parts:
                variance, tau, squares, fourths = parts[name]
                whole = np.maximum(variance, 0.0) + np.maximum(noise, 0.0)
                jackknife, df = self._design.jackknives[name], None
                if jackknife.of_noise:
                    units = jackknife.units
                    tails = excess_kurtosis(squares, fourths, units) if jackknife.tails else None
                    df = degrees_of_freedom(units, tails, whole.shape)
                elif self._design.tasks < LEAST_TASKS:  # v_mc itself is hardly known
                    df = np.full(noise.shape, self._design.tasks - 1.0)
                laws[name] = Law(whole, tau, df)
        return laws

    def _laws_of_draws(self, found: Sequence[Floats]) -> tuple[dict[LeftOut, Law], Floats, Bools]:
        """Return those of draws of all classes from the numbers of :class:`AllWaySums`.

        And the variance that draws add, and where nothing varies.
        """
        images, df, of_draws, both = found[:4]
        draws = RunTerms(of_draws, of_draws**2 / max(self._design.tasks - 1, 1), both)
        laws: dict[LeftOut, Law] = {"images": Law(images, np.zeros_like(images), df, draws)}
        if found[4:]:
            freedom = np.full(images.shape, float(self._design.class_of_image.max()))
            laws["classes"] = Law(found[4], np.zeros_like(images), freedom, draws)
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
            widest = np.maximum(widest, law.halfwidth(level))
            widths = np.where(identical, 0.0, np.where(constant, np.inf, widest))
            whole = law.whole
            share = np.divide(noise, whole, out=np.zeros_like(whole), where=whole > 0)
            freedom = np.full(mean.shape, np.inf) if law.df is None else law.df
            so_far = (*so_far, law)
            spreads[name] = Spread(widths, freedom, share, mean, so_far)
        return LeaveOneOut(
            mean,
            spreads.get("images"),
            spreads.get("classes"),
            spreads.get("superclasses"),
            self._design.why,
        )


_STEPS = 30
"""Of the search for a p-value: more than any needs."""


def uncertainty(variance: Floats, tau: Floats) -> Floats:
    """Return τ²/(T+2τ), 0 where both are."""
    below = variance + 2.0 * tau
    return np.asarray(np.divide(tau**2, below, out=np.zeros_like(tau), where=below > 0))


def halfwidth(variance: Floats, tau: Floats, df: Floats | None, level: float) -> Floats:
    """Return h of T, τ and the degrees of freedom of q, None for the normal law; see the module."""
    tail = (1.0 - level) / 2.0
    z = -float(ndtri(tail))
    q = z if df is None else -stdtrit(df, tail)
    return np.asarray(q * np.sqrt(variance + (z * z + 1.0) / 4.0 * uncertainty(variance, tau)))


def p_value(mean: Floats, variance: Floats, tau: Floats, df: Floats | None) -> Floats:
    """Return 1 minus the largest level at which the interval of a mean excludes 0.

    z with h(z) = |mean| solves a quadratic equation in z² for the normal law, and else lies between
    0 and that root.
    """
    size, c = np.abs(mean), uncertainty(variance, tau)
    linear = variance + c / 4.0
    root = np.sqrt(linear**2 + c * size**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(size > 0, np.sqrt(2.0 * size**2 / (linear + root)), 0.0)
    if df is None:
        return np.asarray(np.minimum(2.0 * ndtr(-z), 1.0))
    some = (z > 0) & np.isfinite(z)
    z[some] = _students_z(z[some], size[some], variance[some], c[some], df[some])
    return np.asarray(np.minimum(2.0 * ndtr(-z), 1.0))


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


def degrees_of_freedom(units: float, kurtosis: Floats | None, shape: tuple[int, ...]) -> Floats:
    """Return those of Student's t for C units: 1/(1/(C-1) + (κ+2)/(2C)), or C-1 without κ."""
    if kurtosis is None:
        return np.full(shape, units - 1.0)
    return np.asarray(1.0 / (1.0 / (units - 1) + (kurtosis + 2.0) / (2.0 * units)))


def excess_kurtosis(squares: Floats, fourths: Floats, units: int) -> Floats:
    """Return the unbiased excess kurtosis of C centred values, not below 0; 0 of fewer than 4."""
    n = float(units)
    if n < 4:
        return np.zeros_like(squares)
    ratio = np.divide(n * fourths, squares**2, out=np.full_like(squares, 3.0), where=squares > 0)
    unbiased = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (ratio - 3.0) + 6.0)
    return np.asarray(np.maximum(unbiased, 0.0))


_CANCELS = 1e-2
"""Where the squares of a difference sum to less than this share of the methods' own, its fourth
powers, which would lose twice as many digits, are summed directly."""

_POWERS_AT_ONCE = 1 << 22


def centred(values: Floats) -> Floats:
    """Take from the values of each method (M, B) their mean."""
    return np.asarray(values - values.mean(axis=1, keepdims=True))


class Forms:
    """Σ_b d_b x_b² of methods' values, and of differences of two."""

    def __init__(self, values: Floats, weights: Floats) -> None:
        self._values, self.weights = values, weights
        self.diagonal = np.einsum("mr,mr,r->m", values, values, weights, optimize=True)

    def block(self, rows: Ints, columns: Ints, same: Bools) -> Floats:
        """Return G_jj + G_kk - 2 G_jk (R, S), or G_jj where the two are the same."""
        product = (self._values[rows] * self.weights) @ self._values[columns].T
        differences = self.diagonal[rows, None] + self.diagonal[columns] - 2.0 * product
        return np.asarray(np.where(same, self.diagonal[rows, None], differences))


class Sums:
    """V, τ and the sums of powers of a jackknife's coordinates, of methods and differences."""

    def __init__(self, design: Any, name: LeftOut, values: Floats) -> None:
        jackknife: Jackknife = design.jackknives[name]
        self._x = design.residuals(values, name)
        self._a = jackknife.coordinates(self._x)
        self._jackknife = jackknife
        self._forms = Forms(self._a, jackknife.weights), Forms(self._x, jackknife.noise)
        self.total = Forms(self._a, jackknife.totals)

    @property
    def own(self) -> tuple[Floats, Floats, Floats, Floats]:
        """V, τ, Σa² and Σa⁴ of each method (M,)."""
        variance = self._forms[0].diagonal + self._forms[1].diagonal
        squares = self._a**2 if self._jackknife.tails else np.zeros((len(self._a), 1))
        tau = self._jackknife.error(variance, self.total.diagonal)
        return variance, tau, squares.sum(axis=1), (squares**2).sum(axis=1)

    def block(
        self, rows: Ints, columns: Ints, same: Bools
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the same of pairs (R, S)."""
        variance = np.asarray(sum(form.block(rows, columns, same) for form in self._forms))
        tau = self._jackknife.error(variance, self.total.block(rows, columns, same))
        if not self._jackknife.tails:
            return variance, tau, np.zeros(same.shape), np.zeros(same.shape)
        a, b = self._a[rows], self._a[columns]
        (s2, s4), (r2, r4) = (((v**2).sum(axis=1), (v**4).sum(axis=1)) for v in (a, b))
        squares = s2[:, None] + r2 - 2.0 * a @ b.T
        cubes = 4.0 * (a**3 @ b.T + a @ (b**3).T)
        fourths = s4[:, None] + r4 - cubes + 6.0 * (a**2 @ (b**2).T)
        squares, fourths = (
            np.where(same, one[:, None], two) for one, two in ((s2, squares), (s4, fourths))
        )
        close = np.argwhere(~same & (squares <= _CANCELS * (s2[:, None] + r2)))
        step = max(1, _POWERS_AT_ONCE // a.shape[1])
        for start in range(0, len(close), step):
            where = tuple(close[start : start + step].T)
            exact = (a[where[0]] - b[where[1]]) ** 2
            squares[where], fourths[where] = exact.sum(axis=1), (exact**2).sum(axis=1)
        return variance, tau, squares, fourths


_ROWS = 64
"""Methods that are compared with all others at once."""

_KEPT = 20
"""Such blocks that are kept."""


class FirstTasks:
    """The design of a set, `whole`, and of its first tasks, as many as methods answered."""

    def __init__(self, whole: Design) -> None:
        self.whole = whole
        self._designs: dict[int, Design] = {}
        self._pairs: _AllPairs | None = None

    def at(self, tasks: int, name: LeftOut) -> Design | None:
        """Return the design of the first tasks; None where they have no interval of the kind."""
        if tasks < (1 if self.whole.tasks == 1 and isinstance(self.whole, AllWayDesign) else 2):
            return None
        if tasks not in self._designs:
            self._designs[tasks] = self.whole.prefix(tasks)
        return None if name in self._designs[tasks].why else self._designs[tasks]

    def pairs(self, counts: Counts, level: float) -> _AllPairs:
        """Return all pairs of some methods; the last ones are kept for all kinds.

        What they have at every level is kept, too.
        """
        kept = self._pairs
        if kept is None or kept.counts is not counts:
            kept = _AllPairs(self, counts, level, {})
        elif kept.level != level:
            kept = _AllPairs(self, counts, level, kept.influences)
        self._pairs = kept
        return kept


def _widths(name: LeftOut, found: LeaveOneOut, at: Any, terms: RunTerms, level: float) -> Floats:
    """Give half-widths in percentage points, none below those of kinds before; NaN if infinite."""
    widths: Floats = np.array(-np.inf)
    for kind in LEFT_OUT[: LEFT_OUT.index(name) + 1]:
        own = getattr(found, kind).halfwidth[at]
        own = np.where(np.isinf(own), np.nan, settled(100.0 * own))
        widths = np.maximum(widths, own)
    return np.asarray(for_new_runs(widths, terms, level))


def _p_values(
    name: LeftOut, design: Design, found: LeaveOneOut, at: Any, difference: Moments
) -> Floats:
    """Give two-sided p-values at some rows and columns; the sign test's of constants, or NaN."""
    constant = np.asarray(difference.constant)
    p: Floats = np.zeros(())
    for kind in LEFT_OUT[: LEFT_OUT.index(name) + 1]:
        spread = getattr(found, kind)
        independent = design.disjoint_tasks(kind)
        widths = spread.halfwidth[at]
        own = np.where(np.isfinite(widths), settled(spread.p[at]), np.nan)
        alike = constant & (independent > 0)
        own = np.where(alike, constant_p(independent), own)
        at_reference = partial(settled, 100.0 * widths)
        bends = bool(np.isfinite(spread.df).any())
        own = difference.p_for_new_runs(own, at_reference, bends=bends, alike=alike)
        p = np.maximum(p, np.where(np.asarray(difference.all_zero), 1.0, own))
    return p


def _own(
    name: LeftOut, design: FirstTasks, counts: Counts, level: float
) -> Iterator[tuple[Design, Ints, LeaveOneOut]]:
    """Give designs, methods and their intervals, those of one number of tasks after another."""
    for tasks in np.unique(counts.tasks).tolist():
        rows = np.flatnonzero(counts.tasks == tasks)
        every = (
            design.pairs(counts, level)  # kept, since their pairs are often compared too
            if len(rows) == len(counts)
            else _AllPairs(design, counts.some(rows), level, {})
        )
        first, found = design.at(tasks, name), every.own(name, tasks)
        if first is not None and found is not None:
            yield first, rows, found


class _AllPairs:
    """All pairs of some methods by all kinds, some rows at a time; the last rows are kept."""

    def __init__(
        self,
        design: FirstTasks,
        counts: Counts,
        level: float,
        influences: dict[int, Influences],
    ) -> None:
        self.counts, self.level, self._design = counts, level, design
        self.influences = influences
        self._own: dict[int, LeaveOneOut] = {}
        self._blocks: OrderedDict[tuple[int, int], LeaveOneOut] = OrderedDict()

    def row(self, name: LeftOut, method: int, tasks: int) -> tuple[LeaveOneOut | None, int]:
        """Return a block of pairs over the first tasks, and a method's row; None without any."""
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

    def _influences_at(self, tasks: int, design: Design) -> Influences:
        if tasks not in self.influences:
            y = self.counts.correct[:, :tasks] / self.counts.queries_per_task[:, None]
            self.influences[tasks] = Influences(design, y, self.counts.right)
        return self.influences[tasks]


class LeftOutKind(Struct, frozen=True):
    """A kind of interval that leaves out images, classes or superclasses; see the module."""

    name: LeftOut

    def method_halfwidths(self, design: FirstTasks, counts: Counts, level: float) -> Floats:
        """Compute half-widths (M,) of the methods' means, each over the tasks that it answered."""
        widths = np.full(len(counts), np.nan)
        moments = counts.moments()
        for _, rows, found in _own(self.name, design, counts, level):
            terms = moments.some(rows).run_terms
            widths[rows] = _widths(self.name, found, (slice(None), 0), terms, level)
        return widths

    def pairs(self, design: FirstTasks, counts: Counts, level: float) -> Pairs:
        """Return the comparisons of a set's methods."""
        every, name = design.pairs(counts, level), self.name

        def own(tasks: int, rows: Ints, own: Moments) -> Floats:
            found = every.own(name, tasks)
            if found is None:
                return np.full(len(rows), np.nan)
            return _widths(name, found, (rows, 0), own.run_terms, level)

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

    def p_values(self, design: FirstTasks, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute two-sided p-values (P,) of pairs of methods, at two lists of positions."""
        p = np.full(len(methods), np.nan)
        pairs = design.pairs(counts, REFERENCE)
        common = np.minimum(counts.tasks[methods], counts.tasks[versus])
        for method, tasks in sorted(set(zip(methods.tolist(), common.tolist(), strict=True))):
            at = np.flatnonzero((methods == method) & (common == tasks))
            found, row = pairs.row(self.name, method, tasks)
            first = design.at(tasks, self.name)
            if found is not None and first is not None:
                difference = counts.differences(method, versus[at], tasks).moments()
                p[at] = _p_values(self.name, first, found, (row, versus[at]), difference)
        return p

    def method_p_values(self, design: FirstTasks, counts: Counts) -> Floats:
        """Compute two-sided p-values (M,) of means being 0, each over its tasks."""
        p = np.full(len(counts), np.nan)
        moments = counts.moments()
        for at, rows, found in _own(self.name, design, counts, REFERENCE):
            p[rows] = _p_values(self.name, at, found, (slice(None), 0), moments.some(rows))
        return p
