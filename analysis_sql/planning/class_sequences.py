"""The classes of the tasks that a data set will give, simulated from its class sizes alone.

Without replacement, class c of n_c images can be used u_c = floor(n_c / (S+Q)) times, and once a
task.  How many tasks T that makes, and which of them share classes, is all that a plan needs to
know of a task set; images are never looked at.

- ``open``: Algorithm 2 of Lafargue et al. (TMLR 2024): K of the classes that are left, until fewer
  than K are.
- ``balanced``: the T of the bound below, classes used as evenly as their sizes allow, and each
  task drawn by systematic sampling with the uses that are left as probabilities (Madow 1949).

No sequence here is one of a release: streams are keyed apart, and a choice among n takes the next
word modulo n, whose bias of n in 2^64 matters to no plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import UnknownNameError

PLANNED_SUITES = ("open", "balanced")

MAX_TASKS = 2000
"""Where Lafargue et al. stop."""

SEEDS = 3
"""Sequences of classes that are simulated for each Q."""


def class_uses(class_sizes: Sequence[int] | NDArray[Any], per_class: int) -> Ints:
    """Count the tasks (C,) that each class can be in, where one takes `per_class` images of it."""
    return np.asarray(np.asarray(class_sizes, np.int64) // per_class)


def designs(
    class_sizes: Sequence[int],
    *,
    way: int,
    shot: int,
    query: int,
    suite: str = "open",
    seeds: int = SEEDS,
    most: int = MAX_TASKS,
) -> list[ClassDesign]:
    """Simulate the classes of sets' tasks, one design a seed; none where there is no task."""
    if suite not in PLANNED_SUITES:
        raise UnknownNameError("suite to plan", suite, PLANNED_SUITES)
    uses = class_uses(class_sizes, shot + query)
    if np.count_nonzero(uses) < way:
        return []
    streams = (Stream("plan", suite, way, shot, query, seed) for seed in range(seeds))
    return [ClassDesign.of(draw_classes(suite, uses, way, stream, most)) for stream in streams]


def draw_classes(suite: str, uses: Ints, way: int, stream: Stream, most: int = MAX_TASKS) -> Ints:
    """Draw the classes of at most `most` tasks of a set, int64 (T, K), from their uses (C,)."""
    if suite == "open":
        return _open(uses, way, stream, most)
    if suite == "balanced":
        return _balanced(uses, way, stream, most)
    raise ValueError(f"no sequence of classes for {suite!r}")


def most_tasks(uses: Ints, way: int) -> int:
    """Compute the largest T with Σ_c min(u_c, T) >= K·T: more tasks can nobody draw.

    Found from above: T becomes floor(Σ_c min(u_c, T) / K) until that changes nothing.
    """
    tasks = int(uses.sum()) // way
    while (fewer := int(np.minimum(uses, tasks).sum()) // way) < tasks:
        tasks = fewer
    return tasks


def _open(uses: Ints, way: int, stream: Stream, most: int) -> Ints:
    """Algorithm 2 on classes, task by task."""
    left: list[int] = uses.tolist()
    there = [c for c, n in enumerate(left) if n]
    words = iter(stream.words(min(most, sum(left) // way) * way).tolist())
    tasks: list[list[int]] = []
    while len(there) >= way and len(tasks) < most:
        for i in range(way):  # the first K of a random order (Fisher and Yates)
            j = i + next(words) % (len(there) - i)
            there[i], there[j] = there[j], there[i]
        task = there[:way]
        tasks.append(task)
        for c in task:
            left[c] -= 1
        if not all(left[c] for c in task):
            there = [c for c in there if left[c]]
    return np.array(tasks, np.int64).reshape(-1, way)


def _balanced(uses: Ints, way: int, stream: Stream, most: int) -> Ints:
    """As many tasks as can be, each class in them as evenly as its size allows."""
    tasks = min(most, most_tasks(uses, way))
    if not tasks:
        return np.zeros((0, way), np.int64)
    left = _even(uses, way * tasks, tasks, stream)
    classes = np.empty((tasks, way), np.int64)
    orders = stream.permutations(tasks, uses.size)
    offsets = stream.words(tasks).tolist()
    for at, order in enumerate(orders):
        to_go = tasks - at
        # no class has more uses left: marks this far apart fall on different ones
        marks = offsets[at] % to_go + to_go * np.arange(way)
        classes[at] = order[np.cumsum(left[order]).searchsorted(marks, side="right")]
        left[classes[at]] -= 1
    return classes


def _even(uses: Ints, places: int, tasks: int, stream: Stream) -> Ints:
    """Share the places out: uses of each class (C,), at most `level`, or one more by lot."""
    filled = np.array([np.minimum(uses, level).sum() for level in range(tasks + 1)])
    level = int(filled.searchsorted(places, side="right")) - 1
    shares = np.minimum(uses, level)
    more = np.flatnonzero(uses > level)
    lot = stream.permutations(1, more.size)[0] if more.size else more
    shares[more[lot[: places - int(shares.sum())]]] += 1
    return shares
