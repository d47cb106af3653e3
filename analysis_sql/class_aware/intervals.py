"""Class-aware confidence intervals: for the mean over *new classes*.

The open interval treats tasks as independent.  They are, as far as images go; but the same few
classes recur in hundreds of tasks, and another experiment, with other classes, moves all of these
tasks together.  Here the variance of a mean has both parts
(:mod:`analysis_sql.class_aware.design`)::

    Var(mean) = σ_e² (1/T + g v)         g = σ_b²/σ_e² unknown

For a known g, (mean - θ)/se_g is Student's with T - 1 degrees of freedom, where::

    se_g² = q(g)/(T-1) · (1/T + g v)

(exactly if all tasks have equally used classes; then the mean is independent of the coordinates
that q is made of).  Few classes say little of g: to plug in its likeliest value is to claim to
know it, and at 7 classes such intervals of 95 % cover 80 to 84 %.  So each g of a grid gets the
weight that the tasks leave it, its restricted likelihood times a prior of d ln(g)::

    sqrt(λ̄g / (1+λ̄g))    if k < T-1,      sqrt(λ̄g) / (1+λ̄g/16)    if k = T-1

and the half-width h is that of the mixture::

    Σ_g weight(g) · 2 P(t_(T-1) > h / se_g) = 1 - level

Both priors fall off as the standard deviation σ_b itself does near 0, so that few classes without
any visible effect are not called free of one.  The first leaves large g to the likelihood, which
falls there as g^(-k/2); with k = T-1 (nearly always so when T <= C) there is no rest to tell σ_e²
by and it does not fall, hence the second: half of it lies below sqrt(λ̄g) = 4.

Estimand: class-aware, new classes: the mean over new tasks of new classes of the kind that these
were drawn from.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.likelihood import LOG_GRID, Shares, ratios
from analysis_sql.class_aware.mixture_quantiles import mixture_quantiles
from analysis_sql.class_aware.shared_design import SharedDesign
from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import Interval, check_level
from analysis_sql.intervals.intervals import halfwidths as open_halfwidths
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.settled import settled
from analysis_sql.intervals.training_runs import for_new_runs

D = TypeVar("D", bound=SharedDesign)

_NUMBERS_AT_ONCE = 1 << 20
"""Numbers held at once: rows times eigenvalues or grid points."""

REACH = 4.0
"""The median of sqrt(λ̄g) under the prior where k = T-1: classes move a typical coordinate four
times as much as tasks do.  Centred at 1, intervals of 95 % cover 90 to 92 % where classes are all
that tasks differ by; see studies/coverage/README.md, which has the price too."""


def halfwidths(design: ClassDesign, u: NDArray[Any], moments: Moments, level: float) -> Floats:
    """Compute half-widths (P,) of class-aware intervals (estimand: new classes), percentage points.

    NaN where there is no interval: counts that are all equal, T < 2, or tasks that all have the
    same classes (``design.obstacle`` says which).  If no class is used twice, the open interval's.

    Parameters
    ----------
    design
        Of the T tasks that all of these have answered.
    u : float (P, k)
        Coordinates of the counts, or differences of two methods' coordinates.
    moments
        Of the same counts or differences, arrays (P,).
    """
    check_level(level)
    norm2 = np.asarray(moments.scatter, np.float64) / design.tasks
    if design.disjoint:
        widths = np.asarray(open_halfwidths(moments, "open", level), np.float64)
        return np.where(norm2 > 0, widths, np.nan)
    widths = task_halfwidths(design, u, moments, level)
    return np.asarray(for_new_runs(widths, moments.run_terms, level))


def task_halfwidths(design: ClassDesign, u: NDArray[Any], moments: Moments, level: float) -> Floats:
    """Compute the same where tasks share classes, as if runs did not differ."""
    norm2 = np.asarray(moments.scatter, np.float64) / design.tasks
    relative = relative_halfwidths(design, u, norm2, level)
    return settled(relative * np.sqrt(norm2) * 100.0 / moments.queries_per_task)


def relative_halfwidths(
    design: ClassDesign, u: NDArray[Any], norm2: NDArray[Any], level: float
) -> Floats:
    """Compute half-widths (P,) as shares of |y - ȳ|; NaN as :func:`halfwidths`.

    `u` (P, k) are the coordinates of y, in any units, and `norm2` (P,) is |y - ȳ|² in their square.
    """
    widths = np.full(len(norm2), np.nan)
    if design.obstacle is not None:
        return widths
    usable = np.flatnonzero(norm2 > 0)
    step = max(1, _NUMBERS_AT_ONCE // max(design.rank, LOG_GRID.size))
    for start in range(0, usable.size, step):
        rows = usable[start : start + step]
        weights, errors = mixture(Shares.of(design, u[rows], norm2[rows]))
        widths[rows] = mixture_quantiles(weights, errors, design.tasks - 1, 1.0 - level)
    return widths


def mixture(shares: Shares) -> tuple[Floats, Floats]:
    """Weigh each ratio g of the grid, rows of sum 1, and give se_g by |y - ȳ|: both (P, G)."""
    design = shares.design
    scales = shares.scales()
    log_weights = shares.log_likelihoods(scales) + np.log(prior(design))
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    per_task = 1.0 / design.tasks + ratios(design) * design.concentration
    return weights, np.sqrt(scales / (design.tasks - 1) * per_task)


def prior(design: ClassDesign) -> Floats:
    """Return the prior weight of each ratio of the grid (G,), up to a factor."""
    x = np.exp(LOG_GRID)
    if design.rank == design.tasks - 1:
        return np.asarray(np.sqrt(x) / (1.0 + x / REACH**2))
    return np.asarray(np.sqrt(x / (1.0 + x)))


def method_halfwidths(design: ClassDesign, counts: Counts, level: float) -> Floats:
    """Compute the methods' own :func:`halfwidths` (M,), each over the tasks that it answered."""
    return own_halfwidths(halfwidths, design, counts, level)


