"""Simulated results on a set's classes: class-aware half-widths, and what they detect.

A set is simulated by its coordinates alone, u_i² = σ_e²(1 + gλ_i) χ²(1) and rss = σ_e² χ²(T-1-k).
Each coordinate's quantiles are spread evenly over the sets, in an order of its own (Latin hypercube
sampling; McKay, Beckman and Conover 1979), which leaves under 1 % of noise in what is told.

Over new classes the mean of T tasks is normal with variance Var(mean) = σ_b²V + σ_e²/T around δ,
and independent of the coordinates, and so of the half-width h (exactly if all tasks have equally
used classes); what is detected with some power is the δ at which the mean over the simulated sets
of::

    P(|mean| > h) = Φ((δ - h)/sd) + Φ((-δ - h)/sd)            sd = sqrt(Var(mean))

is the power.
"""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import relative_halfwidths
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.power import smallest_with_power
from analysis_sql.intervals.random_stream import Stream
from analysis_sql.planning.variance_budget import Components

SETS = 200
"""Sets of results that are simulated on each sequence of classes."""

NODES = (-5.0, -2.5, 0.0, 2.5, 5.0)
"""ln(λ̄g) at which :func:`detectable_in_deviations` is computed; it hardly changes between."""

_FEWER = 80
"""Sets at each node."""


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
    inside = stream.words(stratum.size).astype(np.float64).reshape(stratum.shape) / 2.0**64
    p = np.clip((stratum + inside) / sets, 1e-12, 1.0 - 1e-12)
    chi = ndtri((1.0 + p[:, :rank]) / 2.0)  # its square is of one degree of freedom
    u = chi * np.sqrt(within + components.classes * design.eigenvalues)
    norm2 = np.square(u).sum(axis=1)
    if rest:
        norm2 = norm2 + within * 2.0 * gammaincinv(rest / 2.0, p[:, rank])
    return np.asarray(relative_halfwidths(design, u, norm2, level) * np.sqrt(norm2))


def detectable(widths: Floats, sd: float, power: float) -> float:
    """Solve for the δ whose mean of Φ((δ-h)/sd) + Φ((-δ-h)/sd) over half-widths h is the power.

    NaN where some h is none.
    """
    if not np.isfinite(widths).all():
        return nan

    def power_at(difference: float) -> float:
        both = ndtr((difference - widths) / sd) + ndtr((-difference - widths) / sd)
        return float(both.mean())

    return smallest_with_power(power_at, power, float(widths.max()) + sd)


def detectable_in_deviations(
    design: ClassDesign, level: float, power: float, *, seed: int = 0
) -> Floats:
    """Compute the smallest detectable difference over sqrt(Var(mean)), at the :data:`NODES`.

    It depends on g alone, not on σ_e².
    """
    differences = []
    for ratio in np.exp(np.array(NODES)) / design.typical:
        parts = Components(float(ratio), 1.0, 0.0)
        widths = simulated_halfwidths(parts, design, 1, level, sets=_FEWER, seed=seed)
        sd = sqrt(parts.variance_of_mean(design, 1))
        differences.append(detectable(widths, sd, power) / sd)
    return np.array(differences)
