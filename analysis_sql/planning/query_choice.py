"""The number of queries that gives the narrowest open interval, and what another one costs.

Q* minimises the half-width that an open interval is expected to report, t(T-1) · sqrt((α + w/Q)/T),
over all whole Q of a range whose number of tasks T is given.  For large T that is sqrt(β/α) =
sqrt(S·w/α), equation 10 of Lafargue et al. (TMLR 2024).  Only the ratio w/α matters, and Q* never
falls as it grows, so a confidence interval of the ratio gives one of Q* (docs/planning.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isinf, sqrt

import numpy as np
from scipy.special import stdtrit

from analysis_sql.intervals.intervals import check_level
from analysis_sql.planning.query_size import Estimate
from benchmark_spec.errors import SpecError

CRITERION = "the half-width that the open interval reports, t(T-1)·sqrt((α + w/Q)/T)"
"""What Q* minimises."""

Factors = Mapping[int, float]
"""Half-width of the open interval in standard deviations of a task's accuracy, by Q."""


@dataclass(frozen=True)
class Range:
    """An estimate with its confidence interval; None is undetermined.

    `high` is None where the data exclude no larger value, `low` where they contradict the model,
    `value` where the estimate of α is not positive.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Cost:
    """How much wider the open interval is with Q queries than with the best number: 0.1 is 10 %.

    `low` and `high` are over the confidence interval of w/α, the best number following it.
    """

    query: int
    cost: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class QueryChoice:
    """The number of queries with the narrowest open interval, all intervals at one level."""

    level: float
    best: int | None
    low: int | None
    high: int | None
    """Q* and its confidence interval; None is undetermined."""
    tried: tuple[int, ...]
    """The Q that were compared, ascending."""
    more: bool
    """Whether larger Q have intervals too: then a `best`, `low` or `high` equal to the last Q tried
    means that or more."""
    ratio: Range
    root: Range
    """w/α, and sqrt(S·w/α), the large-sample Q*, a real number."""
    costs: tuple[Cost, ...]
    """Of every Q tried."""

    def cost_of(self, query: int) -> Cost:
        """The cost of one of the Q tried."""
        for cost in self.costs:
            if cost.query == query:
                return cost
        raise SpecError(f"Q = {query} was not tried", expected=f"one of {self.tried}")


def ratio_interval(estimate: Estimate, level: float) -> Range:
    """Compute the confidence interval of ρ = w/α after Fieller (1954), for α, w >= 0.

    All ρ >= 0 that a t test of w - ρα = 0 does not reject: between the roots of aρ² - 2bρ + c = 0,
    where a = α² - q² V_α, b = αw - q² V_αw, c = w² - q² V_w.  No upper end if a <= 0, since α may
    be 0, or if w^ = 0, where the jackknife sees no spread; everything is undetermined if α
    contradicts α >= 0.
    """
    alpha, w = estimate.alpha, estimate.w
    (v_alpha, v_both), (_, v_w) = estimate.covariance
    if w == 0.0:
        return Range(0.0, 0.0, None) if alpha > 0 else Range(None, None, None)
    value = w / alpha if alpha > 0 else None
    q2 = estimate.quantile(level) ** 2
    a, b, c = alpha**2 - q2 * v_alpha, alpha * w - q2 * v_both, w**2 - q2 * v_w
    root = sqrt(max(0.0, b * b - a * c))
    if a > 0 and alpha <= 0:
        return Range(None, None, None)
    low = c / (b + root) if c > 0 else 0.0
    return Range(value, low, (b + root) / a if a > 0 else None)


def width_factors(tasks: Mapping[int, Sequence[float] | float], level: float) -> dict[int, float]:
    """Compute expected half-widths in standard deviations, t(T-1)/sqrt(T), by Q.

    `tasks` is by Q the T really reached: a number, or those of several sets, over which the mean is
    taken.  A Q for which some T is below 2 has no interval and is left out.  Raises a SpecError if
    none is left, or a Q is below 1.
    """
    tail = (1.0 - check_level(level)) / 2.0
    reached = {query: np.atleast_1d(np.asarray(tasks[query], float)) for query in sorted(tasks)}
    factors = {
        query: float(np.mean(-stdtrit(t - 1.0, tail) / np.sqrt(t)))
        for query, t in reached.items()
        if (t >= 2).all()
    }
    if not factors or min(factors) < 1:
        raise SpecError(
            "there is no number of queries to choose",
            expected="at least one, of 1 or more queries, with 2 or more tasks",
        )
    return factors


def best_query(ratio: float, factors: Factors) -> int:
    """Q* for a given w/α, which may be infinite; the smaller one of equals."""
    widths = _widths(ratio, factors)
    return min(widths, key=lambda query: (widths[query], query))


def choose(
    estimate: Estimate,
    shot: int,
    tasks: Mapping[int, Sequence[float] | float],
    level: float = 0.95,
    *,
    more: bool = True,
) -> QueryChoice:
    """Choose the number of queries that minimises :data:`CRITERION`.

    The estimate is of α and w at `shot` images of support per class; `tasks` are the T reached by
    each Q to be compared, see :func:`width_factors`.
    """
    factors = width_factors(tasks, level)
    ratio = ratio_interval(estimate, level)
    best, low, high = (
        None if rho is None else best_query(rho, factors)
        for rho in (ratio.value, ratio.low, ratio.high)
    )
    ends = [] if ratio.low is None else [ratio.low, inf if ratio.high is None else ratio.high]
    by_end = [_costs(rho, factors) for rho in ends]
    value = {} if ratio.value is None else _costs(ratio.value, factors)
    costs = []
    for query in factors:
        at_ends = [costs_at_end[query] for costs_at_end in by_end]
        inside = ratio.low is not None and (low or 0) <= query and (high is None or query <= high)
        smallest = 0.0 if inside else min(at_ends, default=None)
        costs.append(Cost(query, value.get(query), smallest, max(at_ends, default=None)))
    ends_of_root = (ratio.value, ratio.low, ratio.high)
    root = Range(*(None if end is None else sqrt(shot * end) for end in ends_of_root))
    return QueryChoice(level, best, low, high, tuple(factors), more, ratio, root, tuple(costs))


def _widths(ratio: float, factors: Factors) -> dict[int, float]:
    """Half-widths by Q, up to a factor that they share."""
    alpha, w = (0.0, 1.0) if isinf(ratio) else (1.0, ratio)
    return {query: factor * sqrt(alpha + w / query) for query, factor in factors.items()}


def _costs(ratio: float, factors: Factors) -> dict[int, float]:
    widths = _widths(ratio, factors)
    least = min(widths.values())
    return {query: width / least - 1.0 for query, width in widths.items()}
