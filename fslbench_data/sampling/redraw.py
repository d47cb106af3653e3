"""Draw task sets by the sampler of their suite, or again from their provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import TaskSetName, suite_of
from fslbench_data.sampling.allway import draw_allway
from fslbench_data.sampling.draw import KEPT, DrawnTasks, Wanted, draw_closed, draw_pooled, freeze
from fslbench_data.sampling.episodes import draw_episodes
from fslbench_data.tasks import Groups

SAMPLER_VERSION = 1
"""Raised whenever a sampler would draw other tasks for the same inputs."""

EVIDENCE = "queries"
"""Key of a provenance: how the number of queries was chosen.  Drawing ignores it."""

Drawn = tuple[DrawnTasks | pa.Table, dict[str, Any]]
"""Tasks, possibly frozen, and what their suite adds to the provenance."""

Sampler = Callable[[Wanted], Drawn]
Samplers = Mapping[str, Sampler]
"""Samplers by suite, or by the family of suites that are made with attributes."""


def sampler_of(draw: Callable[..., DrawnTasks], number: str, *more: str) -> Sampler:
    """Make a sampler of a function of class sizes, the protocol and :meth:`Wanted.given`.

    `number` is the provenance's key of the number of tasks: "tasks", or "max_tasks" for a cap.
    """

    def sampler(wanted: Wanted) -> Drawn:
        drawn = draw(wanted.class_sizes, wanted.name.protocol, **wanted.given(*more))
        return drawn, {number: wanted.tasks}

    return sampler


def _pooled(wanted: Wanted) -> Drawn:
    drawn, pool = draw_pooled(wanted.class_sizes, wanted.name.protocol, **wanted.given("groups"))
    kept = KEPT if pool.cut else None
    return drawn, {"unit": pool.unit, "pool": kept, "tasks": len(drawn)}


UNIFORM: Samplers = {
    "closed": sampler_of(draw_closed, "tasks"),
    "pooled": _pooled,
    "allway": draw_allway,
    "episodes": draw_episodes,
}


def draw_tasks(wanted: Wanted, samplers: Samplers = UNIFORM) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze a task set.

    Returns
    -------
    table, provenance
        The table has the schema :func:`benchmark_spec.schemas.task_set`; the provenance is what
        drawing it again needs, and of a pooled set its unit, and the units of each class in its
        pool (None: all).
    """
    suite = suite_of(wanted.name.suite)
    sampler = samplers.get(suite.family or suite.name)
    if sampler is None:
        raise SamplingError(
            f"tasks of the suite {suite.name!r} are not drawn uniformly",
            where=wanted.where,
            expected="closed, pooled, allway or episodes",
        )
    drawn, of_suite = sampler(wanted)
    if isinstance(drawn, DrawnTasks):
        drawn = freeze(drawn, wanted.class_sizes, wanted.stream("queries"))
    provenance = {"suite": suite.name, "sampler_version": SAMPLER_VERSION, "generator": "Philox"}
    return drawn, {**provenance, "seed": wanted.seed, **of_suite}


def draw_again(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    provenance: Mapping[str, Any],
    rows: int,
    groups: Groups | None = None,
    attributes: pa.Table | None = None,
    paths: Sequence[Any] | None = None,
    samplers: Samplers = UNIFORM,
) -> pa.Table:
    """Draw a task set of `rows` tasks again from its provenance."""
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
    tasks = None if name.suite == "published" else number
    test = str(provenance.get("test") or "")
    wanted = Wanted(dataset, name, class_sizes, seed, tasks, groups, attributes, paths, test)
    table, drawn = draw_tasks(wanted, samplers)
    if drawn != {key: value for key, value in provenance.items() if key != EVIDENCE}:
        raise SamplingError(
            f"provenance {dict(provenance)} is not that of a set of this suite",
            where=where,
            expected=str(drawn),
        )
    return table
