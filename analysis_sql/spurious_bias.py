"""What a method loses on attribute-biased tasks: steps of a ladder, and the gaps between them.

The steps of a ladder (:data:`benchmark_spec.protocol.LADDER`) have the same classes task by task,
so the gap between two of them is a paired difference.  Three measures, each a mean over tasks:

- **accuracy** over all its queries;
- **wAcc**, the accuracy of its worst class (Zheng et al., ECCV 2024);
- **excess**, how far wAcc lies below what equal difficulty of the classes explains
  (:mod:`analysis_sql.worst_class`): its gap is free of the part of wAcc that mere noise makes.
  None with one query a class, where it says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis_sql.intervals import Interval, check_level, interval
from analysis_sql.moments import Moments
from analysis_sql.worst_class import excess, expected_if_equal, expected_if_independent
from benchmark_spec.errors import SpecError
from benchmark_spec.protocol import IntervalKind

Counts = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]


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
class Gap:
    """What a method loses from one step to another on the same tasks, in percentage points.

    Attributes
    ----------
    accuracy, worst
        Accuracy and wAcc on the first step minus those on the second.
    excess
        Excess on the second step minus that on the first; None with one query a class.
    """

    accuracy: Interval
    worst: Interval
    excess: Interval | None


def step_score(
    class_correct: Counts, queries: int, kind: IntervalKind, level: float = 0.95
) -> StepScore:
    """Score a method on one step.

    Parameters
    ----------
    class_correct : int (T, K)
        Correct queries of each class.
    queries
        Q, of each class.
    kind
        ``open`` where no image is used twice, else ``closed``.

    Raises
    ------
    SpecError
        If the counts, the kind or the level are none.
    """
    found = np.asarray(class_correct)
    way = found.shape[1]
    share = float(found.mean() / queries)
    several = queries > 1
    return StepScore(
        accuracy=interval(Moments.of(found.sum(axis=1), way * queries), kind, level),
        worst=interval(Moments.of(found.min(axis=1), queries), kind, level),
        independent=100 * expected_if_independent(share, way, queries),
        equal=100 * float(expected_if_equal(found, queries).mean()) if several else None,
        excess=interval_of(100 * excess(found, queries), kind, level) if several else None,
    )


def gap(
    before: Counts, after: Counts, queries: int, kind: IntervalKind, level: float = 0.95
) -> Gap:
    """What a method loses from one step to another.

    Parameters
    ----------
    before, after : int (T, K)
        Correct queries of each class, of the same tasks in the same order.

    Raises
    ------
    SpecError
        If they are not of as many tasks and classes; or as :func:`step_score`.
    """
    a, b = np.asarray(before, np.int64), np.asarray(after, np.int64)
    if a.shape != b.shape:
        raise SpecError(
            f"steps of shapes {a.shape} and {b.shape}", expected="the same tasks on both"
        )
    return Gap(
        accuracy=interval(Moments.of((a - b).sum(axis=1), a.shape[1] * queries), kind, level),
        worst=interval(Moments.of(a.min(axis=1) - b.min(axis=1), queries), kind, level),
        excess=interval_of(100 * (excess(b, queries) - excess(a, queries)), kind, level)
        if queries > 1
        else None,
    )


def interval_of(values: Floats, kind: IntervalKind, level: float) -> Interval:
    """Interval of the mean of any values (T,), as :func:`analysis_sql.intervals.interval`."""
    check_level(level)
    tasks, mean = values.size, float(values.mean())
    halfwidth = None
    if tasks > 1:
        law = stats.norm() if kind == "closed" else stats.t(tasks - 1)
        halfwidth = float(law.isf((1 - level) / 2) * values.std(ddof=1) / np.sqrt(tasks))
    return Interval(kind, level, tasks, mean, halfwidth, bool((values == values[0]).all()))
