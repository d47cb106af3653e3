"""What methods lose on attribute-biased tasks: accuracy, wAcc and its excess (docs/bias.md).

**wAcc** is the accuracy of a task's worst class (Zheng et al., ECCV 2024). It is compared with
what equally hard classes would give, in whole numbers::

    independent   E[min/Q] = (1/Q) Σ_{m=1..Q} P(X >= m)^K,   X ~ Bin(Q, p), p of all tasks
    conditional   P(min >= m | n) = [z^n] (Σ_{j>=m} C(Q,j) z^j)^K / C(KQ, n)

The **excess** is the mean of the second minus wAcc, where n of a task's KQ queries are right.

The part of the excess **beyond the level** is what the level of accuracy does not explain if
classes differ as much as on the ladder's first step::

    logit p_tc = μ + σ z_tc,   z_tc ~ N(0, 1),   X_tc ~ Bin(Q, p_tc)
    π_j(σ, m) = ∫ C(Q,j) p^j (1-p)^(Q-j) φ(z) dz,   p = expit(μ + σz),   μ such that ∫ p φ(z) dz = m
    h(n)      = (1/Q) Σ_{l=1..Q} [z^n] (Σ_{j>=l} π_j z^j)^K / [z^n] (Σ_j π_j z^j)^K

σ is such that on the first step the mean of h is wAcc; on other steps the mean of ``equal - h`` is
the excess of the level, and the mean of ``h - wAcc`` the excess beyond it.

With several runs each measure is a mean over runs. Open intervals count the variance of training
runs: run r is the same trained model on all steps, so for a gap s² is the variance of the runs'
gaps; each of two methods adds a term. **Rank correlations** are Spearman's, with a percentile
interval over resampled tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb, lcm

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace
from scipy.special import bdtrc, expit, gammaln, log_expit, logit

from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.counts import NO_RUNS, Moments, RunTerms, for_new_runs, run_terms
from analysis_sql.intervals.intervals import (
    Interval,
    check_level,
    halfwidth_per_deviation,
    interval,
)
from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SpecError
from benchmark_spec.protocol import IntervalKind

MAX_QUERIES = 512
"""Queries of a task, K·Q, up to which the conditional expectation is computed."""


def worst_class(class_correct: AnyInts, queries: int) -> Floats:
    """Return the lowest class accuracy of each task, mean over runs, float64 (T,)."""
    counts = _checked(class_correct, queries)
    return np.asarray(counts.min(axis=1).mean(axis=1) / queries)


def expected_if_independent(accuracy: float, way: int, queries: int) -> float:
    """Compute the mean wAcc of K independent classes of this accuracy."""
    at_least = bdtrc(np.arange(queries), queries, accuracy)  # P(X >= 1), ..., P(X >= Q)
    return float((at_least**way).mean())


def expected_if_equal(class_correct: AnyInts, queries: int) -> Floats:
    """Compute the expected wAcc of each task given how many of its queries are right."""
    return np.asarray(_expected_by_run(_checked(class_correct, queries), queries).mean(axis=1))


def _expected_by_run(counts: AnyInts, queries: int) -> Floats:
    """Compute :func:`expected_if_equal` of each task and run (T, R)."""
    way = counts.shape[1]
    if queries == 1:
        raise SpecError(
            "with one query a class, the worst class is right only if all are: there is nothing "
            "that equal difficulty could be compared with",
            expected="task sets of at least 2 queries a class",
        )
    if way * queries > MAX_QUERIES:
        raise SpecError(
            f"tasks of {way * queries} queries", expected=f"at most {MAX_QUERIES} for this"
        )
    return np.asarray(expectations(way, queries)[counts.sum(axis=1)])


def excess(class_correct: AnyInts, queries: int) -> Floats:
    """Compute :func:`expected_if_equal` minus wAcc for each task, float64 (T,)."""
    return expected_if_equal(class_correct, queries) - worst_class(class_correct, queries)


@lru_cache(maxsize=64)
def expectations(way: int, queries: int) -> Floats:
    """Compute E[min/Q | n] for n = 0..K·Q correct queries, float64 (K·Q + 1,); read-only.

    The coefficients of a polynomial are the digits of one integer, to a base above all of them
    (Kronecker substitution), so a power of the polynomial is a power of that integer.
    """
    total = way * queries
    size = total // 8 + 1  # bytes of a digit: no coefficient exceeds C(KQ, n) < 2^KQ
    expected = [0] * (total + 1)
    for least in range(1, queries + 1):
        polynomial = sum(comb(queries, j) << (8 * size * j) for j in range(least, queries + 1))
        digits = (polynomial**way).to_bytes(size * (total + 1), "little")
        for n in range(least * way, total + 1):
            expected[n] += int.from_bytes(digits[size * n : size * (n + 1)], "little")
    means: Floats = np.array([e / (queries * comb(total, n)) for n, e in enumerate(expected)])
    means.flags.writeable = False
    return means


def _checked(class_correct: AnyInts, queries: int) -> AnyInts:
    """Return the counts as (T, K, R); SpecError if they are not counts of correct queries."""
    counts = np.asarray(class_correct)
    if counts.ndim == 2:
        counts = counts[:, :, None]
    are_counts = counts.ndim == 3 and counts.dtype.kind in "iu" and counts.shape[1] >= 2
    in_range = counts.size == 0 or 0 <= counts.min() <= counts.max() <= queries
    if not are_counts or queries < 1 or not in_range:
        raise SpecError(
            "these are not the correct queries of each class of each task",
            expected=f"whole numbers (T, K[, R]) from 0 to {queries}, of two classes or more",
        )
    return counts


_MAX_SPREAD = 6.0
"""The largest σ, on the logit scale: one standard deviation from an accuracy of 1/2 lies one of
0.2 %.  Larger values are indistinguishable from it."""
_NODES = np.linspace(-8, 8, 129)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
"""The trapezoid rule for a normal variable: exact to rounding for integrands as smooth as these."""
_RAREST = 1e-280
"""The smallest probability of n correct queries by which a quotient has all its digits."""
_EDGE = 1e-9
"""The distance from 0 or 1 that a mean accuracy has at least."""


def expectations_if_unequal(way: int, queries: int, spread: float, accuracy: float) -> Floats:
    """Compute h(n) of n = 0..K·Q correct queries; for an n that is too rare E[min/Q | n]."""
    from scipy.optimize import brentq  # takes long to import

    mean = float(np.clip(accuracy, _EDGE, 1 - _EDGE))
    bound = 1 + abs(float(logit(mean))) * (1 + spread) + 8 * spread
    mu = brentq(lambda mu: expit(mu + spread * _NODES) @ _WEIGHTS - mean, -bound, bound)
    logits, correct = mu + spread * _NODES[:, None], np.arange(queries + 1)
    log_comb = gammaln(queries + 1) - gammaln(correct + 1) - gammaln(queries - correct + 1)
    log_p = log_comb + correct * log_expit(logits) + (queries - correct) * log_expit(-logits)
    class_p = _WEIGHTS @ np.exp(log_p)  # π_j

    def task_p(least: int) -> Floats:
        """Return P(n correct, at least `least` of each class) for each n."""
        p, truncated = np.ones(1), np.where(correct >= least, class_p, 0.0)
        for _ in range(way):
            p = np.convolve(p, truncated)
        return p

    numerator = sum((task_p(least) for least in range(1, queries + 1)), np.zeros(way * queries + 1))
    denominator = queries * task_p(0)
    expected = expectations(way, queries).copy()
    return np.divide(numerator, denominator, out=expected, where=denominator > _RAREST)


class AtLevel(Struct, frozen=True, eq=False):
    """The parts of a step's excess: of the level of accuracy, and beyond it."""

    excess: float
    """The excess of the level, mean over tasks, as a share."""
    beyond: Floats
    """Values of tasks (T,) with the mean of ``h - wAcc``, each plus the task's influence on σ² on
    the first step times the slope of h in σ²: an interval of these values also counts the error
    of σ² (to first order)."""
    of_runs: Floats
    """The mean of ``h - wAcc`` of each run (R,), at the run's own level."""


