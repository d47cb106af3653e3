"""All pairs of methods on a task set at once: one matrix product gives every covariance.

With X the counts of correct queries (methods x tasks), X X' holds Σ_t x_it x_jt of every pair,
exactly, since counts are integers; so Σ(x_i - x_j)² = Σx_i² + Σx_j² - 2 Σx_i x_j in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison import PairMoments, direct_verdicts, paired_verdicts
from analysis_sql.intervals import halfwidths
from analysis_sql.moments import Moments
from benchmark_spec.protocol import IntervalKind

_EXACT_FLOAT32 = 2**24
_EXACT_FLOAT64 = 2**53


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of correct queries of M methods on the T tasks of a set.

    Attributes
    ----------
    correct : int32 (M, T)
        Integers x; x / `unit` is the fraction of a task's queries answered rightly.  0 where a
        method did not answer.
    tasks : int64 (M,)
        Method i answered tasks 0..tasks[i]-1.
    unit
        The same for all methods.
    """

    correct: NDArray[np.int32]
    tasks: NDArray[np.int64]
    unit: int

    def __len__(self) -> int:
        return len(self.correct)

    def moments(self) -> Moments:
        """Moments of every method over its own tasks, arrays (M,)."""
        x = self.correct
        total = x.sum(axis=1, dtype=np.int64)
        squares = np.einsum("mt,mt->m", x, x, dtype=np.int64)
        return Moments(self.tasks, total, squares, self.unit)


def pair_moments(counts: Counts, first: int) -> PairMoments:
    """Moments of each of the `first` methods against every method, over their common tasks.

    Returns
    -------
    PairMoments
        Of arrays (first, M), or that broadcast to it.
    """
    x, tasks = counts.correct, counts.tasks
    products = _product(x[:first], x)
    if (tasks == tasks[0]).all():
        own = counts.moments()
        total, squares = np.asarray(own.total), np.asarray(own.squares)
        common = np.array([[tasks[0]]])
        row = (total[:first, None], squares[:first, None])
        column = (total[None, :], squares[None, :])
    else:
        answered = (np.arange(x.shape[1]) < tasks[:, None]).astype(np.int32)
        common = _product(answered[:first], answered)
        squared = x.astype(np.int64) ** 2
        row = (_product(x[:first], answered), _product(squared[:first], answered))
        column = (_product(answered[:first], x), _product(answered[:first], squared))
    return PairMoments(
        Moments(common, *row, counts.unit),
        Moments(common, *column, counts.unit),
        Moments(common, row[0] - column[0], row[1] + column[1] - 2 * products, counts.unit),
    )


def _product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int64]:
    """A B' of integers, exact, by the fastest floating-point product that is."""
    bound = int(np.abs(a).max(initial=0)) * int(np.abs(b).max(initial=0)) * a.shape[1]
    if bound >= _EXACT_FLOAT64:
        return np.asarray(np.matmul(a.astype(np.int64), b.astype(np.int64).T))
    kind = np.float32 if bound < _EXACT_FLOAT32 else np.float64
    return np.asarray(np.matmul(a.astype(kind), b.astype(kind).T).astype(np.int64))


@dataclass(frozen=True, eq=False)
class PairArrays:
    """What is concluded of F methods against M, all pairs at once; arrays (F, M).

    Attributes
    ----------
    tasks
        T of each pair.
    difference, halfwidth
        Mean paired difference and half-width of its interval, percentage points; NaN where T < 2.
    verdict, direct
        Positions in :data:`analysis_sql.comparison.VERDICTS`, int8.
    """

    tasks: NDArray[np.int64]
    difference: NDArray[np.float64]
    halfwidth: NDArray[np.float64]
    verdict: NDArray[np.int8]
    direct: NDArray[np.int8]


def pair_arrays(moments: PairMoments, kind: IntervalKind, level: float) -> PairArrays:
    """Intervals and verdicts of all pairs; the same as :func:`analysis_sql.comparison.compare`."""
    difference = moments.difference
    return PairArrays(
        tasks=np.broadcast_to(np.asarray(difference.tasks), np.shape(difference.total)),
        difference=difference.mean,
        halfwidth=halfwidths(difference, kind, level),
        verdict=paired_verdicts(difference, kind, level),
        direct=direct_verdicts(
            moments.method.mean,
            halfwidths(moments.method, kind, level),
            moments.versus.mean,
            halfwidths(moments.versus, kind, level),
        ),
    )


def pair_at(moments: PairMoments, i: int, j: int) -> PairMoments:
    """The moments of one pair."""

    def at(of: Moments) -> Moments:
        shape = np.broadcast_shapes(np.shape(of.tasks), np.shape(of.total))
        row, column = min(i, shape[0] - 1), min(j, shape[1] - 1)
        return Moments(
            int(np.broadcast_to(of.tasks, shape)[row, column]),
            int(np.broadcast_to(of.total, shape)[row, column]),
            int(np.broadcast_to(of.squares, shape)[row, column]),
            of.unit,
        )

    return PairMoments(at(moments.method), at(moments.versus), at(moments.difference))
