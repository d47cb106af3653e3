"""Sweep the number of queries: task sets of each Q and seed, a head run on them, and Q*."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.intervals import check_level, halfwidths
from analysis_sql.intervals.moments import Moments
from analysis_sql.planning.query_choice import QueryChoice, width_factors
from analysis_sql.planning.query_size import PooledEstimate, VarianceModel, jackknife_images, pool
from benchmark_spec.errors import SpecError
from builders.query_size.compared import choose_query
from builders.query_size.draws import Draws
from builders.query_size.task_sets import QuerySets, estimates

USUAL = (1, 5, 7)
"""The Q whose cost is always told: those of Lafargue et al. (TMLR 2024) at 1, 5 and 10 shots."""

Counts = dict[int, list[NDArray[np.int64]]]
"""By Q, of each task set, the correct queries of each class of each task, (T, K)."""


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
    accuracy: float | None = None
    observed: float | None = None
    observed_error: float | None = None
    model: float | None = None


@dataclass(frozen=True)
class QuerySweep:
    """Everything a sweep found.

    Attributes
    ----------
    origin
        Where the results come from, in words.
    method, seeds
        ``<backbone>/<head>``; 0..seeds-1.
    estimate, model
        Of the fitted variances, in fractions squared.
    rows
        Ascending in Q.  Those of :data:`USUAL` that were not asked for have T but no observation.
    choice
        Of all whole Q from 1 on, swept or not.
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

    Variances are estimated from the sets with Q >= 2 and at least three tasks.  The model then
    compares every whole Q of :func:`builders.query_size.compared.choose_query`, swept or not.

    Parameters
    ----------
    queries
        Q to sweep.
    parts
        0, or how many parts of the images to leave out in turn, for uncertainties by
        :func:`analysis_sql.planning.query_size.jackknife_images` and as many times the work.

    Raises
    ------
    SamplingError
        If the data set holds no task of some Q.
    SpecError
        If nothing can be estimated, or a setting is none, such as more parts than the smallest
        class has images.
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
    return conclude(sets.draws, counts, estimate, sets.method, sets.origin, seeds, level)


def conclude(
    draws: Draws,
    counts: Counts,
    estimate: PooledEstimate,
    method: str,
    origin: str,
    seeds: int,
    level: float,
) -> QuerySweep:
    """Choose Q for the task sets of `draws`, and lay what was counted beside it.

    Parameters
    ----------
    counts
        By Q, of several sets the correct queries of each class of each task, (T, K).
    seeds
        For how many T is counted.
    """
    model = estimate.model(draws.shot)
    choice, tasks = choose_query(estimate, draws, max(counts), seeds, level)
    shown = sorted({*counts, *(query for query in USUAL if query in tasks)})
    expected = {
        query: 100.0 * factor * sqrt(model.task_variance(query))
        for query, factor in width_factors(tasks, level).items()
        if model.task_variance(query) >= 0
    }
    return QuerySweep(
        origin=origin,
        dataset=draws.dataset,
        method=method,
        suite=draws.suite,
        way=draws.way,
        shot=draws.shot,
        level=level,
        seeds=seeds,
        rows=tuple(
            _row(q, tasks[q], counts.get(q), expected.get(q), way=draws.way, level=level)
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
        if query >= 2 and draws.can_draw(query)
    }
    return _pooled(counts, draws.shot)


def _pooled(counts: Counts, shot: int) -> PooledEstimate:
    """Estimate the variances from the counts of each Q and seed."""
    by_seed = zip(*counts.values(), strict=True)
    sets = [list(zip(counts, of_seed, strict=True)) for of_seed in by_seed]
    return pool([estimates(of_seed, seed) for seed, of_seed in enumerate(sets)], shot)


def _row(
    query: int,
    tasks: list[int],
    counts: list[NDArray[np.int64]] | None,
    expected: float | None,
    *,
    way: int,
    level: float,
) -> SweepRow:
    """Summarise what was observed at one Q, beside the half-width that the model expects."""
    row = SweepRow(query, float(np.mean(tasks)), model=expected)
    if counts is None:
        return row
    by_seed = [Moments.of(x.sum(axis=1), way * query) for x in counts]
    row = replace(row, accuracy=float(np.mean([moments.mean for moments in by_seed])))
    if min(moments.tasks for moments in by_seed) < 2:
        return row
    widths = np.array([float(halfwidths(moments, "open", level)) for moments in by_seed])
    error = float(widths.std(ddof=1) / np.sqrt(widths.size)) if widths.size > 1 else None
    return replace(row, observed=float(widths.mean()), observed_error=error)
