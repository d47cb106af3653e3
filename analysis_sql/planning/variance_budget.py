"""The components of the variance of a mean over tasks, estimated from a pilot.

A task's accuracy (or paired difference) is y_t = θ + Σ_{c in t} b_c + e_t, as in
:mod:`analysis_sql.class_aware.design`, with (docs/planning.md)::

    Var(b_c) = σ_b²            classes
    Var(e_t) = a + w/Q         images: the support and query images with endless queries, a;
                               queries: that there are only Q of a class, w/Q
    Var(mean) = σ_b²·V   + (a + w/Q)/T              V = n'n/T²
    E[s²]/T   = σ_b²·R/T + (a + w/Q)/T              R = (TK - n'n/T)/(T-1)

σ_b² is estimated by restricted maximum likelihood, w as in :mod:`analysis_sql.planning.query_size`,
and a^ = s² - w^/Q - σ_b²^·R, so that the parts add up to s².  In the order classes, queries,
images, a part is at most the rest of s² that the parts before it leave.

**Likely components.**  Each g = σ_b²/σ_e² has its weight in the class-aware interval, no class
effect has as much prior weight as all λ̄g below 1 together, and q(g)/σ_e² is chi-square with T - 1
degrees of freedom; w is taken for known.

**Simulated sets.**  A set is simulated by its coordinates, u_i² = σ_e²(1 + gλ_i) χ²(1) and rss =
σ_e² χ²(T-1-k), whose quantiles are spread evenly (Latin hypercube sampling).  The smallest
detectable difference for new classes is the δ at which the mean over half-widths h of Φ((δ - h)/sd)
+ Φ((-δ - h)/sd), sd = sqrt(Var(mean)), is the power.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan, sqrt

import numpy as np
from msgspec import Struct
from scipy.special import chdtri, gammaincinv, ndtr, ndtri

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixture, mixtures_of, relative_halfwidths
from analysis_sql.class_aware.likelihood import Shares as Scatter
from analysis_sql.class_aware.likelihood import grid, variance_components
from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.power import detectable_difference_of, smallest_with_power
from analysis_sql.intervals.random_stream import Stream
from analysis_sql.planning.query_size import SetEstimate
from benchmark_spec.errors import SpecError


class Shares(Struct, frozen=True):
    """Parts of a variance that sum to 1; all NaN where nothing varies."""

    classes: float
    images: float
    queries: float


class Components(Struct, frozen=True):
    """Variances of an accuracy or of a paired difference, in fractions squared."""

    classes: float
    images: float
    queries: float
    """σ_b², of a class's effect on a task; a, of a task's images with endless queries; w, of one
    query per class."""

    def within(self, query: int) -> float:
        """Return σ_e² with Q queries per class, a + w/Q."""
        return self.images + self.queries / query

    def variance_of_mean(self, design: ClassDesign, query: int) -> float:
        """Return Var(mean) over new classes."""
        return self.classes * design.concentration + self.within(query) / design.tasks

    def between_tasks(self, design: ClassDesign, query: int) -> float:
        """Return E[s²], the expected sample variance between a set's tasks; NaN for one task."""
        return self.classes * between_classes(design) + self.within(query)

    def budget(self, design: ClassDesign, query: int) -> Shares:
        """Return shares of Var(mean) over new classes."""
        return self._shares(self.classes * design.concentration, design.tasks, query)

    def open_budget(self, design: ClassDesign, query: int) -> Shares:
        """Return shares of E[s²]/T, the squared width of the open interval."""
        part = self.classes * between_classes(design) / design.tasks
        return self._shares(part, design.tasks, query)

    def _shares(self, classes: float, tasks: int, query: int) -> Shares:
        parts = np.array([classes, self.images / tasks, self.queries / query / tasks])
        total = float(parts.sum())
        return Shares(*(parts / total if total > 0 else np.full(3, nan)).tolist())


def between_classes(design: ClassDesign) -> float:
    """Return R, the factor of σ_b² in the variance between a set's tasks; NaN for one task."""
    tasks = design.tasks
    return tasks * (design.way - design.concentration) / (tasks - 1) if tasks > 1 else nan


