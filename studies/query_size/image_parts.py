"""Sweep the number of queries with narrower intervals of Q*, by a jackknife over images.

The sweep is repeated without each of some parts of the images in turn, in as many times the time::

    from studies.query_size.image_parts import sharper_sweep
    sharper_sweep(QuerySets.of(release, "digits", "pixels", "NCC", ...), range(1, 16), parts=20)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from analysis_sql.planning.query_size import PooledEstimate, choose
from builders.query_size.draws import tasks_of_each_query
from builders.query_size.sweep import QuerySets, QuerySweep, sweep


def sharper_sweep(
    sets: QuerySets, queries: Iterable[int], *, parts: int, seeds: int = 20
) -> QuerySweep:
    """Sweep, and choose Q by a jackknife over at least 3 parts of the images."""
    grid, part, draws = sorted(set(queries)), parts_of(sets, parts), sets.draws
    swept, without = sweep(sets, grid, seeds=seeds), []
    for i in range(parts):
        rest = only(sets, part != i)
        drawable = [query for query in grid if query >= 2 and rest.draws.tasks(query, 0)]
        without.append(sweep(rest, drawable, seeds=seeds).estimate)
    estimate = jackknife(swept.estimate, without)
    tasks, more = tasks_of_each_query(draws, grid[-1], seeds)
    choice = choose(estimate, draws.shot, tasks, swept.level, more=more)
    return replace(swept, estimate=estimate, choice=choice)


def parts_of(sets: QuerySets, number: int) -> NDArray[np.int64]:
    """Return which of `number` parts each image belongs to, int64 (N,).

    The images of every class are spread evenly in random order.
    """
    stream = Stream("query-size", sets.draws.dataset, "parts")
    by_class = [stream.permutations(1, n)[0] % number for n in sets.draws.sizes]
    return np.concatenate(by_class).astype(np.int64)


def only(sets: QuerySets, keep: NDArray[np.bool_]) -> QuerySets:
    """Keep some images (N,) only, and compare no heads."""
    sizes = sets.draws.sizes
    class_of = np.repeat(np.arange(len(sizes)), sizes)
    kept = tuple(np.bincount(class_of[keep], minlength=len(sizes)).tolist())
    draws = replace(sets.draws, sizes=kept)
    return replace(sets, draws=draws, features=sets.features[keep], compared=())


def jackknife(whole: PooledEstimate, without: Sequence[PooledEstimate]) -> PooledEstimate:
    """Give an estimate the covariance of a jackknife over parts; `without` lack one each."""
    number, values = len(without), np.array([(part.alpha, part.w) for part in without])
    away = values - values.mean(axis=0)
    (a, b), (c, d) = ((number - 1) / number * away.T @ away).tolist()
    return structs.replace(whole, covariance=((a, b), (c, d)), freedom=float(number - 1))
