"""The smallest difference that a paired comparison is likely to detect.

If tasks are independent and normal with the true difference δ for their mean, mean/se follows the
noncentral t distribution, and the smallest detectable difference is the δ at which

    P(|t'(T-1; δ/se)| > t(T-1)) = power

a number of standard errors that T, the level and the power fix (2.80 where T is large, at 80 %).
It is about new images of these classes; for new classes see :mod:`analysis_sql.planning.planning`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import nan
from typing import Any

import numpy as np
from scipy.special import nctdtr, stdtrit

from analysis_sql.intervals.counts import Moments, for_new_runs
from analysis_sql.intervals.intervals import check_level, task_halfwidths
from benchmark_spec.errors import SpecError

_STEPS = 200
_ENOUGH = 1e-12


def check_power(power: float, level: float = 0.95) -> float:
    """Return `power` if a difference can be detected with it at this level."""
    if not 1.0 - check_level(level) < power <= 0.9999:
        raise SpecError(
            f"{power} is not a power",
            expected=f"above {1.0 - level:.4g}, which equal methods reach at this level, to 0.9999",
        )
    return power


@lru_cache(maxsize=10_000)
def detectable_factor(tasks: int, level: float = 0.95, power: float = 0.8) -> float:
    """Return the smallest detectable difference in standard errors; NaN below two tasks."""
    if tasks < 2:
        return nan
    freedom = tasks - 1
    critical = float(-stdtrit(freedom, (1.0 - level) / 2.0))
    return smallest_with_power(lambda s: _power(s, freedom, critical), power, critical + 1.0)


def smallest_with_power(power_at: Callable[[float], float], power: float, high: float) -> float:
    """Solve for the difference at which a rising function is `power`; `high` is a first guess."""
    low = 0.0
    while power_at(high) < power:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if power_at(middle) < power else (low, middle)
        if high - low < _ENOUGH * high:
            break
    return (low + high) / 2.0


def detectable_difference(moments: Moments, level: float = 0.95, power: float = 0.8) -> Any:
    """Compute the smallest true difference that these tasks would show, in percentage points.

    As much more as the interval is wider for runs; NaN where T < 2, or all are equal.
    """
    differences = detectable_difference_of(
        moments.tasks, np.square(moments.deviation), level, power
    )
    if np.any(moments.run_variance):
        widths = task_halfwidths(moments, "open", level)
        widened = np.asarray(for_new_runs(widths, moments.run_terms, level))
        wider = np.divide(widened, widths, out=np.ones_like(widened), where=widths > 0)
        differences = differences * wider
    return np.where(moments.constant, nan, differences)[()]


def detectable_difference_of(
    tasks: Any, variance: Any, level: float = 0.95, power: float = 0.8
) -> Any:
    """Compute the smallest detectable difference of T tasks with this variance, elementwise."""
    tasks, variance = np.broadcast_arrays(tasks, np.asarray(variance, np.float64))
    different, which = np.unique(tasks, return_inverse=True)
    factors = np.array(
        [
            detectable_factor(t, level, power) / np.sqrt(t) if t > 1 else nan
            for t in different.tolist()
        ]
    )
    return (factors[which.reshape(tasks.shape)] * np.sqrt(variance))[()]


_FAR = 38.0
"""Noncentrality from which nothing lies in the other tail; old versions of scipy sum its series for
hours."""


def _power(noncentrality: float, freedom: int, critical: float) -> float:
    """Return both tails of the noncentral t distribution."""
    above = 1.0 - nctdtr(freedom, noncentrality, critical)
    if noncentrality > _FAR:
        return float(above)
    below = nctdtr(freedom, noncentrality, -critical)
    # far in a tail the series may fail; it is 0 there
    return float(above) + (float(below) if 0.0 <= below <= 1.0 else 0.0)
