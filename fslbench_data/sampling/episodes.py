"""Draw episodes of different ways, shots and queries, by Meta-Dataset's rule.

Triantafillou et al. (ICLR 2020), section 3.2. The name ``episodes-50w100s10q`` holds the most ways,
the most images of a class that count for the size of a support set, and the most queries of a
class. On a data set whose classes c have n_c images, an episode has

    K ways                uniform in 5..50, those classes uniform
    q queries a class     min(10, min_c floor(n_c/2)), over the classes of the episode
    |S| support images    min(500, Σ_c ceil(β min(100, n_c - q))), β uniform in (0, 1]
    k_c shots             min(floor(R_c (|S| - K)) + 1, n_c - q), R_c ∝ exp(α_c) n_c
                          α_c uniform in [ln 1/2, ln 2)

and k_c + q images of each class, uniform. β and α take 2^20 and 1024 equally spaced values, and
weights are whole numbers, so that episodes are the same on every platform. Each part has a stream
of its own: the first episodes of a set are themselves a set.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import MAX_QUERIES, MAX_WAY
from fslbench_data.sampling.draw import Ints, Wanted, check_number, first_image_ids, unit_of
from fslbench_data.tasks import check_images

LEAST_WAYS, MOST_SUPPORT = 5, 500
_BETA, _ALPHA, _WEIGHT = 2**20, 1024, 10**6


def draw_episodes(wanted: Wanted) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze episodes; return their table, and what they add to the provenance.

    Raises a SamplingError if images have groups, or classes are too few or too small.
    """
    where, protocol = wanted.where, wanted.name.protocol
    if unit_of(wanted.groups) == "group":
        raise SamplingError(
            "episodes are drawn from images, and these have groups",
            where=where,
            expected="images that do not depend on each other",
        )
    sizes = np.asarray(wanted.class_sizes, np.int64)
    first = first_image_ids(sizes)
    check_images(sizes, wanted.dataset)
    check_number(wanted.tasks, True, where)
    most = min(MAX_WAY, sizes.size)
    if not LEAST_WAYS <= protocol.way <= most or protocol.shot < 1:
        raise SamplingError(
            f"episodes of up to {protocol.way} of {sizes.size} classes",
            where=where,
            expected=f"{LEAST_WAYS} ways to {most}, as the name says: such as "
            f"episodes-{min(50, most)}w100s10q",
        )
    if protocol.n_query > MAX_QUERIES:
        raise SamplingError(
            f"episodes of up to {protocol.n_query} queries",
            where=where,
            expected=f"at most {MAX_QUERIES} in all",
        )
    if sizes.min() < 2:
        raise SamplingError(
            f"class {int(sizes.argmin())} has {sizes.min()} images",
            where=where,
            expected="at least 2 of every class, one for support and one for queries",
        )
    number = int(wanted.tasks or 0)
    span = np.full(number, protocol.way - LEAST_WAYS + 1)
    ways = LEAST_WAYS + wanted.stream("ways").integers(span)
    ordered = wanted.stream("classes").subsets(np.full(number, sizes.size), protocol.way)
    beta = wanted.stream("support").integers(np.full(number, _BETA)) + 1
    alpha = wanted.stream("shots").integers(np.full((number, protocol.way), _ALPHA))
    images, order = wanted.stream("images"), wanted.stream("queries")
    columns: dict[str, list[NDArray[np.integer]]] = {f.name: [] for f in schemas.EPISODES}
    for task in range(number):
        ids = ordered[task, : ways[task]]
        shots, query = _shape(sizes[ids], protocol.shot, protocol.query, beta[task], alpha[task])
        support, queries = [], []
        for c, k in zip(ids.tolist(), shots.tolist(), strict=True):
            drawn = first[c] + images.permutations(1, int(sizes[c]))[0, : k + query]
            support.append(drawn[:k])
            queries.append(drawn[k:])
        shuffled = order.permutations(1, ids.size * query)[0]
        episode = {
            "task_id": np.array(task),
            "class_ids": ids,
            "support": np.concatenate(support),
            "support_label": np.repeat(np.arange(ids.size), shots),
            "query": np.concatenate(queries)[shuffled],
            "query_label": shuffled // query,
        }
        for column, values in episode.items():
            columns[column].append(values)
    arrays = [pa.array(columns[field.name], field.type) for field in schemas.EPISODES]
    return pa.Table.from_arrays(arrays, schema=schemas.EPISODES), {"tasks": number}


def _shape(
    sizes: Ints, most_shots: int, most_queries: int, beta: int, alpha: Ints
) -> tuple[Ints, int]:
    """Return k_c (K,) and q for classes of these sizes (K,)."""
    query = min(most_queries, int(sizes.min()) // 2)
    available = np.minimum(most_shots, sizes - query)
    support = min(MOST_SUPPORT, int((-(-beta * available // _BETA)).sum()))
    weights = np.array([_weight(a) for a in alpha[: sizes.size].tolist()]) * sizes
    shots = weights * (support - sizes.size) // weights.sum() + 1
    return np.minimum(shots, sizes - query), query


@cache
def _weight(step: int) -> int:
    """Return exp(α) in millionths for a step of the equally spaced α."""
    return int(Decimal(2) ** (Decimal(2 * step) / _ALPHA - 1) * _WEIGHT)
