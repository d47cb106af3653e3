"""Whether classes drift along a task set, so that a run which stops early would mislead.

An open set is drawn without replacement: every class is as likely at first, small classes are used
up, and later tasks have the large ones only.  A prefix then weights classes otherwise than the set
does, and two methods that are equal over the set, one better on large classes and one on small
ones, differ on every prefix.  A confidence sequence (:mod:`analysis_sql.intervals.stopping`) is
right about the prefix and wrong about the set.

How far that can go is worked out from the task table alone.  Let class c be in n_c tasks.  After m
tasks drawn so, class c has had about min(n_c, a) of them, a growing with m.  The ratio of its
shares in prefix and set falls with n_c, hence the prefix gains most over the set by a difference
that is one constant on the classes used less than j times and another on the rest, for some j.  So
take, for every j, differences y_t without any noise,

    y_t = s/K Σ_{c in t} (1[n_c >= j] - p_j),      p_j = Σ_{n_c >= j} n_c / Σ n_c,

whose mean over the set is 0, as large as differences can be and at halves of that, of either sign.
The *misleading capital* is the most that the sequence's bets make of any of them at any task.  With
noise the capital is on average what it is without, so that it tells how much more often the set
makes a sequence conclude wrongly than a level of 1 - α does: at most (capital) times α/2 on either
side, after Ville.  A set **drifts** if it reaches a quarter of the 2/α that conclude.

In simulations of such methods, with binomial noise and four sizes of difference, sequences of level
95 % conclude wrongly in at most 4 % of runs on the sets of the embedded release that do not drift,
and in up to 100 % on those that do (docs/stopping.md).
"""

from __future__ import annotations

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.stopping import BETS

_SIZES = 2.0 ** -np.arange(4.0)
"""Of the differences: as large as can be, and its halves."""
_MOST_CUTS = 64
"""Numbers of uses at which classes are divided, at most."""
_TOLERABLE = 0.25
"""Of the capital that concludes: up to here simulated sequences keep their level."""
_LEAST_LEVEL = 0.9
"""Lower levels are judged as this one: at the lowest, any capital would be too much."""


def tolerable_capital(level: float) -> float:
    """The misleading capital from which on sequences of a level conclude wrongly too often."""
    return _TOLERABLE * 2.0 / (1.0 - max(check_level(level), _LEAST_LEVEL))


def misleading_capital(class_ids: AnyInts) -> float:
    """The most capital against methods that are equal over the set, 1 if none; see the module.

    `class_ids` are the classes of each task, int (T, K), in the order of the tasks.
    """
    design = ClassDesign.of(class_ids)
    uses = design.uses
    cuts = np.unique(uses)[1:]
    if not cuts.size:
        return 1.0  # every class is used as often: nothing is known by which they could differ
    if cuts.size > _MOST_CUTS:
        cuts = np.unique(np.quantile(cuts, np.linspace(0, 1, _MOST_CUTS), method="nearest"))
    often = uses >= cuts[:, None]
    share = (often @ uses / uses.sum())[:, None]
    sides = (often - share) / np.maximum(share, 1.0 - share)
    return max(
        _peak(size * sign * side[design.members].mean(axis=1))
        for side in sides
        for size in _SIZES
        for sign in (1.0, -1.0)
    )


def _peak(y: Floats) -> float:
    """The most that the bets make of differences (T,) in [-1, 1] against a mean of at most 0."""
    bets, weights = BETS["bounded"]
    capital = np.cumsum(np.log1p(bets[:, None] * y), axis=1) + weights[:, None]
    with np.errstate(over="ignore"):  # infinitely much is too much
        return float(np.exp(np.logaddexp.reduce(capital, axis=0).max()))
