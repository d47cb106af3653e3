"""The suites ``open`` and ``closed``: classes and images drawn uniformly.

Both follow Lafargue et al. (TMLR 2024): `open` is Algorithm 2 (without replacement until the
data set is exhausted), `closed` Algorithm 1 (tasks independent of each other).  Classes, images
and query orders come from streams of their own, keyed by suite, data set, protocol and seed, and
tasks take their words one after another: the first m tasks of a set are themselves a set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol
from fslbench_data.tasks.drawn import DrawnTasks, checked_sizes, split_support

_MAX_BLOCK = 1 << 16

Key = tuple[str | int, ...]
"""What the random streams of a task set are keyed by."""


def draw_open(
    class_sizes: Sequence[int],
    protocol: Protocol,
    *,
    dataset: str,
    seed: int,
    max_tasks: int | None = None,
) -> DrawnTasks:
    """Draw tasks until fewer than K classes have S+Q unused images, or `max_tasks` are drawn.

    No image is used twice.  Given the classes that are left, each choice of K is equally likely.
    """
    sizes = checked_sizes(class_sizes, protocol, dataset)
    return exhaust(sizes, protocol, ("open", dataset, str(protocol), seed), max_tasks)


def count_until_exhausted(sizes: NDArray[np.int64], protocol: Protocol, key: Key) -> int:
    """Count how many tasks :func:`exhaust` draws; no images are drawn."""
    uses = sizes // protocol.per_class
    return len(_class_sequence(uses, protocol.way, Stream(*key, "classes"), None))


def exhaust(
    sizes: NDArray[np.int64], protocol: Protocol, key: Key, max_tasks: int | None
) -> DrawnTasks:
    """Algorithm 2 on classes of `sizes` (C,), with the streams of `key`."""
    if max_tasks is not None and max_tasks < 1:
        raise SamplingError(f"cannot draw {max_tasks} tasks", expected="at least 1")
    class_ids = _class_sequence(
        sizes // protocol.per_class, protocol.way, Stream(*key, "classes"), max_tasks
    )
    return deal(class_ids, sizes, protocol, Stream(*key, "images"))


def deal(
    class_ids: NDArray[Any], sizes: NDArray[np.int64], protocol: Protocol, images: Stream
) -> DrawnTasks:
    """Give each task (T, K) unused images of its classes.

    Each class is shuffled once; its r-th use takes the r-th S+Q images of the shuffle.
    """
    shuffled = np.concatenate([images.permutations(1, int(n))[0] for n in sizes])
    start = np.cumsum(sizes) - sizes
    cursor = start[class_ids] + protocol.per_class * _use_number(class_ids)
    drawn = shuffled[cursor[..., None] + np.arange(protocol.per_class)]
    return split_support(protocol, class_ids, drawn)


def draw_closed(
    class_sizes: Sequence[int], protocol: Protocol, *, dataset: str, seed: int, tasks: int
) -> DrawnTasks:
    """Draw `tasks` independent tasks: K classes of those with S+Q images, then S+Q of each."""
    sizes = checked_sizes(class_sizes, protocol, dataset)
    if tasks < 1:
        raise SamplingError(f"cannot draw {tasks} tasks", expected="at least 1")
    key = ("closed", dataset, str(protocol), seed)
    eligible = np.flatnonzero(sizes >= protocol.per_class)
    counts = np.full(tasks, eligible.size, dtype=np.int64)
    class_ids = eligible[Stream(*key, "classes").subsets(counts, protocol.way)]
    images = Stream(*key, "images").subsets(sizes[class_ids].reshape(-1), protocol.per_class)
    return split_support(protocol, class_ids, images.reshape(tasks, protocol.way, -1))


def _class_sequence(
    uses: NDArray[np.int64], way: int, stream: Stream, max_tasks: int | None
) -> NDArray[Any]:
    """Draw the classes of each task (T, way), where class c can be used `uses[c]` times.

    Tasks are drawn in blocks, as if no class ran out; a block is cut after the first task that
    uses a class up, and the stream goes back to there.  So the result is that of a plain loop.
    """
    left = uses.copy()
    blocks: list[NDArray[Any]] = []
    missing = np.inf if max_tasks is None else max_tasks
    while missing > 0:
        eligible = np.flatnonzero(left > 0)
        if eligible.size < way:
            break
        # about as many tasks as the scarcest class lasts
        block = min(int(left[eligible].min()) * eligible.size // way + 1, _MAX_BLOCK)
        start = stream.position
        counts = np.full(block, eligible.size, dtype=np.int64)
        drawn = eligible[stream.subsets(counts, way)]
        keep = min(_until_used_up(drawn, left), int(min(missing, block)))
        if keep < block:
            if stream.position == start + block * way:  # no word was skipped
                stream.seek(start + keep * way)
            else:
                stream.seek(start)
                stream.subsets(counts[:keep], way)
            drawn = drawn[:keep]
        left -= np.bincount(drawn.reshape(-1), minlength=left.size)
        missing -= keep
        blocks.append(drawn)
    return np.concatenate(blocks)


def _until_used_up(drawn: NDArray[Any], left: NDArray[np.int64]) -> int:
    """Count the tasks up to and with the first that takes the last use of a class."""
    flat = drawn.reshape(-1)
    used = np.bincount(flat, minlength=left.size)
    gone = np.flatnonzero((left > 0) & (used >= left))
    if not gone.size:
        return len(drawn)
    by_class = np.argsort(flat, kind="stable")
    last_use = by_class[(np.cumsum(used) - used)[gone] + left[gone] - 1]
    way: int = drawn.shape[1]
    return int(last_use.min()) // way + 1


def _use_number(class_ids: NDArray[Any]) -> NDArray[np.int64]:
    """Count how many earlier tasks use the same class, int64 of the shape of `class_ids` (T, K)."""
    flat = class_ids.reshape(-1)
    by_class = np.argsort(flat, kind="stable")
    used = np.bincount(flat)
    number = np.empty(flat.size, np.int64)
    number[by_class] = np.arange(flat.size) - np.repeat(np.cumsum(used) - used, used)
    return number.reshape(class_ids.shape)
