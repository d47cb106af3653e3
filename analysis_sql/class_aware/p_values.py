"""p-values of the class-aware interval's own test: what holds for new classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixture, pair_coordinates, task_halfwidths
from analysis_sql.class_aware.likelihood import LOG_GRID, Shares
from analysis_sql.comparison.multiplicity import one_sided_p, paired_p
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.settled import settled
from analysis_sql.intervals.sign_flip import constant_p
from analysis_sql.intervals.training_runs import REFERENCE

_NUMBERS_AT_ONCE = 1 << 20
"""Numbers held at once."""


def p_values(
    design: ClassDesign, counts: Counts, methods: NDArray[np.int64], versus: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Two-sided p-values for new classes, (P,): 1 - the level at which 0 is just outside.

    The class-aware interval's own test, Σ_g weight(g) · 2 P(t_(T-1) > |mean| / se_g).  As in
    :func:`analysis_sql.comparison.verdicts.paired_verdicts`, 1 where two methods are identical,
    2^(1-D) where all differences are equal but not 0, and NaN where nothing can be said.
    Higher where methods have several runs: :meth:`Moments.p_for_new_runs`.  `methods` and `versus`
    (P,) are positions in `counts`.
    """
    common = np.minimum(counts.tasks[methods], counts.tasks[versus])
    p = np.full(len(common), np.nan)
    for tasks in np.unique(common).tolist():
        rows = np.flatnonzero(common == tasks)
        prefix = design.prefix(tasks)
        u = prefix.coordinates(counts.correct[:, :tasks])
        i, j = methods[rows], versus[rows]
        apart = counts.differences(i, j, tasks)
        difference = apart.moments()
        coordinates = pair_coordinates(prefix, apart, counts.queries_per_task, u, i, j)
        norm2 = np.asarray(difference.scatter, np.float64) / tasks
        mean = np.abs(np.asarray(difference.total)) / tasks
        if prefix.disjoint:
            p[rows] = paired_p(difference, "open")
            continue
        p[rows] = np.where(np.asarray(difference.all_zero), 1.0, np.nan)
        if (alike := (norm2 == 0) & (mean > 0)).any():
            p[rows[alike]] = constant_p(prefix.disjoint_tasks)
        if prefix.obstacle is None:
            varied = np.flatnonzero(norm2 > 0)
            for one in varied.tolist():  # each by itself: the same whatever else is compared
                part = slice(one, one + 1)
                shares = Shares.of(prefix, coordinates[part], norm2[part])
                weights, errors = mixture(shares)
                score = -mean[one] / (errors[0] * np.sqrt(norm2[one]))
                tails = 2.0 * weights[:1] @ stdtr(tasks - 1, score)
                p[rows[one]] = min(1.0, float(settled(tails)[0]))
        p[rows] = _for_new_runs(p[rows], prefix, coordinates, difference)
    return p


def one_sided_p_new_classes(design: ClassDesign, ahead: Counts) -> Floats:
    """p-values (P,) of "the leader is better", for new classes; as :func:`one_sided_p`.

    p = Σ_g weight(g) P(t_(T-1) >= mean/se_g), the class-aware interval's own law.  Differences
    that are all equal but not 0 on tasks of which D share no class: 2^-D.
    """
    p = np.full(len(ahead), np.nan)
    for tasks in np.unique(ahead.tasks[ahead.tasks > 0]).tolist():
        rows = np.flatnonzero(ahead.tasks == tasks)
        prefix = design.prefix(tasks)
        part = ahead.some(rows).first(tasks)
        if prefix.disjoint:
            p[rows] = one_sided_p(part.moments())
            continue
        moments = part.moments()
        total, norm2 = np.asarray(moments.total), np.asarray(moments.scatter, np.float64) / tasks
        part_p = np.where(total > 0, np.nan, 1.0)
        alike = (norm2 == 0) & (total > 0)
        if alike.any():
            part_p[alike] = constant_p(prefix.disjoint_tasks) / 2.0
        varied = np.flatnonzero((norm2 > 0) & (total > 0))
        if prefix.obstacle is None:
            part_p[varied] = _mixed_p(prefix, part.correct[varied], total[varied], norm2[varied])
        if part.run_variance.any():
            u = prefix.coordinates(part.correct)
            raised = _for_new_runs(2.0 * part_p, prefix, u, moments) / 2.0
            part_p = np.where(total > 0, raised, part_p)
        p[rows] = part_p
    return p


def _for_new_runs(
    p: Floats, design: ClassDesign, coordinates: NDArray[Any], moments: Moments
) -> Floats:
    """Raise two-sided p-values (P,) by what training anew adds; see :func:`p_for_new_runs`."""
    widths = partial(task_halfwidths, design, coordinates, moments, REFERENCE)
    return np.asarray(moments.p_for_new_runs(p, widths))


def _mixed_p(
    design: ClassDesign, ahead: NDArray[np.int64], total: NDArray[np.int64], norm2: Floats
) -> Floats:
    """P(t >= mean/se_g) (P,), averaged over the ratios g."""
    p = np.ones(len(ahead))
    step = max(1, _NUMBERS_AT_ONCE // max(design.rank, design.tasks, LOG_GRID.size))
    for start in range(0, len(ahead), step):
        rows = slice(start, start + step)
        shares = Shares.of(design, design.coordinates(ahead[rows]), norm2[rows])
        weights, errors = mixture(shares)
        mean = (total[rows] / design.tasks)[:, None]
        tails = stdtr(design.tasks - 1, -mean / (errors * np.sqrt(norm2[rows])[:, None]))
        p[rows] = np.minimum(settled((weights * tails).sum(axis=1)), 1.0)
    return p
