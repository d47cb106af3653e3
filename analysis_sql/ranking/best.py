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
rightly excluded, and with few tasks nearly all (``python -m studies.coverage leaderboard``).

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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import Bools
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.moments import subtract


def claim(level: float) -> str:
    """What a table of such a set claims, and all that it does."""
    return (
        f"with {100 * level:.8g} % confidence a best method is among those marked yes, and for "
        "each of the others there is a method that is at least as good; that they are worse than "
        "the best is not claimed: of several equally good methods some one is marked no in more "
        f"than {100 * (1 - level):.6g} % of tables"
    )


def leader_of(means: Any, tasks: NDArray[np.int64], ordinary: Bools) -> int:
    """The highest mean among the ordinary methods that answered most tasks; the first of equals."""
    most = tasks[ordinary].max()
    return int(np.argmax(np.where(ordinary & (tasks == most), np.asarray(means, float), -np.inf)))


def lead(leader: Counts, others: Counts) -> Counts:
    """By how much the leader is ahead of each of the others on the tasks that both answered.

    Returns differences (P, tasks), 0 beyond the tasks that both answered, each in the least common
    unit of its two methods.

    Parameters
    ----------
    leader
        One method's, which answered all tasks that the others did.
    """
    width = others.correct.shape[1]
    ahead, behind = leader.correct[0, :width].astype(np.int64), others.correct.astype(np.int64)
    apart, common = subtract(ahead, leader.queries_per_task, behind, others.queries_per_task)
    apart[np.arange(width) >= others.tasks[:, None]] = 0
    variance = leader.run_variance + others.run_variance
    return Counts(apart, others.tasks, common, variance, leader.run_square + others.run_square)


def could_be_best(p: NDArray[np.float64], compared: int, level: float) -> Bools:
    """Which methods are not excluded: one-sided p above (1 - level)/(M - 1), or NaN."""
    limit = (1.0 - level) / max(compared - 1, 1)
    return np.asarray(~(p <= limit * (1.0 + 1e-12)))
