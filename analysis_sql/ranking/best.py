"""Among which of many methods a best one is: a confidence set, valid though the leader is chosen.

Of M methods the *leader* i has the highest mean.  Method j is excluded if the leader is
significantly better than j, in the one-sided paired test at (1 - level)/(M - 1)::

    P(t_(T-1) > mean(d) / (sd(d)/sqrt(T))) <= (1 - level)/(M - 1),        d_t = x_it - x_jt

**With confidence `level` a method of the highest expected accuracy is in the rest**: it is excluded
only if one of M - 1 tests rejects though no method is better (Bonferroni).  That *all* of several
best methods are in it, or that those excluded are worse than the best, is not claimed.  (Hsu,
Annals of Statistics 1981; Mogstad, Romano, Shaikh & Wilhelm, Review of Economic Studies 2024.)

For new classes the law is that of the class-aware interval.  A method that answered only tasks
0..m-1 is compared over these; the leader is one of those that answered most.
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
    """Return by how much the leader is ahead of each of the others on the tasks that both answered.

    Differences (P, tasks), 0 beyond these tasks, each in the least common unit of its two methods.
    The leader, one method, answered all tasks that the others did.
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
