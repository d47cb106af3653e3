"""The excess that the level of accuracy alone would give, were classes as different as before.

Classes are measured on a ladder's first step and taken to the level of another (docs/bias.md)::

    logit p_tc = μ + σ z_tc,   z_tc ~ N(0, 1),   X_tc ~ Bin(Q, p_tc)
    π_j(σ, m) = ∫ C(Q,j) p^j (1-p)^(Q-j) φ(z) dz,   p = expit(μ + σz),   μ such that ∫ p φ(z) dz = m
    h(n)      = (1/Q) Σ_{l=1..Q} [z^n] (Σ_{j>=l} π_j z^j)^K / [z^n] (Σ_j π_j z^j)^K

h is the expected wAcc of a task of which n queries are right.  σ is such that on the first step the
mean of h is wAcc.  On another step the mean of ``equal - h`` is the **excess of the level**, and
that of ``h - wAcc`` lies **beyond the level**.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, log_expit, logit

from analysis_sql.bias.worst_class import expectations, expected_if_equal, worst_class
from analysis_sql.intervals.arrays import AnyInts, Floats

MOST = 6.0
"""The largest σ, on the logit scale: a class three in a thousand of which are right, one standard
deviation above a class of one half.  What would take more cannot be told from it."""
NODES = np.linspace(-8, 8, 129)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
"""The trapezoid rule for a normal variable: exact to rounding for integrands as smooth as these."""
RAREST = 1e-280
"""How often a number of right queries must come up for what is divided by it to have its digits."""
EDGE = 1e-9
"""How near to 0 or 1 a mean accuracy is taken to be where all queries are wrong, or right."""


def expectations_if_unequal(way: int, queries: int, spread: float, accuracy: float) -> Floats:
    """Compute h(n) of n = 0..K·Q correct queries, float64 (K·Q + 1,); see the module.

    Of classes with `spread` σ on the logit scale and mean `accuracy` m.  Terms are positive, so
    that nothing cancels.  An n too rare for floating point has the value of equally hard classes.
    """
    from scipy.optimize import brentq  # takes long to import

    share = float(np.clip(accuracy, EDGE, 1 - EDGE))
    reach = 1 + abs(float(logit(share))) * (1 + spread) + 8 * spread
    centre = brentq(lambda mu: expit(mu + spread * NODES) @ WEIGHTS - share, -reach, reach)
    at, right = centre + spread * NODES[:, None], np.arange(queries + 1)
    ways = gammaln(queries + 1) - gammaln(right + 1) - gammaln(queries - right + 1)
    classes = WEIGHTS @ np.exp(ways + right * log_expit(at) + (queries - right) * log_expit(-at))

    def tasks(least: int) -> Floats:
        """How often n queries are right, and at least so many of each class."""
        one, power = np.where(right >= least, classes, 0.0), np.ones(1)
        for _ in range(way):
            power = np.convolve(power, one)
        return power

    above = sum((tasks(least) for least in range(1, queries + 1)), np.zeros(way * queries + 1))
    often = queries * tasks(0)
    return np.divide(above, often, out=expectations(way, queries).copy(), where=often > RAREST)


@dataclass(frozen=True, eq=False)
class AtLevel:
    """What the level of accuracy alone would give on a step, over the tasks of the first step."""

    excess: float
    """That of the level alone, mean over tasks, as a share."""
    beyond: Floats
    """Values of tasks (T,), of mean ``h - wAcc``.  To each is added what the same task on the first
    step moves σ² by, times what σ² moves the mean of h by: so an interval of these values counts
    the error of σ², too (to first order)."""
    of_runs: Floats
    """The mean of ``h - wAcc`` of each run (R,), at the run's own level."""


@dataclass(frozen=True, eq=False)
class ClassSpread:
    """How far classes differ for a method, as the first step of a ladder says."""

    queries: int
    """Q, of each class."""
    variance: float
    """σ²."""
    influence: Floats
    """What each task of the first step moves σ² by, times the number of tasks: float64 (T,)."""

    @classmethod
    def of(cls, class_correct: AnyInts, queries: int) -> ClassSpread | None:
        """Measure it on the first step, of counts (T, K) or (T, K, R) as `worst_class` takes them.

        None with one query a class, or if the counts leave it open: nearly all queries are right,
        or classes differ by more than any σ up to :data:`MOST` explains.
        """
        from scipy.optimize import brentq

        if queries == 1:
            return None
        lowest = worst_class(class_correct, queries)

        def above(variance: float) -> float:
            return float((_expected(class_correct, queries, variance) - lowest).mean())

        if above(MOST**2) > 0:
            return None
        variance = 0.0 if above(0.0) <= 0 else float(brentq(above, 0.0, MOST**2, xtol=1e-10))
        slope = _slope(class_correct, queries, variance)
        if slope > -1e-6:
            return None
        own = _expected(class_correct, queries, variance) - lowest
        return cls(queries, variance, (own - own.mean()) / -slope)

    def at(self, class_correct: AnyInts) -> AtLevel:
        """Carry it to another step of the ladder, of the same tasks; arguments as :meth:`of`."""
        counts = class_correct[: len(self.influence)]
        expected = _expected(counts, self.queries, self.variance)
        moved = self.influence[: len(counts)]
        runs = [counts] if counts.ndim == 2 else np.moveaxis(counts, 2, 0)
        error = _slope(counts, self.queries, self.variance) * (moved - moved.mean())
        return AtLevel(
            max(0.0, float((expected_if_equal(counts, self.queries) - expected).mean())),
            expected - worst_class(counts, self.queries) + error,
            np.array([self._beyond(run) for run in runs]),
        )

    def _beyond(self, class_correct: AnyInts) -> float:
        """Compute the mean of ``h - wAcc`` over tasks."""
        expected = _expected(class_correct, self.queries, self.variance)
        return float((expected - worst_class(class_correct, self.queries)).mean())


def _expected(class_correct: AnyInts, queries: int, variance: float) -> Floats:
    """Look up h of each task, mean over runs (T,), at the level of these counts."""
    counts = class_correct if class_correct.ndim == 3 else class_correct[:, :, None]
    accuracy = float(counts.mean() / queries)
    known = expectations_if_unequal(counts.shape[1], queries, float(np.sqrt(variance)), accuracy)
    return np.asarray(known[counts.sum(axis=1)].mean(axis=1))


def _slope(class_correct: AnyInts, queries: int, variance: float) -> float:
    """Compute by how much the mean of h changes for one of σ²."""
    step = 1e-4 * (1 + variance)
    ends = [_expected(class_correct, queries, variance + by).mean() for by in (0.0, step)]
    return float(ends[1] - ends[0]) / step
