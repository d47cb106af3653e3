"""What a method loses on attribute-biased tasks: steps of a ladder, and the gaps between them.

The steps of a ladder (:data:`benchmark_spec.suites.LADDER`) have the same classes task by task,
so the gap between two of them is a paired difference.  Three measures, each a mean over tasks:

- **accuracy** over all its queries;
- **wAcc**, the accuracy of its worst class (Zheng et al., ECCV 2024);
- **excess**, how far wAcc lies below what equal difficulty of the classes explains
  (:mod:`analysis_sql.bias.worst_class`): its gap is free of the part of wAcc that mere noise makes.
  None with one query a class, where it says nothing;
- **beyond the level**, how far the excess lies above what the level of accuracy alone would give
  (:mod:`analysis_sql.bias.class_spread`).  None without a first step that says how far classes
  differ.

Of several runs each is a mean over runs.  Open intervals count what another training would change
(:mod:`analysis_sql.intervals.training_runs`): the runs of a method are the same trained models on
all steps, so of its gap s² is the variance of the runs' own gaps; two methods have a term each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from analysis_sql.bias.class_spread import AtLevel
from analysis_sql.bias.worst_class import excess, expected_if_equal, expected_if_independent
from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.intervals import (
    Interval,
    check_level,
    halfwidth_per_deviation,
    interval,
)
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.training_runs import Terms, for_new_runs, run_terms
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
    of_level
        The excess that the level of accuracy alone would give; None if not given.
    beyond_level
        The excess minus that; None if not given.
    """

    accuracy: Interval
    worst: Interval
    independent: float
    equal: float | None
    excess: Interval | None
    of_level: float | None = None
    beyond_level: Interval | None = None


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of measures on the same tasks, or a gap between steps, in percentage points.

    `excess` is None with one query a class; that of a :func:`gap` is what is gained, and so is
    `beyond_level`, which is None where nothing was given of it.
    """

    accuracy: Interval
    worst: Interval
    excess: Interval | None
    beyond_level: Interval | None = None


def step_score(
    class_correct: AnyInts,
    queries: int,
    kind: IntervalKind,
    level: float = 0.95,
    at_level: AtLevel | None = None,
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
    at_level
        What the level of accuracy alone would give on this step.
    """
    counts = np.asarray(class_correct)
    share = float(counts.mean() / queries)
    measures = contrast([(1, counts)], queries, kind, level, [at_level] if at_level else ())
    return StepScore(
        accuracy=measures.accuracy,
        worst=measures.worst,
        independent=100 * expected_if_independent(share, counts.shape[1], queries),
        equal=100 * float(expected_if_equal(counts, queries).mean()) if queries > 1 else None,
        excess=measures.excess,
        of_level=100 * at_level.excess if at_level else None,
        beyond_level=measures.beyond_level,
    )


def gap(
    before: AnyInts, after: AnyInts, queries: int, kind: IntervalKind, level: float = 0.95
) -> Contrast:
    """Compute what a method loses from one step to another; arguments as :func:`contrast`."""
    return gap_of(contrast([(1, before), (-1, after)], queries, kind, level, methods=(0, 0)))


def gap_of(measures: Contrast) -> Contrast:
    """Turn a contrast of earlier steps minus later ones into what is lost, and gained in excess."""
    over, beyond = (
        of and replace(of, mean=-of.mean) for of in (measures.excess, measures.beyond_level)
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

    Parameters
    ----------
    parts
        Weights, and correct queries of each class as :func:`step_score` takes them, of the same
        tasks in the same order; they may have different numbers of runs.
    beyond
        Empty, or of each part what the level alone would give, None where nothing lies beyond it.
        Of tasks, the first that all have are used.
    methods
        A number for each part, the same for parts of one method: if these have as many runs, run r
        is one trained model in all of them.  By default each part is of a method of its own.
    """
    weights = [weight for weight, _ in parts]
    counts = [_by_run(part) for _, part in parts]
    if len({part.shape[:2] for part in counts}) > 1:
        shapes = (str(np.shape(part)) for _, part in parts)
        raise SpecError(f"counts of shapes {', '.join(shapes)}", expected="of the same tasks")
    owners = range(len(parts)) if methods is None else methods
    runs = lcm(*(part.shape[2] for part in counts))

    def measured(of: Callable[[AnyInts], AnyInts], unit: int) -> Interval:
        values = [weight * of(part) for weight, part in zip(weights, counts, strict=True)]
        total = np.sum([own.sum(axis=1) * (runs // own.shape[1]) for own in values], axis=0)
        terms = _run_terms([own.mean(axis=0) * 100 / unit for own in values], owners)
        return interval(Moments.of(total, unit * runs, *terms), kind, level)

    over = None
    if queries > 1:
        values = [w * _excess(part, queries) for w, part in zip(weights, counts, strict=True)]
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


def _by_run(class_correct: AnyInts) -> AnyInts:
    """Return counts (T, K, R) of counts (T, K) or (T, K, R)."""
    counts = np.asarray(class_correct, np.int64)
    return counts[:, :, None] if counts.ndim == 2 else counts


def _excess(counts: AnyInts, queries: int) -> Floats:
    """Compute the excess of each task and run (T, R), percentage points."""
    runs = [excess(counts[:, :, run], queries) for run in range(counts.shape[2])]
    return 100 * np.stack(runs, axis=1)


def _run_terms(means: Sequence[Floats], methods: Sequence[int]) -> tuple[float, float]:
    """Return what training anew adds to a sum of means over runs, by :func:`run_terms`.

    `means` are of each part and run (R,), weighted, percentage points; `methods` as of
    :func:`contrast`.
    """
    apart: list[Floats] = []
    for method in dict.fromkeys(methods):
        own = [part for part, of in zip(means, methods, strict=True) if of == method]
        alike = len({part.size for part in own}) == 1
        apart += [np.sum(own, axis=0)] if alike else own
    several = [part - part[0] for part in apart if part.size > 1]  # equal ones are exactly 0
    spreads = [float(part.std(ddof=1)) for part in several]
    variance, square = run_terms(spreads, [part.size for part in several])
    return float(variance.sum()), float(square.sum())


def interval_of(
    values: Floats, kind: IntervalKind, level: float, terms: Terms = (0.0, 0.0)
) -> Interval:
    """Compute the interval of a mean of any values (T,), as :func:`interval` does of counts.

    `terms` are those of :func:`analysis_sql.intervals.training_runs.for_new_runs`.
    """
    check_level(level)
    tasks, mean = values.size, float(values.mean())
    halfwidth = None
    if tasks > 1:
        halfwidth = halfwidth_per_deviation(tasks, kind, level) * float(values.std(ddof=1))
        if kind != "closed":
            halfwidth = float(for_new_runs(halfwidth, terms, level))
    return Interval(kind, level, tasks, mean, halfwidth, bool((values == values[0]).all()))
