"""How the variance of a task's accuracy depends on its queries, and what task results say of it.

The model of Lafargue et al.  (TMLR 2024, equations 7 and 10; docs/planning.md).  A task has K
classes, S support and Q query images of each; μ_c is the accuracy on class c given the support set,
m1 = E[μ_c], m2 = E[μ_c²] and w = (m1 - m2)/K.  In fractions squared::

    Var(A_t) = α + w/Q                          α = Var(mean of μ_c over the task's classes)
    Var(Ā) = K/(NC) · (αQ + β/Q + γ)            β = S·w,  γ = w + α·S,  T = NC/(K(S+Q)) tasks

For a difference of two methods, whose query gives d = 1, -1 or 0, with D = Σd and E = Σd² of a
class in a task (for one method D = E = X, its correct queries)::

    w^ = (1/K) mean of (Q·E - D²)/(Q(Q-1))     α^ = s² - w^/Q     s² = sample Var(Δ_t)

which are (m1^ - m2^)/K with m1^ = mean E/Q and m2^ = mean (D² - E)/(Q(Q-1)).  Methods must answer a
query without looking at the others, and Q >= 2.  α^ estimates α less the mean covariance between
tasks: the α that the reported open interval is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import SpecError

Covariance = tuple[tuple[float, float], tuple[float, float]]

MIN_TASKS = 3
"""A variance over the tasks that are left when one is taken out."""


@dataclass(frozen=True)
class VarianceModel:
    """Variances for any number of queries, from two numbers; see the module's docstring.

    Of tasks of K = `way` classes with S = `shot`, `alpha` is the variance between tasks of endless
    queries and `w` that of one query per class.
    """

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
        """The share of both: w + α·S."""
        return self.w + self.alpha * self.shot

    def task_variance(self, query: float) -> float:
        """Variance of one task's accuracy with Q queries per class: α + w/Q."""
        return self.alpha + self.w / query


@dataclass(frozen=True)
class Estimate:
    """Estimates of α and w, and how sure they are."""

    way: int
    alpha: float
    """May come out negative, which is noise: the true one never is."""
    w: float
    covariance: Covariance
    """Of (alpha, w), over new images of these classes."""
    freedom: float
    """Degrees of freedom for Student's quantile."""

    def model(self, shot: int) -> VarianceModel:
        """Return the variance model with these numbers in it."""
        return VarianceModel(self.way, shot, self.alpha, self.w)

    def quantile(self, level: float) -> float:
        """Two-sided Student quantile at a confidence level."""
        return float(-stdtrit(self.freedom, (1.0 - check_level(level)) / 2.0))

    def alpha_interval(self, level: float) -> tuple[float, float]:
        """Confidence interval of α; its lower end may be negative."""
        reach = self.quantile(level) * float(np.sqrt(self.covariance[0][0]))
        return self.alpha - reach, self.alpha + reach

    def w_interval(self, level: float) -> tuple[float, float]:
        """Confidence interval of w."""
        reach = self.quantile(level) * float(np.sqrt(self.covariance[1][1]))
        return self.w - reach, self.w + reach


@dataclass(frozen=True)
class SetEstimate(Estimate):
    """What one task set of T tasks of Q queries says; `variance` is s², of the tasks' accuracies.

    `m1` and `m2` estimate E[μ] and E[μ²]; of a difference m1 is E[d²], the share of the queries
    that one method alone answers rightly.
    """

    query: int
    tasks: int
    m1: float
    m2: float
    variance: float


def estimate_set(correct: AnyInts, query: int) -> SetEstimate:
    """Estimate α and w from one task set, with their delete-one-task jackknife covariance.

    `correct` are the queries answered rightly of each of a task's classes, int (T, K), 0..Q.
    Raises a SpecError if Q = 1, where only α + w can be known; if T < 3; or if these are no such
    counts.
    """
    x = _counts(correct, query, query)
    return _estimate(x, x, query, 1)


def estimate_difference(sums: AnyInts, squares: AnyInts, query: int, unit: int = 1) -> SetEstimate:
    """Estimate α and w of the paired difference of two methods, as :func:`estimate_set` of one.

    Both must answer a query without looking at the others.  `sums` and `squares`, int (T, K), are
    of each class of each task Σd and Σd² over its Q queries, where d is 1 if only the first method
    is right, -1 if only the second is, and 0 otherwise.  Of several runs, d is the mean over runs
    times `unit`, a multiple of the numbers of runs; one method is then less nothing.
    """
    d, e = np.asarray(sums), _counts(squares, query, query * unit**2)
    fits = d.shape == e.shape and d.dtype.kind in "iu"
    if not fits or (np.abs(d) > e).any() or ((e - d) % 2).any():
        raise SpecError(
            f"an array {d.shape} of {d.dtype} does not hold the differences of two methods",
            expected="integers between -Σd² and Σd², both odd or both even",
        )
    return _estimate(d.astype(np.int64), e, query, unit)


