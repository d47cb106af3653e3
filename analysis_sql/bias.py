"""What methods lose on attribute-biased tasks: accuracy, wAcc and its excess (docs/bias.md).

**wAcc** is the accuracy of a task's worst class (Zheng et al., ECCV 2024). It is compared to
what equally hard classes would give, whatever the task's difficulty, in whole numbers::

    independent   E[min/Q] = (1/Q) Σ_{m=1..Q} P(X >= m)^K,   X ~ Bin(Q, p), p of all tasks
    conditional   P(min >= m | n) = [z^n] (Σ_{j>=m} C(Q,j) z^j)^K / C(KQ, n)

The **excess** is the mean of the second, given that n of a task's KQ queries are right, minus wAcc.

**Beyond the level** lies what the level of accuracy alone would not give, were classes as different
as on the ladder's first step::

    logit p_tc = μ + σ z_tc,   z_tc ~ N(0, 1),   X_tc ~ Bin(Q, p_tc)
    π_j(σ, m) = ∫ C(Q,j) p^j (1-p)^(Q-j) φ(z) dz,   p = expit(μ + σz),   μ such that ∫ p φ(z) dz = m
    h(n)      = (1/Q) Σ_{l=1..Q} [z^n] (Σ_{j>=l} π_j z^j)^K / [z^n] (Σ_j π_j z^j)^K

σ is such that on the first step the mean of h is wAcc; elsewhere the mean of ``equal - h`` is the
excess of the level, and that of ``h - wAcc`` lies beyond it.

Of several runs each measure is a mean over runs. Open intervals count what another training would
change: runs are the same trained models on all steps, so of a gap s² is the variance of the runs'
own gaps; two methods have a term each. **Rank correlations** are Spearman's, with a percentile
interval over resampled tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb, lcm

import numpy as np
from msgspec import Struct, structs
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
    """Return the lowest class accuracy of each task, float64 (T,), of runs their mean."""
    counts = _checked(class_correct, queries)
    return np.asarray(counts.min(axis=1).mean(axis=1) / queries)


def expected_if_independent(accuracy: float, way: int, queries: int) -> float:
    """Compute the mean wAcc of K independent classes of this accuracy."""
    at_least = bdtrc(np.arange(queries), queries, accuracy)  # P(X >= 1), ..., P(X >= Q)
    return float((at_least**way).mean())


def expected_if_equal(class_correct: AnyInts, queries: int) -> Floats:
    """Compute the expected wAcc of each task given how many of its queries are right."""
    return np.asarray(_of_runs_if_equal(_checked(class_correct, queries), queries).mean(axis=1))


def _of_runs_if_equal(counts: AnyInts, queries: int) -> Floats:
    """Compute the same of each task and run (T, R)."""
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
    """Compute how far wAcc lies below :func:`expected_if_equal`, of each task: float64 (T,)."""
    return expected_if_equal(class_correct, queries) - worst_class(class_correct, queries)


@lru_cache(maxsize=64)
def expectations(way: int, queries: int) -> Floats:
    """Compute E[min/Q | n] for n = 0..K·Q correct queries, float64 (K·Q + 1,); read-only.

    A polynomial with whole coefficients is one whole number, its coefficients the digits to a base
    that none of them reaches; so its power is a power of numbers.
    """
    total = way * queries
    size = total // 8 + 1  # bytes of a digit: no coefficient exceeds C(KQ, n) < 2^KQ
    expected = [0] * (total + 1)
    for least in range(1, queries + 1):
        one = sum(comb(queries, j) << (8 * size * j) for j in range(least, queries + 1))
        digits = (one**way).to_bytes(size * (total + 1), "little")
        for n in range(least * way, total + 1):
            expected[n] += int.from_bytes(digits[size * n : size * (n + 1)], "little")
    means: Floats = np.array([e / (queries * comb(total, n)) for n, e in enumerate(expected)])
    means.flags.writeable = False
    return means


def _checked(class_correct: AnyInts, queries: int) -> AnyInts:
    """Return the counts as (T, K, R)."""
    counts = np.asarray(class_correct)
    if counts.ndim == 2:
        counts = counts[:, :, None]
    fits = counts.ndim == 3 and counts.dtype.kind in "iu" and counts.shape[1] >= 2
    if (
        not fits
        or queries < 1
        or (counts.size and not 0 <= counts.min() <= counts.max() <= queries)
    ):
        raise SpecError(
            "these are not the correct queries of each class of each task",
            expected=f"whole numbers (T, K[, R]) from 0 to {queries}, of two classes or more",
        )
    return counts


MOST = 6.0
"""The largest σ, on the logit scale: a class three in a thousand of which are right, one standard
deviation above a class of one half.  Larger values are indistinguishable from it."""
NODES = np.linspace(-8, 8, 129)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
"""The trapezoid rule for a normal variable: exact to rounding for integrands as smooth as these."""
RAREST = 1e-280
"""How often a number of right queries must come up for what is divided by it to have its digits."""
EDGE = 1e-9
"""How near to 0 or 1 a mean accuracy is taken to be where all queries are wrong, or right."""


def expectations_if_unequal(way: int, queries: int, spread: float, accuracy: float) -> Floats:
    """Compute h(n) of n = 0..K·Q correct queries; too rare an n has equally hard classes' value."""
    from scipy.optimize import brentq  # takes long to import

    share = float(np.clip(accuracy, EDGE, 1 - EDGE))
    reach = 1 + abs(float(logit(share))) * (1 + spread) + 8 * spread
    centre = brentq(lambda mu: expit(mu + spread * NODES) @ WEIGHTS - share, -reach, reach)
    at, right = centre + spread * NODES[:, None], np.arange(queries + 1)
    ways = gammaln(queries + 1) - gammaln(right + 1) - gammaln(queries - right + 1)
    classes = WEIGHTS @ np.exp(ways + right * log_expit(at) + (queries - right) * log_expit(-at))

    def tasks(least: int) -> Floats:
        """Return how often n queries are right, and at least so many of each class."""
        one, power = np.where(right >= least, classes, 0.0), np.ones(1)
        for _ in range(way):
            power = np.convolve(power, one)
        return power

    above = sum((tasks(least) for least in range(1, queries + 1)), np.zeros(way * queries + 1))
    often = queries * tasks(0)
    return np.divide(above, often, out=expectations(way, queries).copy(), where=often > RAREST)


