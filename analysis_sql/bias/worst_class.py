"""Worst-class accuracy of tasks, wAcc (Zheng et al., ECCV 2024), and how low chance lets it fall.

Beside wAcc, a minimum over K noisy shares, stands what equally hard classes would give::

    independent   E[min/Q] = (1/Q) Σ_{m=1..Q} P(X >= m)^K,   X ~ Bin(Q, p), p of all tasks
    conditional   P(min >= m | n) = [z^n] (Σ_{j>=m} C(Q,j) z^j)^K / C(KQ, n)
                  E[min/Q | n]    = (1/Q) Σ_{m=1..Q} P(min >= m | n)

The second, given that n of a task's KQ queries are right, holds whatever the task's difficulty and
is computed in whole numbers.  The **excess** is its mean minus wAcc.  An unlucky support set makes
classes differ too: compare the excess of biased tasks with that of random ones (docs/bias.md).
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from scipy.special import bdtrc

from analysis_sql.intervals.arrays import AnyInts, Floats
from benchmark_spec.errors import SpecError

MAX_QUERIES = 512
"""Queries of a task, K·Q, up to which the conditional expectation is computed."""


def worst_class(class_correct: AnyInts, queries: int) -> Floats:
    """Return the lowest class accuracy of each task, float64 (T,), as shares.

    Of several runs it is the mean of each run's lowest.

    Parameters
    ----------
    class_correct : int (T, K) or (T, K, R)
        Correct queries of each class, of one run or of R.
    queries
        Q, of each class.

    Raises
    ------
    SpecError
        If they are not counts from 0 to Q of at least two classes.
    """
    counts = _checked(class_correct, queries)
    return np.asarray(counts.min(axis=1).mean(axis=1) / queries)


def expected_if_independent(accuracy: float, way: int, queries: int) -> float:
    """Compute the mean wAcc of K independent classes whose queries are right this often."""
    if not 0.0 <= accuracy <= 1.0 or way < 1 or queries < 1:
        raise SpecError(
            f"accuracy {accuracy}, {way} classes and {queries} queries of each",
            expected="an accuracy from 0 to 1, at least one class and one query",
        )
    at_least = bdtrc(np.arange(queries), queries, accuracy)  # P(X >= 1), ..., P(X >= Q)
    return float((at_least**way).mean())


def expected_if_equal(class_correct: AnyInts, queries: int) -> Floats:
    """Compute the expected wAcc of each task given how many of its queries are right: float64 (T,).

    Arguments as :func:`worst_class`; only the sum over classes matters.

    Raises
    ------
    SpecError
        If Q is 1, where expectation and wAcc are the same whatever the classes; if a task has more
        than :data:`MAX_QUERIES` queries; or as :func:`worst_class` does.
    """
    counts = _checked(class_correct, queries)
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
    return np.asarray(expectations(way, queries)[counts.sum(axis=1)].mean(axis=1))


def excess(class_correct: AnyInts, queries: int) -> Floats:
    """Compute how far wAcc lies below :func:`expected_if_equal`, of each task: float64 (T,)."""
    return expected_if_equal(class_correct, queries) - worst_class(class_correct, queries)


@lru_cache(maxsize=64)
def expectations(way: int, queries: int) -> Floats:
    """E[min/Q | n] for n = 0..K·Q correct queries, float64 (K·Q + 1,); read-only.

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
