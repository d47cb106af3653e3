"""Confidence intervals of a mean over tasks (Lafargue et al., TMLR 2024, sections 2 and 3).

========  =============================  ==================================================
kind      half-width                     estimand: what another experiment would draw anew
========  =============================  ==================================================
closed    z · sd / sqrt(T)               new tasks of these images
open      t(T-1) · sd / sqrt(T)          new images of these classes, each class weighted as
                                         often as the set uses it
========  =============================  ==================================================

Here z and t are two-sided quantiles at the level, sd the sample standard deviation over tasks.
Other kinds need more than moments; :mod:`analysis_sql.interval_kinds` lists all.

Exact bounds are for results with no or few errors.  If a task has an error with probability π, T
independent tasks are all without one with probability (1 - π)^T; so π <= 1 - (1 - level)^(1/T),
the exact bound of Clopper & Pearson (Biometrika 1934) for 0 of T.  For **new classes** T counts
only tasks that share no class.  Above 98 % accuracy Student's interval of 95 % covers as little as
76 %.  There the exact interval is given, with the effective number of queries (Korn & Graubard,
Survey Methodology 1998)::

    n* = p(1-p)/se² · (t(n-1)/t(T-1))²      at most n, the queries of all tasks
    1 - upper, 1 - lower = the Beta quantiles of Clopper and Pearson at n* (1-p) errors of n*

with p the mean, se the standard error between tasks and t two-sided quantiles.  Both are about new
images of these classes, tasks taken as independent (docs/statistics.md, studies/coverage).
"""

from __future__ import annotations

from math import expm1, isnan, log1p, nan
from typing import Any

import numpy as np
from msgspec import Struct
from scipy.special import betaincinv, ndtri, stdtrit

from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.counts import Moments, for_new_runs
from benchmark_spec.errors import SpecError
from benchmark_spec.protocol import IntervalKind

INDEPENDENT_TASKS = "new images of these classes, tasks taken as independent"
"""The estimand of sign-flip tests, bounds and confidence sequences."""


class Interval(Struct, frozen=True):
    """A mean over T tasks with its confidence interval, in percentage points.

    Attributes
    ----------
    mean
        Of accuracies, or of paired differences.
    halfwidth
        None where it cannot be estimated: T < 2, or a class-aware one of tasks that are all
        equal or all have the same classes.
    constant
        Whether all tasks have the same value: the half-width is then 0 by the formula, and a
        report must say so in words rather than print ±0.
    """

    kind: IntervalKind
    level: float
    tasks: int
    mean: float
    halfwidth: float | None
    constant: bool

    def __str__(self) -> str:
        about = f"{self.kind}, level {self.level:g}, {self.tasks} tasks"
        return f"{self.mean:z.2f} {self.width} ({about})"

    @property
    def width(self) -> str:
        """The half-width in words."""
        return "without an interval" if self.halfwidth is None else f"± {self.halfwidth:.2f}"

    @property
    def low(self) -> float | None:
        """Lower end, percentage points."""
        return None if self.halfwidth is None else self.mean - self.halfwidth

    @property
    def high(self) -> float | None:
        """Upper end, percentage points."""
        return None if self.halfwidth is None else self.mean + self.halfwidth


def check_level(level: float) -> float:
    """Return `level` if it is a confidence level that an interval can be computed for."""
    if not 0.01 <= level <= 0.999999:
        raise SpecError(
            f"{level} is not a confidence level", expected="0.01 to 0.999999, such as 0.95"
        )
    return level


def halfwidths(moments: Moments, kind: IntervalKind, level: float) -> Any:
    """Return the half-widths, elementwise, in percentage points; NaN where T < 2."""
    widths = task_halfwidths(moments, kind, level)
    return widths if kind == "closed" else for_new_runs(widths, moments.run_terms, level)


def task_halfwidths(moments: Moments, kind: IntervalKind, level: float) -> Any:
    """Return the half-widths as if runs did not differ, elementwise; NaN where T < 2."""
    return halfwidth_per_deviation(moments.tasks, kind, level) * moments.deviation


