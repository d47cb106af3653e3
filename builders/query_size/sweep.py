"""Sweep the number of queries: task sets of each Q and seed, a head run on them, and Q*."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
    SetEstimate,
    VarianceModel,
    estimate_set,
    jackknife_images,
    pool,
    width_factors,
)
from benchmark_spec.errors import SamplingError, SpecError
from builders.baselines.heads import Predictor, head_of
from builders.query_size.draws import Draws, choose_query
from builders.sampling import Stream
from fslbench_data.release.release import Release
from fslbench_data.tasks import TaskSet


@dataclass(frozen=True, eq=False)
class QuerySets:
    """What stays the same while the number of queries changes.

    `method` is ``<backbone>/<head>``, and `origin` says where the features come from.
    """

    draws: Draws
    head: str
    features: NDArray[Any]
    method: str
    origin: str

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
    ) -> QuerySets:
        """Take a head, a suite, and the features of a release, by name."""
        head_of(head)
        draws = Draws.of(release, dataset, suite, way, shot)
        features = release.features(dataset, backbone)
        return cls(draws, head, features, f"{backbone}/{head}", f"release {release}")

    def counts(self, task_set: TaskSet) -> NDArray[np.int64]:
        """Count the correct queries of each class of each task, int64 (T, K)."""
        right = self._predict(task_set.support, task_set.query) == task_set.query_label
        ways = range(self.draws.way)
        by_class = [(right & (task_set.query_label == k)).sum(axis=1) for k in ways]
        return np.stack(by_class, axis=1).astype(np.int64)

    @cached_property
    def _predict(self) -> Predictor:
        return Predictor(self.head, self.features)

    def parts(self, number: int) -> NDArray[np.int64]:
        """Say which of `number` parts each image belongs to, int64 (N,).

        Every class is spread evenly over the parts, in random order; with groups, these are spread.
        """
        draws, units = self.draws, sum(self.draws.sizes)
        if draws.groups is not None:  # which are not divided; an image without any is one
            alone = draws.groups.max() + 1 + np.arange(units)
            of_image = np.where(draws.groups < 0, alone, draws.groups)
            _, unit = np.unique(of_image, return_inverse=True)
            units = int(unit.max()) + 1
        stream = Stream("query-size", draws.dataset, "parts")
        most = min(*draws.sizes, units)
        if number > most:
            raise SpecError(
                f"{number} parts of the images of {draws.dataset} are more than its smallest class "
                "has images" + ("" if draws.groups is None else ", or than there are groups"),
                expected=f"0 parts, or 3 to {most}",
            )
        if draws.groups is None:
            by_class = [stream.permutations(1, n)[0] % number for n in draws.sizes]
            return np.concatenate(by_class).astype(np.int64)
        part: NDArray[np.int64] = stream.permutations(1, units)[0] % number
        return part[unit.astype(np.int64)]

    def only(self, keep: NDArray[np.bool_]) -> QuerySets:
        """Keep some images (N,) only."""
        sizes, groups = self.draws.sizes, self.draws.groups
        class_of = np.repeat(np.arange(len(sizes)), sizes)
        kept = np.bincount(class_of[keep], minlength=len(sizes)).tolist()
        draws = replace(
            self.draws, sizes=tuple(kept), groups=None if groups is None else groups[keep]
        )
        return replace(self, draws=draws, features=self.features[keep])


def estimates(counts: Sequence[tuple[int, NDArray[Any]]], seed: int) -> list[SetEstimate]:
    """Estimate one seed's variances from its (Q, counts), for those Q at which they exist."""
    enough = [(x, query) for query, x in counts if query >= 2 and len(x) >= MIN_TASKS]
    if not enough:
        have = ", ".join(f"{len(x)} at Q = {query}" for query, x in counts)
        raise SamplingError(
            f"no variance can be estimated from these task sets: tasks are {have} (seed {seed})",
            expected=f"some Q of at least 2 with at least {MIN_TASKS} tasks",
            fix="sweep other numbers of queries, or ask for fewer ways or shots",
        )
    return [estimate_set(x, query) for x, query in enough]


USUAL = (1, 5, 7)
"""The Q whose cost is always told: those of Lafargue et al. (TMLR 2024) at 1, 5 and 10 shots."""

Counts = dict[int, list[NDArray[np.int64]]]
"""By Q, of each task set, the correct queries of each class of each task, (T, K)."""


