"""Confidence sequences, by which a run stops when the verdict is known (docs/many_methods.md).

A *confidence sequence* is an interval after every task such that, with probability `level`, **all
of them** hold.  It is made by betting (Waudby-Smith & Ramdas, J. R. Statist. Soc. B 2024): if the
mean difference is at most m, the probability that a capital of 1 bet against this ever reaches
2/(1 - level) is at most (1 - level)/2 (Ville, 1939).  With y_t = d_t/(K·Q) the capital is

    Σ_j w_j Π_s [(1 - c_j) + c_j (1 + y_s)/(1 + m)],
    c_j = 63/64 · 2^-j, w_j in proportion, j = 0..7

The only assumption is that differences lie in [-1, 1].  Every factor decreases in m, so the m that
are not rejected are an interval.  The capital depends on how often each difference occurred and not
on their order; ends are multiples of 2^-16, rounded outwards.  The reported interval is the
intersection of all intervals so far.

It is about new images of these classes, **tasks taken as independent** draws with one mean.  An
open set is drawn without replacement, so that later tasks have the large classes only, and the mean
may drift.  With n_c tasks of class c, the worst differences of mean 0 over the set are, for some j,

    y_t = s/K Σ_{c in t} (1[n_c >= j] - p_j),      p_j = Σ_{n_c >= j} n_c / Σ n_c,

and the *misleading capital* is the largest that the bets make of any of them at any task.  A set
**drifts**, and no run on it may stop early, if that reaches a quarter of 2/(1 - level).
"""

from __future__ import annotations

from math import log

import numpy as np
from msgspec import Struct

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.intervals import check_level

GRID = 1 << 16
"""Ends of intervals are multiples of 1/GRID of a task."""
BETS: Floats = 63 / 64 * 2.0 ** -np.arange(8.0)
LOG_WEIGHTS: Floats = np.log(BETS / BETS.sum())
"""The bets c_j, and the logarithms of their weights."""


class SequenceInterval(Struct, frozen=True):
    """The interval of a confidence sequence after T tasks, in percentage points."""

    level: float
    tasks: int
    mean: float
    low: float
    high: float
    """The intersection of the intervals so far.  It is empty, with `low` above `high`, if the tasks
    contradict a single mean (or the sequence is one of the few that miss)."""
    conclusive_at: int | None
    """The number of tasks after which 0 was first outside; None if it never was."""
    sign: int
    """1 or -1, the verdict since then; 0 if there is none."""


class ConfidenceSequence:
    """A confidence sequence that is updated task by task.

    Differences are integers from minus to plus `queries_per_task`, K·Q times the runs.
    """

    def __init__(self, queries_per_task: int, level: float = 0.95) -> None:
        self.queries_per_task, self.level = queries_per_task, check_level(level)
        self._threshold = log(2.0 / (1.0 - level))
        self._times: dict[int, int] = {}
        self._tasks = self._total = self._sign = 0
        self._conclusive_at: int | None = None
        self._rejected = [-GRID, -GRID]  # the largest m rejected, from below; -m, from above

    def update(self, difference: int) -> SequenceInterval:
        """Take the next task's difference, in queries, and return the interval after it."""
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
            self.level,
            self._tasks,
            100.0 * self._total / (self._tasks * self.queries_per_task),
            100.0 * low / GRID,
            100.0 * high / GRID,
            self._conclusive_at,
            self._sign,
        )

    def _raise(self, side: int, d: Ints, times: Floats) -> None:
        """Reject as many more claims as the capital allows, by galloping and bisection."""

        def rejects(claim: int) -> bool:
            capitals = times @ log_factors(d / self.queries_per_task, claim / GRID) + LOG_WEIGHTS
            return bool(np.logaddexp.reduce(capitals) >= self._threshold)

        low = self._rejected[side]
        step = 1
        while low + step < GRID and rejects(low + step):
            low, step = low + step, 2 * step
        high = min(low + step, GRID)  # a claim that the mean is at most 1 is never rejected
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if rejects(middle) else (low, middle)
        self._rejected[side] = low


def log_factors(y: Floats, m: float) -> Floats:
    """Compute log factors (D, bets) by which differences y (D,) change the capitals."""
    return np.log1p(BETS * ((1.0 + y[:, None]) / (1.0 + m) - 1.0))


_SIZES = 2.0 ** -np.arange(4.0)
"""The sizes of the differences: the largest possible, and its halves."""
_MOST_CUTS = 64
"""The most numbers of uses j at which classes are divided."""
_TOLERABLE = 0.25
"""The share of the conclusive capital up to which simulated sequences keep their level."""
_LEAST_LEVEL = 0.9
"""Lower levels are judged as this one: at the lowest, any capital would be too much."""


def tolerable_capital(level: float) -> float:
    """Return the misleading capital above which sequences of a level are wrong too often."""
    return _TOLERABLE * 2.0 / (1.0 - max(level, _LEAST_LEVEL))


def misleading_capital(class_ids: AnyInts) -> float:
    """Return the largest capital against methods that are equal over the set, at least 1.

    `class_ids` are the classes of each task, int (T, K), in the order of the tasks.
    """
    ids = np.asarray(class_ids)
    _, members, uses = np.unique(ids, return_inverse=True, return_counts=True)
    members = members.reshape(ids.shape)
    cuts = np.unique(uses)[1:]
    if not cuts.size:
        return 1.0  # every class is used equally often: the mean cannot drift
    if cuts.size > _MOST_CUTS:
        cuts = np.unique(np.quantile(cuts, np.linspace(0, 1, _MOST_CUTS), method="nearest"))
    often = uses >= cuts[:, None]
    share = (often @ uses / uses.sum())[:, None]
    effects = (often - share) / np.maximum(share, 1.0 - share)
    return max(
        _peak_capital(size * sign * effect[members].mean(axis=1))
        for effect in effects
        for size in _SIZES
        for sign in (1.0, -1.0)
    )


def _peak_capital(y: Floats) -> float:
    """Return the largest capital over tasks, from differences y (T,), against a mean of 0."""
    capital = np.cumsum(np.log1p(BETS[:, None] * y), axis=1) + LOG_WEIGHTS[:, None]
    with np.errstate(over="ignore"):  # infinitely much is too much
        return float(np.exp(np.logaddexp.reduce(capital, axis=0).max()))