class AtLevel(Struct, frozen=True, eq=False):
    """What the level of accuracy alone would give on a step, over the tasks of the first step."""

    excess: float
    """That of the level alone, mean over tasks, as a share."""
    beyond: Floats
    """Values of tasks (T,), of mean ``h - wAcc``.  To each is added what the same task on the first
    step moves σ² by, times what σ² moves the mean of h by: so an interval of these values counts
    the error of σ², too (to first order)."""
    of_runs: Floats
    """The mean of ``h - wAcc`` of each run (R,), at the run's own level."""


class ClassSpread(Struct, frozen=True, eq=False):
    """How far classes differ for a method, estimated on the first step of a ladder."""

    queries: int
    """Q, of each class."""
    variance: float
    """σ²."""
    influence: Floats
    """What each task of the first step moves σ² by, times the number of tasks: float64 (T,)."""
    of_runs: Floats
    """By how much the σ² of each run differs from that of all (R,)."""

    @classmethod
    def of(cls, class_correct: AnyInts, queries: int) -> ClassSpread | None:
        """Measure it on the first step's counts; None if they leave it open."""
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
        of_runs = _of_runs(class_correct, queries, variance)
        moved = ((each - each.mean()) / -slope for each in (own, of_runs))
        return cls(queries, variance, *moved)

    def at(self, class_correct: AnyInts) -> AtLevel:
        """Apply it to another step of the ladder, of the same tasks; arguments as :meth:`of`."""
        counts = class_correct[: len(self.influence)]
        expected = _expected(counts, self.queries, self.variance)
        moved = self.influence[: len(counts)]
        slope = _slope(counts, self.queries, self.variance)
        of_runs = _of_runs(counts, self.queries, self.variance)
        if of_runs.size == self.of_runs.size:  # the same trained models on both steps
            of_runs += slope * self.of_runs
        return AtLevel(
            max(0.0, float((expected_if_equal(counts, self.queries) - expected).mean())),
            expected - worst_class(counts, self.queries) + slope * (moved - moved.mean()),
            of_runs,
        )