class ClassSpread(Struct, frozen=True, eq=False):
    """How far classes differ for a method, estimated on the first step of a ladder."""

    queries: int
    """Q, of each class."""
    variance: float
    """σ²."""
    influence: Floats
    """The influence of each task of the first step on σ², times the number of tasks (T,)."""
    of_runs: Floats
    """The σ² of each run minus that of all (R,)."""

    @classmethod
    def of(cls, class_correct: AnyInts, queries: int) -> ClassSpread | None:
        """Estimate σ² from the first step's counts; None if they do not determine it."""
        from scipy.optimize import brentq

        if queries == 1:
            return None
        lowest = worst_class(class_correct, queries)

        def mean_beyond(variance: float) -> float:
            return float((_expected(class_correct, queries, variance) - lowest).mean())

        largest = _MAX_SPREAD**2
        if mean_beyond(largest) > 0:
            return None
        variance = 0.0
        if mean_beyond(0.0) > 0:
            variance = float(brentq(mean_beyond, 0.0, largest, xtol=1e-10))
        slope = _slope(class_correct, queries, variance)
        if slope > -1e-6:
            return None
        of_tasks = _expected(class_correct, queries, variance) - lowest
        of_runs = _beyond_by_run(class_correct, queries, variance)
        influence, run_deviations = ((x - x.mean()) / -slope for x in (of_tasks, of_runs))
        return cls(queries, variance, influence, run_deviations)

    def at(self, class_correct: AnyInts) -> AtLevel:
        """Split the excess of another step of the ladder, on the same tasks (T, K[, R])."""
        counts = class_correct[: len(self.influence)]
        expected = _expected(counts, self.queries, self.variance)
        influence = self.influence[: len(counts)]
        slope = _slope(counts, self.queries, self.variance)
        of_runs = _beyond_by_run(counts, self.queries, self.variance) + slope * self.of_runs
        return AtLevel(
            max(0.0, float((expected_if_equal(counts, self.queries) - expected).mean())),
            expected - worst_class(counts, self.queries) + slope * (influence - influence.mean()),
            of_runs,
        )


