"""Compute means over data sets, by which papers rank methods, with intervals.

Data sets are fixed, and their images and classes are drawn independently of each other's.  Let h_d
be the half-widths on D data sets without training runs, w_d the derivative of the mean by the
accuracy on data set d, and a_rd the accuracy of training run r.  Then::

    h² = Σ_d w_d² h_d²,    v = var(Σ_d w_d a_rd) / R

and h is widened for new training runs as on a single data set
(:mod:`analysis_sql.intervals.counts`).  Runs that are named alike on all data sets are the same
trained models, whose gains on one may be losses on another.  Where only some runs are on several
data sets, v is (Σ_d w_d √v_d)², which it is at most; where none is, v is Σ_d w_d² v_d.  The
derivative of the arithmetic mean is 1/D, that of the harmonic mean H is H²/(D a_d²).  For a
difference of harmonic means, by which papers average base and new classes, the variance on a data
set follows from those of both methods and of their difference, and so does its half-width::

    var(w a − u b) = (w − u) (w var(a) − u var(b)) + w u var(a − b)

The three are estimated apart; var(a − b) is at least (√var(a) − √var(b))², that of a correlation
of 1.
A sign test over data sets answers another question: whether other data sets would agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import compress
from math import comb, isnan, nan
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.comparisons import IDENTICAL, Verdict
from analysis_sql.interval_kinds import ABOUT
from analysis_sql.intervals.counts import RunTerms, for_new_runs
from benchmark_spec.protocol import EPISODES, IntervalKind
from fslbench_data.scoring.scores import Score, intervals_by_kind
from fslbench_data.scoring.task_set_report import TaskSetReport, own_methods, primary_sets, schema

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
"""Percentage points by which equal means may differ."""

DATASET_MEANS = schema(
    ("ways shots datasets", int),
    ("about method versus", str),
    ("mean versus_mean difference halfwidth level", float),
    ("verdict", str),
    ("higher lower", int),
    ("sign_p", float),
    ("task_sets", str),
)
"""One row per method, or a pair of methods, and what the interval is about."""


class DatasetMean(Struct, frozen=True):
    """A method's mean over data sets, or its difference from another's, percentage points.

    Attributes
    ----------
    ways, shots
        Of the tasks; `ways` is None for tasks of all classes, both are None for episodes, which
        differ.
    datasets, task_sets
        The data sets with these ways and shots, of which each counts alike, and the task set of
        each as ``dataset/task_set``.
    about
        What the interval is about: new images, or new classes, of these data sets.
    mean
        The method's arithmetic or harmonic mean.
    versus, versus_mean, difference, verdict
        The other method of a pair, its mean, and their comparison; None for a method alone.
    halfwidth
        Half-width of the mean, or of the difference; None if some data set has no interval, or if
        two methods are identical on only some data sets, which does not bound their difference
        there.
    higher, lower
        Numbers of data sets on which the method's mean is above, and below, the other's.
    sign_p
        Two-sided p-value of the sign test over data sets: about other data sets like these.
    """

    ways: int | None
    shots: int | None
    datasets: tuple[str, ...]
    task_sets: tuple[str, ...]
    about: str
    method: str
    mean: float
    halfwidth: float | None
    level: float
    versus: str | None = None
    versus_mean: float | None = None
    difference: float | None = None
    verdict: Verdict | None = None
    higher: int | None = None
    lower: int | None = None
    sign_p: float | None = None

    @property
    def tasks(self) -> str:
        """Ways and shots in words."""
        if self.shots is None:
            return EPISODES.name
        ways = f"{self.ways}-way" if self.ways else "all classes"
        return f"{ways}{'' if self.ways else ','} {self.shots}-shot" if self.shots else ways

    @property
    def low(self) -> float | None:
        """Lower end of the interval of the method's mean."""
        return None if self.halfwidth is None else self.mean - self.halfwidth

    @property
    def high(self) -> float | None:
        """Upper end of the interval of the method's mean."""
        return None if self.halfwidth is None else self.mean + self.halfwidth


def dataset_means(sets: Sequence[TaskSetReport], *, harmonic: bool = False) -> list[DatasetMean]:
    """Return the means over data sets of methods that answer all of them, and their differences.

    There is one of each ways and shots that have primary sets of at least two data sets.  Methods
    whose runs had a rule to stop, or which answered only the first tasks, are left out.
    """
    by_protocol: dict[tuple[int | None, int | None], list[TaskSetReport]] = {}
    for task_set in primary_sets(sets):
        by_protocol.setdefault(task_set.scored.ways_and_shots, []).append(task_set)
    rows = []
    for ways, shots in sorted(by_protocol, key=lambda key: (key[0] or 0, key[1] or 0)):
        if len(by_protocol[ways, shots]) > 1:
            rows += _rows(ways, shots, by_protocol[ways, shots], harmonic)
    return rows


