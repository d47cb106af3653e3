"""Sweep the number of queries: task sets of each Q and seed, a head run on them, and Q*."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals import check_level, halfwidths
from analysis_sql.moments import Moments
from analysis_sql.query_choice import QueryChoice, choose, width_factors
from analysis_sql.query_size import (
    MIN_TASKS,
    PooledEstimate,
    SetEstimate,
    VarianceModel,
    estimate_set,
    pool,
)
from benchmark_spec.errors import SamplingError, SpecError, UnknownNameError
from benchmark_spec.protocol import SUITES, Protocol, TaskSetName
from builders.baselines.heads import HEADS, Floats, Head
from builders.sampling import draw_task_set, groups_of
from fslbench_data.release import Release
from fslbench_data.tasks import TaskSet, TaskSetInfo

USUAL = (1, 5, 7)
"""The Q whose cost is always told: those of Lafargue et al. (TMLR 2024) at 1, 5 and 10 shots."""


@dataclass(frozen=True)
class SweepRow:
    """One Q.

    Attributes
    ----------
    query
        Q.
    tasks
        Mean T over seeds.
    accuracy
        Mean over seeds and tasks, percentage points; None where the head was not run.
    observed, observed_error
        Open half-width, percentage points: mean over seeds, and its Monte Carlo standard error.
        None where the head was not run, or a set has a single task.
    model
        The half-width by the variance model, percentage points; None where that is no number.
        It is that of the root mean square deviation: the mean of a sample deviation over T tasks
        is smaller by a share of about 1/(4T).
    """

    query: int
    tasks: float
    accuracy: float | None
    observed: float | None
    observed_error: float | None
    model: float | None


@dataclass(frozen=True)
class QuerySweep:
    """Everything a sweep found.

    Attributes
    ----------
    method
        ``<backbone>/<head>``.
    seeds
        0..seeds-1.
    estimate, model
        Of the fitted variances, in fractions squared.
    rows
        Ascending in Q.  Those of :data:`USUAL` that were not asked for have T but no observation.
    """

    release: str
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
    release: Release,
    dataset: str,
    backbone: str,
    head: str,
    *,
    way: int = 5,
    shot: int,
    queries: Iterable[int],
    seeds: int = 20,
    level: float = 0.95,
    suite: str = "open",
    progress: Callable[[str], None] = lambda _: None,
) -> QuerySweep:
    """Draw task sets of every Q and seed, run a head on them, and choose Q.

    Variances are estimated from the sets with Q >= 2 and at least three tasks; every Q is then
    compared by the model at the T that it reached, those of :data:`USUAL` too.

    Parameters
    ----------
    dataset, backbone, head
        Features in the release, and one of :data:`builders.baselines.heads.HEADS`.
    queries
        Q to sweep.
    suite
        How tasks are drawn; one in which no image is used twice, other than `published`.

    Raises
    ------
    SamplingError
        If the data set holds no task of some Q.
    SpecError
        If nothing can be estimated, or a setting is none.
    """
    asked = sorted(set(queries))
    check_level(level)
    if head not in HEADS:
        raise UnknownNameError("head", head, HEADS)
    drawable = [name for name in SUITES if SUITES[name].interval == "open" and name != "published"]
    if suite not in drawable:
        raise UnknownNameError("suite to draw without replacement", suite, drawable)
    if seeds < 1 or not asked:
        raise SpecError("a sweep needs at least one seed and one number of queries")
    sizes = release.classes(dataset).column("n_images").to_pylist()
    features = release.features(dataset, backbone).astype(np.float64)
    groups = groups_of(release.images(dataset)) if suite == "grouped" else None

    def drawn(query: int, seed: int) -> TaskSet:
        name = TaskSetName(suite, Protocol(way, shot, query))
        table, _ = draw_task_set(dataset, name, sizes, seed=seed, groups=groups)
        return TaskSet.from_table(TaskSetInfo(dataset, name, len(table), ""), table)

    def can_be_drawn(query: int) -> bool:
        try:
            drawn(query, 0)
        except SamplingError:
            return False
        return True

    drawn(asked[-1], 0)  # refuse before any work is done
    tasks: dict[int, list[int]] = {}
    counts: dict[int, list[NDArray[np.int64]]] = {}
    for query in sorted({*asked, *filter(can_be_drawn, USUAL)}):
        for seed in range(seeds):
            progress(f"Q = {query}, seed {seed + 1} of {seeds}")
            task_set = drawn(query, seed)
            tasks.setdefault(query, []).append(len(task_set))
            if query in asked:
                counts.setdefault(query, []).append(class_counts(HEADS[head], features, task_set))
    estimate = pool([_estimates(counts, seed) for seed in range(seeds)], shot)
    model = estimate.model(shot)
    expected = {
        query: 100.0 * factor * sqrt(model.task_variance(query))
        for query, factor in width_factors(tasks, level).items()
        if model.task_variance(query) >= 0
    }
    return QuerySweep(
        release=str(release),
        dataset=dataset,
        method=f"{backbone}/{head}",
        suite=suite,
        way=way,
        shot=shot,
        level=level,
        seeds=seeds,
        rows=tuple(
            _row(q, tasks[q], counts.get(q), expected.get(q), way=way, level=level) for q in tasks
        ),
        estimate=estimate,
        model=model,
        choice=choose(estimate, shot, tasks, level),
    )


def class_counts(head: Head, features: Floats, task_set: TaskSet) -> NDArray[np.int64]:
    """Correct queries of each class of each task, int64 (T, K), for features (N, D)."""
    way = task_set.info.protocol.way
    counts = np.zeros((len(task_set), way), np.int64)
    for task in task_set:
        predictions = head(features[task.support], features[task.query])
        right = task.query_label[predictions == task.query_label]
        counts[task.task_id] = np.bincount(right, minlength=way)
    return counts


def _estimates(counts: dict[int, list[NDArray[np.int64]]], seed: int) -> list[SetEstimate]:
    """Estimates of one seed, from the Q at which they exist."""
    found = [
        estimate_set(by_seed[seed], query)
        for query, by_seed in counts.items()
        if query >= 2 and len(by_seed[seed]) >= MIN_TASKS
    ]
    if not found:
        have = ", ".join(f"{len(by_seed[seed])} at Q = {q}" for q, by_seed in counts.items())
        raise SamplingError(
            f"no variance can be estimated from these task sets: tasks are {have} (seed {seed})",
            expected=f"some Q of at least 2 with at least {MIN_TASKS} tasks",
            fix="sweep other numbers of queries, or ask for fewer ways or shots",
        )
    return found


def _row(
    query: int,
    tasks: list[int],
    counts: list[NDArray[np.int64]] | None,
    expected: float | None,
    *,
    way: int,
    level: float,
) -> SweepRow:
    """What was observed at one Q, beside the half-width that the model expects."""
    mean_tasks = float(np.mean(tasks))
    if counts is None:
        return SweepRow(query, mean_tasks, None, None, None, expected)
    each = [Moments.of(x.sum(axis=1), way * query) for x in counts]
    accuracy = float(np.mean([moments.mean for moments in each]))
    if min(tasks) < 2:
        return SweepRow(query, mean_tasks, accuracy, None, None, expected)
    widths = np.array([float(halfwidths(moments, "open", level)) for moments in each])
    error = float(widths.std(ddof=1) / np.sqrt(widths.size)) if widths.size > 1 else None
    return SweepRow(query, mean_tasks, accuracy, float(widths.mean()), error, expected)
