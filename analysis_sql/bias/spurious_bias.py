"""What a method loses on attribute-biased tasks: steps of a ladder, and the gaps between them.

The steps of a ladder (:data:`benchmark_spec.suites.LADDER`) have the same classes task by task,
so the gap between two of them is a paired difference.  Three measures, each a mean over tasks:

- **accuracy** over all its queries;
- **wAcc**, the accuracy of its worst class (Zheng et al., ECCV 2024);
- **excess**, how far wAcc lies below what equal difficulty of the classes explains
  (:mod:`analysis_sql.bias.worst_class`): its gap is free of the part of wAcc that mere noise makes.
  None with one query a class, where it says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.bias.worst_class import excess, expected_if_equal, expected_if_independent
from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.intervals import (
    Interval,
    check_level,
    halfwidth_per_deviation,
    interval,
)
from analysis_sql.intervals.moments import Moments
from benchmark_spec.errors import SpecError
from benchmark_spec.suites import IntervalKind


@dataclass(frozen=True)
class StepScore:
    """A method on one step, in percentage points.

    Attributes
    ----------
    accuracy, worst
        Mean accuracy and wAcc.
    independent
        wAcc of K classes of the mean accuracy, independent of each other.
    equal
        Mean over tasks of the wAcc that equally hard classes would have, given how many queries of
        the task are right; None with one query a class.
    excess
        `equal` minus wAcc; None with one query a class.
    """

    accuracy: Interval
    worst: Interval
    independent: float
    equal: float | None
    excess: Interval | None


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of measures on the same tasks, or a gap between steps, in percentage points.

    `excess` is None with one query a class; that of a :func:`gap` is what is gained.
    """

    accuracy: Interval
    worst: Interval
    excess: Interval | None


def step_score(
    class_correct: AnyInts, queries: int, kind: IntervalKind, level: float = 0.95
) -> StepScore:
    """Score a method on one step.

    Parameters
    ----------
    class_correct : int (T, K) or (T, K, R)
        Correct queries of each class, of one run or of R; measures are means over runs.
    queries
        Q, of each class.
    kind
        ``open`` where no image is used twice, else ``closed``.
    """
    counts = np.asarray(class_correct)
    way, runs = counts.shape[1], _runs(counts)
    share = float(counts.mean() / queries)
    several = queries > 1
    return StepScore(
        accuracy=interval(Moments.of(_right(counts), way * queries * runs), kind, level),
        worst=interval(Moments.of(_lowest(counts), queries * runs), kind, level),
        independent=100 * expected_if_independent(share, way, queries),
        equal=100 * float(expected_if_equal(counts, queries).mean()) if several else None,
        excess=interval_of(100 * excess(counts, queries), kind, level) if several else None,
    )


def gap(
    before: AnyInts, after: AnyInts, queries: int, kind: IntervalKind, level: float = 0.95
) -> Contrast:
    """Compute what a method loses from one step to another; arguments as :func:`contrast`."""
    return gap_of(contrast([(1, before), (-1, after)], queries, kind, level))


def gap_of(measures: Contrast) -> Contrast:
    """Turn a contrast of earlier steps minus later ones into what is lost, and gained in excess."""
    over = measures.excess
    return replace(measures, excess=None if over is None else replace(over, mean=-over.mean))


def contrast(
    parts: Sequence[tuple[int, AnyInts]], queries: int, kind: IntervalKind, level: float = 0.95
) -> Contrast:
    """Compute a weighted sum of measures over the same tasks, such as one method minus another.

    The parts are weights, and correct queries of each class as :func:`step_score` takes them, of
    the same tasks in the same order; they may have different numbers of runs.
    """
    weights, counts = zip(*((w, np.asarray(c, np.int64)) for w, c in parts), strict=True)
    if len({part.shape[:2] for part in counts}) > 1:
        raise SpecError(
            f"counts of shapes {', '.join(str(part.shape) for part in counts)}",
            expected="of the same tasks",
        )

    def total(of: Callable[[AnyInts], NDArray[Any]], shares: Sequence[int]) -> NDArray[Any]:
        return np.asarray(sum(w * of(part) for w, part in zip(shares, counts, strict=True)))

    runs = lcm(*map(_runs, counts))
    alike = [w * (runs // _runs(part)) for w, part in zip(weights, counts, strict=True)]
    n_query = counts[0].shape[1] * queries * runs
    over = total(lambda part: 100 * excess(part, queries), weights) if queries > 1 else None
    return Contrast(
        accuracy=interval(Moments.of(total(_right, alike), n_query), kind, level),
        worst=interval(Moments.of(total(_lowest, alike), queries * runs), kind, level),
        excess=None if over is None else interval_of(over, kind, level),
    )


def _runs(counts: AnyInts) -> int:
    """How many runs counts (T, K) or (T, K, R) are of."""
    return 1 if counts.ndim == 2 else counts.shape[2]


def _right(counts: AnyInts) -> AnyInts:
    """Sum the correct queries of each task over classes and runs (T,)."""
    return np.asarray(counts.reshape(len(counts), -1).sum(axis=1))


def _lowest(counts: AnyInts) -> AnyInts:
    """Sum the correct queries of each run's worst class over runs (T,)."""
    return np.asarray(counts.min(axis=1).reshape(len(counts), -1).sum(axis=1))


def interval_of(values: Floats, kind: IntervalKind, level: float) -> Interval:
    """Compute the interval of a mean of any values (T,), as :func:`interval` does of counts."""
    check_level(level)
    tasks, mean = values.size, float(values.mean())
    halfwidth = None
    if tasks > 1:
        halfwidth = halfwidth_per_deviation(tasks, kind, level) * float(values.std(ddof=1))
    return Interval(kind, level, tasks, mean, halfwidth, bool((values == values[0]).all()))
