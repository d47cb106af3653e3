"""Among which of many methods a best one is: a confidence set, valid though the leader is chosen.

Of M methods on a task set let the *leader* i be the one with the highest mean.  Method j is
excluded if the leader is significantly better than j, in the one-sided paired test at
(1 - level)/(M - 1)::

    P(t_(T-1) > mean(d) / (sd(d)/sqrt(T))) <= (1 - level)/(M - 1),        d_t = x_it - x_jt

What is left is the set of methods that could be the best.  **With confidence `level` a method b
of the highest expected accuracy is in it.**  For b is excluded only if it is not the leader and
one of the tests "i is better than b" rejects, whichever i the data make the leader.  No i *is*
better, so each of the M - 1 tests rejects with probability (1 - level)/(M - 1) at most, and one of
them with 1 - level at most: Bonferroni's bound, which asks nothing of how methods depend on each
other.  Only M - 1 comparisons count, where a table of all pairs has M(M - 1)/2.

In other words: every excluded method has another that is at least as good, which is false only if
the excluded one is the one best method.  That *all* of several best methods are in the set is not
claimed.  Each of them is, with confidence `level`; but of many, some one is left out more often
(of 40 equal ones in nearly half of the boards), so that "excluded" does not mean "worse than the
best".  Rules that keep that promise, such as Holm's over all pairs, lose a quarter of what is
rightly excluded, and with few tasks nearly all (``python -m benchmarks.coverage leaderboard``).

(Multiple comparisons with the best: Hsu, Annals of Statistics 1981.  Confidence sets for the best
and for ranks: Mogstad, Romano, Shaikh & Wilhelm, Review of Economic Studies 2024.)

The same for **new classes**, with the law of the class-aware interval
(:mod:`analysis_sql.class_aware.intervals`) in place of Student's.  Of closed sets, whose tasks
reuse images, nothing of the kind can be said, and nothing here is for them.

A method that answered only tasks 0..m-1 is compared over these; the leader is one of those that
answered most.  Differences that are all equal but not 0 have the exact sign-flip test's p-value,
one-sided 2^-T, as everywhere (:func:`analysis_sql.comparison.verdicts.paired_verdicts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixture, settled
from analysis_sql.class_aware.likelihood import LOG_GRID, Shares
from analysis_sql.comparison.multiplicity import paired_p
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.moments import subtract
from analysis_sql.intervals.sign_flip import constant_p

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_BLOCK = 1 << 20
"""Numbers held at once."""


def claim(level: float) -> str:
    """What a table of such a set claims, and all that it does."""
    return (
        f"with {100 * level:.8g} % confidence a best method is among those marked yes, and for "
        "each of the others there is a method that is at least as good; that they are worse than "
        "the best is not claimed: of several equally good methods some one is marked no in more "
        f"than {100 * (1 - level):.6g} % of tables"
    )


@dataclass(frozen=True, eq=False)
class Best:
    """Which of M methods could be the best; see the module's docstring.

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
    step = max(1, _BLOCK // max(counts.correct.shape[1], 1))
    for start in range(0, usable.size, step):
        rows = usable[start : start + step]
        apart = lead(counts.correct[first], int(counts.queries_per_task[first]), counts.some(rows))
        p[rows] = one_sided_p(apart)
        if design is not None:
            aware[rows] = one_sided_p_new_classes(design, apart)
    compared = int(usable.size)
    return Best(
        leader=first,
        compared=compared,
        p=p,
        p_new_classes=None if design is None else aware,
        possible=could_be_best(p, compared, level),
        possible_new_classes=None if design is None else could_be_best(aware, compared, level),
    )


def leader_of(means: Any, tasks: NDArray[np.int64], ordinary: Bools) -> int:
    """The highest mean among the ordinary methods that answered most tasks; the first of equals."""
    most = tasks[ordinary].max()
    return int(np.argmax(np.where(ordinary & (tasks == most), np.asarray(means, float), -np.inf)))


def lead(leader: NDArray[np.integer[Any]], unit: int, others: Counts) -> Counts:
    """By how much the leader is ahead of each of the others on the tasks that both answered.

    Parameters
    ----------
    leader : int (T,)
        Counts of a method that answered all tasks that any of the others did.
    unit
        Of these counts; the others' may be other ones.

    Returns
    -------
    Counts
        Of differences: int64 (P, tasks), 0 beyond the tasks that both answered, each in the least
        common unit of its two methods.
    """
    width = others.correct.shape[1]
    ahead, behind = leader[:width].astype(np.int64), others.correct.astype(np.int64)
    apart, common = subtract(ahead, unit, behind, others.queries_per_task)
    apart[np.arange(width) >= others.tasks[:, None]] = 0
    return Counts(apart, others.tasks, common)


def one_sided_p(ahead: Counts) -> Floats:
    """p-values (P,) of "the leader is better", for new images of these classes; see :class:`Best`.

    p = P(t_(T-1) >= mean/(sd/sqrt(T))), half of
    :func:`analysis_sql.comparison.multiplicity.paired_p`.
    """
    moments = ahead.moments()
    p = np.asarray(paired_p(moments, "open"), np.float64)
    return np.where(np.isnan(p) | (np.asarray(moments.total) > 0), p / 2.0, 1.0)


def one_sided_p_new_classes(design: ClassDesign, ahead: Counts) -> Floats:
    """p-values (P,) of "the leader is better", for new classes; see :class:`Best`.

    p = Σ_g weight(g) P(t_(T-1) >= mean/se_g), the class-aware interval's own law.  Differences
    that are all equal but not 0 on tasks of which D share no class: 2^-D.
    """
    found = np.full(len(ahead), np.nan)
    for tasks in np.unique(ahead.tasks[ahead.tasks > 0]).tolist():
        rows = np.flatnonzero(ahead.tasks == tasks)
        here = design.prefix(tasks)
        part = ahead.some(rows)
        part = Counts(part.correct[:, :tasks], part.tasks, part.queries_per_task)
        if here.disjoint:
            found[rows] = one_sided_p(part)
            continue
        moments = part.moments()
        total, norm2 = np.asarray(moments.total), np.asarray(moments.scatter, np.float64) / tasks
        known = np.where(total > 0, np.nan, 1.0)
        alike = (norm2 == 0) & (total > 0)
        if alike.any():
            known[alike] = constant_p(here.disjoint_tasks) / 2.0
        varied = np.flatnonzero((norm2 > 0) & (total > 0))
        if here.obstacle is None:
            known[varied] = _mixed_p(here, part.correct[varied], total[varied], norm2[varied])
        found[rows] = known
    return found


def could_be_best(p: Floats, compared: int, level: float) -> Bools:
    """Which methods are not excluded: one-sided p above (1 - level)/(M - 1), or NaN."""
    limit = (1.0 - level) / max(compared - 1, 1)
    return np.asarray(~(p <= limit * (1.0 + 1e-12)))


def _mixed_p(
    design: ClassDesign, ahead: NDArray[np.int64], total: NDArray[np.int64], norm2: Floats
) -> Floats:
    """P(t >= mean/se_g) (P,), averaged over the ratios g."""
    found = np.ones(len(ahead))
    step = max(1, _BLOCK // max(design.rank, design.tasks, LOG_GRID.size))
    for start in range(0, len(ahead), step):
        rows = slice(start, start + step)
        shares = Shares.of(design, design.coordinates(ahead[rows]), norm2[rows])
        weights, errors = mixture(shares)
        mean = (total[rows] / design.tasks)[:, None]
        tails = stdtr(design.tasks - 1, -mean / (errors * np.sqrt(norm2[rows])[:, None]))
        found[rows] = np.minimum(settled((weights * tails).sum(axis=1)), 1.0)
    return found
