"""The smallest detectable differences under all components that a pilot leaves likely.

For new images: :mod:`analysis_sql.intervals.power`'s of sqrt(E[s²]).  For new classes it is
sqrt(Var(mean)) times a factor that depends on g alone and hardly changes with it, so that a few g
are simulated (:mod:`analysis_sql.planning.simulated_sets`) and what lies between is interpolated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.power import detectable_difference_of
from analysis_sql.planning.likely_components import LikelyComponents
from analysis_sql.planning.simulated_sets import NODES, detectable_in_deviations


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
