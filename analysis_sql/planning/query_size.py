"""The variance of a task's accuracy by its number of queries, and the best number.

The model of Lafargue et al. (TMLR 2024, equations 7 and 10; docs/planning.md). A task has K
classes, S support and Q query images of each; μ_c is the accuracy on class c given the support set,
m1 = E[μ_c], m2 = E[μ_c²] and w = (m1 - m2)/K. In fractions squared::

    Var(A_t) = α + w/Q                          α = Var(mean of μ_c over the task's classes)
    Var(Ā) = K/(NC) · (αQ + β/Q + γ)            β = S·w,  γ = w + α·S,  T = NC/(K(S+Q)) tasks

For a difference of two methods, whose query gives d = 1, -1 or 0, with D = Σd and E = Σd² of a
class in a task (for one method D = E = X, its correct queries)::

    w^ = (1/K) mean of (Q·E - D²)/(Q(Q-1))     α^ = s² - w^/Q     s² = sample Var(Δ_t)

Methods must predict each query without the others, and Q >= 2.

Q* minimises t(T-1) · sqrt((α + w/Q)/T) over the Q whose number of tasks T is given; for large T it
is sqrt(S·w/α). It depends on w/α alone and is not decreasing in it, so a confidence interval of the
ratio gives one of Q*. For comparisons, Q* minimises the mean over pairs of methods of the
half-width of their difference relative to the pair's least half-width.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isinf, sqrt
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from scipy.special import stdtrit

from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import SpecError

Covariance = tuple[tuple[float, float], tuple[float, float]]

MIN_TASKS = 3
"""The jackknife takes a variance over the tasks without one of them."""


class VarianceModel(Struct, frozen=True):
    """Variances for any number of queries, from α between tasks and w of one query a class."""

    way: int
    shot: int
    alpha: float
    w: float

    @property
    def beta(self) -> float:
        """S·w: what one query per class adds, times S."""
        return self.shot * self.w

    @property
    def gamma(self) -> float:
        """The term of Var(Ā) that does not depend on Q: w + α·S."""
        return self.w + self.alpha * self.shot

    def task_variance(self, query: float) -> float:
        """Return the variance of one task's accuracy with Q queries per class: α + w/Q."""
        return self.alpha + self.w / query