def dataset_mean_table(rows: Sequence[DatasetMean]) -> pa.Table:
    """Return means as a table with the columns of :data:`DATASET_MEANS`."""
    lines = []
    for row in rows:
        line = {name: getattr(row, name) for name in DATASET_MEANS.names}
        lines.append(line | {"datasets": len(row.datasets), "task_sets": ", ".join(row.task_sets)})
    return pa.Table.from_pylist(lines, DATASET_MEANS)


@lru_cache(maxsize=1024)
def sign_test(higher: int, lower: int) -> float:
    """Return the two-sided p-value of so many data sets above and below, equal ones left out."""
    n = higher + lower
    tail: int = sum(comb(n, k) for k in range(min(higher, lower) + 1))
    return min(1.0, 2.0 * tail / 2.0**n)


def _rows(
    ways: int | None, shots: int | None, sets: Sequence[TaskSetReport], harmonic: bool
) -> list[DatasetMean]:
    """Return the means and differences over task sets of different data sets."""
    methods, n_own = _common_methods(sets)
    if not methods:
        return []
    reduced = [_without_runs(task_set, methods, n_own) for task_set in sets]
    scores = [*zip(*(task_set.scores for task_set in reduced), strict=True)]  # by method, data set
    accuracies = [np.array([s.accuracy.mean for s in of_method]) for of_method in scores]
    mean = np.array([_mean(values, harmonic) for values in accuracies])
    slope = np.array([_slopes(values, harmonic) for values in accuracies])
    terms = [_run_terms(sets, s, slopes) for s, slopes in zip(scores, slope, strict=True)]
    of_runs = RunTerms(*map(np.array, zip(*terms, strict=True)))
    level, rows = sets[0].level, []
    i, j = np.argwhere(np.all([s.requested for s in reduced], axis=0)).T
    swapped = ~_compared(sets[0], methods)[i, j]
    a, b = np.where(swapped, j, i), np.where(swapped, i, j)
    pair_terms = RunTerms.joined(*(RunTerms(*(term[of] for term in of_runs)) for of in (a, b)))
    if a.size and all(task_set.counts.own_tasks for task_set in sets):
        found = [
            _paired_terms(sets, [*zip(scores[x], scores[y], strict=True)], (slope[x], slope[y]))
            for x, y in zip(a, b, strict=True)
        ]
        pair_terms = RunTerms(*map(np.array, zip(*found, strict=True)))
    widest, pairs_widest = np.full(len(methods), nan), np.full(a.size, nan)

    for about, kinds in _questions(sets).items():
        shared: dict[str, Any] = {
            "ways": ways,
            "shots": shots,
            "datasets": tuple(task_set.scored.dataset for task_set in sets),
            "task_sets": tuple(task_set.scored.text for task_set in sets),
            "about": about,
            "level": level,
        }
        widths = np.array(
            [
                [s.intervals[kind].halfwidth for s, kind in zip(of_method, kinds, strict=True)]
                for of_method in scores
            ],
            np.float64,
        )
        squares = widths**2
        halfwidths = _combined(slope**2 * squares, of_runs, level, widest)
        rows += [
            DatasetMean(method=method, mean=of_method, halfwidth=halfwidth, **shared)
            for method, of_method, halfwidth in zip(
                methods, mean.tolist(), _or_none(halfwidths), strict=True
            )
        ]
        pairs = [s.pairs_of(kind) for s, kind in zip(reduced, kinds, strict=True)]
        differences = np.stack([of_set.difference[i, j] for of_set in pairs], axis=1)
        differences[swapped] *= -1.0
        pair_squares = np.stack([of_set.halfwidth[i, j] for of_set in pairs], axis=1) ** 2
        same = np.stack([of_set.verdict[i, j] == IDENTICAL for of_set in pairs], axis=1)
        identical: NDArray[np.bool_] = np.all(same, axis=1)
        pair_squares[same & ~identical[:, None]] = nan  # bounds no difference elsewhere
        w, u = slope[a], slope[b]
        difference = differences.mean(axis=1)
        if harmonic:
            pair_squares = np.maximum(pair_squares, (widths[a] - widths[b]) ** 2)
            difference = mean[a] - mean[b]
        square = w * u * pair_squares
        if harmonic:
            square += (w - u) * (w * squares[a] - u * squares[b])
        halfwidths = _combined(square, pair_terms, level, pairs_widest)
        above, below = ((sign * differences > _ROUNDING).sum(axis=1) for sign in (1, -1))
        columns = (a, b, difference, identical, above, below)
        rows += [
            DatasetMean(
                method=methods[x],
                mean=float(mean[x]),
                halfwidth=halfwidth,
                versus=methods[y],
                versus_mean=float(mean[y]),
                difference=of_pair,
                verdict=_verdict(is_identical, float(mean[x] - mean[y]), halfwidth),
                higher=higher,
                lower=lower,
                sign_p=sign_test(higher, lower),
                **shared,
            )
            for halfwidth, x, y, of_pair, is_identical, higher, lower in zip(
                _or_none(halfwidths), *(column.tolist() for column in columns), strict=True
            )
        ]
    return rows


