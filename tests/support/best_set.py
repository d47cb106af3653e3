"""Which methods could be the best, all at once: the rule of leaderboards written down once more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.kinds import NEW_CLASSES
from analysis_sql.comparison.verdicts import one_sided_p
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import check_level
from analysis_sql.ranking.told_apart import could_be_best, lead, leader_of

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Best:
    """Which of M methods could be the best; see :mod:`analysis_sql.ranking.told_apart`.

    p-values of "the leader is better" are one-sided and unadjusted, for new images of these classes
    and for new classes; NaN where nothing can be said.  What was not compared is not excluded.
    """

    leader: int
    compared: int
    p: Floats
    p_new_classes: Floats | None
    possible: Bools
    possible_new_classes: Bools | None


def best_set(
    counts: Counts,
    level: float,
    *,
    design: ClassDesign | None = None,
    ordinary: Bools | None = None,
) -> Best | None:
    """Which methods could be the best on a task set that reuses no image.

    Methods that are not `ordinary`, runs that stopped by a rule, are neither excluded nor the
    leader, and are not counted in M; None where there are no others.
    """
    check_level(level)
    ordinary = np.ones(len(counts), bool) if ordinary is None else ordinary
    if not ordinary.any():
        return None
    first = leader_of(counts.moments().mean, counts.tasks, ordinary)
    p = np.full(len(counts), np.nan)
    aware = np.full(len(counts), np.nan)
    usable = np.flatnonzero(ordinary)
    apart = lead(counts.some([first]), counts.some(usable))
    p[usable] = one_sided_p(apart.moments())
    if design is not None:
        aware[usable] = NEW_CLASSES.one_sided_p(design, apart)
    compared = int(usable.size)
    return Best(
        leader=first,
        compared=compared,
        p=p,
        p_new_classes=None if design is None else aware,
        possible=could_be_best(p, compared, level),
        possible_new_classes=None if design is None else could_be_best(aware, compared, level),
    )
