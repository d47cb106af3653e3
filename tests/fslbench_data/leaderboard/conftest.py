"""A results repository in a folder, submissions for it, and two releases that they may answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from results_repository import Repository

from benchmark_spec.protocol import Protocol, TaskSetName
from fslbench_data.release.release import Release, load_release


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "results")


def _release(folder: Path, version: str, seed: int, classes: int) -> Release:
    """Data set cats differs with the seed; dogs is always the same."""
    from builders.release.writer import ReleaseWriter
    from builders.sampling import draw_task_set
    from builders.sources.image_set import About

    writer = ReleaseWriter(folder, "toy", version, "A toy.")
    for name, own in (("cats", seed), ("dogs", 1)):
        sizes = [30] * (classes if name == "cats" else 6)
        writer.add_dataset(
            name,
            About(name, "https://example.org", "CC0", "@misc{x}"),
            class_names=[f"c{i}" for i in range(len(sizes))],
            class_sizes=sizes,
        )
        for suite, tasks in (("open", None), ("closed", 20)):
            task_set = TaskSetName(suite, Protocol(2, 1, 2))
            drawn = draw_task_set(name, task_set, sizes, seed=own, tasks=tasks)
            writer.add_tasks(name, task_set, *drawn)
    writer.finish()
    return load_release(folder)


@pytest.fixture(scope="session")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return _release(tmp_path_factory.mktemp("newer") / "release", "2.0.0", 2, classes=5)


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """More tasks of cats than the newer one has, and other ones."""
    return _release(tmp_path_factory.mktemp("older") / "release", "1.0.0", 1, classes=6)
