"""Releases small enough to compute by hand."""

from collections.abc import Mapping
from pathlib import Path

from benchmark_spec.protocol import Protocol, TaskSetName
from fslbench_data.release.release import Release, load_release


def toy_release(
    folder: Path,
    sizes: Mapping[str, list[int]],
    tasks: Mapping[str, int | None],
    *,
    version: str = "1.0.0",
    seeds: Mapping[str, int] = {},
) -> Release:
    """Write data sets of classes of these sizes, each with a set of tasks, or all, of each suite.

    Tasks have 2 classes, 1 shot and 2 queries; their seed is 1 where `seeds` says no other.
    """
    from builders.release.writer import ReleaseWriter
    from builders.sampling import draw_task_set
    from builders.sources.image_set import About

    writer = ReleaseWriter(folder, "toy", version, "A toy.")
    for name, own in sizes.items():
        about = About(name, "https://example.org", "CC0", "@misc{x}")
        writer.add_dataset(name, about, class_names=list("abcdef"[: len(own)]), class_sizes=own)
        for suite, number in tasks.items():
            task_set = TaskSetName(suite, Protocol(2, 1, 2))
            seed = seeds.get(name, 1)
            drawn = draw_task_set(name, task_set, own, seed=seed, tasks=number)
            writer.add_tasks(name, task_set, *drawn)
    writer.finish()
    return load_release(folder)
