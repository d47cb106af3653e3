"""What a pilot leaves likely: not one set of variance components, but a law of them.

Each ratio g = σ_b²/σ_e² has the weight that the class-aware interval gives it, its restricted
likelihood times a prior (:mod:`analysis_sql.class_aware.intervals`), and that there is no class
effect at all has as much prior weight as all λ̄g below 1 together: the lower end of a range must
hold there too.  Given g, q(g)/σ_e² is chi-square with T - 1 degrees of freedom
(:mod:`analysis_sql.class_aware.likelihood`).  Whatever is computed from components can so be given
a range: quantiles of its values under this law.

w, of a single query, is taken for known: its error is small beside theirs, since each class of
each task tells of it.

The smallest detectable difference for new images is :mod:`analysis_sql.intervals.power`'s of
sqrt(E[s²]).  For new classes it is sqrt(Var(mean)) times a factor that depends on g alone and
hardly changes with it, so that a few g are simulated (:mod:`analysis_sql.planning.simulated_sets`)
and what lies between is interpolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixture, prior
from analysis_sql.class_aware.likelihood import LOG_GRID, Shares, ratios
from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.power import detectable_difference_of
from analysis_sql.planning.query_size import SetEstimate
from analysis_sql.planning.simulated_sets import NODES, detectable_in_deviations
from analysis_sql.planning.variance_budget import between_classes, task_counts

Range = tuple[float, float]

_POINTS = 100
"""Quantiles of chi-square for each g."""

_NEGLIGIBLE = 1e-7


@dataclass(frozen=True, eq=False)
class LikelyComponents:
    """Components that a pilot of Q = `query` leaves likely, in fractions squared.

    Attributes
    ----------
    weights, classes, within : float64 (N,)
        The weight of each possibility (their sum is 1), its σ_b², and its σ_e² at the pilot's Q.
    queries
        w.
    """

    weights: Floats
    classes: Floats
    within: Floats
    queries: float
    query: int

    @classmethod
    def of(
        cls, design: ClassDesign, sums: AnyInts, estimate: SetEstimate, unit: int = 1
    ) -> LikelyComponents | None:
        """The law after one task set; None where all tasks have the same value.

        Arguments as :func:`analysis_sql.planning.variance_budget.components_of`.
        """
        values, norm2 = task_counts(design, sums)
        if design.obstacle is not None or not norm2[0]:
            return None
        scatter = Shares.of(design, design.coordinates(values), norm2)
        weights = _with_none(mixture(scatter)[0][0], prior(design))
        kept = np.flatnonzero(weights > _NEGLIGIBLE)
        n_query = design.way * estimate.query * unit
        q = scatter.scales()[0][kept] * norm2[0] / n_query**2
        middles = (np.arange(_POINTS) + 0.5) / _POINTS
        within = q[:, None] / chdtri(design.tasks - 1, middles)
        classes = ratios(design)[kept, None] * within
        weight = np.repeat(weights[kept] / weights[kept].sum() / _POINTS, _POINTS)
        return cls(weight, classes.reshape(-1), within.reshape(-1), estimate.w, estimate.query)

    def within_at(self, query: int) -> Floats:
        """σ_e² (N,) with Q queries per class."""
        queries = np.minimum(self.queries, self.within * self.query)
        return np.asarray(self.within + queries * (1.0 / query - 1.0 / self.query))

    def between_tasks(self, design: ClassDesign, query: int) -> Floats:
        """E[s²] (N,), the expected sample variance between the tasks of a set."""
        return self.classes * between_classes(design) + self.within_at(query)

    def class_share(self, design: ClassDesign, query: int) -> Floats:
        """The share (N,) of the classes in Var(mean) over new classes."""
        classes = self.classes * design.concentration
        return np.asarray(classes / (classes + self.within_at(query) / design.tasks))

    def range(self, values: Floats, level: float) -> Range:
        """The ends between which values (N,) lie with probability `level`."""
        order = np.argsort(values, kind="stable")
        weights = self.weights[order]
        below = weights.cumsum() - weights / 2.0
        tail = (1.0 - check_level(level)) / 2.0
        low, high = np.interp([tail, 1.0 - tail], below, values[order]).tolist()
        return low, high


def _with_none(weights: Floats, before: Floats) -> Floats:
    """Weights of the grid (G,) whose first point, practically no effect, stands for none at all."""
    shifted = weights.copy()
    shifted[0] *= before[LOG_GRID < 0].sum() / before[0]
    return np.asarray(shifted / shifted.sum())


def detectable_open(
    likely: LikelyComponents,
    designs: Sequence[ClassDesign],
    query: int,
    level: float,
    power: float,
) -> Floats:
    """Compute the differences (N,), for new images, as fractions; the mean over some designs."""
    variances = [likely.between_tasks(design, query) for design in designs]
    differences = [
        detectable_difference_of(design.tasks, variance, level, power)
        for design, variance in zip(designs, variances, strict=True)
    ]
    return np.asarray(np.mean(differences, axis=0))


def detectable_class_aware(
    likely: LikelyComponents,
    designs: Sequence[ClassDesign],
    query: int,
    level: float,
    power: float,
) -> Floats:
    """Compute the differences (N,), for new classes, as fractions; the mean over some designs.

    The factor is that of the first design.
    """
    first, within = designs[0], likely.within_at(query)
    if first.disjoint:
        return detectable_open(likely, designs, query, level, power)
    strength = np.log(likely.classes * first.typical / within)
    factor = np.interp(strength, NODES, detectable_in_deviations(first, level, power))
    deviations = [np.sqrt(likely.classes * d.concentration + within / d.tasks) for d in designs]
    return np.asarray(factor * np.mean(deviations, axis=0))
