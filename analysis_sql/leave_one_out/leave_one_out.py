"""Leave-one-out intervals of methods and of all their paired differences.

The mean over B tasks that reuse images is an incomplete U-statistic.  What another sample of
images (classes, superclasses) would give is the variance of the complete one, whose jackknife
leaves out one image (class, superclass) at a time; written as sums over pairs of *different* tasks
it is free of the noise of finitely many tasks, which is then added once:
:mod:`analysis_sql.leave_one_out.images`, :mod:`analysis_sql.leave_one_out.classes`,
:mod:`analysis_sql.leave_one_out.halfwidths`.  docs/leave_one_out.md has the derivation.

Every term is bilinear in the values of tasks, so a difference j - k has G_jj + G_kk - 2 G_jk of
G = A W A'.  Where two methods hardly differ this cancels, and the difference itself is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import Bools, Floats, Ints
from analysis_sql.intervals.intervals import check_level
from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut, TaskDesign
from analysis_sql.leave_one_out.halfwidths import (
    degrees_of_freedom,
    excess_kurtosis,
    halfwidth,
    p_value,
)
from analysis_sql.leave_one_out.sums import Forms, Sums, centred
from benchmark_spec.errors import SpecError

_HARDLY = 1e-4
"""Where the squares of a difference sum to less than this share of the methods' own, they are
computed from the difference itself."""

_CONSTANT = 1e-9
"""Values that differ by less are equal: fractions of queries differ by 1e-5 or more."""

_NUMBERS_AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False)
class Spread:
    """Intervals of one kind, (R, S): row against column, or a method itself on the diagonal.

    Attributes
    ----------
    halfwidth
        In fractions; infinite where nothing can be estimated (a value that is the same in all
        tasks), 0 where two methods are identical.
    df
        Degrees of freedom of Student's t, infinite for the normal law.
    monte_carlo_share
        v_mc/T: the part of the variance that more tasks of the same images would take away.
    widened
        Whether τ > T: too few tasks to tell the variance from noise, so that h is wide.
    is_bound
        Whether the half-width is an upper bound (:meth:`TaskDesign.bound`), and no estimate.
    """

    halfwidth: Floats
    df: Floats
    monte_carlo_share: Floats
    widened: Bools
    is_bound: bool
    _mean: Floats
    _laws: tuple[tuple[Floats, Floats, Floats | None], ...]

    @cached_property
    def p(self) -> Floats:
        """Two-sided p-values: 1 minus the largest level whose interval leaves out 0; 1 if none.

        One-sided ones are p/2 where the mean has the sign that is asked for.
        """
        p = np.zeros_like(self._mean)
        for variance, tau, df in self._laws:
            p = np.maximum(p, p_value(self._mean, variance, tau, df))
        estimable = np.isfinite(self.halfwidth) & (self.halfwidth > 0)
        return np.where(estimable, p, 1.0)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Means of methods and of their differences, and how far new data may move them.

    Attributes
    ----------
    mean
        (R, S): on the diagonal, where a row and a column are the same method, its accuracy; else
        that of the row less that of the column.
    images, classes, superclasses
        None where there is no interval; `why` has the reason.
    """

    mean: Floats
    images: Spread | None
    classes: Spread | None
    superclasses: Spread | None
    why: Mapping[LeftOut, str]


def leave_one_out(design: TaskDesign, y: NDArray[Any], level: float) -> LeaveOneOut:
    """Compute the intervals of M methods and of all pairs of them.

    Parameters
    ----------
    design
        Of the B tasks.
    y : float (M, B)
        Accuracies in 0..1, or any other statistic of a task; of several runs their mean.
    level
        Such as 0.95.

    Raises
    ------
    SpecError
        If `y` is not of B tasks, or not finite.
    """
    everything = np.arange(len(np.atleast_2d(y)))
    return Influences(design, y).block(everything, everything, level)