@dataclass(frozen=True)
class SweepRow:
    """One Q: mean T over seeds, and in percentage points what was observed and expected.

    `observed` is the mean of open half-widths over seeds, with its Monte Carlo standard error: None
    where the head was not run, or a set has one task.  `model` is that of the root mean square
    deviation by the variance model, None where that is no number.
    """

    query: int
    tasks: float
    accuracy: float | None = None
    observed: float | None = None
    observed_error: float | None = None
    model: float | None = None


@dataclass(frozen=True)
class QuerySweep:
    """Everything a sweep found.

    `estimate` and `model` are of the fitted variances, in fractions squared; `rows` ascend in Q,
    and those of :data:`USUAL` that were not asked for have T but no observation.
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


def sweep(
    sets: QuerySets,
    queries: Iterable[int],
    *,
    seeds: int = 20,
    level: float = 0.95,
    parts: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> QuerySweep:
    """Draw task sets of every Q and seed, run a head on them, and choose Q.

    Variances are estimated from the sets with Q >= 2 and at least three tasks.  `parts` is 0, or
    how many parts of the images to leave out in turn, for uncertainties by
    :func:`analysis_sql.planning.query_size.jackknife_images` and as many times the work.
    """
    asked = sorted(set(queries))
    check_level(level)
    if seeds < 1 or not asked or parts in (1, 2) or parts < 0:
        raise SpecError(
            f"no sweep of {len(asked)} numbers of queries with {seeds} seeds and {parts} parts",
            expected="at least one of each, and 0 parts or at least 3",
        )
    sets.draws.draw(asked[-1], 0)  # refuse before any work is done
    part = sets.parts(parts) if parts else None
    counts: Counts = {query: [] for query in asked}
    for query in asked:
        for seed in range(seeds):
            progress(f"Q = {query}, seed {seed + 1} of {seeds}")
            counts[query].append(sets.counts(sets.draws.draw(query, seed)))
    estimate = _pooled(counts, sets.draws.shot)
    if part is not None:
        without = []
        for i in range(parts):
            progress(f"without part {i + 1} of {parts} of the images")
            without.append(_fit(sets.only(part != i), asked, seeds))
        estimate = jackknife_images(estimate, without)
    draws = sets.draws
    model = estimate.model(draws.shot)
    choice, tasks = choose_query(estimate, draws, asked[-1], seeds, level)
    shown = sorted({*counts, *(query for query in USUAL if query in tasks)})
    expected = {
        query: 100.0 * factor * sqrt(model.task_variance(query))
        for query, factor in width_factors(tasks, level).items()
        if model.task_variance(query) >= 0
    }
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
            replace(_row(q, tasks[q], counts.get(q), draws.way, level), model=expected.get(q))
            for q in shown
        ),
        estimate=estimate,
        model=model,
        choice=choice,
    )


def _fit(sets: QuerySets, queries: list[int], seeds: int) -> PooledEstimate:
    """Estimate the variances alone, from those Q of which tasks can be drawn."""
    draws = sets.draws
    counts = {
        query: [sets.counts(draws.draw(query, seed)) for seed in range(seeds)]
        for query in queries
        if query >= 2 and draws.tasks(query, 0)
    }
    return _pooled(counts, draws.shot)


def _pooled(counts: Counts, shot: int) -> PooledEstimate:
    """Estimate the variances from the counts of each Q and seed."""
    by_seed = zip(*counts.values(), strict=True)
    sets = [list(zip(counts, of_seed, strict=True)) for of_seed in by_seed]
    return pool([estimates(of_seed, seed) for seed, of_seed in enumerate(sets)], shot)


def _row(
    query: int, tasks: list[int], counts: list[NDArray[np.int64]] | None, way: int, level: float
) -> SweepRow:
    """Summarise what was observed at one Q."""
    row = SweepRow(query, float(np.mean(tasks)))
    if counts is None:
        return row
    by_seed = [Moments.of(x.sum(axis=1), way * query) for x in counts]
    row = replace(row, accuracy=float(np.mean([moments.mean for moments in by_seed])))
    if min(moments.tasks for moments in by_seed) < 2:
        return row
    widths = np.array([float(halfwidths(moments, "open", level)) for moments in by_seed])
    error = float(widths.std(ddof=1) / np.sqrt(widths.size)) if widths.size > 1 else None
    return replace(row, observed=float(widths.mean()), observed_error=error)
