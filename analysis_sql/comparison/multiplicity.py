"""Many comparisons at once: p-values, and what remains of them within a stated family.

With p_(1) <= ... <= p_(n) the sorted p-values of a family (Holm, Scand.  J. Statist.  1979;
Benjamini & Hochberg, J. R. Statist.  Soc.  B 1995; docs/statistics.md),

========  =======================================  ============================================
method    adjusted p_(i)                           what stays at or below 1 - level
========  =======================================  ============================================
holm      max_{j<=i} min(1, (n - j + 1) p_(j))     chance of *any* false difference in the
                                                   family, however the comparisons depend
bh        min_{j>=i} min(1, n p_(j) / j)           expected *share* of false differences among
                                                   those found; comparisons independent or
                                                   positively dependent
========  =======================================  ============================================

A comparison that cannot be made (p is NaN) does not belong to the family; one of identical methods
does, with p = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from analysis_sql.intervals.intervals import task_halfwidths
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.sign_flip import constant_p
from analysis_sql.intervals.training_runs import REFERENCE
from benchmark_spec.errors import SpecError
from benchmark_spec.suites import IntervalKind

Adjustment = Literal["none", "holm", "bh"]


@dataclass(frozen=True, eq=False)
class Adjusted:
    """p-values adjusted within one family."""

    method: Adjustment
    """``none``, ``holm`` or ``bh``."""
    size: int
    """Comparisons in the family: those whose p-value is not NaN."""
    p: NDArray[np.float64]
    """float64: adjusted, of the shape they came in; NaN where they were."""

    def apart(self, level: float) -> NDArray[np.bool_]:
        """Which comparisons are conclusive: the adjusted p is at most 1 - level.  NaN is not."""
        return conclusive(self.p, level)


def conclusive(p: Any, level: float) -> NDArray[np.bool_]:
    """Say which p-values are at most 1 - level, but for rounding; NaN is not."""
    return np.asarray(p <= 1.0 - level + 1e-12)


def paired_p(difference: Moments, kind: IntervalKind) -> Any:
    """Two-sided p-values of paired differences, elementwise; the intervals' own tests.

    p = 2 P(t_{T-1} <= -|mean| / (sd/sqrt(T))), with the normal law for ``closed``, and higher where
    methods have several runs.  Identical methods have p = 1 whatever T is, differences that are all
    equal but not 0 that of the sign-flip test, and T < 2 is NaN; as
    :func:`analysis_sql.comparison.verdicts.paired_verdicts`.
    """
    tasks = np.asarray(difference.tasks)
    constant, deviation = np.asarray(difference.constant), np.asarray(difference.deviation)
    error = np.where(constant, 1.0, deviation / np.sqrt(np.maximum(tasks, 1)))
    score = -np.abs(difference.mean) / error
    tail = ndtr(score) if kind == "closed" else stdtr(np.maximum(tasks - 1, 1), score)
    p = np.where(constant, constant_p(tasks), np.minimum(2.0 * tail, 1.0))
    p = np.where(tasks < 2, np.nan, p)
    if kind != "closed":
        p = difference.p_for_new_runs(p, lambda: task_halfwidths(difference, kind, REFERENCE))
    return np.where(np.asarray(difference.all_zero) & (tasks > 0), 1.0, p)


def one_sided_p(ahead: Moments) -> NDArray[np.float64]:
    """Return one-sided p-values of "the first is better", for new images of these classes.

    p = P(t_(T-1) >= mean/(sd/sqrt(T))), half of :func:`paired_p`; 1 where the mean is not above 0.
    """
    p = np.asarray(paired_p(ahead, "open"), np.float64)
    return np.where(np.isnan(p) | (np.asarray(ahead.total) > 0), p / 2.0, 1.0)


def adjust(p: NDArray[np.float64], method: Adjustment) -> Adjusted:
    """Adjust the p-values of one family; see the module's docstring.

    Each comparison stands in `p` once: of a symmetric matrix only one half, the rest NaN.
    """
    if method not in get_args(Adjustment):
        raise SpecError(f"no adjustment {method!r}", expected=f"one of {[*get_args(Adjustment)]}")
    values = np.asarray(p, float)
    estimable = ~np.isnan(values)
    family = values[estimable]
    if ((family < 0) | (family > 1)).any():
        raise SpecError("p-values are between 0 and 1")
    result = values.copy()
    if method != "none":
        result[estimable] = (_holm if method == "holm" else _benjamini_hochberg)(family)
    return Adjusted(method, family.size, result)


def _holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(p.size, 0, -1)
    return _unsorted(np.minimum(np.maximum.accumulate(steps), 1.0), order)


def _benjamini_hochberg(p: NDArray[np.float64]) -> NDArray[np.float64]:
    order = np.argsort(p, kind="stable")
    steps = p[order] * p.size / np.arange(1, p.size + 1)
    return _unsorted(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def _unsorted(values: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    result = np.empty_like(values)
    result[order] = values
    return result