def _beyond_by_run(class_correct: AnyInts, queries: int, variance: float) -> Floats:
    """Compute the mean of ``h - wAcc`` over tasks in each run (R,)."""
    runs = [class_correct] if class_correct.ndim == 2 else np.moveaxis(class_correct, 2, 0)
    beyond = [_expected(run, queries, variance) - worst_class(run, queries) for run in runs]
    return np.asarray(np.mean(beyond, axis=1))


def _expected(class_correct: AnyInts, queries: int, variance: float) -> Floats:
    """Look up h of each task, mean over runs (T,), at the level of these counts."""
    counts = class_correct if class_correct.ndim == 3 else class_correct[:, :, None]
    accuracy = float(counts.mean() / queries)
    h = expectations_if_unequal(counts.shape[1], queries, float(np.sqrt(variance)), accuracy)
    return np.asarray(h[counts.sum(axis=1)].mean(axis=1))


def _slope(class_correct: AnyInts, queries: int, variance: float) -> float:
    """Compute the derivative of the mean of h by σ², as a finite difference."""
    step = 1e-4 * (1 + variance)
    below = _expected(class_correct, queries, variance).mean()
    above = _expected(class_correct, queries, variance + step).mean()
    return float(above - below) / step


class Contrast(Struct, frozen=True, kw_only=True):
    """A weighted sum of measures on the same tasks, or a gap of two steps, percentage points."""

    accuracy: Interval
    worst: Interval
    excess: Interval | None
    beyond_level: Interval | None = None


class StepScore(Contrast, frozen=True, kw_only=True):
    """The measures of a method on one step, in percentage points.

    `independent` is the expected wAcc of independent classes, `equal` the mean of the conditional
    expectation, `of_level` the excess of the level; None where it is unknown.
    """

    independent: float
    equal: float | None
    of_level: float | None = None