def components_of(
    design: ClassDesign, sums: AnyInts, estimate: SetEstimate, unit: int = 1
) -> Components:
    """Estimate all components from one task set.

    `sums` (T, K) are correct queries of each class, or Σd. Raises a SpecError if all tasks have the
    same classes.
    """
    if design.obstacle is not None:
        raise SpecError(
            f"the variance of classes cannot be separated from that of images: {design.obstacle}",
            expected="tasks of different classes",
        )
    values, norm2 = task_counts(design, sums)
    estimates = variance_components(design, design.coordinates(values), norm2)
    n_query = design.way * estimate.query * unit
    times = between_classes(design)
    classes = float(estimates.between[0]) / n_query**2 if norm2[0] else 0.0
    classes = min(classes, estimate.variance / times)
    within = max(estimate.variance - classes * times, 0.0)
    queries = min(estimate.w, within * estimate.query)
    return Components(classes, max(within - queries / estimate.query, 0.0), queries)


def task_counts(design: ClassDesign, sums: AnyInts) -> tuple[Ints, Floats]:
    """Sum the counts of tasks (1, T), and their squares about the mean (1,), 0 if constant."""
    values = np.asarray(sums).sum(axis=1, dtype=np.int64)[None, :]
    scatter = design.tasks * int((values * values).sum()) - int(values.sum()) ** 2
    return values, np.array([scatter / design.tasks])


SETS = 200
"""Sets of results that are simulated on each sequence of classes."""

NODES = (-5.0, -2.5, 0.0, 2.5, 5.0)
"""ln(λ̄g) at which :func:`detectable_in_deviations` is computed; it hardly changes between."""

_SETS_AT_NODE = 80
"""Sets that are simulated at each node."""


def simulated_halfwidths(
    components: Components,
    design: ClassDesign,
    query: int,
    level: float,
    *,
    sets: int = SETS,
    seed: int,
) -> Floats:
    """Simulate class-aware half-widths (sets,), as fractions; NaN where nothing varies."""
    within = components.within(query)
    stream = Stream("plan", "results", seed)
    rank, rest = design.rank, design.tasks - 1 - design.rank
    stratum = stream.permutations(rank + 1, sets).T
    within_stratum = stream.words(stratum.size).astype(np.float64).reshape(stratum.shape) / 2.0**64
    p = np.clip((stratum + within_stratum) / sets, 1e-12, 1.0 - 1e-12)
    chi = ndtri((1.0 + p[:, :rank]) / 2.0)  # its square is of one degree of freedom
    u = chi * np.sqrt(within + components.classes * design.eigenvalues)
    norm2 = np.square(u).sum(axis=1)
    if rest:
        norm2 = norm2 + within * 2.0 * gammaincinv(rest / 2.0, p[:, rank])
    return np.asarray(relative_halfwidths(mixtures_of(design, u, norm2), level) * np.sqrt(norm2))


def detectable(widths: Floats, sd: float, power: float) -> float:
    """Solve for the δ whose mean of Φ((δ-h)/sd) + Φ((-δ-h)/sd) over half-widths h is the power."""
    if not np.isfinite(widths).all():
        return nan

    def power_at(difference: float) -> float:
        both = ndtr((difference - widths) / sd) + ndtr((-difference - widths) / sd)
        return float(both.mean())

    return smallest_with_power(power_at, power, float(widths.max()) + sd)


def detectable_in_deviations(design: ClassDesign, level: float, power: float) -> Floats:
    """Compute the smallest detectable difference divided by sqrt(Var(mean)), at :data:`NODES`."""
    differences = []
    for ratio in np.exp(np.array(NODES)) / design.mean_eigenvalue:
        parts = Components(float(ratio), 1.0, 0.0)
        widths = simulated_halfwidths(parts, design, 1, level, sets=_SETS_AT_NODE, seed=0)
        sd = sqrt(parts.variance_of_mean(design, 1))
        differences.append(detectable(widths, sd, power) / sd)
    return np.array(differences)


Range = tuple[float, float]

_POINTS = 100
"""Quantiles of chi-square for each g."""

