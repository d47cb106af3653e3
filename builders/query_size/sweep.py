"""Sweep the number of queries: task sets of each Q and seed, heads run on them, and Q*."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import check_level, halfwidths
from analysis_sql.planning.query_size import (
    MIN_TASKS,
    PooledEstimate,
    QueryChoice,
    VarianceModel,
    choose,
    choose_for_comparisons,
    estimate_difference,
    pool,
    width_factors,
)
from benchmark_spec.errors import SamplingError, SpecError
from builders.baselines.heads import Predictor, head_of
from builders.query_size.draws import Draws, tasks_of_each_query
from fslbench_data.release.release import Release
from fslbench_data.tasks import TaskSet

Heads = tuple[str, ...]
"""One head, for its accuracy, or two, for their difference."""

Sums = dict[Heads, tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Σd and Σd² over the queries of each class of each task, int64 (T, K).

d of a query is 1 if the head is right, minus 1 if the second head is.
"""


@dataclass(frozen=True, eq=False)
class QuerySets:
    """The heads, features and draws of a sweep, which do not depend on Q.

    `method` is ``<backbone>/<head>``, and `origin` is where the features come from. All pairs of
    the heads `compared` are compared.
    """

    draws: Draws
    head: str
    features: NDArray[Any]
    method: str
    origin: str
    compared: tuple[str, ...] = ()
    _predictors: dict[str, Predictor] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        release: Release,
        dataset: str,
        backbone: str,
        head: str,
        *,
        way: int,
        shot: int,
        suite: str,
        compared: tuple[str, ...] = (),
    ) -> QuerySets:
        """Take heads, a suite and the features of a release by name."""
        head_of(head)
        draws = Draws.of(release, dataset, suite, way, shot)
        features = release.features(dataset, backbone)
        return cls(draws, head, features, f"{backbone}/{head}", f"release {release}", compared)

    def sums(self, task_set: TaskSet) -> Sums:
        """Run the heads; return the sums of the method's head and of all pairs compared."""
        right = {}
        for head in dict.fromkeys((self.head, *self.compared)):
            if head not in self._predictors:
                self._predictors[head] = Predictor(head, self.features)
            predicted = self._predictors[head](task_set.support, task_set.query)
            right[head] = (predicted == task_set.query_label).astype(np.int64)  # (T, M)
        is_of_class = [task_set.query_label == k for k in range(self.draws.way)]

        def by_class(values: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.stack([(values * mask).sum(axis=1) for mask in is_of_class], axis=1)

        correct = by_class(right[self.head])
        found: Sums = {(self.head,): (correct, correct)}
        for first, second in combinations(self.compared, 2):
            d = right[first] - right[second]
            found[first, second] = by_class(d), by_class(d * d)
        return found

    def drawn(
        self, queries: Iterable[int], seeds: int, progress: Callable[[str], None] = lambda _: None
    ) -> dict[int, list[Sums]]:
        """Draw a task set of every Q and seed, and run the heads; returns a list of seeds by Q."""
        by_query: dict[int, list[Sums]] = {query: [] for query in queries}
        for query, of_seeds in by_query.items():
            for seed in range(seeds):
                progress(f"Q = {query}, seed {seed + 1} of {seeds}")
                of_seeds.append(self.sums(self.draws.draw(query, seed)))
        return by_query


USUAL = (1, 5, 7)
"""The Q with a cost in every report: those of Lafargue et al. (TMLR 2024) at 1, 5 and 10 shots."""

COMPARED = ("NCC", "MatchingNet", "LR", "LinearProbe")
"""The heads compared to choose the number of queries; new heads do not join, so that Q* stays."""


@dataclass(frozen=True)
class SweepRow:
    """The mean T over seeds of one Q, and what was observed and expected in percentage points.

    `observed` is the mean of open half-widths over seeds, with its Monte Carlo standard error; None
    if the head was not run, or a set has one task.  `model` is the half-width of the root mean
    square deviation by the variance model, None if it is undefined.  `difference` is the mean open
    half-width of the differences of all pairs that differ, over seeds, with its error.
    """

    query: int
    tasks: float
    accuracy: float | None = None
    observed: float | None = None
    observed_error: float | None = None
    model: float | None = None
    difference: float | None = None
    difference_error: float | None = None


@dataclass(frozen=True)
class QuerySweep:
    """All results of a sweep.

    `estimate` and `model` are of the fitted variances, in fractions squared; `rows` ascend in Q,
    and those of :data:`USUAL` that were not requested have T but no observation.  `choice` is of
    one method; `pairs` are the fitted variances of differences, and `comparisons` is the choice by
    them, None if no pair was compared.
    """

    origin: str
    dataset: str
    method: str
    suite: str
    way: int
    shot: int
    level: float
    seeds: int
    rows: tuple[SweepRow, ...]
    estimate: PooledEstimate
    model: VarianceModel
    choice: QueryChoice
    pairs: dict[tuple[str, str], PooledEstimate]
    comparisons: QueryChoice | None


def sweep(
    sets: QuerySets,
    queries: Iterable[int],
    *,
    seeds: int = 20,
    level: float = 0.95,
    progress: Callable[[str], None] = lambda _: None,
) -> QuerySweep:
    """Draw task sets of every Q and seed, run a head on them, and choose Q.

    Variances are estimated from the sets with Q >= 2 and at least three tasks.
    """
    grid = sorted(set(queries))
    check_level(level)
    if seeds < 1 or not grid:
        raise SpecError(
            f"no sweep of {len(grid)} numbers of queries with {seeds} seeds",
            expected="at least one of each",
        )
    draws, head = sets.draws, (sets.head,)
    draws.draw(grid[-1], 0)  # refuse before any work is done
    drawn = sets.drawn(grid, seeds, progress)
    estimate = _pooled(drawn, head, draws.shot)
    model = estimate.model(draws.shot)
    fits = {pair: _pooled(drawn, pair, draws.shot) for pair in combinations(sets.compared, 2)}
    pairs = {pair: fit for pair, fit in fits.items() if fit.w > 0 or fit.alpha > 0}
    tasks, more = tasks_of_each_query(draws, grid[-1], seeds)
    displayed = sorted({*grid, *(query for query in USUAL if query in tasks)})
    expected = {
        query: 100.0 * factor * sqrt(model.task_variance(query))
        for query, factor in width_factors(tasks, level).items()
        if model.task_variance(query) >= 0
    }
    observed = {query: _observed(drawn[query], head, pairs, query, level) for query in grid}
    comparisons = choose_for_comparisons(pairs.values(), tasks, level, more=more)
    return QuerySweep(
        origin=sets.origin,
        dataset=draws.dataset,
        method=sets.method,
        suite=draws.suite,
        way=draws.way,
        shot=draws.shot,
        level=level,
        seeds=seeds,
        rows=tuple(
            SweepRow(q, float(np.mean(tasks[q])), model=expected.get(q), **observed.get(q, {}))
            for q in displayed
        ),
        estimate=estimate,
        model=model,
        choice=choose(estimate, draws.shot, tasks, level, more=more),
        pairs=pairs,
        comparisons=comparisons if pairs else None,
    )


def _pooled(drawn: dict[int, list[Sums]], heads: Heads, shot: int) -> PooledEstimate:
    """Estimate the variances of each seed, from those Q at which they exist, and pool them."""
    seeds = []
    for seed, of_seed in enumerate(zip(*drawn.values(), strict=True)):
        by_query = [(query, *sums[heads]) for query, sums in zip(drawn, of_seed, strict=True)]
        enough = [(d, e, query) for query, d, e in by_query if query >= 2 and len(d) >= MIN_TASKS]
        if not enough:
            have = ", ".join(f"{len(d)} at Q = {query}" for query, d, _ in by_query)
            raise SamplingError(
                f"no variance can be estimated from these task sets: tasks are {have} "
                f"(seed {seed})",
                expected=f"some Q of at least 2 with at least {MIN_TASKS} tasks",
                fix="sweep other numbers of queries, or ask for fewer ways or shots",
            )
        seeds.append([estimate_difference(d, e, query) for d, e, query in enough])
    return pool(seeds, shot)


def _observed(
    seeds: list[Sums], head: Heads, pairs: Iterable[Heads], query: int, level: float
) -> dict[str, float | None]:
    """Summarise the results on the task sets of one Q."""

    def width(d: NDArray[np.int64]) -> float:
        return float(halfwidths(Moments.of(d.sum(axis=1), d.shape[1] * query), "open", level))

    counts = [sums[head][0] for sums in seeds]
    accuracy = float(np.mean([100.0 * correct.mean() / query for correct in counts]))
    observed: dict[str, float | None] = {"accuracy": accuracy}
    if min(map(len, counts)) >= 2:
        observed["observed"], observed["observed_error"] = _mean([width(x) for x in counts])
        if pairs:
            means = [np.mean([width(sums[pair][0]) for pair in pairs]) for sums in seeds]
            observed["difference"], observed["difference_error"] = _mean(means)
    return observed


def _mean(values: Sequence[Any]) -> tuple[float, float | None]:
    """Return the mean over seeds and its Monte Carlo standard error."""
    error = float(np.std(values, ddof=1) / sqrt(len(values))) if len(values) > 1 else None
    return float(np.mean(values)), error
