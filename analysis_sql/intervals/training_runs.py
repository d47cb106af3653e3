"""Intervals for new training runs: the variance between a method's runs.

A method of R runs on the same tasks has a mean of its own in each; with s² their variance, v = s²/R
is what the mean over runs varies by if it is trained anew, which no interval over tasks holds.
With h the half-width that counts the tasks alone, and j and k two methods::

    T  = (h/z)² + v_j + v_k
    df = T² / (v_j²/(R_j - 1) + v_k²/(R_k - 1))           Satterthwaite, Biometrics 1946
    h' = t(df) √T

A method of one run has no such term, which does not mean that it is 0: its interval is about this
one trained model.  *Closed* intervals have none either: they stay what the field prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from analysis_sql.intervals.arrays import Floats, Ints

Terms = tuple[Any, Any]
"""v and the denominator of df, numbers or arrays."""

REFERENCE = 0.95
"""The level at which a p-value takes the half-width that it interpolates from."""

_STEPS = 60
"""Halvings of the search for a p-value."""


def run_terms(spreads: Sequence[float | None], runs: Sequence[int]) -> tuple[Floats, Floats]:
    """Return v and v²/(R-1) of methods (M,) from their numbers of runs, R.

    `spreads` are s, the sample standard deviations between the means of a method's runs, percentage
    points; None, and both are 0, of a method with fewer than two runs.
    """
    number = np.maximum(np.asarray(runs, np.float64), 1.0)
    v = np.array([spread or 0.0 for spread in spreads]) ** 2 / number
    return v, v**2 / np.maximum(number - 1.0, 1.0)


def run_means(y: Floats, run: Ints) -> Floats:
    """Return the mean of every run (M, R) of values (M, B), whose tasks are of runs (B,) 0..R-1."""
    return np.stack([y[:, run == number].mean(axis=1) for number in range(run.max() + 1)], axis=1)


def own_task_terms(y: Floats, run: Ints) -> tuple[Floats, Floats]:
    """Return v and v²/(R-1) of methods, on the diagonal, and of their differences: (M, M) each.

    From accuracies (M, B) in 0..1, where each run (B,) answered tasks of its own: s² is the
    variance of the means of runs, or of the run-wise differences, less the mean of their v_mc.
    """
    methods, tasks = len(y), np.bincount(run)
    variance = np.zeros((methods, methods))
    for i in range(methods):
        apart = 100.0 * (y[i] - np.where(np.arange(methods)[:, None] == i, 0.0, y))
        within = np.zeros(methods)
        for number, size in enumerate(tasks.tolist()):
            own = apart[:, run == number]
            within += own.var(axis=1, ddof=1) / size if size > 1 else 0.0
        between = run_means(apart, run).var(axis=1, ddof=1) - within / len(tasks)
        variance[i] = np.maximum(between, 0.0) / len(tasks)
    return variance, variance**2 / (len(tasks) - 1)


def for_new_runs(widths: Any, terms: Terms, level: float) -> Any:
    """Widen half-widths (percentage points) to h', elementwise; those of NaN stay NaN.

    `terms` are sums of what :func:`run_terms` gives.  Without one a half-width stays as it is, to
    the last digit.
    """
    if not np.any(terms[0]):
        return widths
    tail = (1.0 - level) / 2.0
    whole, df = _law(np.square(np.asarray(widths) / ndtri(tail)), *terms)
    widened = -stdtrit(df, tail) * np.sqrt(whole)
    return np.where(np.greater(terms[0], 0), widened, widths)


def p_for_new_runs(p: Any, mean: Any, widths: Any, terms: Terms) -> Any:
    """Raise two-sided p-values to 1 minus the largest level whose h' leaves out 0, elementwise.

    From p-values without the runs, means, and half-widths at :data:`REFERENCE`; NaN stays NaN.
    (h/z)² is taken to be linear in z² between the reference level and the one at which h itself
    ends at 0.  It is, for intervals by leaving one out, and nearly so for others: of 19 tasks p is
    within 3 % above .01, within 25 % above 1e-4, and within a factor of 3 below; of more tasks
    closer.
    """
    if not np.any(terms[0]):
        return p
    p, mean, widths, variance, square = np.broadcast_arrays(p, mean, widths, *terms)
    rows = (variance > 0) & (p < 1.0) & np.isfinite(widths)  # a p of 1 stays, and one of NaN
    if not rows.any():
        return p
    size, own, v, w = (np.abs(a[rows]) for a in (mean, widths, variance, square))
    at = -ndtri((1.0 - REFERENCE) / 2.0)
    known = np.square(own / at)
    end = -ndtri(p[rows] / 2.0)  # infinite where p is too small for a number
    far = np.isfinite(end) & (np.abs(end - at) > 1e-3) & (end > 1e-3)
    there = np.square(np.divide(size, end, out=np.zeros_like(size), where=far))
    slope = np.divide(there - known, end**2 - at**2, out=np.zeros_like(size), where=far)
    low, high = np.zeros_like(size), np.clip(end, 0.0, 37.0)  # beyond, probabilities underflow
    for _ in range(_STEPS):
        z = (low + high) / 2.0
        whole, df = _law(np.maximum(known + slope * (z**2 - at**2), 0.0), v, w)
        inside = stdtr(df, -size / np.sqrt(whole)) < ndtr(-z)  # h' at z is less than the mean
        low, high = np.where(inside, z, low), np.where(inside, high, z)
    raised = p.astype(np.float64)
    raised[rows] = np.maximum(2.0 * ndtr(-low), p[rows])
    return raised


def _law(tasks: Any, variance: Any, square: Any) -> tuple[Floats, Floats]:
    """Return T and df from (h/z)², v_j + v_k, and the denominator of df; df is infinite at 0."""
    whole = np.asarray(np.add(tasks, variance), np.float64)
    some = np.greater(square, 0)
    return whole, np.divide(whole**2, square, out=np.full(whole.shape, np.inf), where=some)