def halfwidth_per_deviation(tasks: Any, kind: IntervalKind, level: float) -> Any:
    """Return the half-width of an interval in standard deviations; NaN where T < 2."""
    number = np.where(np.less(tasks, 2), nan, tasks)
    tail = (1.0 - level) / 2.0  # the lower tail, where floating point is finest
    quantile = ndtri(tail) if kind == "closed" else stdtrit(number - 1, tail)
    return -quantile / np.sqrt(number)


def intervals(
    moments: Moments, kind: IntervalKind, level: float, widths: Any = None
) -> list[Interval]:
    """Return the intervals of many methods, whose moments are arrays (M,)."""
    widths = halfwidths(moments, kind, level) if widths is None else widths
    return of_columns(kind, level, moments.tasks, moments.mean, widths, moments.constant)


def of_columns(kind: IntervalKind, level: float, *columns: Any) -> list[Interval]:
    """Make intervals from columns: tasks, mean, half-width (NaN without an interval), constant."""
    rows = (column.tolist() for column in np.atleast_1d(*np.broadcast_arrays(*columns)))
    return [
        Interval(kind, level, tasks, mean, None if isnan(halfwidth) else halfwidth, constant)
        for tasks, mean, halfwidth, constant in zip(*rows, strict=True)
    ]


def interval(moments: Moments, kind: IntervalKind, level: float) -> Interval:
    """Return the confidence interval of a mean over tasks; see the module's docstring."""
    check_level(level)
    (only,) = intervals(moments, kind, level)
    return only


_LEAST = 1e-290


def round_significant(values: Floats) -> Floats:
    """Round positive values to ten significant digits.

    The last digits of an eigenvector depend on the machine's linear algebra; a report must not.
    Values below :data:`_LEAST` stay as they are.
    """
    scalable = np.where((values > _LEAST) & np.isfinite(values), values, 1.0)
    scale = 10.0 ** (9.0 - np.floor(np.log10(scalable)))
    return np.where(scalable == values, np.round(values * scale) / scale, values)


class Saturation(Struct, frozen=True):
    """Upper bounds, in percent, on the share of tasks with an error (or a difference).

    `bound` is from all tasks, `new_classes_bound` from the `disjoint` ones that share no class.
    """

    level: float
    tasks: int
    bound: float
    disjoint: int
    new_classes_bound: float


def zero_bound(trials: int, level: float = 0.95) -> float:
    """Bound a probability from above, in percent, given 0 successes in independent trials."""
    return -100.0 * expm1(log1p(-level) / trials)


ABOVE = 98.0
"""Mean accuracy, in percent, above which exact bounds are given."""


class NearPerfect(Struct, frozen=True):
    """The exact interval of an accuracy, percentage points, from `effective` queries, n*."""

    level: float
    low: float
    high: float
    effective: float


def near_perfect(interval: Interval, n_query: int) -> NearPerfect | None:
    """Bound the mean of an open interval; None unless it is above :data:`ABOVE` and below 100 %."""
    half = interval.halfwidth
    if interval.kind != "open" or not half or not ABOVE < interval.mean < 100.0:
        return None
    tail = (1.0 - interval.level) / 2.0
    error_rate, queries = 1.0 - interval.mean / 100.0, interval.tasks * n_query
    se = half / 100.0 / -float(stdtrit(interval.tasks - 1, tail))
    t_ratio = float(stdtrit(queries - 1, tail) / stdtrit(interval.tasks - 1, tail))
    effective = min(error_rate * (1.0 - error_rate) / se**2 * t_ratio**2, float(queries))
    errors = error_rate * effective
    least = float(betaincinv(errors, effective - errors + 1.0, tail))
    most = float(betaincinv(errors + 1.0, effective - errors, 1.0 - tail))
    return NearPerfect(interval.level, 100.0 * (1.0 - most), 100.0 * (1.0 - least), effective)