def step_score(
    class_correct: AnyInts,
    queries: int,
    kind: IntervalKind,
    level: float = 0.95,
    at_level: AtLevel | None = None,
) -> StepScore:
    """Score a method on one step, from correct queries of classes (T, K[, R])."""
    counts = np.asarray(class_correct)
    share = float(counts.mean() / queries)
    measures = contrast([(1, counts)], queries, kind, level, [at_level] if at_level else ())
    return StepScore(
        **asdict(measures),
        independent=100 * expected_if_independent(share, counts.shape[1], queries),
        equal=100 * float(expected_if_equal(counts, queries).mean()) if queries > 1 else None,
        of_level=100 * at_level.excess if at_level else None,
    )


def gap(
    before: AnyInts, after: AnyInts, queries: int, kind: IntervalKind, level: float = 0.95
) -> Contrast:
    """Compute what a method loses from one step to a later one, from counts (T, K[, R])."""
    return gap_of(contrast([(1, before), (-1, after)], queries, kind, level, methods=(0, 0)))


def gap_of(measures: Contrast) -> Contrast:
    """Turn an earlier step minus a later one into a gap: accuracy lost, excess gained."""
    excess, beyond = measures.excess, measures.beyond_level
    return replace(
        measures,
        excess=excess and replace(excess, mean=-excess.mean),
        beyond_level=beyond and replace(beyond, mean=-beyond.mean),
    )


