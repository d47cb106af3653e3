"""p-values of the class-aware interval's own test: what holds for new classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixture, pair_coordinates, task_halfwidths
from analysis_sql.class_aware.likelihood import LOG_GRID, Shares
from analysis_sql.comparison.multiplicity import one_sided_p, paired_p
from analysis_sql.comparison.pairs import pair_differences
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.settled import settled
from analysis_sql.intervals.sign_flip import constant_p
from analysis_sql.intervals.student_tail import student_tail
from analysis_sql.intervals.training_runs import REFERENCE

_NUMBERS_AT_ONCE = 1 << 17
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
    differences = pair_differences(counts, methods, versus)
    for tasks in np.unique(common).tolist():
        rows = np.flatnonzero(common == tasks)
        prefix, difference = design.prefix(tasks), differences.some(rows)
        if prefix.disjoint:
            p[rows] = paired_p(difference, "open")
            continue
        u = prefix.coordinates(counts.correct[:, :tasks])
        coordinates = pair_coordinates(prefix, counts, u, methods[rows], versus[rows])
        norm2 = np.asarray(difference.scatter, np.float64) / tasks
        mean = np.abs(np.asarray(difference.total)) / tasks
        own = np.where(np.asarray(difference.all_zero), 1.0, np.nan)
        if (alike := (norm2 == 0) & (mean > 0)).any():
            own[alike] = constant_p(prefix.disjoint_tasks)
        if prefix.obstacle is None:
            varied = np.flatnonzero(norm2 > 0)
            outside = 2.0 * _tails(prefix, coordinates[varied], norm2[varied], mean[varied])
            own[varied] = np.minimum(settled(outside), 1.0)
        p[rows] = _for_new_runs(own, prefix, coordinates, difference)
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
            u = prefix.coordinates(part.correct[varied])
            outside = _tails(prefix, u, norm2[varied], total[varied] / tasks)
            part_p[varied] = np.minimum(settled(outside), 1.0)
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


def _tails(design: ClassDesign, coordinates: NDArray[Any], norm2: Floats, mean: Floats) -> Floats:
    """P(t_(T-1) > mean/se_g) (P,), averaged over the ratios g."""
    p = np.empty(len(mean))
    step = max(1, _NUMBERS_AT_ONCE // max(design.rank, LOG_GRID.size))
    for start in range(0, len(mean), step):
        rows = slice(start, start + step)
        weights, errors = mixture(Shares.of(design, coordinates[rows], norm2[rows]))
        score = mean[rows, None] / (errors * np.sqrt(norm2[rows])[:, None])
        p[rows] = (weights * student_tail(design.tasks - 1, score)).sum(axis=1)
    return p