_NEGLIGIBLE = 1e-7


class LikelyComponents(Struct, frozen=True, eq=False):
    """Likely components, given a pilot of Q = `query`, in fractions squared."""

    weights: Floats
    classes: Floats
    within: Floats
    """float64 (N,): the weight of each possibility, of sum 1, its σ_b², and its σ_e² at the pilot's
    Q."""
    queries: float
    """w."""
    query: int

    @classmethod
    def of(
        cls, design: ClassDesign, sums: AnyInts, estimate: SetEstimate, unit: int = 1
    ) -> LikelyComponents | None:
        """Estimate them from one task set; None where all tasks have the same value."""
        values, norm2 = task_counts(design, sums)
        if design.obstacle is not None or not norm2[0]:
            return None
        scatter = Scatter.of(design, design.coordinates(values), norm2)
        ratios, weights = grid(design), mixture(scatter)[0][0].copy()
        small = ratios.prior[ratios.shares < 1.0].sum()
        weights[0] *= 1.0 + small / ratios.prior[0]  # no class effect
        weights = weights / weights.sum()
        kept = np.flatnonzero(weights > _NEGLIGIBLE)
        n_query = design.way * estimate.query * unit
        q = scatter.scales()[0][kept] * norm2[0] / n_query**2
        middles = (np.arange(_POINTS) + 0.5) / _POINTS
        within = q[:, None] / chdtri(design.tasks - 1, middles)
        classes = ratios.ratios[kept, None] * within
        weight = np.repeat(weights[kept] / weights[kept].sum() / _POINTS, _POINTS)
        return cls(weight, classes.reshape(-1), within.reshape(-1), estimate.w, estimate.query)

    def within_at(self, query: int) -> Floats:
        """Return σ_e² (N,) with Q queries per class."""
        queries = np.minimum(self.queries, self.within * self.query)
        return np.asarray(self.within + queries * (1.0 / query - 1.0 / self.query))

    def between_tasks(self, design: ClassDesign, query: int) -> Floats:
        """Return E[s²] (N,), the expected sample variance between the tasks of a set."""
        return self.classes * between_classes(design) + self.within_at(query)

    def variance_of_mean(self, design: ClassDesign, query: int) -> Floats:
        """Return Var(mean) over new classes (N,)."""
        return self.classes * design.concentration + self.within_at(query) / design.tasks

    def class_share(self, design: ClassDesign, query: int) -> Floats:
        """Return the share (N,) of the classes in Var(mean) over new classes."""
        return self.classes * design.concentration / self.variance_of_mean(design, query)

    def range(self, values: Floats, level: float) -> Range:
        """Return the ends between which values (N,) lie with probability `level`."""
        order = np.argsort(values, kind="stable")
        weights = self.weights[order]
        below = weights.cumsum() - weights / 2.0
        tail = (1.0 - level) / 2.0
        low, high = np.interp([tail, 1.0 - tail], below, values[order]).tolist()
        return low, high


def detectable_open(
    likely: LikelyComponents, designs: Sequence[ClassDesign], query: int, level: float, power: float
) -> Floats:
    """Compute detectable differences (N,) for new images, as fractions, mean over designs."""
    differences = [
        detectable_difference_of(design.tasks, likely.between_tasks(design, query), level, power)
        for design in designs
    ]
    return np.asarray(np.mean(differences, axis=0))


def detectable_class_aware(
    likely: LikelyComponents, designs: Sequence[ClassDesign], query: int, level: float, power: float
) -> Floats:
    """Compute detectable differences (N,) for new classes, as fractions, mean over designs.

    The number of standard deviations is that of the first design.
    """
    first = designs[0]
    if first.disjoint:
        return detectable_open(likely, designs, query, level, power)
    shares = likely.classes * first.mean_eigenvalue / likely.within_at(query)
    strength = np.log(np.maximum(shares, np.exp(NODES[0])))
    factor = np.interp(strength, NODES, detectable_in_deviations(first, level, power))
    deviations = [np.sqrt(likely.variance_of_mean(design, query)) for design in designs]
    return np.asarray(factor * np.mean(deviations, axis=0))
