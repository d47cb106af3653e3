"""A task as people look at it: a row a class, its support images, then its queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmark_spec.errors import SpecError
from benchmark_spec.protocol import INTER_CLASS, suite_of
from fslbench_data.release.release import Release
from fslbench_data.tasks import TaskSetInfo


@dataclass(frozen=True)
class ShownImage:
    """An image of a task, and which of the task's attributes it has, sorted."""

    image_id: int
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClassRow:
    """A class of a task.

    Attributes
    ----------
    attribute
        What its support images share; empty where tasks are not made with attributes.
    lacking
        Whether its queries were to have another class's attribute, but too few images did.
    """

    name: str
    attribute: str
    lacking: bool
    support: tuple[ShownImage, ...]
    queries: tuple[ShownImage, ...]


def task_rows(release: Release, info: TaskSetInfo, task_id: int) -> list[ClassRow]:
    """Read a task of a task set, its classes in their order and queries in theirs.

    Raises
    ------
    SpecError
        If the set has no such task.
    """
    if not 0 <= task_id < info.n_tasks:
        raise SpecError(
            f"{info} has no task {task_id}", expected=f"0 to {info.n_tasks - 1}", where=str(release)
        )
    row = release.task_table(info).slice(task_id, 1).to_pylist()[0]
    shot, suite = info.protocol.shot, suite_of(info.name.suite)
    names = release.classes(info.dataset).column("class_name").to_pylist()
    attributes = row.get("attributes") or [""] * info.protocol.way
    words = _words(release, info)
    asked = list(zip(row["query"], row["query_label"], strict=True))

    def images(ids: Iterable[int]) -> tuple[ShownImage, ...]:
        return tuple(
            ShownImage(i, tuple(sorted(words[i].intersection(attributes))) if words else ())
            for i in ids
        )

    return [
        ClassRow(
            names[class_id],
            attributes[k],
            suite.step in INTER_CLASS and not row["inter_class"][k],
            images(row["support"][k * shot : (k + 1) * shot]),
            images(image for image, label in asked if label == k),
        )
        for k, class_id in enumerate(row["class_ids"])
    ]


def _words(release: Release, info: TaskSetInfo) -> list[set[str]]:
    """The attributes of each image, where the task set is made with any."""
    label = suite_of(info.name.suite).attributes
    if not label:
        return []
    table = release.attributes(info.dataset, label)
    return [set(words) for words in table.column("attributes").to_pylist()]
