"""The smallest difference that a paired comparison is likely to detect.

If tasks are independent and normal with the true difference δ for their mean, mean/se follows the
noncentral t distribution, and the smallest detectable difference is the δ at which

    P(|t'(T-1; δ/se)| > t(T-1)) = power

In standard errors it depends on T, the level and the power alone (2.80 for large T, at 80 %).  It
is about new images of these classes; for new classes see :mod:`analysis_sql.planning.planning`.
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
_TOLERANCE = 1e-12


def check_power(power: float, level: float = 0.95) -> float:
    """Return `power` if it is a power that a test at this level can have."""
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
    """Solve for the difference at which the increasing `power_at` is `power`, guessing `high`."""
    low = 0.0
    while power_at(high) < power:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if power_at(middle) < power else (low, middle)
        if high - low < _TOLERANCE * high:
            break
    return (low + high) / 2.0


def detectable_difference(moments: Moments, level: float = 0.95, power: float = 0.8) -> Any:
    """Compute the smallest true difference that these tasks would show, in percentage points.

    It is scaled like the interval that runs widen; NaN where T < 2, or all tasks are equal.
    """
    variance = np.square(moments.deviation)
    detectable = detectable_difference_of(moments.tasks, variance, level, power)
    if np.any(moments.run_variance):
        widths = task_halfwidths(moments, "open", level)
        widened = np.asarray(for_new_runs(widths, moments.run_terms, level))
        ratio = np.divide(widened, widths, out=np.ones_like(widened), where=widths > 0)
        detectable = detectable * ratio
    return np.where(moments.constant, nan, detectable)[()]


def detectable_difference_of(
    tasks: Any, variance: Any, level: float = 0.95, power: float = 0.8
) -> Any:
    """Compute the smallest detectable difference of T tasks with this variance, elementwise."""
    tasks, variance = np.broadcast_arrays(tasks, np.asarray(variance, np.float64))
    numbers, position = np.unique(tasks, return_inverse=True)
    factors = [
        detectable_factor(t, level, power) / np.sqrt(t) if t > 1 else nan for t in numbers.tolist()
    ]
    return (np.array(factors)[position.reshape(tasks.shape)] * np.sqrt(variance))[()]


_FAR = 38.0
"""Noncentrality above which the other tail is 0; old versions of scipy sum its series for hours."""


def _power(noncentrality: float, freedom: int, critical: float) -> float:
    """Return the probability of both tails of the noncentral t distribution."""
    above = 1.0 - nctdtr(freedom, noncentrality, critical)
    if noncentrality > _FAR:
        return float(above)
    below = nctdtr(freedom, noncentrality, -critical)
    # far in a tail, where the probability is 0, the series may fail
    return float(above) + (float(below) if 0.0 <= below <= 1.0 else 0.0)
