"""Means over data sets, by which papers rank methods, with intervals.

Data sets are fixed, and their images and classes are drawn independently of each other's.  So with
h_d the half-widths of D data sets, none of which counts training runs, w_d the derivative of the
mean by the accuracy on data set d, and a_rd the accuracy of training run r::

    h² = Σ_d w_d² h_d²,    v = var(Σ_d w_d a_rd) / R

and h is widened for new training runs as on a single data set
(:mod:`analysis_sql.intervals.counts`).  Runs that are named alike on all data sets are the
same trained models, so that what they gain on one may be lost on another; else v is Σ_d w_d² v_d.
The derivative of the arithmetic mean is 1/D, of the harmonic mean H it is H²/(D a_d²).  Of a
difference of harmonic means, by which papers average base and new classes, the variance on a data
set follows from those of both methods and of their difference, and so does its half-width::

    var(w a − u b) = (w − u) (w var(a) − u var(b)) + w u var(a − b)

Other data sets are another question, which a sign test over data sets answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, nan, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import IDENTICAL, Verdict
from analysis_sql.interval_kinds import ABOUT
from analysis_sql.intervals.counts import RunTerms, for_new_runs
from benchmark_spec.protocol import EPISODES, IntervalKind
from fslbench_data.scoring.scores import Score, intervals_by_kind
from fslbench_data.scoring.task_set_report import TaskSetReport, own_methods, primary_sets, schema

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
"""Percentage points by which means that are equal may differ."""

DATASET_MEANS = schema(
    ("ways shots datasets", int),
    ("about method versus", str),
    ("mean versus_mean difference halfwidth level", float),
    ("verdict", str),
    ("higher lower", int),
    ("sign_p", float),
)
"""One row a method, or a pair of methods, and what the interval is about."""


class DatasetMean(Struct, frozen=True):
    """A method's mean over data sets, or its difference from another's, percentage points.

    Attributes
    ----------
    ways, shots
        Of the tasks; no number of ways where these have all classes of a data set, and none of
        episodes that differ.
    datasets
        All of them, of the same ways and shots; each counts alike.
    about
        What the interval is about: new images, or new classes, of these data sets.
    mean
        The arithmetic mean, or the harmonic one.
    versus, versus_mean, difference, verdict
        Of a pair; None of a method alone.
    halfwidth
        Of the mean, or of the difference; None where some data set has no interval, or where two
        methods are identical on some data sets alone, which does not bound their difference there.
    higher, lower
        Data sets on which the method's mean is above, and below, the other's.
    sign_p
        Two-sided p-value of the sign test over data sets: about other data sets like these.
    """

    ways: int | None
    shots: int | None
    datasets: tuple[str, ...]
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
        return f"{f'{self.ways}-way' if self.ways else 'all classes,'} {self.shots}-shot"

    @property
    def low(self) -> float | None:
        """Lower end of the method's mean."""
        return None if self.halfwidth is None else self.mean - self.halfwidth

    @property
    def high(self) -> float | None:
        """Upper end of the method's mean."""
        return None if self.halfwidth is None else self.mean + self.halfwidth


def dataset_means(sets: Sequence[TaskSetReport], *, harmonic: bool = False) -> list[DatasetMean]:
    """Return the means over data sets of the methods that answer all of them, and their pairs.

    Arithmetic or harmonic ones, for each ways and shots of which a report has primary sets of two
    data sets or more.  Methods whose runs had a rule to stop, or which answered only the first
    tasks, are left out.
    """
    by_protocol: dict[tuple[int | None, int | None], list[TaskSetReport]] = {}
    for task_set in primary_sets(sets):
        by_protocol.setdefault(task_set.scored.ways_and_shots, []).append(task_set)
    return [
        row
        for protocol in sorted(by_protocol, key=lambda of: (of[0] or 0, of[1] or 0))
        if len(by_protocol[protocol]) > 1
        for row in _rows(protocol, by_protocol[protocol], harmonic)
    ]


def dataset_mean_table(rows: Sequence[DatasetMean]) -> pa.Table:
    """Return means as a table with the columns of :data:`DATASET_MEANS`."""
    names = DATASET_MEANS.names
    return pa.Table.from_pylist(
        [{**{n: getattr(row, n) for n in names}, "datasets": len(row.datasets)} for row in rows],
        DATASET_MEANS,
    )


