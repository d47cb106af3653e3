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
from analysis_sql.comparisons import constant_p, paired_p
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import REFERENCE, Moments, for_new_runs
from analysis_sql.intervals.intervals import check_level, round_significant
from analysis_sql.intervals.intervals import halfwidths as open_halfwidths
from analysis_sql.intervals.student import student_tail


class Mixtures(Struct, frozen=True, eq=False):
    """Sampling distributions of P means (methods or differences), for every level.

    Where tasks are independent they are those of the open interval.
    """

    design: Any
    norm2: Floats
    """float64 (P,): |y - ȳ|²."""
    parts: Sequence[tuple[Ints, Floats, Floats]]
    """Blocks of rows whose `norm2` is above 0: their positions (p,), the weights of the ratios, and
    the standard errors divided by |y - ȳ|, both (p, G).  Independent tasks need no blocks."""

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths (P,), percentage points, from the moments of the same means.

        NaN where there is no interval: counts that are all equal, T < 2, or tasks that all have the
        same classes (see ``design.obstacle``).
        """
        check_level(level)
        if self.design.independent:
            of_images = np.asarray(open_halfwidths(moments, "open", level), np.float64)
            return np.where(self.norm2 > 0, of_images, np.nan)
        widths = self.task_halfwidths(moments, level)
        return np.asarray(for_new_runs(widths, moments.run_terms, level))

    def task_halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths (P,) as if runs did not differ."""
        relative = relative_halfwidths(self, level)
        return round_significant(relative * np.sqrt(self.norm2) * 100.0 / moments.queries_per_task)

    def p(self, moments: Moments) -> Floats:
        """Compute two-sided p-values (P,): 1 minus the level at which the interval ends at 0.

        This is the test that the interval inverts, Σ_g weight(g) · 2 P(t_(T-1) > |mean| / se_g).
        As in :func:`analysis_sql.comparisons.paired_verdicts`, p is 1 where two methods are
        identical, that of the sign-flip test on the disjoint tasks where all differences are equal
        but not 0, and NaN where there is no interval.  :meth:`Moments.p_for_new_runs` raises it
        where methods have several runs.
        """
        if self.design.independent:
            return np.asarray(paired_p(moments, "open"), np.float64)
        p = np.where(np.asarray(moments.all_zero), 1.0, np.nan)
        all_equal = np.asarray(moments.constant) & (np.asarray(moments.total) != 0)
        if all_equal.any():
            p[all_equal] = constant_p(self.design.disjoint_tasks)
        if self.design.obstacle is not None:
            return p
        rows = np.flatnonzero(self.norm2 > 0)
        one_sided = tails(self, np.abs(np.asarray(moments.total)) / self.design.tasks)
        p[rows] = np.minimum(round_significant(2.0 * one_sided[rows]), 1.0)
        widths = partial(self.task_halfwidths, moments, REFERENCE)
        return np.asarray(moments.p_for_new_runs(p, widths))


def relative_halfwidths(mixtures: Mixtures, level: float) -> Floats:
    """Compute half-widths (P,) divided by |y - ȳ|; NaN where there is no interval."""
    design = mixtures.design
    widths = np.full(len(mixtures.norm2), np.nan)
    for rows, weights, errors in mixtures.parts:
        widths[rows] = design.quantiles(weights, errors, design.tasks - 1, 1.0 - level)
    return widths


def mixtures_of(design: Any, u: NDArray[Any] | None, norm2: NDArray[Any]) -> Mixtures:
    """Compute mixtures from a design's coordinates u (P, k) of y, in any unit.

    `norm2` (P,) is |y - ȳ|² in that unit squared.  Independent tasks need no coordinates.
    """
    if u is None:
        return Mixtures(design, norm2, ())
    usable = np.flatnonzero(norm2 > 0) if design.obstacle is None else np.zeros(0, np.int64)
    parts = []
    for start in range(0, usable.size, design.rows_at_once):
        rows = usable[start : start + design.rows_at_once]
        parts.append((rows, *mixture_of(design, u[rows], norm2[rows])))
    return Mixtures(design, norm2, parts)


@singledispatch
def mixture_of(design: Any, u: NDArray[Any], norm2: NDArray[Any]) -> tuple[Floats, Floats]:
    """Compute the weights of ratios and the standard errors of a block of :class:`Mixtures`."""
    return mixture(Shares.of(design, u, norm2))


def mixture(shares: Shares) -> tuple[Floats, Floats]:
    """Compute the weight of each ratio g, rows of sum 1, and se_g / |y - ȳ|: both (P, G)."""
    design = shares.design
    scales = shares.scales()
    log_weights = shares.log_likelihoods(scales) + np.log(grid(design).prior)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    per_task = 1.0 / design.tasks + grid(design).ratios * design.concentration
    return weights, np.sqrt(scales / (design.tasks - 1) * per_task)


def tails(mixtures: Mixtures, mean: Floats) -> Floats:
    """Compute P(t_(T-1) > mean/se) (P,), averaged over the ratios; NaN without an interval.

    `mean` (P,) is that of y, in the unit of the coordinates.
    """
    p = np.full(len(mean), np.nan)
    for rows, weights, errors in mixtures.parts:
        score = mean[rows, None] / (errors * np.sqrt(mixtures.norm2[rows])[:, None])
        p[rows] = (weights * student_tail(mixtures.design.tasks - 1, score)).sum(axis=1)
    return p