def _combined(squares: Floats, terms: RunTerms, level: float, widest: Floats) -> Floats:
    """Combine squared half-widths (N, D) over data sets; NaN where one is unknown.

    An interval about more is at least as wide, also with runs: `widest` (N,) are the widest so far,
    which are raised.
    """
    halfwidths = for_new_runs(np.sqrt(squares.sum(axis=1)), terms, level)
    np.fmax(widest, halfwidths, out=widest)
    return np.where(np.isnan(halfwidths), nan, widest)


def _or_none(values: Floats) -> list[float | None]:
    return [None if isnan(value) else value for value in values.tolist()]


def _common_methods(sets: Sequence[TaskSetReport]) -> tuple[list[str], int]:
    """Return the methods that answer all tasks, first the submission's, and how many those are."""
    whole = [{*compress(task_set.methods, task_set.judged)} for task_set in sets]
    common = [name for name in sets[0].methods if all(name in of_set for of_set in whole)]
    own = [name for name in common if all(name in own_methods(task_set) for task_set in sets)]
    return [*own, *(name for name in common if name not in own)], len(own)


def _compared(task_set: TaskSetReport, methods: Sequence[str]) -> NDArray[np.bool_]:
    """Return which methods (M, M) a task set compares with which, in its own order."""
    requested = np.zeros((len(task_set.methods), len(task_set.methods)), np.bool_)
    requested[: len(task_set.requested)] = task_set.requested
    position = {name: number for number, name in enumerate(task_set.methods)}
    rows = [position[name] for name in methods]
    return requested[np.ix_(rows, rows)]


def _without_runs(task_set: TaskSetReport, methods: Sequence[str], n_own: int) -> TaskSetReport:
    """Return the report on some methods, in this order, as if runs did not differ.

    The first `n_own` are compared with later ones where the task set compares the two.
    """
    rows = [task_set.methods.index(name) for name in methods]
    compared = _compared(task_set, methods)
    requested = np.triu(compared | compared.T, 1)[:n_own]
    counts = replace(
        task_set.counts.select(rows), run_variance=0.0, run_square=0.0, pair_terms=None
    )
    intervals = intervals_by_kind(
        counts, task_set.interval_kind, task_set.level, task_set.designs, task_set.units
    )
    scores = tuple(replace(task_set.scores[r], intervals=intervals(i)) for i, r in enumerate(rows))
    return replace(task_set, scores=scores, counts=counts, requested=requested, at_other_level=None)


def _mean(values: Floats, harmonic: bool) -> float:
    if not harmonic:
        return float(values.mean())
    return float(len(values) / (1.0 / values).sum()) if values.all() else 0.0


def _slopes(values: Floats, harmonic: bool) -> Floats:
    """Return the derivatives of a mean over data sets; NaN of a harmonic mean of 0."""
    number = len(values)
    if not harmonic:
        return np.full(number, 1.0 / number)
    mean = _mean(values, harmonic)
    return (mean / values) ** 2 / number if mean else np.full(number, nan)


def _questions(sets: Sequence[TaskSetReport]) -> dict[str, list[IntervalKind]]:
    """Return each set's kind of interval, for what all sets have an interval about."""
    images = [task_set.displayed_kinds[0] for task_set in sets]
    found: dict[str, list[IntervalKind]] = {}
    if len({kind == "closed" for kind in images}) == 1:
        found[ABOUT[images[0]]] = images
    classes = [kind for s in sets if (kind := s.kind_about("new classes")) is not None]
    if len(classes) == len(sets):
        found[ABOUT[classes[0]]] = classes
    return found


