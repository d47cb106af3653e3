"""The laws of task sets, and of suites that are made with attributes of images."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.errors import listing
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.suites import ABLATION, COUNTERFACTUAL, INTER_CLASS, suite_of

Ids = NDArray[np.int64]


def task_problems(
    table: pa.Table, name: TaskSetName, sizes: Ids, groups: Ids | None = None
) -> Iterator[str]:
    """Say what in a task set breaks the laws of its suite.

    Parameters
    ----------
    table
        Of the schema :func:`benchmark_spec.schemas.task_set`.
    sizes : int (C,)
        Images of each class.
    groups : int (N,), optional
        Group of each image, -1 for none.
    """
    way, shot, query = name.protocol.way, name.protocol.shot, name.protocol.query
    if not np.array_equal(table.column("task_id").to_numpy(), np.arange(table.num_rows)):
        yield "task ids do not count from 0"
    class_ids, support, queries, labels = (
        table.column(key).combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
        for key in ("class_ids", "support", "query", "query_label")
    )
    images = np.concatenate([support, queries], axis=1)
    if class_ids.min() < 0 or class_ids.max() >= sizes.size:
        yield f"names classes beyond {sizes.size}"
        return
    if images.min() < 0 or images.max() >= sizes.sum():
        yield f"names images beyond {sizes.sum()}"
        return
    ordered = np.sort(class_ids, axis=1)
    yield from _tasks_where((ordered[:, 1:] == ordered[:, :-1]).any(axis=1), "a class twice")
    counts = np.sort(labels, axis=1) != np.repeat(np.arange(way), query)
    yield from _tasks_where(counts.any(axis=1), f"not {query} queries of each class")
    ends = sizes.cumsum()
    wrong = np.searchsorted(ends, support, "right") != np.repeat(class_ids, shot, axis=1)
    yield from _tasks_where(wrong.any(axis=1), "support images of other classes")
    of_label = np.take_along_axis(class_ids, labels.astype(np.int64) % way, axis=1)
    wrong = np.searchsorted(ends, queries, "right") != of_label
    yield from _tasks_where(wrong.any(axis=1), "mislabelled queries")
    within = np.sort(images, axis=1)
    twice = (within[:, 1:] == within[:, :-1]).any(axis=1)
    yield from _tasks_where(twice, "an image twice, perhaps on both sides")
    if name.interval == "open":
        repeated = images.size - np.unique(images).size
        if repeated:
            yield f"{repeated} images are used twice in the set, though its suite forbids it"
    if name.suite == "grouped" and groups is not None:
        used = groups[images.reshape(-1)]
        used = used[used >= 0]
        if np.unique(used).size != used.size:
            yield "images of one group are used twice in the set"
    if name.suite == "pooled" and groups is not None:
        of_task = np.sort(np.where(groups[images] < 0, -1 - images, groups[images]), axis=1)
        twice = (of_task[:, 1:] == of_task[:, :-1]).any(axis=1)
        yield from _tasks_where(twice, "two images of one group")


def bias_problems(table: pa.Table, name: TaskSetName, attributes: pa.Table) -> Iterator[str]:
    """Say which tasks of a set made with attributes of images break which law of its suite."""
    step, shot = suite_of(name.suite).step, name.protocol.shot
    of_image = [set(words) for words in attributes.column("attributes").to_pylist()]
    keys = ("support", "query", "query_label", "attributes", "inter_class")
    columns = [table.column(key).to_pylist() for key in keys]
    broken: dict[str, list[bool]] = {}
    for support, query, labels, chosen, inter_class in zip(*columns, strict=True):
        shown = [(of_image[image], place // shot) for place, image in enumerate(support)]
        asked = [(of_image[image], k) for image, k in zip(query, labels, strict=True)]
        for law, is_broken in _broken_laws(step, chosen, inter_class, shown, asked).items():
            broken.setdefault(law, []).append(is_broken)
    for law, tasks in broken.items():
        yield from _tasks_where(np.array(tasks), law)


def _broken_laws(
    step: str,
    chosen: list[str],
    inter_class: list[bool],
    support: list[tuple[set[str], int]],
    query: list[tuple[set[str], int]],
) -> dict[str, bool]:
    """Tell of each law of a step whether a task breaks it.

    `chosen` is each class's attribute, `inter_class` whether its queries have another class's; of
    images there are the attributes, and the position of their class.
    """
    every = set(chosen)
    if step in COUNTERFACTUAL:
        fits: Callable[[set[str], int], bool] = {
            "same": lambda image, k: image == {chosen[k]},
            "any": lambda image, k: True,
            "other": lambda image, k: image <= every - {chosen[k]},
        }[step]
        return {
            "a support image has another value": any(image != {chosen[k]} for image, k in support),
            "a query has a value that its step forbids": not all(fits(*pair) for pair in query),
        }
    laws = {"two classes have the same attribute": len(every) < len(chosen)}
    if step in ("support", "intra", "inter", "biased"):
        laws["a support image lacks its attribute, or has another class's"] = any(
            image & every != {chosen[k]} for image, k in support
        )
    if step in ("sc2", "released"):
        laws["a support image lacks its attribute"] = any(
            chosen[k] not in image for image, k in support
        )
    if step in ("intra", "inter", "biased", *ABLATION, "released"):
        laws["a query has its class's attribute"] = any(chosen[k] in image for image, k in query)
    if step in INTER_CLASS:
        laws["a query has no other class's attribute, though the table says so"] = any(
            inter_class[k] and not image & every for image, k in query
        )
    return laws


def _tasks_where(wrong: NDArray[np.bool_], what: str) -> Iterator[str]:
    if wrong.any():
        numbers = listing(np.flatnonzero(wrong).tolist())
        yield f"task{'s' if wrong.sum() > 1 else ''} {numbers}: {what}"
