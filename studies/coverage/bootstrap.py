"""The BCa bootstrap interval of a mean over tasks (Efron, JASA 1987).

With G the share of B resamples' means below the observed one
(half of those equal to it), the ends are the quantiles of the resampled means at::

    Φ(z0 + (z0 + z) / (1 - a (z0 + z))),   z = ∓z(1 - (1 - level)/2),   z0 = z(G),
    a = Σ(x_t - x̄)³ / (6 (Σ(x_t - x̄)²)^1.5)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.counts import Integers
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SpecError

RESAMPLES = 9999
_DRAWS_AT_ONCE = 1 << 22
"""Task numbers that are drawn at once."""
_KEPT = 1 << 20
"""Task numbers up to which what was drawn is kept: pairs on the same tasks have the same."""


@dataclass(frozen=True)
class BootstrapInterval:
    """A mean over T tasks with its BCa interval, in percentage points; None where T < 2."""

    level: float
    tasks: int
    resamples: int
    seed: int
    mean: float
    low: float | None
    high: float | None
    constant: bool


def bca_intervals(
    values: AnyInts,
    queries_per_task: Integers,
    level: float = 0.95,
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> list[BootstrapInterval]:
    """Compute BCa intervals of means over the same T tasks, of values int (M, T)."""
    counts = np.asarray(values)
    check_level(level)
    if counts.ndim != 2 or counts.dtype.kind not in "iu" or not counts.shape[1] or resamples < 100:
        raise SpecError(
            f"{resamples} resamples of an array {counts.shape} of {counts.dtype}",
            expected="integers, a row for each method and a column for each task (at least one), "
            "and at least 100 resamples",
        )
    x: Ints = counts.astype(np.int64)
    tasks = x.shape[1]
    varied = np.flatnonzero((x != x[:, :1]).any(axis=1))
    ends = np.repeat(x[:, :1] * 1.0, 2, axis=1)
    if varied.size:
        sums = _resampled_sums(x[varied], resamples, seed)
        for row, totals in zip(varied.tolist(), sums, strict=True):
            ends[row] = _bca_ends(x[row], np.sort(totals), level) / tasks
    constant = np.isin(np.arange(len(x)), varied, invert=True)
    queries = np.broadcast_to(np.asarray(queries_per_task, np.int64), len(x))
    means = (100.0 * x.sum(axis=1) / (tasks * queries)).tolist()
    shares = (100.0 * ends / queries[:, None]).tolist() if tasks > 1 else [(None, None)] * len(x)
    return [
        BootstrapInterval(level, tasks, resamples, seed, mean, low, high, same)
        for mean, (low, high), same in zip(means, shares, constant.tolist(), strict=True)
    ]


def _resampled_sums(x: Ints, resamples: int, seed: int) -> Ints:
    """Draw sums over B resamples of the tasks, int64 (M, B), from integers (M, T)."""
    drawn = x.shape[1], resamples, seed
    blocks = _kept_blocks(*drawn) if x.shape[1] * resamples <= _KEPT else _blocks(*drawn)
    # how often each task was drawn, times its value: integers far below 2^53, so exact
    sums = [np.rint(x.astype(float) @ times.T) for times in blocks]
    return np.concatenate(sums, axis=1).astype(np.int64)


def _blocks(tasks: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Count how often each of T tasks is in a resample, (B, T), some resamples at a time."""
    stream = Stream("bootstrap", seed, tasks)
    step = max(1, _DRAWS_AT_ONCE // tasks)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = stream.integers(np.full((rows, tasks), tasks, np.int64))
        drawn += np.arange(rows)[:, None] * tasks
        times = np.bincount(drawn.ravel(), minlength=rows * tasks)
        yield times.reshape(rows, tasks).astype(float)


@lru_cache(maxsize=2)
def _kept_blocks(tasks: int, resamples: int, seed: int) -> list[Floats]:
    return [*_blocks(tasks, resamples, seed)]


def _bca_ends(x: Ints, totals: Ints, level: float) -> Floats:
    """Compute both ends, as sums over tasks, of values (T,) with sorted resampled sums (B,)."""
    size, total = totals.size, int(x.sum())
    below, through = np.searchsorted(totals, [total, total + 1])
    # no resample below, or none above, would be a z0 without end: count half a resample there
    share = min(max((int(below) + int(through)) / (2 * size), 0.5 / size), 1.0 - 0.5 / size)
    z0 = float(ndtri(share))
    deviations = x - total / x.size
    spread = float((deviations**2).sum())
    acceleration = float((deviations**3).sum()) / (6.0 * spread**1.5)
    z = float(ndtri((1.0 - level) / 2.0))
    shifted = z0 + np.array([z, -z])
    # |a| is at most 1/6, so the denominator only vanishes 6 standard errors out
    at = ndtr(z0 + shifted / np.maximum(1.0 - acceleration * shifted, 1e-3))
    place = at * (size - 1)
    left = np.floor(place).astype(np.int64)
    right = np.minimum(left + 1, size - 1)
    ends: Floats = totals[left] + (place - left) * (totals[right] - totals[left])
    return ends
