"""Sweep the number of queries: task sets of each Q and seed, a head run on them, and Q*."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.intervals import check_level, halfwidths
from analysis_sql.intervals.moments import Moments
from analysis_sql.planning.query_choice import QueryChoice, choose, width_factors
from analysis_sql.planning.query_pooling import PooledEstimate, jackknife_images, pool
from analysis_sql.planning.query_size import VarianceModel
from benchmark_spec.errors import SpecError
from builders.query_size.task_sets import QuerySets, estimates
from fslbench_data.release.release import Release

USUAL = (1, 5, 7)
"""The Q whose cost is always told: those of Lafargue et al. (TMLR 2024) at 1, 5 and 10 shots."""


BEYOND, AT_LEAST = 3, 30
"""Q are compared up to this many times the largest swept, and up to this many in any case."""


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
    method, seeds
        ``<backbone>/<head>``; 0..seeds-1.
    estimate, model
        Of the fitted variances, in fractions squared.
    rows
        Ascending in Q.  Those of :data:`USUAL` that were not asked for have T but no observation.
    choice
        Of all whole Q from 1 on, swept or not.
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
    parts: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> QuerySweep:
    """Draw task sets of every Q and seed, run a head on them, and choose Q.

    Variances are estimated from the sets with Q >= 2 and at least three tasks.  The model then
    compares every whole Q from 1 to :data:`BEYOND` times the largest swept (and to
    :data:`AT_LEAST`), swept or not, as far as every seed draws two tasks of it; T is counted by
    drawing the classes of each seed's set, so it is that of the whole set.

    Parameters
    ----------
    queries
        Q to sweep.
    suite
        One of :data:`builders.query_size.task_sets.DRAWABLE`.
    parts
        0, or how many parts of the images to leave out in turn, for uncertainties by
        :func:`analysis_sql.planning.query_pooling.jackknife_images` and as many times the work.

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
    sets = QuerySets.of(release, dataset, backbone, head, way=way, shot=shot, suite=suite)
    sets.draw(asked[-1], 0)  # refuse before any work is done
    part = sets.parts(parts) if parts else None
    tasks: dict[int, list[int]] = {}
    counts: dict[int, list[NDArray[np.int64]]] = {}
    for query in sorted({*asked, *filter(sets.can_draw, USUAL)}):
        for seed in range(seeds):
            progress(f"Q = {query}, seed {seed + 1} of {seeds}")
            task_set = sets.draw(query, seed)
            tasks.setdefault(query, []).append(len(task_set))
            if query in asked:
                counts.setdefault(query, []).append(sets.counts(task_set))
    estimate = _pooled({query: counts[query] for query in asked}, seeds, shot)
    if part is not None:
        without = []
        for i in range(parts):
            progress(f"without part {i + 1} of {parts} of the images")
            without.append(_fit(sets.only(part != i), asked, seeds))
        estimate = jackknife_images(estimate, without)
    model = estimate.model(shot)
    last = max(BEYOND * asked[-1], AT_LEAST)
    compared = tasks | _count(sets, [q for q in range(1, last + 1) if q not in tasks], seeds)
    expected = {
        query: 100.0 * factor * sqrt(model.task_variance(query))
        for query, factor in width_factors(compared, level).items()
        if query in tasks and model.task_variance(query) >= 0
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
        choice=choose(estimate, shot, compared, level, more=min(compared.get(last, [0])) >= 2),
    )


def _count(sets: QuerySets, queries: list[int], seeds: int) -> dict[int, list[int]]:
    """Count T of each seed's set, for the Q, ascending, of which any task can be drawn."""
    drawable = takewhile(sets.can_draw, queries)
    return {query: [sets.tasks(query, seed) for seed in range(seeds)] for query in drawable}


def _fit(sets: QuerySets, queries: list[int], seeds: int) -> PooledEstimate:
    """Estimate the variances alone, from those Q of which tasks can be drawn."""
    counts = {
        query: [sets.counts(sets.draw(query, seed)) for seed in range(seeds)]
        for query in queries
        if query >= 2 and sets.can_draw(query)
    }
    return _pooled(counts, seeds, sets.shot)


def _pooled(counts: dict[int, list[NDArray[np.int64]]], seeds: int, shot: int) -> PooledEstimate:
    """Estimate the variances from the counts of each Q and seed."""
    by_seed = [[(query, counts[query][seed]) for query in counts] for seed in range(seeds)]
    return pool([estimates(of_seed, seed) for seed, of_seed in enumerate(by_seed)], shot)


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
    if min(tasks) < 2:
        return row
    widths = np.array([float(halfwidths(moments, "open", level)) for moments in by_seed])
    error = float(widths.std(ddof=1) / np.sqrt(widths.size)) if widths.size > 1 else None
    return replace(row, observed=float(widths.mean()), observed_error=error)