class Estimate(Struct, frozen=True):
    """Estimates of α and w, with their covariance."""

    way: int
    alpha: float
    """May be negative, by noise: the true α never is."""
    w: float
    covariance: Covariance
    """Of (alpha, w), over new images of these classes."""
    freedom: float
    """Degrees of freedom for Student's quantile."""

    def model(self, shot: int) -> VarianceModel:
        """Return the variance model of the estimates."""
        return VarianceModel(self.way, shot, self.alpha, self.w)

    def quantile(self, level: float) -> float:
        """Return the two-sided Student quantile at a confidence level."""
        return float(-stdtrit(self.freedom, (1.0 - check_level(level)) / 2.0))

    def intervals(self, level: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the confidence intervals of α, whose lower end may be negative, and of w."""
        quantile, errors = self.quantile(level), np.sqrt(np.diag(self.covariance)).tolist()
        alpha, w = quantile * errors[0], quantile * errors[1]
        return (self.alpha - alpha, self.alpha + alpha), (self.w - w, self.w + w)


class SetEstimate(Estimate, frozen=True):
    """The estimate from one task set, T tasks of Q queries.

    `m1` and `m2` estimate E[μ] and E[μ²]; for a difference m1 is E[d²], the share of queries that
    one method alone answers rightly.  `variance` is s², of the tasks' accuracies.
    """

    query: int
    tasks: int
    m1: float
    m2: float
    variance: float


def estimate_set(correct: AnyInts, query: int) -> SetEstimate:
    """Estimate α and w from correct queries (T, K), with their jackknife covariance."""
    return estimate_difference(correct, correct, query)


def estimate_difference(sums: AnyInts, squares: AnyInts, query: int, unit: int = 1) -> SetEstimate:
    """Estimate α and w of the paired difference of two methods, as :func:`estimate_set` of one.

    `sums` and `squares` (T, K) are Σd and Σd² of each class, where d is 1 if only the first method
    is right, -1 if only the second is, else 0; of several runs d is the mean times `unit`.
    """
    d, e, largest = np.asarray(sums), np.asarray(squares), query * unit**2
    if query < 2:
        raise SpecError(
            "one query per class does not separate the variance between tasks from that within",
            expected="at least 2 queries per class",
        )
    if e.ndim != 2 or e.dtype.kind not in "iu" or not ((e >= 0) & (e <= largest)).all():
        raise SpecError(
            f"an array {e.shape} of {e.dtype} does not hold the correct queries of classes",
            expected=f"integers 0..{largest}, a row for each task and a column for each class",
        )
    if len(e) < MIN_TASKS:
        raise SpecError(
            f"{len(e)} tasks are too few to estimate a variance and its error",
            expected=f"at least {MIN_TASKS}",
        )
    e, same_shape = e.astype(np.int64), d.shape == e.shape and d.dtype.kind in "iu"
    if not same_shape or (np.abs(d) > e).any() or ((e - d) % 2).any():
        raise SpecError(
            f"an array {d.shape} of {d.dtype} does not hold the differences of two methods",
            expected="integers between -Σd² and Σd², both odd or both even",
        )
    d, (tasks, way) = d.astype(np.int64), d.shape
    n_query, pairs = way * query * unit, (way * unit) ** 2 * query * (query - 1)
    total = d.sum(axis=1)
    unequal = (query * e - d * d).sum(axis=1)  # Σ (d_i - d_j)² over pairs of a class's queries
    variance = _variance(tasks, total.sum(), (total * total).sum(), n_query)
    w = float(unequal.sum() / (tasks * pairs))
    # all T leave-one-out estimates at once
    others = tasks - 1
    squares_without = (total * total).sum() - total * total
    variances = _variance(others, total.sum() - total, squares_without, n_query)
    ws = (unequal.sum() - unequal) / (others * pairs)
    m1 = float(e.sum() / (tasks * n_query * unit))
    return SetEstimate(
        way=way,
        alpha=float(variance - w / query),
        w=w,
        covariance=_jackknife(np.stack([variances - ws / query, ws])),
        freedom=float(others),
        query=query,
        tasks=tasks,
        m1=m1,
        m2=m1 - way * w,
        variance=float(variance),
    )


def _variance(tasks: int, total: Any, squares: Any, n_query: int) -> Any:
    """Return the sample variance of x / n_query from T, Σx and Σx², elementwise."""
    return (tasks * squares - total * total) / (tasks * (tasks - 1) * n_query**2)


def _jackknife(without: Floats) -> Covariance:
    """Return (G-1)/G · Σ (θ_g - mean) (θ_g - mean)' of leave-one-out estimates (2, G)."""
    number = without.shape[1]
    deviations = without - without.mean(axis=1, keepdims=True)
    (a, b), (c, d) = ((number - 1) / number * deviations @ deviations.T).tolist()
    return (a, b), (c, d)


class PooledEstimate(Estimate, frozen=True):
    """The pooled estimate from several task sets of the same images."""

    seeds: int
    sets: int
    """Numbers of seeds and sets; a seed has a set for each Q."""
    seed_errors: tuple[float, float] | None
    """Monte Carlo standard errors of (alpha, w), which more seeds would reduce; None for one seed.
    They are not about new images; `covariance` is."""


def pool(seeds: Sequence[Sequence[SetEstimate]], shot: int) -> PooledEstimate:
    """Average estimates over the sets of a seed, which differ in Q alone, then over seeds.

    The weight of a set of T tasks is (T-1)/(1 + S/Q)². The covariance is the same average of the
    sets' covariances, a bound that does not shrink with the number of seeds.
    """
    sets = [estimate for seed in seeds for estimate in seed]
    if not sets or not all(seeds):
        raise SpecError(
            "no variance can be estimated",
            expected=f"for every seed a task set with at least 2 queries and {MIN_TASKS} tasks",
        )
    means = np.array([_weighted_mean(seed, shot) for seed in seeds])
    alpha, w, v_alpha, v_both, v_w, freedom = means.mean(axis=0).tolist()
    errors = None
    if len(seeds) > 1:
        spread = means[:, :2].std(axis=0, ddof=1) / np.sqrt(len(seeds))
        errors = (float(spread[0]), float(spread[1]))
    return PooledEstimate(
        way=sets[0].way,
        alpha=alpha,
        w=w,
        covariance=((v_alpha, v_both), (v_both, v_w)),
        freedom=freedom,
        seeds=len(seeds),
        sets=len(sets),
        seed_errors=errors,
    )


def _weighted_mean(seed: Sequence[SetEstimate], shot: int) -> Floats:
    """Return the weighted mean over sets of α, w, the three covariances and T-1."""
    weights = np.array([e.freedom / (1.0 + shot / e.query) ** 2 for e in seed])
    values = [
        (e.alpha, e.w, e.covariance[0][0], e.covariance[0][1], e.covariance[1][1], e.freedom)
        for e in seed
    ]
    mean: Floats = weights @ np.array(values) / weights.sum()
    return mean


CRITERION = "the half-width that the open interval reports, t(T-1)·sqrt((α + w/Q)/T)"
"""The criterion of Q* for one method."""

COMPARISON_CRITERION = (
    "the half-width of a difference of two methods, t(T-1)·sqrt((α + w/Q)/T) relative to the "
    "pair's own least, in the mean over pairs"
)
"""The criterion of Q* for comparisons."""

Factors = Mapping[int, float]
"""Half-width of the open interval in standard deviations of a task's accuracy, by Q."""


class Range(Struct, frozen=True):
    """An estimate with its confidence interval; None is undetermined or unbounded."""

    value: float | None
    low: float | None
    high: float | None


class Cost(Struct, frozen=True):
    """The excess of the open interval's width with Q queries over the least: 0.1 is 10 %."""

    query: int
    cost: float | None
    low: float | None
    high: float | None


class QueryChoice(Struct, frozen=True):
    """The number of queries with the narrowest open interval, all intervals at one level.

    For comparisons, `costs` are means over pairs, with the ratio of every pair at its own end;
    `ratio` and `root` are those of one method or pair, else undetermined.
    """

    level: float
    best: int | None
    low: int | None
    high: int | None
    """Q* and its confidence interval; None is undetermined."""
    tried: tuple[int, ...]
    """The Q that were compared, ascending."""
    more: bool
    """Whether larger Q have intervals too: a `best`, `low` or `high` equal to the last Q tried then
    means at least this Q."""
    ratio: Range
    root: Range
    """w/α, and sqrt(S·w/α), the large-sample Q*, a real number."""
    costs: tuple[Cost, ...]
    """The cost of every Q tried."""

    def cost_of(self, query: int) -> Cost | None:
        """Return the cost of a number of queries; None if it was not tried."""
        return next((cost for cost in self.costs if cost.query == query), None)


def ratio_interval(estimate: Estimate, level: float) -> Range:
    """Compute the confidence interval of ρ = w/α after Fieller (1954), for α, w >= 0.

    All ρ >= 0 between the roots of aρ² - 2bρ + c = 0, where a = α² - q² V_α, b = αw - q² V_αw, c =
    w² - q² V_w. No upper end if a <= 0 or w^ = 0; undetermined if α contradicts α >= 0.
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
    """Compute expected half-widths in standard deviations, t(T-1)/sqrt(T), by Q, from its T."""
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
    """Return Q* for a given w/α, which may be infinite; the smallest if several are equal."""
    costs = _costs(ratio, factors)
    return min(costs, key=costs.__getitem__)


def choose(
    estimate: Estimate,
    shot: int,
    tasks: Mapping[int, Sequence[float] | float],
    level: float = 0.95,
    *,
    more: bool = True,
) -> QueryChoice:
    """Choose the number of queries that minimises :data:`CRITERION`, among those of `tasks`."""
    ratio = ratio_interval(estimate, level)
    ends = (ratio.value, ratio.low, ratio.high)
    root = Range(*(None if end is None else sqrt(shot * end) for end in ends))
    choice = choose_for_comparisons([estimate], tasks, level, more=more)
    return replace(choice, ratio=ratio, root=root)


def choose_for_comparisons(
    estimates: Iterable[Estimate],
    tasks: Mapping[int, Sequence[float] | float],
    level: float = 0.95,
    *,
    more: bool = True,
) -> QueryChoice:
    """Choose the number of queries that minimises :data:`COMPARISON_CRITERION`.

    `estimates` are of the differences of pairs. Pairs that never differ are left out, and α is 0
    where its estimate is not positive.
    """
    undetermined = Range(None, None, None)
    differing = [pair for pair in estimates if pair.w > 0 or pair.alpha > 0]
    ratios = [ratio_interval(pair, level) for pair in differing] or [undetermined]
    factors = width_factors(tasks, level)

    def mean_costs(end: str, unknown: float) -> dict[int, float]:
        """Compute the mean costs by Q at an end of the ratios; empty where all lack it."""
        ends = [getattr(ratio, end) for ratio in ratios]
        if all(rho is None for rho in ends):
            return {}
        of_pairs = [_costs(unknown if rho is None else rho, factors) for rho in ends]
        return {query: float(np.mean([costs[query] for costs in of_pairs])) for query in factors}

    value, low, high = mean_costs("value", inf), mean_costs("low", 0.0), mean_costs("high", inf)
    best, first, last = (min(by, key=by.__getitem__, default=None) for by in (value, low, high))
    ends = [low, high or _costs(inf, factors)] if low else []
    costs = []
    for query in factors:
        at_ends = [end[query] for end in ends]
        inside = bool(low) and (first or 0) <= query and (last is None or query <= last)
        least = min(value.values(), default=0.0) if inside else min(at_ends, default=None)
        costs.append(Cost(query, value.get(query), least, max(at_ends, default=None)))
    tried, ratio = tuple(factors), undetermined
    return QueryChoice(level, best, first, last, tried, more, ratio, ratio, tuple(costs))


def _costs(ratio: float, factors: Factors) -> dict[int, float]:
    """Return the excess of half-widths over the least, as a share, by ascending Q."""
    alpha, w = (0.0, 1.0) if isinf(ratio) else (1.0, ratio)
    widths = {query: factor * sqrt(alpha + w / query) for query, factor in factors.items()}
    least = min(widths.values())
    return {query: width / least - 1.0 for query, width in widths.items()}