def _run_terms(sets: Sequence[TaskSetReport], scores: Sequence[Score], slopes: Floats) -> RunTerms:
    """Return what training anew adds to a method's mean over data sets."""
    of_tasks = np.zeros(len(sets))
    for i, (task_set, score) in enumerate(zip(sets, scores, strict=True)):
        if task_set.counts.own_tasks:
            counts = task_set.counts.select([task_set.methods.index(score.method)])
            of_tasks[i] = counts.moments().run_terms.of_tasks.sum()
    noise = float(slopes**2 @ of_tasks)
    runs = [*scores[0].run_means]
    shared = _shared([score.run_means.keys() for score in scores])
    if len(runs) > 1 and shared == "all":
        means = np.array([[score.run_means[run] for run in runs] for score in scores])
        return _shared_terms(slopes @ (means - means[:, :1]), scores, noise)  # equal ones are 0
    variance = (slopes * np.array([score.run_error or 0.0 for score in scores])) ** 2
    freedom = np.array([max(score.runs - 1, 1) for score in scores])
    return _added_terms(RunTerms(variance, variance**2 / freedom), noise, shared)


def _shared(runs: Iterable[Iterable[object]]) -> Literal["all", "some", "none"]:
    """Return whether the runs on data sets, by name, are the same on all of them."""
    first, *others = map(set, runs)
    if all(names == first for names in others):
        return "all"
    return "none" if len(first.union(*others)) == len(first) + sum(map(len, others)) else "some"


def _added_terms(terms: RunTerms, noise: float, shared: Literal["all", "some", "none"]) -> RunTerms:
    """Add the terms of data sets, at their bound where some runs are on several."""
    varies = terms.variance > 0
    if shared == "none" or not varies.any():
        return terms.sum()._replace(of_tasks=noise)
    freedom = (terms.variance[varies] ** 2 / terms.square[varies]).min()
    v = float(np.sqrt(terms.variance).sum()) ** 2
    return RunTerms(v, v**2 / freedom, noise)


def _shared_terms(run_values: Floats, scores: Sequence[Score], noise: float) -> RunTerms:
    """Return the terms of a mean or difference over data sets from its values by run (R,)."""
    # 1/R, or more where runs have unequal numbers of tasks of their own
    shares = [((s.run_error or 0.0) / s.run_spread) ** 2 for s in scores if s.run_spread]
    v = float(run_values.var(ddof=1)) * max([1.0 / run_values.size, *shares])
    return RunTerms(v, v**2 / (run_values.size - 1), noise)


def _paired_terms(
    sets: Sequence[TaskSetReport],
    scores: Sequence[tuple[Score, Score]],
    slopes: tuple[Floats, Floats],
) -> RunTerms:
    """Return what training anew adds to a difference; runs are paired by the tasks they answered.

    `scores` are those of the two methods on each task set.
    """
    terms = []
    for task_set, (a, b) in zip(sets, scores, strict=True):
        first, second = task_set.methods.index(a.method), task_set.methods.index(b.method)
        differences = task_set.counts.differences([first], [second], a.accuracy.tasks)
        terms.append([float(term[0]) for term in differences.moments().run_terms])
    variance, square, noise = np.array(terms).T
    weights = slopes[0] * slopes[1]
    run_pairs = [[*zip(a.run_means, b.run_means, strict=True)] for a, b in scores]
    if (shared := _shared(run_pairs)) != "all":
        terms_of_sets = RunTerms(weights * variance, weights**2 * square)
        return _added_terms(terms_of_sets, float(weights @ noise), shared)
    run_values = [
        [w * a.run_means[run] - u * b.run_means[other] for run, other in run_pairs[0]]
        for w, u, (a, b) in zip(*slopes, scores, strict=True)
    ]
    return _shared_terms(np.sum(run_values, axis=0), [a for a, _ in scores], float(weights @ noise))


def _verdict(identical: bool, difference: float, halfwidth: float | None) -> Verdict:
    if identical and not halfwidth:
        return Verdict.IDENTICAL
    if halfwidth is None:
        return Verdict.NOT_ESTIMABLE
    if abs(difference) <= halfwidth + _ROUNDING:
        return Verdict.INCONCLUSIVE
    return Verdict.BETTER if difference > 0 else Verdict.WORSE
