"""How many tasks a set without replacement has, found without drawing its images."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import TaskSetName
from builders.sampling.balanced import most_tasks
from builders.sampling.grouped import kept_images
from builders.sampling.tasks import Groups, checked_sizes
from builders.sampling.uniform import count_until_exhausted


def count_tasks(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    *,
    seed: int,
    groups: Groups | None = None,
) -> int:
    """Count the tasks that :func:`builders.sampling.draw_task_set` draws of these arguments.

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
