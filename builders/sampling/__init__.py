"""Samplers: from class sizes to frozen task sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import TaskSetName, suite_of
from builders.sampling.balanced import draw_balanced, most_tasks
from builders.sampling.grouped import draw_grouped, kept_images
from builders.sampling.published import MAX_TASKS, SEED, draw_published
from builders.sampling.tasks import DrawnTasks, Groups, checked_sizes, freeze, groups_of
from builders.sampling.uniform import count_until_exhausted, draw_closed, draw_open
from builders.sampling.with_attributes import attributes_needed, draw_with_attributes

__all__ = [
    "DrawnTasks",
    "Groups",
    "Stream",
    "count_tasks",
    "draw_again",
    "draw_balanced",
    "draw_closed",
    "draw_grouped",
    "draw_open",
    "draw_published",
    "draw_task_set",
    "groups_of",
    "most_tasks",
]

SAMPLER_VERSION = 1
"""Raised whenever any sampler would give other tasks for the same inputs."""


def draw_task_set(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    *,
    seed: int = 0,
    tasks: int | None = None,
    groups: Groups | None = None,
    attributes: pa.Table | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze a task set.

    Parameters
    ----------
    dataset, name
        Whose tasks, and which; both key the random streams.
    class_sizes
        Images of each class, in the frozen order of classes.
    seed
        Of every suite but `published`, which has its own.
    tasks
        How many: needed for `closed` and other suites that reuse images, a cap for `open` and
        others that do not, the number for `balanced`
        (as many as possible if absent); `published` stops at 2000.
    groups
        Group of each image, needed for `grouped` (:func:`groups_of`).
    attributes
        Of the images, for suites that are made with them.

    Returns
    -------
    table, provenance
        Of the schema :func:`benchmark_spec.schemas.task_set`, and what it takes to draw it again.
    """
    seed, suite, protocol = int(seed), name.suite, name.protocol
    how: dict[str, Any] = {"generator": "Philox"}
    always: dict[str, Any] = {"suite": suite, "sampler_version": SAMPLER_VERSION}
    if suite_of(suite).attributes:
        if attributes is None:
            raise attributes_needed(dataset, name)
        table, special = draw_with_attributes(
            dataset, name, class_sizes,
            seed=seed, tasks=tasks, attributes=attributes, groups=groups,
        )  # fmt: skip
        return table, {**always, **how, **special, "seed": seed}
    if suite == "published":
        if tasks is not None or seed != SEED:
            raise SamplingError(
                "the published task sets are what they are",
                expected=f"seed {SEED} and no number of tasks",
            )
        drawn = draw_published(class_sizes, protocol, dataset=dataset)
        how = {"generator": "RandomState", "max_tasks": MAX_TASKS}
    elif suite == "closed":
        if tasks is None:
            raise SamplingError("a closed set needs a number of tasks", expected="such as 600")
        drawn = draw_closed(class_sizes, protocol, dataset=dataset, seed=seed, tasks=tasks)
        how["tasks"] = tasks
    elif suite == "open":
        drawn = draw_open(class_sizes, protocol, dataset=dataset, seed=seed, max_tasks=tasks)
        how["max_tasks"] = tasks
    elif suite == "balanced":
        drawn = draw_balanced(class_sizes, protocol, dataset=dataset, seed=seed, tasks=tasks)
        how["tasks"] = tasks
    elif suite == "grouped":
        if groups is None:
            raise SamplingError(
                "a grouped set needs the groups of the images",
                where=f"{dataset}/{name}",
                fix="give a source with an images table; counts of a catalogue have no groups",
            )
        drawn = draw_grouped(
            class_sizes, protocol, dataset=dataset, seed=seed, groups=groups, max_tasks=tasks
        )
        how["max_tasks"] = tasks
    else:
        raise SamplingError(f"no sampler draws the suite {suite!r}")
    shuffle = Stream(suite, dataset, str(protocol), seed, "queries")
    return freeze(drawn, class_sizes, shuffle), {**always, **how, "seed": seed}


def draw_again(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    provenance: Mapping[str, Any],
    rows: int,
    groups: Groups | None = None,
    attributes: pa.Table | None = None,
) -> pa.Table:
    """Draw a task set of `rows` tasks again from the provenance that :func:`draw_task_set` gave.

    One that another version of the samplers drew, or whose provenance says too little, is refused.
    """
    if provenance.get("sampler_version") != SAMPLER_VERSION:
        raise SamplingError(
            f"drawn by version {provenance.get('sampler_version')} of the samplers",
            where=f"{dataset}/{name}",
            expected=f"version {SAMPLER_VERSION}, which this package has",
            fix="use the package version that the release names",
        )
    seed, number = provenance.get("seed"), provenance.get("tasks", provenance.get("max_tasks"))
    if type(seed) is not int or type(number) not in (int, type(None)):
        raise SamplingError(
            f"its provenance gives seed {seed!r} and number of tasks {number!r}",
            where=f"{dataset}/{name}",
            expected="whole numbers",
        )
    if name.interval == "closed" and number != rows:
        raise SamplingError(
            f"it has {rows} tasks, its provenance says {number}", where=f"{dataset}/{name}"
        )
    table, drawn = draw_task_set(
        dataset,
        name,
        class_sizes,
        seed=seed,
        tasks=None if name.suite == "published" else number,
        groups=groups,
        attributes=attributes,
    )
    if drawn != dict(provenance):
        raise SamplingError(
            f"provenance {dict(provenance)} is not that of a set of this suite",
            where=f"{dataset}/{name}",
            expected=str(drawn),
        )
    return table


def count_tasks(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    *,
    seed: int,
    groups: Groups | None = None,
) -> int:
    """Count the tasks that :func:`draw_task_set` draws of these arguments.

    Only classes are drawn, and for `grouped` which image of a group is kept.
    """
    protocol = name.protocol
    key = (name.suite, dataset, str(protocol), seed)
    if name.suite == "grouped" and groups is not None:
        _, sizes = kept_images(class_sizes, protocol, dataset, key, groups)
        return count_until_exhausted(sizes, protocol, key)
    sizes = checked_sizes(class_sizes, protocol, dataset)
    if name.suite == "open":
        return count_until_exhausted(sizes, protocol, key)
    if name.suite == "balanced":
        return most_tasks(sizes, protocol)
    raise SamplingError(f"tasks of the suite {name.suite!r} are not counted", where=dataset)