def _estimate(d: Ints, e: Ints, query: int, unit: int) -> SetEstimate:
    """Estimates from Σd and Σd² of each class of each task (T, K)."""
    tasks, way = d.shape
    n_query, pairs = way * query * unit, (way * unit) ** 2 * query * (query - 1)
    total = d.sum(axis=1)
    unequal = (query * e - d * d).sum(axis=1)  # Σ (d_i - d_j)² over pairs of a class's queries
    variance = _variance(tasks, total.sum(), (total * total).sum(), n_query)
    w = float(unequal.sum() / (tasks * pairs))
    # all T leave-one-out estimates at once
    left = tasks - 1
    variances = _variance(left, total.sum() - total, (total * total).sum() - total * total, n_query)
    ws = (unequal.sum() - unequal) / (left * pairs)
    alphas = variances - ws / query
    left_out = np.stack([alphas, ws])
    deviations = left_out - left_out.mean(axis=1, keepdims=True)
    m1 = float(e.sum() / (tasks * n_query * unit))
    return SetEstimate(
        way=way,
        alpha=float(variance - w / query),
        w=w,
        covariance=as_covariance(left / tasks * deviations @ deviations.T),
        freedom=float(left),
        query=query,
        tasks=tasks,
        m1=m1,
        m2=m1 - way * w,
        variance=float(variance),
    )


def _variance(tasks: int, total: Any, squares: Any, n_query: int) -> Any:
    """Sample variance of x / n_query from T, Σx and Σx², elementwise."""
    return (tasks * squares - total * total) / (tasks * (tasks - 1) * n_query**2)


def as_covariance(matrix: Floats) -> Covariance:
    """A 2 by 2 array as plain numbers."""
    (a, b), (c, d) = matrix.tolist()
    return (a, b), (c, d)


def _counts(correct: AnyInts, query: int, most: int) -> Ints:
    """Return counts as int64 (T, K), if anything can be estimated from them."""
    x = np.asarray(correct)
    if query < 2:
        raise SpecError(
            "with one query per class the variance between tasks and that within them cannot be "
            "told apart",
            expected="at least 2 queries per class",
        )
    if x.ndim != 2 or x.dtype.kind not in "iu" or not ((x >= 0) & (x <= most)).all():
        raise SpecError(
            f"an array {x.shape} of {x.dtype} does not hold the correct queries of classes",
            expected=f"integers 0..{most}, a row for each task and a column for each class",
        )
    if len(x) < MIN_TASKS:
        raise SpecError(
            f"{len(x)} tasks are too few to estimate a variance and its error",
            expected=f"at least {MIN_TASKS}",
        )
    return x.astype(np.int64)


@dataclass(frozen=True)
class PooledEstimate(Estimate):
    """What several task sets of the same images say together."""

    seeds: int
    sets: int
    """How many of each; a seed has a set for each Q."""
    seed_errors: tuple[float, float] | None
    """Monte Carlo standard errors of (alpha, w): what more seeds would change.  None for a single
    seed.  They say nothing of new images; `covariance` does."""
    parts: int = 0
    """0 where `covariance` is the bound of :func:`pool`, else how many parts of the images
    :func:`jackknife_images` left out in turn."""


def pool(seeds: Sequence[Sequence[SetEstimate]], shot: int) -> PooledEstimate:
    """Average estimates over the sets of a seed, which differ in Q alone, then over seeds.

    Within a seed a set of T tasks weighs (T-1)/(1 + S/Q)², the inverse of the variance that α^
    would have if accuracies were normal and w/α were S.  The covariance is the same average of the
    sets' jackknife covariances: a bound that stays valid, and does not shrink, however many seeds
    are drawn.  Raises a SpecError if a seed has no set, or the sets are of different numbers of
    classes.
    """
    sets = [estimate for seed in seeds for estimate in seed]
    if not sets or not all(seeds):
        raise SpecError(
            "no variance can be estimated",
            expected=f"for every seed a task set with at least 2 queries and {MIN_TASKS} tasks",
        )
    if len({estimate.way for estimate in sets}) > 1:
        raise SpecError("the task sets have different numbers of classes")
    means = np.array([_weighted(seed, shot) for seed in seeds])  # alpha, w, V, V, V, T-1
    alpha, w, *moments, freedom = means.mean(axis=0).tolist()
    errors = None
    if len(seeds) > 1:
        spread = means[:, :2].std(axis=0, ddof=1) / np.sqrt(len(seeds))
        errors = (float(spread[0]), float(spread[1]))
    return PooledEstimate(
        way=sets[0].way,
        alpha=alpha,
        w=w,
        covariance=((moments[0], moments[1]), (moments[1], moments[2])),
        freedom=freedom,
        seeds=len(seeds),
        sets=len(sets),
        seed_errors=errors,
    )


def jackknife_images(whole: PooledEstimate, without: Sequence[PooledEstimate]) -> PooledEstimate:
    """Give an estimate the covariance of a delete-a-group jackknife over images.

    With the images in G >= 3 parts and estimates θ_g made without part g, V = (G-1)/G · Σ (θ_g -
    mean) (θ_g - mean)', with G-1 degrees of freedom.  The seeds' own error comes in about G-1
    times, so V is too large if seeds are few and falls to its true size as they grow in number.
    """
    number = len(without)
    if number < 3:
        raise SpecError(f"{number} parts of the images are too few", expected="at least 3")
    values = np.array([(part.alpha, part.w) for part in without]).T
    deviations = values - values.mean(axis=1, keepdims=True)
    covariance = as_covariance((number - 1) / number * deviations @ deviations.T)
    return replace(whole, covariance=covariance, freedom=float(number - 1), parts=number)


def _weighted(seed: Sequence[SetEstimate], shot: int) -> Floats:
    """Weighted mean over sets of α, w, the three covariances and T-1."""
    weights = np.array([e.freedom / (1.0 + shot / e.query) ** 2 for e in seed])
    values = [
        (e.alpha, e.w, e.covariance[0][0], e.covariance[0][1], e.covariance[1][1], e.freedom)
        for e in seed
    ]
    mean: Floats = weights @ np.array(values) / weights.sum()
    return mean