def sign_test(higher: int, lower: int) -> float:
    """Return the two-sided p-value of so many data sets above and below, equal ones left out."""
    n, least = higher + lower, min(higher, lower)
    tail: int = sum(comb(n, k) for k in range(least + 1))
    return min(1.0, 2.0 * tail / 2.0**n)


def _rows(
    protocol: tuple[int | None, int | None], sets: Sequence[TaskSetReport], harmonic: bool
) -> list[DatasetMean]:
    whole = [
        {s.method for s in of.scores if s.ordinary and s.accuracy.tasks == of.scored.n_tasks}
        for of in sets
    ]
    common = [name for name in sets[0].methods if all(name in of for of in whole)]
    own = [name for name in common if all(name in own_methods(of) for of in sets)]
    methods = [*own, *(name for name in common if name not in own)]
    if not methods:
        return []
    alike = [_without_runs(of, methods, len(own)) for of in sets]
    scores = [*zip(*(of.scores for of in alike), strict=True)]
    each = [np.array([score.accuracy.mean for score in of_method]) for of_method in scores]
    mean = [_mean(values, harmonic) for values in each]
    slope = [_slopes(values, harmonic) for values in each]
    terms = [_run_terms(sets, *of) for of in zip(scores, slope, strict=True)]
    level, rows = sets[0].level, []
    narrowest: dict[tuple[int, ...], float] = {}

    def combined(key: tuple[int, ...], squares: Floats, terms: RunTerms) -> float | None:
        """Combine half-widths; an interval about more is at least as wide, also with runs."""
        if np.isnan(squares).any():
            return None
        width = float(for_new_runs(sqrt(float(squares.sum())), terms, level))
        narrowest[key] = max(width, narrowest.get(key, 0.0))
        return narrowest[key]

    compared = np.argwhere(np.all([of.requested for of in alike], axis=0)).tolist()
    for about, kinds in _questions(sets).items():
        shared: dict[str, Any] = {
            "ways": protocol[0],
            "shots": protocol[1],
            "datasets": tuple(of.scored.dataset for of in sets),
            "about": about,
            "level": level,
        }
        of_kinds = [*zip(alike, kinds, strict=True)]
        widths = [
            [of.scores[i].intervals[k].halfwidth for of, k in of_kinds] for i in range(len(methods))
        ]
        squares = [np.array(own_widths, float) ** 2 for own_widths in widths]
        for i, method in enumerate(methods):
            width = combined((i,), slope[i] ** 2 * squares[i], terms[i])
            rows.append(DatasetMean(method=method, mean=mean[i], halfwidth=width, **shared))
        pairs = [of.pairs_of(kind) for of, kind in of_kinds]
        for i, j in compared:
            differences = np.array([of.difference[i, j] for of in pairs])
            of_pair = np.array([of.halfwidth[i, j] for of in pairs])
            identical = np.array([of.verdict[i, j] == IDENTICAL for of in pairs])
            if not identical.all():  # which on some alone does not bound the difference there
                of_pair[identical] = nan
            a, b = i, j
            if not _in_order(sets[0], methods[i], methods[j]):
                a, b, differences = j, i, -differences
            w, u = slope[a], slope[b]
            square = w * u * of_pair**2
            if harmonic:
                square = square + (w - u) * (w * squares[a] - u * squares[b])
            of_both = RunTerms.joined(terms[a], terms[b])
            if all(of.counts.own_tasks for of in sets):
                of_both = _paired_terms(sets, [*zip(scores[a], scores[b], strict=True)], (w, u))
            width = combined((a, b), square, of_both)
            difference = mean[a] - mean[b]
            higher, lower = (int((sign * differences > 0).sum()) for sign in (1, -1))
            rows.append(
                DatasetMean(
                    method=methods[a],
                    mean=mean[a],
                    halfwidth=width,
                    versus=methods[b],
                    versus_mean=mean[b],
                    difference=difference if harmonic else float(np.mean(differences)),
                    verdict=_verdict(bool(identical.all()), difference, width),
                    higher=higher,
                    lower=lower,
                    sign_p=sign_test(higher, lower),
                    **shared,
                )
            )
    return rows


def _in_order(of: TaskSetReport, method: str, versus: str) -> bool:
    """Return whether a task set compares the first method with the other, and not the reverse."""
    row, column = of.methods.index(method), of.methods.index(versus)
    return row < len(of.requested) and bool(of.requested[row, column])


