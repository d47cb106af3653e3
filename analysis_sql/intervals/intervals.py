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
"""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import numpy as np
from msgspec import Struct
from scipy.special import ndtri, stdtrit

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
