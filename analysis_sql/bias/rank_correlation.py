"""How alike two metrics rank the same methods: Spearman's correlation with a bootstrap interval.

The tasks are resampled, the same for all methods and, where they are the same tasks, for both
metrics.  The percentile interval is about new tasks like these with the same methods, not about
other methods.  Noise in a metric draws the correlation towards 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SpecError

RESAMPLES = 2000
_RESAMPLES_AT_ONCE = 100
"""Resamples at once."""


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's correlation of two rankings of methods, with a percentile interval.

    `value` is None where one metric is the same for all methods; `low` and `high` are None with
    fewer than two tasks, or where no resample has a value.
    """

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
    """Compute Spearman's correlation of the methods' means under two metrics, each float (M, T).

    Tasks are the same in both, in the same order, or else there may be others of them.  Raises a
    SpecError if the metrics are not of the same three methods or more.
    """
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
        correlations = np.concatenate(_resampled(a, b, same_tasks, resamples, seed))
        correlations = correlations[~np.isnan(correlations)]
        if correlations.size:
            tail = (1 - level) / 2
            low, high = (float(q) for q in np.quantile(correlations, [tail, 1 - tail]))
    correlation = None if np.isnan(value) else value
    methods, tasks, other = len(a), a.shape[1], b.shape[1]
    return RankCorrelation(methods, tasks, other, level, resamples, seed, correlation, low, high)


def _resampled(a: Floats, b: Floats, same: bool, resamples: int, seed: int) -> list[Floats]:
    """Correlate resamples of the tasks, a block of them at a time."""
    stream = Stream("rank-correlation", a.shape[1], b.shape[1], seed)
    correlations = []
    for start in range(0, resamples, _RESAMPLES_AT_ONCE):
        number = min(_RESAMPLES_AT_ONCE, resamples - start)
        one = _weights(stream, a.shape[1], number)
        other = one if same else _weights(stream, b.shape[1], number)
        correlations.append(_spearman(a @ one, b @ other))
    return correlations


def _weights(stream: Stream, tasks: int, number: int) -> Floats:
    """Draw how much each task counts in each resample, float64 (T, B)."""
    which = stream.integers(np.full((number, tasks), tasks))
    weights = np.zeros((tasks, number))
    np.add.at(weights, (which.reshape(-1), np.repeat(np.arange(number), tasks)), 1.0 / tasks)
    return weights


def _spearman(a: Floats, b: Floats) -> Floats:
    """Of means column of means (M, B): float64 (B,), NaN where all means are equal.

    Means that differ by rounding alone are ties.
    """
    from scipy.stats import rankdata  # takes long to import

    ranks = [rankdata(np.round(means, 9), axis=0) for means in (a, b)]
    x, y = (means - means.mean(axis=0) for means in ranks)
    scale = np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(scale > 0, (x * y).sum(axis=0) / scale, np.nan))
