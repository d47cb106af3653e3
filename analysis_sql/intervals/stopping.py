"""Stop when the verdict is known: a confidence sequence for a paired difference.

A confidence interval is for a number of tasks fixed in advance: who looks after every task and
stops when 0 is outside is wrong far more often than 1 - level.  A *confidence sequence* is an
interval after every task such that, with probability `level`, **all of them** hold; so one may look
as often as one likes, and stop when one likes.

It is made by betting (Waudby-Smith & Ramdas, J. R. Statist. Soc. B 2024).  Against the claim that
the mean difference is at most m, one starts with capital 1 and bets at every task, at odds that
are fair or worse under the claim.  The chance that the capital ever reaches 2/(1 - level) is then
at most (1 - level)/2 (Ville, 1939): when it does, m is rejected; the same from the other side.
With y_t = d_t/(K·Q), the difference of task t as a fraction, the capital after t tasks is

    bounded     Σ_j w_j Π_s [(1 - c_j) + c_j (1 + y_s)/(1 + m)],
                c_j = 63/64 · 2^-j, w_j in proportion, j = 0..7
    symmetric   Σ_j w_j Π_s 2/(1 + exp(-2 λ_j (y_s - m))),
                λ_j = 2^j, w_j equal, j = -3..5

``bounded`` asks nothing of the differences but that they lie in [-1, 1], which they do, and holds
at every number of tasks, no normal law being used.  It must allow for a task that turns up once
in a while with a difference of a whole -1, and so needs some 4.4/(mean difference) tasks or more
however little the differences vary.  ``symmetric`` holds if differences are distributed
symmetrically about their mean, as they are about 0 for methods that could be exchanged on every
task: the assumption of the exact sign-flip test.  It then needs no range, and far fewer tasks where
differences vary little.  With skewed differences it is *not* valid for the mean: in simulations of
differences of mean 0 and skewness 2.7 it excluded 0 in every second sequence.  **Choose one before
looking.**

Every factor falls as m rises, so what is not rejected is an interval.  Bets are fixed in advance
and mixed, so capital depends on how often each difference occurred and not on their order; ends
are whole multiples of 2^-16, rounded outwards (by at most 0.0016 points).  The interval reported
is what all intervals so far have in common: it never widens, and a verdict, once reached, stays.

What it is about: the mean over new images of these classes, **tasks taken as independent** draws
with one mean.  That hides how open sets are drawn: without replacement, so that in later tasks
the larger classes prevail once small ones are used up, and the expected difference drifts.  The
claim rejected is, to the letter, that no task's expected difference, given the earlier tasks, is
above m; where classes drift, that says little of the whole set
(:mod:`analysis_sql.class_aware.drift` tells such sets, on which no run may stop early).  New
classes are not covered, as with the open interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any, Literal

import numpy as np

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import SpecError

Assumption = Literal["bounded", "symmetric"]

GRID = 1 << 16
"""Ends of intervals are multiples of 1/GRID of a task."""
_FRACTIONS: Floats = 63 / 64 * 2.0 ** -np.arange(8.0)
_SLOPES: Floats = 2.0 ** np.arange(-3.0, 6.0)
BETS: dict[Assumption, tuple[Floats, Floats]] = {
    "bounded": (_FRACTIONS, np.log(_FRACTIONS / _FRACTIONS.sum())),
    "symmetric": (_SLOPES, np.full(_SLOPES.size, -log(_SLOPES.size))),
}
"""The bets, and the logarithms of their weights."""


@dataclass(frozen=True)
class SequenceInterval:
    """The interval of a confidence sequence after T tasks, in percentage points.

    Attributes
    ----------
    low, high
        What the intervals so far have in common.  If `low` is above `high` they have nothing in
        common: the tasks contradict a single mean (or the sequence is one of the few that miss).
    conclusive_at
        After how many tasks 0 was first outside; None if it never was.
    sign
        1 or -1, the verdict since then; 0 if there is none.
    """

    assumption: Assumption
    level: float
    tasks: int
    mean: float
    low: float
    high: float
    conclusive_at: int | None
    sign: int


class ConfidenceSequence:
    """A confidence sequence to be fed task by task; see the module's docstring.

    Differences are integers from minus to plus `queries_per_task`, K·Q times the runs.  The
    assumption, ``bounded`` or ``symmetric``, is to be chosen before looking.
    """

    def __init__(
        self, queries_per_task: int, level: float = 0.95, assumption: Assumption = "bounded"
    ) -> None:
        self.queries_per_task, self.level = queries_per_task, check_level(level)
        self.assumption = assumption
        check_differences(np.zeros(1, np.int64), queries_per_task, assumption)
        self._threshold = log(2.0 / (1.0 - level))
        self._times: dict[int, int] = {}
        self._tasks = self._total = self._sign = 0
        self._conclusive_at: int | None = None
        self._rejected = [-GRID, -GRID]  # the largest m rejected, from below; -m, from above

    def update(self, difference: int) -> SequenceInterval:
        """Take the next task's difference, in queries, and return the interval after it."""
        checked = check_differences([difference], self.queries_per_task, self.assumption)
        difference = int(checked.item())
        self._times[difference] = self._times.get(difference, 0) + 1
        self._tasks += 1
        self._total += difference
        d = np.array(sorted(self._times), np.int64)
        times = np.array([self._times[value] for value in d.tolist()], float)
        self._raise(0, d, times)
        self._raise(1, -d, times)
        if self._conclusive_at is None and max(self._rejected) > 0:
            self._conclusive_at = self._tasks
            self._sign = 1 if self._rejected[0] > 0 else -1
        low, high = self._rejected[0], -self._rejected[1]
        return SequenceInterval(
            self.assumption,
            self.level,
            self._tasks,
            100.0 * self._total / (self._tasks * self.queries_per_task),
            100.0 * low / GRID,
            100.0 * high / GRID,
            self._conclusive_at,
            self._sign,
        )

    def _raise(self, side: int, d: Ints, times: Floats) -> None:
        """Reject as many more claims as the capital allows: gallop, then bisect."""

        def rejects(claim: int) -> bool:
            factors = log_factors(d / self.queries_per_task, claim / GRID, self.assumption)
            return _mixed(times @ factors, self.assumption) >= self._threshold

        low = self._rejected[side]
        step = 1
        while low + step < GRID and rejects(low + step):
            low, step = low + step, 2 * step
        high = min(low + step, GRID)  # a claim that the mean is at most 1 is never rejected
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if rejects(middle) else (low, middle)
        self._rejected[side] = low


