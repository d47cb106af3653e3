"""Class-aware confidence intervals: for the mean over *new classes* (docs/intervals.md).

In the model of :mod:`analysis_sql.class_aware.design`, (mean - θ)/se_g is Student's with T - 1
degrees of freedom for a known ratio g = σ_b²/σ_e², where se_g² = q(g)/(T-1) · (1/T + g v).  Each g
of a grid is weighted by its prior and its restricted likelihood, see
:mod:`analysis_sql.class_aware.likelihood`, and the half-width h is that of the mixture::

    Σ_g weight(g) · 2 P(t_(T-1) > h / se_g) = 1 - level
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.likelihood import Shares, grid
from analysis_sql.comparison.verdicts import constant_p, paired_p
from analysis_sql.intervals.arrays import Floats, settled
from analysis_sql.intervals.counts import REFERENCE, Moments, for_new_runs
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.intervals import halfwidths as open_halfwidths
from analysis_sql.intervals.student import student_tail

_ROWS_AT_ONCE = 128


def halfwidths(design: ClassDesign, u: NDArray[Any], moments: Moments, level: float) -> Floats:
    """Compute half-widths (P,) of class-aware intervals, percentage points.

    From coordinates (P, k) of counts, or of differences, on the design's tasks, and the moments of
    the same.  NaN where there is no interval: counts that are all equal, T < 2, or tasks that all
    have the same classes (``design.obstacle`` says which).  If no class is used twice, the open
    interval's; of several runs never narrower, since h' falls with some h.
    """
    check_level(level)
    norm2 = np.asarray(moments.scatter, np.float64) / design.tasks
    of_images = np.asarray(open_halfwidths(moments, "open", level), np.float64)
    if design.disjoint:
        return np.where(norm2 > 0, of_images, np.nan)
    widths = task_halfwidths(design, u, moments, level)
    widened = np.asarray(for_new_runs(widths, moments.run_terms, level))
    return np.where(np.greater(moments.run_terms[0], 0), np.maximum(widened, of_images), widened)


def task_halfwidths(design: Any, u: NDArray[Any], moments: Moments, level: float) -> Floats:
    """Compute the same where tasks share classes, or superclasses, as if runs did not differ."""
    norm2 = np.asarray(moments.scatter, np.float64) / design.tasks
    relative = relative_halfwidths(design, u, norm2, level)
    return settled(relative * np.sqrt(norm2) * 100.0 / moments.queries_per_task)


def relative_halfwidths(design: Any, u: NDArray[Any], norm2: NDArray[Any], level: float) -> Floats:
    """Compute half-widths (P,) as shares of |y - ȳ|; NaN as :func:`halfwidths`.

    `u` (P, k) are the design's coordinates of y, in any units, and `norm2` (P,) is |y - ȳ|² in
    their square.
    """
    widths = np.full(len(norm2), np.nan)
    if design.obstacle is not None:
        return widths
    usable = np.flatnonzero(norm2 > 0)
    for some, weights, errors in mixtures(design, u[usable], norm2[usable]):
        widths[usable[some]] = design.quantiles(weights, errors, design.tasks - 1, 1.0 - level)
    return widths


@singledispatch
def mixtures(
    design: Any, u: NDArray[Any], norm2: NDArray[Any]
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Give rows at a time, with the weights of ratios and their standard errors by |y - ȳ|, (P, N).

    Of classes by their :func:`mixture`.
    """
    for start in range(0, len(norm2), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        yield some, *mixture(Shares.of(design, u[some], norm2[some]))


def mixture(shares: Shares) -> tuple[Floats, Floats]:
    """Weigh each ratio g of the grid, rows of sum 1, and give se_g by |y - ȳ|: both (P, G)."""
    design = shares.design
    scales = shares.scales()
    log_weights = shares.log_likelihoods(scales) + np.log(grid(design).prior)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    per_task = 1.0 / design.tasks + grid(design).ratios * design.concentration
    return weights, np.sqrt(scales / (design.tasks - 1) * per_task)


def p_values(design: ClassDesign, u: NDArray[Any], moments: Moments) -> Floats:
    """Compute two-sided p-values (P,) for new classes: 1 - the level at which 0 is just outside.

    The class-aware interval's own test, Σ_g weight(g) · 2 P(t_(T-1) > |mean| / se_g).
    As in :func:`analysis_sql.comparison.verdicts.paired_verdicts`, 1 where two methods are
    identical, that of the sign-flip test where all differences are equal but not 0, on tasks of
    which D share no class, and NaN where nothing can be said.  Higher where methods have several
    runs: :meth:`Moments.p_for_new_runs`, and then never below the open interval's.  Arguments as of
    :func:`halfwidths`.
    """
    if design.disjoint:
        return np.asarray(paired_p(moments, "open"), np.float64)
    if design.obstacle is not None:
        return constant_p_values(design, moments)
    p = mixture_p_values(design, u, moments)
    if not np.any(moments.run_terms[0]):
        return p
    of_images = np.asarray(paired_p(moments, "open"), np.float64)
    return np.where(np.greater(moments.run_terms[0], 0), np.maximum(p, of_images), p)


def constant_p_values(design: Any, moments: Moments) -> Floats:
    """Give p-values (P,) where nothing varies, NaN elsewhere; see :func:`p_values`."""
    p = np.where(np.asarray(moments.all_zero), 1.0, np.nan)
    alike = np.asarray(moments.constant) & (np.asarray(moments.total) != 0)
    if alike.any():
        p[alike] = constant_p(design.disjoint_tasks)
    return p


def mixture_p_values(design: Any, u: NDArray[Any], moments: Moments) -> Floats:
    """Give p-values (P,) by the tails of a mixture, and raise them by what runs add."""
    p = constant_p_values(design, moments)
    norm2 = np.asarray(moments.scatter, np.float64) / design.tasks
    rows = np.flatnonzero(norm2 > 0)
    mean = np.abs(np.asarray(moments.total)[rows]) / design.tasks
    p[rows] = np.minimum(settled(2.0 * tails(design, u[rows], norm2[rows], mean)), 1.0)
    widths = partial(task_halfwidths, design, u, moments, REFERENCE)
    return np.asarray(moments.p_for_new_runs(p, widths))


def tails(design: Any, u: NDArray[Any], norm2: Floats, mean: Floats) -> Floats:
    """Compute P(t_(T-1) > mean/se) (P,), averaged over the ratios, for `norm2` above 0.

    `mean` (P,) is y's, in the units of the coordinates.
    """
    p = np.empty(len(mean))
    for some, weights, errors in mixtures(design, u, norm2):
        score = mean[some, None] / (errors * np.sqrt(norm2[some])[:, None])
        p[some] = (weights * student_tail(design.tasks - 1, score)).sum(axis=1)
    return p
