"""Task sets of uniform suites, drawn and frozen; and any, drawn again from its provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import TaskSetName
from fslbench_data.tasks.allway import draw_allway, test_part
from fslbench_data.tasks.draw import KEPT, Groups, draw_closed, draw_pooled, freeze
from fslbench_data.tasks.episodes import draw_episodes

SAMPLER_VERSION = 1
"""Raised whenever any sampler would give other tasks for the same inputs."""

EVIDENCE = "queries"
"""In a provenance: what the number of queries was chosen on.  Drawing does not take it."""

Draw = Callable[..., tuple[pa.Table, dict[str, Any]]]
"""Draws a task set as :func:`draw_uniform` does, perhaps of more suites."""


def draw_uniform(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    *,
    seed: int,
    tasks: int | None = None,
    groups: Groups | None = None,
    paths: Sequence[Any] | None = None,
    test: str = "",
) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze a `closed`, `pooled`, `allway` or `episodes` set.

    Parameters
    ----------
    dataset, name
        The data set and the task set; both key the random streams.
    class_sizes
        Images of each class, in the frozen order of classes.
    tasks
        How many; needed for all but `pooled`.
    groups
        Group of each image, for `pooled` and `allway`; None where no image has one.
    paths, test
        Of `allway`: the images whose paths begin with `test` are the data set's own test part;
        without it there is none.

    Returns
    -------
    table, provenance
        Of the schema :func:`benchmark_spec.schemas.tasks`, and what it takes to draw it again; of a
        pooled set also what its unit is, and how many of each class are its pool (None: all).
    """
    suite, protocol = name.suite, name.protocol
    how: dict[str, Any] = {
        "suite": suite,
        "sampler_version": SAMPLER_VERSION,
        "generator": "Philox",
        "seed": seed,
    }
    if suite == "closed":
        if tasks is None:
            raise SamplingError("a closed set needs a number of tasks", expected="such as 600")
        drawn = draw_closed(class_sizes, protocol, dataset=dataset, seed=seed, tasks=tasks)
    elif suite == "pooled":
        drawn, pool = draw_pooled(
            class_sizes, protocol, dataset=dataset, seed=seed, tasks=tasks, groups=groups
        )
        how |= {"unit": pool.unit, "pool": KEPT if pool.cut else None}
    elif suite == "allway":
        part = test_part(paths, test)
        given: dict[str, Any] = {"groups": groups, "test": part}
        table, parts = draw_allway(
            class_sizes, name, dataset=dataset, seed=seed, tasks=tasks, **given
        )
        return table, {**how, "unit": parts.unit, "test": test, "tasks": len(table)}
    elif name.varies:
        if groups is not None and bool((groups >= 0).any()):
            raise SamplingError(
                "episodes are drawn from images, and these have groups",
                where=f"{dataset}/{name}",
                expected="images that do not depend on each other",
            )
        table = draw_episodes(class_sizes, name, dataset=dataset, seed=seed, tasks=tasks)
        return table, {**how, "tasks": len(table)}
    else:
        raise SamplingError(
            f"tasks of the suite {suite!r} are not drawn uniformly",
            where=f"{dataset}/{name}",
            expected="closed, pooled, allway or episodes",
        )
    shuffle = Stream(suite, dataset, str(protocol), seed, "queries")
    return freeze(drawn, class_sizes, shuffle), {**how, "tasks": len(drawn)}


def draw_again(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    provenance: Mapping[str, Any],
    rows: int,
    groups: Groups | None = None,
    draw: Draw = draw_uniform,
    paths: Sequence[Any] | None = None,
) -> pa.Table:
    """Draw a task set of `rows` tasks again from the provenance that `draw` gave."""
    where = f"{dataset}/{name}"
    if provenance.get("sampler_version") != SAMPLER_VERSION:
        raise SamplingError(
            f"drawn by version {provenance.get('sampler_version')} of the samplers",
            where=where,
            expected=f"version {SAMPLER_VERSION}, which this package has",
            fix="use the package version that the release names",
        )
    seed, number = provenance.get("seed"), provenance.get("tasks", provenance.get("max_tasks"))
    if type(seed) is not int or type(number) not in (int, type(None)):
        raise SamplingError(
            f"its provenance gives seed {seed!r} and number of tasks {number!r}",
            where=where,
            expected="whole numbers",
        )
    if name.interval == "closed" and number != rows:
        raise SamplingError(f"it has {rows} tasks, its provenance says {number}", where=where)
    test = provenance.get("test")
    table, drawn = draw(
        dataset,
        name,
        class_sizes,
        seed=seed,
        tasks=None if name.suite == "published" else number,
        groups=groups,
        **({"paths": paths, "test": str(test)} if test else {}),
    )
    if drawn != {key: value for key, value in provenance.items() if key != EVIDENCE}:
        raise SamplingError(
            f"provenance {dict(provenance)} is not that of a set of this suite",
            where=where,
            expected=str(drawn),
        )
    return table
