"""Samplers: from class sizes to frozen task sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import TaskSetName
from builders.sampling.published import MAX_TASKS, SEED, draw_published
from builders.sampling.stream import Stream
from builders.sampling.tasks import DrawnTasks, freeze
from builders.sampling.uniform import draw_closed, draw_open

__all__ = ["DrawnTasks", "Stream", "draw_closed", "draw_open", "draw_published", "draw_task_set"]

SAMPLER_VERSION = 1
"""Raised whenever any sampler would give other tasks for the same inputs."""


def draw_task_set(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    *,
    seed: int = 0,
    tasks: int | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze a task set.

    Parameters
    ----------
    dataset, name
        Whose tasks, and which; both key the random streams.
    class_sizes
        Images of each class, in the frozen order of classes.
    seed
        Of the suites `open` and `closed`; `published` has its own.
    tasks
        How many: needed for `closed`, a cap for `open`; `published` stops at 2000.

    Returns
    -------
    table, provenance
        Of the schema :func:`benchmark_spec.schemas.tasks`, and what it takes to draw it again.
    """
    seed = int(seed)
    provenance: dict[str, Any] = {"suite": name.suite, "sampler_version": SAMPLER_VERSION}
    if name.suite == "published":
        if tasks is not None or seed != SEED:
            raise SamplingError(
                "the published task sets are what they are",
                expected=f"seed {SEED} and no number of tasks",
            )
        drawn = draw_published(class_sizes, name.protocol, dataset=dataset)
        provenance |= {"generator": "RandomState", "max_tasks": MAX_TASKS}
    elif name.suite == "closed":
        if tasks is None:
            raise SamplingError("a closed set needs a number of tasks", expected="such as 600")
        drawn = draw_closed(class_sizes, name.protocol, dataset=dataset, seed=seed, tasks=tasks)
        provenance |= {"generator": "Philox", "tasks": tasks}
    elif name.suite == "open":
        drawn = draw_open(class_sizes, name.protocol, dataset=dataset, seed=seed, max_tasks=tasks)
        provenance |= {"generator": "Philox", "max_tasks": tasks}
    else:
        raise SamplingError(f"no sampler draws the suite {name.suite!r}")
    shuffle = Stream(name.suite, dataset, str(name.protocol), seed, "queries")
    return freeze(drawn, class_sizes, shuffle), provenance | {"seed": seed}
