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

    Attributes
    ----------
    leader
        Position of the method with the highest mean; of equal means the first.
    compared
        M: methods that were compared, the leader among them.
    p, p_new_classes : float (methods,)
        One-sided p-values of "the leader is better", unadjusted, for new images of these classes
        and for new classes (None without a design); 1 where it has not the higher mean, NaN where
        nothing can be said.
    possible, possible_new_classes : bool (methods,)
        Which methods could be the best.  What was not compared is not excluded.
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

    Parameters
    ----------
    counts
        Of all methods.
    level
        Confidence that a truly best method is in the set.
    design
        The classes of the tasks; None leaves new classes out.
    ordinary : bool (methods,)
        Methods whose number of tasks was fixed beforehand, by default all.  The others, runs
        that stopped by a rule, are neither excluded nor the leader, and are not counted in M.

    Returns
    -------
    None where no method is an ordinary one.
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