def _without_runs(of: TaskSetReport, methods: Sequence[str], own: int) -> TaskSetReport:
    """Return the same of some methods, in this order, as if runs did not differ.

    The first `own` are compared with later ones where the task set compares the two.
    """
    at, number = [of.methods.index(name) for name in methods], len(of.methods)
    requested = np.zeros((number, number), np.bool_)
    requested[: len(of.requested)] = of.requested
    requested = np.triu((requested | requested.T)[np.ix_(at, at)], 1)[:own]
    counts = replace(of.counts.select(at), run_variance=0.0, run_square=0.0, pair_terms=None)
    by_kind = intervals_by_kind(counts, of.interval_kind, of.level, of.designs, of.units)
    scores = tuple(replace(of.scores[row], intervals=by_kind(i)) for i, row in enumerate(at))
    return replace(of, scores=scores, counts=counts, requested=requested, at_other_level=None)


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
    """Return the kinds of interval of each set, by what they are about: where all sets have one."""
    images = [task_set.displayed_kinds[0] for task_set in sets]
    found: dict[str, list[IntervalKind]] = {}
    if len({kind == "closed" for kind in images}) == 1:
        found[ABOUT[images[0]]] = images
    classes = [kind for of in sets if (kind := of.kind_about("new classes")) is not None]
    if len(classes) == len(sets):
        found[ABOUT[classes[0]]] = classes
    return found


def _run_terms(sets: Sequence[TaskSetReport], scores: Sequence[Score], slopes: Floats) -> RunTerms:
    """Return what training anew adds to a method's mean over data sets.

    Runs of the same names on all of them are the same trained models.
    """
    of_tasks = [
        float(of.counts.select([of.methods.index(score.method)]).moments().run_terms.of_tasks.sum())
        if of.counts.own_tasks
        else 0.0
        for of, score in zip(sets, scores, strict=True)
    ]
    noise = float(slopes**2 @ of_tasks)
    names = [tuple(score.run_means) for score in scores]
    if len(names[0]) > 1 and all({*of} == {*names[0]} for of in names):
        means = np.array([[score.run_means[name] for name in names[0]] for score in scores])
        return _shared_terms(slopes @ (means - means[:, :1]), scores, noise)  # equal ones are 0
    own = (slopes * np.array([score.run_error or 0.0 for score in scores])) ** 2
    freedom = [max(score.runs - 1, 1) for score in scores]
    return RunTerms(own, own**2 / freedom).sum()._replace(of_tasks=noise)


def _shared_terms(of_runs: Floats, scores: Sequence[Score], noise: float) -> RunTerms:
    """Return the terms of means or differences over data sets, one of each run (R,)."""
    each = [(s.run_error or 0.0, s.run_spread or 0.0) for s in scores]
    # 1/R, or more where runs have unequal numbers of tasks of their own
    share = max(((error / spread) ** 2 for error, spread in each if spread), default=0.0)
    v = float(of_runs.var(ddof=1)) * max(share, 1.0 / of_runs.size)
    return RunTerms(v, v**2 / (of_runs.size - 1), noise)


def _paired_terms(
    sets: Sequence[TaskSetReport],
    scores: Sequence[tuple[Score, Score]],
    slopes: tuple[Floats, Floats],
) -> RunTerms:
    """Return the same of a difference, whose runs are paired by the tasks that each answered."""
    found = []
    for of, both in zip(sets, scores, strict=True):
        first, second = ([of.methods.index(score.method)] for score in both)
        apart = of.counts.differences(first, second, both[0].accuracy.tasks)
        found.append([float(term[0]) for term in apart.moments().run_terms])
    variance, square, noise = np.array(found).T
    weights = slopes[0] * slopes[1]
    pairs = [tuple(zip(a.run_means, b.run_means, strict=True)) for a, b in scores]
    if not all({*of} == {*pairs[0]} for of in pairs):
        return RunTerms(weights * variance, weights**2 * square, weights * noise).sum()
    of_runs = [
        [w * a.run_means[run] - u * b.run_means[other] for run, other in pairs[0]]
        for w, u, (a, b) in zip(*slopes, scores, strict=True)
    ]
    firsts = [first for first, _ in scores]
    return _shared_terms(np.sum(of_runs, axis=0), firsts, float(weights @ noise))


def _verdict(identical: bool, mean: float, width: float | None) -> Verdict:
    if identical and not width:
        return Verdict.IDENTICAL
    if width is None:
        return Verdict.NOT_ESTIMABLE
    if abs(mean) <= width + _ROUNDING:
        return Verdict.INCONCLUSIVE
    return Verdict.BETTER if mean > 0 else Verdict.WORSE