class Influences:
    """How far each image, class and superclass moves the means of M methods, for any of its pairs.

    Parameters
    ----------
    design, y
        As of :func:`leave_one_out`.
    """

    def __init__(self, design: TaskDesign, y: NDArray[Any]) -> None:
        values = np.asarray(y, np.float64)
        if values.ndim != 2 or values.shape[1] != design.tasks or not np.isfinite(values).all():
            raise SpecError(
                f"values {values.shape} are not those of methods on {design.tasks} tasks",
                expected=f"finite numbers (methods, {design.tasks})",
            )
        self._design, self._y = design, values
        self._mean = values.mean(axis=1)
        self._sums = {name: Sums(design, name, values) for name in design.jackknives}
        self._noise = Forms(centred(values), np.full(design.tasks, self._monte_carlo))

    def block(self, rows: Ints, columns: Ints, level: float) -> LeaveOneOut:
        """Compute some rows and columns of :func:`leave_one_out`, by methods' positions."""
        check_level(level)
        same = rows[:, None] == columns[None, :]
        mean = np.where(same, self._mean[rows, None], self._mean[rows, None] - self._mean[columns])
        noise = self._noise.block(rows, columns, same)
        parts = {name: sums.block(rows, columns, same) for name, sums in self._sums.items()}
        own = self._noise.diagonal
        both = own[rows, None] + own[columns]
        hardly = np.argwhere(~same & (noise <= _HARDLY * both))
        still = np.zeros(mean.shape, bool)
        step = max(1, _NUMBERS_AT_ONCE // self._design.tasks)
        for start in range(0, len(hardly), step):
            at = hardly[start : start + step]
            where = (at[:, 0], at[:, 1])
            apart = self._y[rows[at[:, 0]]] - self._y[columns[at[:, 1]]]
            mean[where] = apart.mean(axis=1)
            still[where] = np.ptp(apart, axis=1) <= _CONSTANT
            noise[where] = Forms(centred(apart), self._noise.weights).diagonal
            for name, part in parts.items():
                for sums, direct in zip(part, Sums(self._design, name, apart).own, strict=True):
                    sums[where] = direct
        for row, column in np.argwhere(same).tolist():
            still[row, column] = np.ptp(self._y[rows[row]]) <= _CONSTANT
        mean = np.where(still & (np.abs(mean) <= _CONSTANT), 0.0, mean)
        return self._result(mean, noise, parts, still, still & (mean == 0) & ~same, level)

    def own(self, level: float) -> LeaveOneOut:
        """Compute the intervals of the methods by themselves, (M, 1)."""
        check_level(level)
        still = np.ptp(self._y, axis=1, keepdims=True) <= _CONSTANT
        mean = self._mean[:, None]
        parts = {
            name: tuple(values[:, None] for values in sums.own) for name, sums in self._sums.items()
        }
        noise = self._noise.diagonal[:, None]
        return self._result(mean, noise, parts, still, np.zeros_like(still), level)

    def variance(self, name: LeftOut) -> Floats:
        """Return V of each method (M,): the jackknife's variance, by chance perhaps below 0."""
        return self._sums[name].own[0]

    def total(self, name: LeftOut) -> Floats:
        """Return tot of each method (M,): V before the noise of finitely many tasks is removed."""
        return self._sums[name].own[1]

    @property
    def _monte_carlo(self) -> float:
        """1/(B(B-1)): v_mc is this times the squares of centred values."""
        tasks = self._design.tasks
        return 1.0 / (tasks * max(tasks - 1, 1))

    def _law(
        self,
        name: LeftOut,
        noise: Floats,
        variance: Floats,
        total: Floats,
        squares: Floats,
        fourths: Floats,
    ) -> tuple[Floats, Floats, Floats | None]:
        """Return T, τ and the degrees of freedom of a kind, None for the normal law."""
        jackknife = self._design.jackknives[name]
        whole = np.maximum(variance, 0.0) + np.maximum(noise, 0.0)
        apart = total - variance if jackknife.of_noise else total
        tau = jackknife.scale * np.maximum(apart, 0.0)
        if not jackknife.of_noise:
            return whole, tau, None
        units = jackknife.units
        kurtosis = excess_kurtosis(squares, fourths, units) if jackknife.tails else None
        return whole, tau, degrees_of_freedom(units, kurtosis, whole.shape)

    def _result(
        self,
        mean: Floats,
        noise: Floats,
        parts: Mapping[LeftOut, tuple[Floats, ...]],
        still: Bools,
        identical: Bools,
        level: float,
    ) -> LeaveOneOut:
        """Turn sums into intervals: each kind at least as wide as the ones before it."""
        spreads: dict[LeftOut, Spread] = {}
        laws: tuple[tuple[Floats, Floats, Floats | None], ...] = ()
        widest = np.zeros(mean.shape)
        for name in LEFT_OUT:
            is_bound = name in self._design.bounded
            if is_bound:
                whole = self._design.bound(name) * np.maximum(noise, 0.0)
                tau, df = np.zeros_like(whole), None
            elif name in parts:
                whole, tau, df = self._law(name, noise, *parts[name])
            else:
                continue
            laws = (*laws, (whole, tau, df))
            widest = np.maximum(widest, halfwidth(whole, tau, df, level))
            shown = np.where(identical, 0.0, np.where(still, np.inf, widest))
            share = np.divide(noise, whole, out=np.zeros_like(whole), where=whole > 0)
            spreads[name] = Spread(
                shown,
                np.full(mean.shape, np.inf) if df is None else df,
                share,
                tau > whole,
                is_bound,
                mean,
                laws,
            )
        return LeaveOneOut(
            mean,
            spreads.get("images"),
            spreads.get("classes"),
            spreads.get("superclasses"),
            self._design.why,
        )