def confidence_sequence(
    differences: AnyInts,
    queries_per_task: int,
    level: float = 0.95,
    assumption: Assumption = "bounded",
) -> list[SequenceInterval]:
    """Compute the intervals after each of the tasks, from differences (T,) in task order."""
    sequence = ConfidenceSequence(queries_per_task, level, assumption)
    d = np.asarray(differences)
    if d.ndim != 1:
        raise SpecError(f"an array {d.shape} is no one sequence", expected="one of shape (T,)")
    return [sequence.update(value) for value in d.tolist()]


def log_factors(y: Floats, m: float, assumption: Assumption) -> Floats:
    """Compute log factors (D, bets) by which differences y (D,) change the capitals."""
    bets = BETS[assumption][0]
    if assumption == "bounded":
        return np.log1p(bets * ((1.0 + y[:, None]) / (1.0 + m) - 1.0))
    return log(2.0) - np.log1p(np.exp(-2.0 * bets * (y[:, None] - m)))


def _mixed(capitals: Floats, assumption: Assumption) -> float:
    """Mix capitals, given and returned as logarithms (bets,)."""
    return float(np.logaddexp.reduce(capitals + BETS[assumption][1]))


def check_differences(differences: Any, queries: int, assumption: Assumption) -> Ints:
    """Return differences as int64 if they are integers from minus to plus `queries`."""
    d = np.asarray(differences)
    if assumption not in BETS:
        raise SpecError(f"no assumption {assumption!r}", expected=f"one of {list(BETS)}")
    if (
        queries < 1
        or not d.size
        or not d.ndim
        or d.dtype.kind not in "iu"
        or (np.abs(d.astype(np.int64)) > queries).any()
    ):
        raise SpecError(
            f"an array {d.shape} of {d.dtype} does not hold differences of counts",
            expected=f"integers from {-queries} to {queries}, one for each task",
        )
    return d.astype(np.int64)
