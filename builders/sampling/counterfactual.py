"""Counterfactual suites: the same query objects with another value of one attribute.

A task draws K classes uniformly from those with S+Q groups left.  The values, in random order, go
to the classes in turn (more classes than values share some, but never all share one).  Of each
class S+Q groups are drawn uniformly, and of each group one object.  Queries have the value of their
class's support (``same``), any value (``any``), or that of another class (``other``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import COUNTERFACTUAL, Protocol
from builders.sampling.attribute_biased import ATTEMPTS
from fslbench_data.sampling.draw import DrawnTasks, Ints, check_number, first_image_ids
from fslbench_data.tasks import Groups

STEPS = tuple(COUNTERFACTUAL)


@dataclass(frozen=True, eq=False)
class Versions:
    """The objects of a data set that exist once with each of V values, in alphabetical order.

    `groups` has for each class the objects (n, V) of a group by its number, as positions of their
    images in the class; an object without a group is a group of its own.
    """

    values: tuple[str, ...]
    groups: tuple[dict[int, Ints], ...]


def versions(
    table: pa.Table, class_sizes: Sequence[int], groups: Groups, dataset: str = ""
) -> Versions:
    """Find the objects in a table of attributes: images of a class with the same text are one."""
    lists = table.column("attributes").to_pylist()
    wrong = next((i for i, attributes in enumerate(lists) if len(attributes) != 1), None)
    if wrong is not None:
        raise SamplingError(
            f"image {wrong} has {len(lists[wrong])} attributes",
            where=dataset,
            expected="one value of the attribute for each image",
            fix="take one attribute, which images have or have not: recipe given:WORD",
        )
    values = tuple(sorted({attributes[0] for attributes in lists}))
    if len(values) < 2:
        raise SamplingError(f"all images have the same value: {values}", where=dataset)
    texts = table.column("text").to_pylist()
    by_class: list[dict[int, Ints]] = []
    for first, size in zip(first_image_ids(class_sizes).tolist(), class_sizes, strict=True):
        objects: defaultdict[str, list[int]] = defaultdict(list)
        for i in range(first, first + size):
            if texts[i] is not None:
                objects[texts[i]].append(i)
        by_group: defaultdict[int, list[list[int]]] = defaultdict(list)
        for members in objects.values():
            members.sort(key=lambda i: lists[i][0])
            if tuple(lists[i][0] for i in members) == values:
                group = int(groups[members[0]])
                positions = [i - first for i in members]
                by_group[group if group >= 0 else -1 - members[0]].append(positions)
        by_class.append({group: np.array(found) for group, found in sorted(by_group.items())})
    return Versions(values, tuple(by_class))


def draw_counterfactual(
    objects: Versions,
    protocol: Protocol,
    *,
    dataset: str,
    label: str,
    seed: int,
    tasks: int | None = None,
    reuse: bool = True,
) -> tuple[dict[str, DrawnTasks], Ints]:
    """Draw tasks on all steps; return them by step, and the support's values int64 (T, K).

    `tasks` and `reuse` are as in :func:`builders.sampling.attribute_biased.draw_ladder`; without
    `reuse` no group is in the set twice.
    """
    check_number(tasks, reuse, dataset)
    key = ("same" if reuse else "open_same", dataset, label, str(protocol), seed)
    stream = {part: Stream(*key, part) for part in ("tasks", "any", "other")}
    way, n_values = protocol.way, len(objects.values)
    left = [list(of_class) for of_class in objects.groups]
    drawn: list[tuple[Ints, ...]] = []  # classes, values, support, and queries of each step
    failed = 0
    while tasks is None or len(drawn) < tasks:
        eligible = np.array([c for c, free in enumerate(left) if len(free) >= protocol.per_class])
        if eligible.size < way or failed >= ATTEMPTS:
            break
        classes = eligible[stream["tasks"].subsets(np.array([eligible.size]), way)[0]]
        value = stream["tasks"].permutations(1, n_values)[0][np.arange(way) % n_values]
        taken: set[int] = set()
        images = [
            _pick(objects.groups[c], left[c], protocol, taken, stream["tasks"]) for c in classes
        ]
        failed = failed + 1 if any(of_class is None for of_class in images) else 0
        if failed:  # a group of several of these classes
            continue
        objects_of = np.array(images)  # (K, S+Q, V)
        support, query = objects_of[:, : protocol.shot], objects_of[:, protocol.shot :]
        shape = query.shape[:2]
        same = _version(query, np.broadcast_to(value[:, None], shape))
        any_value = _version(query, stream["any"].integers(np.full(shape, n_values)))
        other = _version(query, _others(value, protocol.query, stream["other"]))
        of_support = _version(support, np.broadcast_to(value[:, None], support.shape[:2]))
        drawn.append((classes, value, of_support, same, any_value, other))
        if not reuse:
            left = [[group for group in free if group not in taken] for free in left]
    if not drawn or (reuse and len(drawn) < (tasks or 0)):
        raise SamplingError(
            f"{len(drawn)} {protocol} tasks could be drawn: {eligible.size} of {len(left)} classes "
            f"have {protocol.per_class} groups (shot + query) of objects that exist once with "
            f"each of {', '.join(objects.values)}",
            where=f"{dataset}, attributes {label}",
            expected=f"at least {way} such classes",
            fix="ask for fewer ways, shots or queries",
        )
    ids, values, support, *queries = (np.array(part) for part in zip(*drawn, strict=True))
    by_step = zip(STEPS, queries, strict=True)
    return {step: DrawnTasks(protocol, ids, support, query) for step, query in by_step}, values


def _pick(
    groups: dict[int, Ints],
    left: Sequence[int],
    protocol: Protocol,
    taken: set[int],
    stream: Stream,
) -> Ints | None:
    """Pick an object (S+Q, V) from each of S+Q groups that are not in `taken`, and add these."""
    free = [group for group in left if group not in taken]
    if len(free) < protocol.per_class:
        return None
    chosen = [free[i] for i in stream.subsets(np.array([len(free)]), protocol.per_class)[0]]
    taken.update(chosen)
    which = stream.integers(np.array([len(groups[group]) for group in chosen]))
    return np.array([groups[group][i] for group, i in zip(chosen, which, strict=True)])


def _version(objects: Ints, value: Ints) -> Ints:
    """Take the images (K, n) of objects (K, n, V) with some values (K, n)."""
    return np.take_along_axis(objects, value[..., None], axis=2)[..., 0]


def _others(value: Ints, query: int, stream: Stream) -> Ints:
    """Draw for each query (K, Q) a value of another class's support that its own does not have."""
    choices = [np.unique(value[value != own]) for own in value]
    which = stream.integers(np.repeat([[values.size] for values in choices], query, axis=1))
    return np.array([values[i] for values, i in zip(choices, which, strict=True)])
