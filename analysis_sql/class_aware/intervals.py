"""Class-aware confidence intervals: for the mean over *new classes* (docs/intervals.md).

In the model of :mod:`analysis_sql.class_aware.design`, (mean - θ)/se_g is Student's with T - 1
degrees of freedom for a known ratio g = σ_b²/σ_e², where se_g² = q(g)/(T-1) · (1/T + g v).  Each g
of a grid is weighted by its prior and its restricted likelihood, see
:mod:`analysis_sql.class_aware.likelihood`, and the half-width h is that of the mixture::

    Σ_g weight(g) · 2 P(t_(T-1) > h / se_g) = 1 - level
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, singledispatch
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.class_aware.likelihood import Shares, grid
from analysis_sql.comparison.verdicts import constant_p, paired_p
from analysis_sql.intervals.arrays import Floats, Ints, settled
from analysis_sql.intervals.counts import REFERENCE, Moments, for_new_runs
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.intervals import halfwidths as open_halfwidths
from analysis_sql.intervals.student import student_tail


class Mixtures(Struct, frozen=True, eq=False):
    """Laws of P means: those of methods or differences on a design's tasks, at whatever level."""

    design: Any
    norm2: Floats
    """float64 (P,): |y - ȳ|²."""
    parts: Sequence[tuple[Ints, Floats, Floats]]
    """Some rows of a `norm2` above 0 at a time: where they are (p,), the weights of ratios and
    their standard errors by |y - ȳ|, both (p, G).  There are none where none is needed."""


def halfwidths(mixtures: Mixtures, moments: Moments, level: float) -> Floats:
    """Compute half-widths (P,) of class-aware intervals, percentage points.

    From mixtures of counts, or of differences, and the moments of the same.  NaN where there is no
    interval: counts that are all equal, T < 2, or tasks that all have the same classes (see
    ``design.obstacle``).  If no class is used twice, the open interval's.
    """
    check_level(level)
    if mixtures.design.disjoint:
        of_images = np.asarray(open_halfwidths(moments, "open", level), np.float64)
        return np.where(mixtures.norm2 > 0, of_images, np.nan)
    return mixture_halfwidths(mixtures, moments, level)


def mixture_halfwidths(mixtures: Mixtures, moments: Moments, level: float) -> Floats:
    """Compute the same where tasks share classes, or superclasses."""
    widths = task_halfwidths(mixtures, moments, level)
    return np.asarray(for_new_runs(widths, moments.run_terms, level))


def task_halfwidths(mixtures: Mixtures, moments: Moments, level: float) -> Floats:
    """Compute the same as if runs did not differ."""
    relative = relative_halfwidths(mixtures, level)
    return settled(relative * np.sqrt(mixtures.norm2) * 100.0 / moments.queries_per_task)


def relative_halfwidths(mixtures: Mixtures, level: float) -> Floats:
    """Compute half-widths (P,) as shares of |y - ȳ|; NaN as :func:`halfwidths`."""
    design = mixtures.design
    widths = np.full(len(mixtures.norm2), np.nan)
    for rows, weights, errors in mixtures.parts:
        widths[rows] = design.quantiles(weights, errors, design.tasks - 1, 1.0 - level)
    return widths


def mixtures_of(design: Any, u: NDArray[Any], norm2: NDArray[Any]) -> Mixtures:
    """Compute mixtures from a design's coordinates (P, k) of y, in any units.

    `norm2` (P,) is |y - ȳ|² in their square.
    """
    usable = np.flatnonzero(norm2 > 0) if design.obstacle is None else np.zeros(0, np.int64)
    parts = []
    for start in range(0, usable.size, design.rows_at_once):
        rows = usable[start : start + design.rows_at_once]
        parts.append((rows, *weighed(design, u[rows], norm2[rows])))
    return Mixtures(design, norm2, parts)


@singledispatch
def weighed(design: Any, u: NDArray[Any], norm2: NDArray[Any]) -> tuple[Floats, Floats]:
    """Give weights of ratios, rows of sum 1, and standard errors by |y - ȳ|, both (p, G)."""
    return mixture(Shares.of(design, u, norm2))


def mixture(shares: Shares) -> tuple[Floats, Floats]:
    """Weigh each ratio g of the grid, rows of sum 1, and give se_g by |y - ȳ|: both (P, G)."""
    design = shares.design
    scales = shares.scales()
    log_weights = shares.log_likelihoods(scales) + np.log(grid(design).prior)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    per_task = 1.0 / design.tasks + grid(design).ratios * design.concentration
    return weights, np.sqrt(scales / (design.tasks - 1) * per_task)


def p_values(mixtures: Mixtures, moments: Moments) -> Floats:
    """Compute two-sided p-values (P,) for new classes: 1 - the level at which 0 is just outside.

    The class-aware interval's own test, Σ_g weight(g) · 2 P(t_(T-1) > |mean| / se_g).
    As in :func:`analysis_sql.comparison.verdicts.paired_verdicts`, 1 where two methods are
    identical, that of the sign-flip test where all differences are equal but not 0, on tasks of
    which D share no class, and NaN where there is no interval.  Higher where methods have several
    runs: :meth:`Moments.p_for_new_runs`.  Arguments as of :func:`halfwidths`.
    """
    if mixtures.design.disjoint:
        return np.asarray(paired_p(moments, "open"), np.float64)
    return mixture_p_values(mixtures, moments)


def constant_p_values(design: Any, moments: Moments) -> Floats:
    """Give p-values (P,) where nothing varies, NaN elsewhere; see :func:`p_values`."""
    p = np.where(np.asarray(moments.all_zero), 1.0, np.nan)
    alike = np.asarray(moments.constant) & (np.asarray(moments.total) != 0)
    if alike.any():
        p[alike] = constant_p(design.disjoint_tasks)
    return p


def mixture_p_values(mixtures: Mixtures, moments: Moments) -> Floats:
    """Give p-values (P,) by the tails of mixtures, and raise them by what runs add."""
    p = constant_p_values(mixtures.design, moments)
    if mixtures.design.obstacle is not None:
        return p
    rows = np.flatnonzero(mixtures.norm2 > 0)
    halves = tails(mixtures, np.abs(np.asarray(moments.total)) / mixtures.design.tasks)
    p[rows] = np.minimum(settled(2.0 * halves[rows]), 1.0)
    widths = partial(task_halfwidths, mixtures, moments, REFERENCE)
    return np.asarray(moments.p_for_new_runs(p, widths))


def tails(mixtures: Mixtures, mean: Floats) -> Floats:
    """Compute P(t_(T-1) > mean/se) (P,), averaged over the ratios; NaN as :func:`halfwidths`.

    `mean` (P,) is y's, in the units of the coordinates.
    """
    p = np.full(len(mean), np.nan)
    for rows, weights, errors in mixtures.parts:
        score = mean[rows, None] / (errors * np.sqrt(mixtures.norm2[rows])[:, None])
        p[rows] = (weights * student_tail(mixtures.design.tasks - 1, score)).sum(axis=1)
    return p
