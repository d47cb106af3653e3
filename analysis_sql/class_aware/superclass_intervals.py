"""Class-aware intervals for the mean over *new superclasses*, of methods and of their differences.

The class-aware interval (:mod:`analysis_sql.class_aware.intervals`) takes classes for independent
draws.  Where they come in superclasses that another experiment would draw anew, it speaks of new
classes *of these superclasses*.  These intervals count superclasses as a sample, too
(:mod:`analysis_sql.class_aware.superclass_mixture`).  Since a question about more is not answered
by less, they are never narrower than those for new classes, and their p-values never smaller.

Estimand: superclass-aware, new superclasses: the mean over new tasks of new classes of new
superclasses, of the kinds that these were drawn from.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.intervals import halfwidths as halfwidths_for_new_classes
from analysis_sql.class_aware.intervals import own_halfwidths, pair_coordinates
from analysis_sql.class_aware.p_values import one_sided_p_new_classes
from analysis_sql.class_aware.p_values import p_values as p_values_for_new_classes
from analysis_sql.class_aware.pairs import AwareKind, AwarePairs
from analysis_sql.class_aware.superclass_design import SuperclassDesign
from analysis_sql.class_aware.superclass_mixture import relative_halfwidths, tails
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.settled import settled
from analysis_sql.intervals.sign_flip import constant_p
from analysis_sql.intervals.training_runs import REFERENCE, for_new_runs
from benchmark_spec.suites import IntervalKind

KIND: IntervalKind = "superclass-aware"

_ROWS_AT_ONCE = 256
"""Pairs whose coordinates are held at once."""


def halfwidths(
    design: SuperclassDesign, coordinates: NDArray[Any], moments: Moments, level: float
) -> Floats:
    """Compute half-widths (P,) for new superclasses, percentage points.

    NaN where there is no interval: counts that are all equal, or an obstacle of the design.  If no
    superclass is in two tasks, the open interval's.

    Parameters
    ----------
    coordinates : float (P, k + B·r)
        The design's of the counts, or differences of two methods'.
    moments
        Of the same counts or differences, arrays (P,).
    """
    check_level(level)
    if design.obstacle is not None:
        return np.full(len(coordinates), np.nan)
    u, _ = design.split(coordinates)
    of_classes = halfwidths_for_new_classes(design.classes, u, moments, level)
    if design.disjoint:
        return of_classes
    widths = _task_halfwidths(design, coordinates, moments, level)
    widened = for_new_runs(widths, moments.run_terms, level)
    return np.asarray(np.maximum(widened, of_classes))


def _task_halfwidths(
    design: SuperclassDesign, coordinates: NDArray[Any], moments: Moments, level: float
) -> Floats:
    """Compute the same where tasks share superclasses, as if runs did not differ."""
    norm2 = np.asarray(moments.scatter, np.float64) / design.tasks
    relative = relative_halfwidths(design, coordinates, norm2, level)
    return settled(relative * np.sqrt(norm2) * 100.0 / moments.queries_per_task)


def method_halfwidths(design: SuperclassDesign, counts: Counts, level: float) -> Floats:
    """Compute the methods' own :func:`halfwidths` (M,), each over the tasks that it answered."""
    return own_halfwidths(halfwidths, design, counts, level)


class ForNewSuperclasses(AwarePairs[SuperclassDesign]):
    """Compares methods of a task set for new superclasses."""

    def __init__(self, design: SuperclassDesign, counts: Counts, level: float) -> None:
        super().__init__(AwareKind(KIND, halfwidths), design, counts, level)


def p_values(
    design: SuperclassDesign,
    counts: Counts,
    methods: NDArray[np.int64],
    versus: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Two-sided p-values for new superclasses, (P,): 1 - the level at which 0 is just outside.

    As :func:`analysis_sql.class_aware.p_values.p_values`: 1 where two methods are identical,
    2^(1-D) where differences are all equal but not 0 on tasks of which D share no superclass, and
    NaN where nothing can be said.  `methods` and `versus` (P,) are positions in `counts`.
    """
    p = p_values_for_new_classes(design.classes, counts, methods, versus)
    common = np.minimum(counts.tasks[methods], counts.tasks[versus])
    for tasks in np.unique(common[common > 0]).tolist():
        prefix = design.prefix(tasks)
        whole = prefix.coordinates(counts.correct[:, :tasks])
        places = np.flatnonzero(common == tasks)
        for start in range(0, places.size, _ROWS_AT_ONCE):
            rows = places[start : start + _ROWS_AT_ONCE]
            i, j = methods[rows], versus[rows]
            difference = counts.differences(i, j, tasks).moments()
            own = pair_coordinates(prefix, counts, whole, i, j)
            p[rows] = _not_below(p[rows], prefix, difference, own, sides=2)
    return p


def one_sided_p(design: SuperclassDesign, ahead: Counts) -> Floats:
    """p-values (P,) of "the leader is better", for new superclasses, by how much it is ahead.

    1 where the mean is not above 0; else half of :func:`p_values`, and of 2^(1-D) there.
    """
    p = one_sided_p_new_classes(design.classes, ahead)
    for tasks in np.unique(ahead.tasks[ahead.tasks > 0]).tolist():
        prefix = design.prefix(tasks)
        places = np.flatnonzero(ahead.tasks == tasks)
        for start in range(0, places.size, _ROWS_AT_ONCE):
            rows = places[start : start + _ROWS_AT_ONCE]
            part = ahead.some(rows).first(tasks)
            moments, own = part.moments(), prefix.coordinates(part.correct)
            judged = _not_below(p[rows], prefix, moments, own, sides=1)
            p[rows] = np.where(np.asarray(moments.total) > 0, judged, 1.0)
    return p


def _not_below(
    p: Floats,
    design: SuperclassDesign,
    moments: Moments,
    coordinates: NDArray[Any],
    *,
    sides: int,
) -> Floats:
    """Raise p-values (P,) for new classes to those for new superclasses; see :func:`p_values`."""
    total = np.asarray(moments.total)
    norm2 = np.asarray(moments.scatter, np.float64) / design.tasks
    own = np.where(np.asarray(moments.all_zero), 1.0, np.nan)
    alike = (norm2 == 0) & (total != 0)
    if alike.any():
        own[alike] = constant_p(design.disjoint_tasks) * sides / 2.0
    varied = np.flatnonzero(norm2 > 0)
    if design.obstacle is None and design.disjoint:
        own[varied] = p[varied]
    elif design.obstacle is None:
        mean = np.abs(total[varied]) / design.tasks
        outside = tails(design, coordinates[varied], norm2[varied], mean)
        own[varied] = np.minimum(settled(sides * outside), 1.0)
        widths = partial(_task_halfwidths, design, coordinates, moments, REFERENCE)
        own = moments.p_for_new_runs(2.0 / sides * own, widths) * sides / 2.0
    return np.maximum(own, p)