def contrast(
    parts: Sequence[tuple[int, AnyInts]],
    queries: int,
    kind: IntervalKind,
    level: float = 0.95,
    beyond: Sequence[AtLevel | None] = (),
    *,
    methods: Sequence[int] | None = None,
) -> Contrast:
    """Compute a weighted sum of measures over the same tasks, such as one method minus another.

    `parts` are weights and counts (T, K[, R]), `beyond` the split excess of each. Parts with the
    same number in `methods` are of one method: run r is one trained model in all of them.
    """
    weights = [weight for weight, _ in parts]
    counts = [_checked(np.asarray(part, np.int64), queries) for _, part in parts]
    if len({part.shape[:2] for part in counts}) > 1:
        shapes = (str(np.shape(part)) for _, part in parts)
        raise SpecError(f"counts of shapes {', '.join(shapes)}", expected="of the same tasks")
    methods = range(len(parts)) if methods is None else methods
    runs = lcm(*(part.shape[2] for part in counts))

    def of_counts(measure: Callable[[AnyInts], AnyInts], unit: int) -> Interval:
        values = [weight * measure(part) for weight, part in zip(weights, counts, strict=True)]
        total = np.sum([value.sum(axis=1) * (runs // value.shape[1]) for value in values], axis=0)
        terms = _run_terms([value.mean(axis=0) * 100 / unit for value in values], methods)
        return interval(Moments.of(total, unit * runs, terms), kind, level)

    excess_interval = None
    if queries > 1:
        values = [
            weight * 100 * (_expected_by_run(part, queries) - part.min(axis=1) / queries)
            for weight, part in zip(weights, counts, strict=True)
        ]
        terms = _run_terms([value.mean(axis=0) for value in values], methods)
        total = np.sum([value.mean(axis=1) for value in values], axis=0)
        excess_interval = interval_of(total, kind, level, terms)
    return Contrast(
        accuracy=of_counts(lambda part: part.sum(axis=1), counts[0].shape[1] * queries),
        worst=of_counts(lambda part: part.min(axis=1), queries),
        excess=excess_interval,
        beyond_level=_beyond_interval(weights, beyond, methods, kind, level),
    )


def _beyond_interval(
    weights: Sequence[int],
    beyond: Sequence[AtLevel | None],
    methods: Sequence[int],
    kind: IntervalKind,
    level: float,
) -> Interval | None:
    """Compute the interval of a weighted excess beyond the level; None without a known part."""
    parts = zip(weights, beyond, methods, strict=False)
    known = [(weight, part, method) for weight, part, method in parts if part]
    if not known:
        return None
    tasks = min(part.beyond.size for _, part, _ in known)
    total = np.sum([100 * weight * part.beyond[:tasks] for weight, part, _ in known], axis=0)
    run_means = [100 * weight * part.of_runs for weight, part, _ in known]
    terms = _run_terms(run_means, [method for _, _, method in known])
    return interval_of(total, kind, level, terms)


def _run_terms(run_means: Sequence[Floats], methods: Sequence[int]) -> RunTerms:
    """Return the run terms of a sum, from the weighted means of each part's runs (R,)."""
    by_method: dict[int, list[Floats]] = {}
    for means, method in zip(run_means, methods, strict=True):
        by_method.setdefault(method, []).append(means)
    summed = [np.sum(parts, axis=0) for parts in by_method.values()]
    several = [part - part[0] for part in summed if part.size > 1]  # equal ones are exactly 0
    spreads = [float(part.std(ddof=1)) for part in several]
    return run_terms(spreads, [part.size for part in several]).sum()


def interval_of(
    values: Floats, kind: IntervalKind, level: float, terms: RunTerms = NO_RUNS
) -> Interval:
    """Compute the interval of a mean of real values (T,), in their unit."""
    check_level(level)
    tasks, mean = values.size, float(values.mean())
    halfwidth = None
    if tasks > 1:
        halfwidth = float(halfwidth_per_deviation(tasks, kind, level) * values.std(ddof=1))
        if kind != "closed":
            halfwidth = float(for_new_runs(halfwidth, terms, level))
    return Interval(kind, level, tasks, mean, halfwidth, bool((values == values[0]).all()))


RESAMPLES = 2000
_RESAMPLES_AT_ONCE = 100


class RankCorrelation(Struct, frozen=True):
    """Spearman's correlation of two rankings of methods; None where it is undefined."""

    methods: int
    tasks: int
    other_tasks: int
    level: float
    resamples: int
    seed: int
    value: float | None
    low: float | None
    high: float | None


def rank_correlation(
    first: Floats,
    second: Floats,
    level: float = 0.95,
    *,
    same_tasks: bool = True,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> RankCorrelation:
    """Compute Spearman's correlation of the methods' means under two metrics, each float (M, T)."""
    check_level(level)
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    same_methods = a.ndim == b.ndim == 2 and a.size and b.size and len(a) == len(b) >= 3
    if not same_methods or (same_tasks and a.shape != b.shape):
        raise SpecError(
            f"metrics of shapes {a.shape} and {b.shape}",
            expected="two of the same three methods or more: (M, T)",
        )
    value = float(_spearman(a.mean(axis=1)[:, None], b.mean(axis=1)[:, None])[0])
    low = high = None
    if min(a.shape[1], b.shape[1]) > 1:
        stream, parts = Stream("rank-correlation", a.shape[1], b.shape[1], seed), []
        for start in range(0, resamples, _RESAMPLES_AT_ONCE):
            number = min(_RESAMPLES_AT_ONCE, resamples - start)
            weights_a = _resample_weights(stream, a.shape[1], number)
            weights_b = weights_a if same_tasks else _resample_weights(stream, b.shape[1], number)
            parts.append(_spearman(a @ weights_a, b @ weights_b))
        correlations = np.concatenate(parts)
        correlations = correlations[~np.isnan(correlations)]
        if correlations.size:
            tail = (1 - level) / 2
            low, high = (float(q) for q in np.quantile(correlations, [tail, 1 - tail]))
    defined = None if np.isnan(value) else value
    tasks, other_tasks = a.shape[1], b.shape[1]
    return RankCorrelation(len(a), tasks, other_tasks, level, resamples, seed, defined, low, high)


def _resample_weights(stream: Stream, tasks: int, number: int) -> Floats:
    """Draw the weight of each task in each of `number` resamples, float64 (T, number)."""
    drawn = stream.integers(np.full((number, tasks), tasks))
    weights = np.zeros((tasks, number))
    np.add.at(weights, (drawn.reshape(-1), np.repeat(np.arange(number), tasks)), 1.0 / tasks)
    return weights


def _spearman(a: Floats, b: Floats) -> Floats:
    """Correlate ranks of means (M, B) column by column: (B,), NaN where all means are equal.

    Means that differ by rounding alone are ties.
    """
    from scipy.stats import rankdata  # takes long to import

    x, y = (rankdata(np.round(means, 9), axis=0) for means in (a, b))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    scale = np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(scale > 0, (x * y).sum(axis=0) / scale, np.nan))