def own_halfwidths(
    of_kind: Callable[[D, NDArray[Any], Moments, float], Floats],
    design: D,
    counts: Counts,
    level: float,
) -> Floats:
    """Compute half-widths (M,) of the methods' means by a kind, each over the tasks it answered."""
    moments = counts.moments()
    widths = np.full(len(counts), np.nan)
    for tasks in np.unique(counts.tasks[counts.tasks > 0]).tolist():
        rows = np.flatnonzero(counts.tasks == tasks)
        prefix = design.prefix(tasks)
        coordinates = prefix.coordinates(counts.correct[rows, :tasks])
        widths[rows] = of_kind(prefix, coordinates, moments.some(rows), level)
    return widths


def pair_coordinates(
    design: SharedDesign,
    counts: Counts,
    u: Floats,
    methods: NDArray[Any],
    versus: NDArray[Any],
) -> Floats:
    """Compute coordinates (P, k) of the differences of two methods each, in the units of these.

    Those of the methods less each other; where their queries per task differ, of the exact
    differences, since most of two large numbers may cancel there.  `methods` and `versus` (P,) are
    positions in `counts` (M) and `u` (M, k).
    """
    coordinates: Floats = u[methods] - u[versus]
    differ = np.flatnonzero(counts.queries_per_task[methods] != counts.queries_per_task[versus])
    if differ.size:
        apart = counts.differences(methods[differ], versus[differ], design.tasks)
        coordinates[differ] = design.coordinates(apart.correct)
    return coordinates


def class_aware_interval(
    design: ClassDesign, counts: AnyInts, queries_per_task: int, level: float
) -> Interval:
    """Compute the class-aware interval (estimand: new classes) of one method or paired difference.

    Parameters
    ----------
    counts : int (T,)
        Correct queries of each task, or differences of two methods'.
    queries_per_task
        Queries in a task.
    """
    x = np.asarray(counts)[None, :]
    moments = Counts(x, np.array([x.shape[1]]), queries_per_task).moments()
    prefix = design.prefix(x.shape[1])
    width = float(halfwidths(prefix, prefix.coordinates(x), moments, level)[0])
    return Interval(
        "class-aware",
        level,
        prefix.tasks,
        float(moments.mean[0]),
        None if isnan(width) else width,
        bool(moments.constant[0]),
    )