def _of_runs(class_correct: AnyInts, queries: int, variance: float) -> Floats:
    """Compute by how much h is above the worst class in each run, mean over tasks (R,)."""
    runs = [class_correct] if class_correct.ndim == 2 else np.moveaxis(class_correct, 2, 0)
    apart = [_expected(run, queries, variance) - worst_class(run, queries) for run in runs]
    return np.asarray(np.mean(apart, axis=1))


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


class Contrast(Struct, frozen=True, kw_only=True):
    """A weighted sum of measures on the same tasks, or a gap between steps, in points."""

    accuracy: Interval
    worst: Interval
    excess: Interval | None
    beyond_level: Interval | None = None


class StepScore(Contrast, frozen=True, kw_only=True):
    """A method on one step, in percentage points.

    `independent` is the wAcc of independent classes, `equal` the mean of the conditional one,
    `of_level` the excess that the level alone would give; None where it cannot be known.
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
    """Compute what a method loses from one step to another; arguments as :func:`contrast`."""
    return gap_of(contrast([(1, before), (-1, after)], queries, kind, level, methods=(0, 0)))


def gap_of(measures: Contrast) -> Contrast:
    """Turn a contrast of earlier steps minus later ones into what is lost, and gained in excess."""
    over, beyond = (
        of and structs.replace(of, mean=-of.mean) for of in (measures.excess, measures.beyond_level)
    )
    return replace(measures, excess=over, beyond_level=beyond)


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

    `parts` are weights and counts, `beyond` of each what the level alone would give. Parts of one
    number in `methods` are of one method: run r is one trained model in all of them.
    """
    weights = [weight for weight, _ in parts]
    counts = [_checked(np.asarray(part, np.int64), queries) for _, part in parts]
    if len({part.shape[:2] for part in counts}) > 1:
        shapes = (str(np.shape(part)) for _, part in parts)
        raise SpecError(f"counts of shapes {', '.join(shapes)}", expected="of the same tasks")
    owners = range(len(parts)) if methods is None else methods
    runs = lcm(*(part.shape[2] for part in counts))

    def measured(of: Callable[[AnyInts], AnyInts], unit: int) -> Interval:
        values = [weight * of(part) for weight, part in zip(weights, counts, strict=True)]
        total = np.sum([own.sum(axis=1) * (runs // own.shape[1]) for own in values], axis=0)
        terms = _run_terms([own.mean(axis=0) * 100 / unit for own in values], owners)
        return interval(Moments.of(total, unit * runs, terms), kind, level)

    over = None
    if queries > 1:
        values = [
            weight * 100 * (_of_runs_if_equal(part, queries) - part.min(axis=1) / queries)
            for weight, part in zip(weights, counts, strict=True)
        ]
        terms = _run_terms([own.mean(axis=0) for own in values], owners)
        total = np.sum([own.mean(axis=1) for own in values], axis=0)
        over = interval_of(total, kind, level, terms)
    return Contrast(
        accuracy=measured(lambda part: part.sum(axis=1), counts[0].shape[1] * queries),
        worst=measured(lambda part: part.min(axis=1), queries),
        excess=over,
        beyond_level=_beyond([*zip(weights, beyond, strict=False)], kind, level, owners),
    )


def _beyond(
    parts: Sequence[tuple[int, AtLevel | None]],
    kind: IntervalKind,
    level: float,
    owners: Sequence[int],
) -> Interval | None:
    """Compute the interval of a weighted sum of what lies beyond the level; None without parts."""
    known = [(weight, at, owner) for (weight, at), owner in zip(parts, owners, strict=False) if at]
    if not known:
        return None
    tasks = min(at.beyond.size for _, at, _ in known)
    total = np.sum([100 * weight * at.beyond[:tasks] for weight, at, _ in known], axis=0)
    of_runs = [100 * weight * at.of_runs for weight, at, _ in known]
    return interval_of(total, kind, level, _run_terms(of_runs, [owner for *_, owner in known]))


def _run_terms(means: Sequence[Floats], methods: Sequence[int]) -> RunTerms:
    """Return what training anew adds to a sum of weighted means over runs (R,) of each part."""
    of_runs: list[Floats] = []
    for method in dict.fromkeys(methods):
        own = [part for part, of in zip(means, methods, strict=True) if of == method]
        alike = len({part.size for part in own}) == 1
        of_runs += [np.sum(own, axis=0)] if alike else own
    several = [part - part[0] for part in of_runs if part.size > 1]  # equal ones are exactly 0
    spreads = [float(part.std(ddof=1)) for part in several]
    return run_terms(spreads, [part.size for part in several]).sum()


def interval_of(
    values: Floats, kind: IntervalKind, level: float, terms: RunTerms = NO_RUNS
) -> Interval:
    """Compute the interval of a mean of any values (T,), as :func:`interval` does of counts."""
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
"""Resamples at once."""


class RankCorrelation(Struct, frozen=True):
    """Spearman's correlation of two rankings of methods; None where there is no value."""

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
    fits = a.ndim == b.ndim == 2 and a.size and b.size and len(a) == len(b) >= 3
    if not fits or (same_tasks and a.shape != b.shape):
        raise SpecError(
            f"metrics of shapes {a.shape} and {b.shape}",
            expected="two of the same three methods or more: (M, T)",
        )
    value = float(_spearman(a.mean(axis=1)[:, None], b.mean(axis=1)[:, None])[0])
    low = high = None
    if min(a.shape[1], b.shape[1]) > 1:
        stream, found = Stream("rank-correlation", a.shape[1], b.shape[1], seed), []
        for start in range(0, resamples, _RESAMPLES_AT_ONCE):
            number = min(_RESAMPLES_AT_ONCE, resamples - start)
            one = _weights(stream, a.shape[1], number)
            other = one if same_tasks else _weights(stream, b.shape[1], number)
            found.append(_spearman(a @ one, b @ other))
        correlations = np.concatenate(found)
        correlations = correlations[~np.isnan(correlations)]
        if correlations.size:
            tail = (1 - level) / 2
            low, high = (float(q) for q in np.quantile(correlations, [tail, 1 - tail]))
    correlation = None if np.isnan(value) else value
    methods, tasks, other = len(a), a.shape[1], b.shape[1]
    return RankCorrelation(methods, tasks, other, level, resamples, seed, correlation, low, high)


def _weights(stream: Stream, tasks: int, number: int) -> Floats:
    """Draw how much each task counts in each resample, float64 (T, B)."""
    which = stream.integers(np.full((number, tasks), tasks))
    weights = np.zeros((tasks, number))
    np.add.at(weights, (which.reshape(-1), np.repeat(np.arange(number), tasks)), 1.0 / tasks)
    return weights


def _spearman(a: Floats, b: Floats) -> Floats:
    """Correlate ranks of means column by column (M, B): (B,), NaN where all means are equal.

    Means that differ by rounding alone are ties.
    """
    from scipy.stats import rankdata  # takes long to import

    ranks = [rankdata(np.round(means, 9), axis=0) for means in (a, b)]
    x, y = (means - means.mean(axis=0) for means in ranks)
    scale = np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(scale > 0, (x * y).sum(axis=0) / scale, np.nan))
