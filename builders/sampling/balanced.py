"""The suites ``balanced`` and ``grouped`` (docs/suites.md).

``balanced``: class c can be used u_c = floor(n_c / (S+Q)) times, and once per task, so that T tasks
can be drawn if and only if sum_c min(u_c, T) >= K T.  It is used a_c = min(u_c, level) times, where
the level fills K T places, and what rounding leaves is drawn.  With R tasks to go, the next has
class c with probability a_c / R, where a_c are the uses it has left: K classes by systematic
sampling from the classes in random order (Madow 1949), in whole numbers.

``grouped``: one image of each group is drawn uniformly, and Algorithm 2 draws from these.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from analysis_sql.planning import planning
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import (
    DrawnTasks,
    Key,
    checked_sizes,
    deal,
    exhaust,
    first_image_ids,
    one_of_each_unit,
)
from fslbench_data.tasks import Groups

_WORDS_AT_ONCE = 1 << 22


def draw_balanced(
    class_sizes: Sequence[int],
    protocol: Protocol,
    *,
    dataset: str,
    seed: int,
    tasks: int | None = None,
) -> DrawnTasks:
    """Draw as many tasks as possible without using an image twice, or `tasks` of them.

    Unlike in `open`, the first m tasks of a set are not the set of m tasks.
    """
    sizes = checked_sizes(class_sizes, protocol, dataset)
    most = most_tasks(sizes, protocol)
    if tasks is not None and not 1 <= tasks <= most:
        raise SamplingError(
            f"cannot draw {tasks} balanced tasks",
            where=f"{dataset}, {protocol}",
            expected=f"1 to {most}, which is all that the images allow",
        )
    key = ("balanced", dataset, str(protocol), seed)
    total = most if tasks is None else tasks
    uses, places = sizes // protocol.per_class, protocol.way * total
    levels = range(total + 1)  # the highest that fills no more places than there are:
    level = bisect_right(levels, places, key=lambda level: np.minimum(uses, level).sum()) - 1
    used = np.minimum(uses, level)
    usable = np.flatnonzero(uses > level)
    if remainder := places - int(used.sum()):
        drawn = Stream(*key, "remainder").subsets(np.array([usable.size]), remainder)[0]
        used[usable[drawn]] += 1
    class_ids = _class_sequence(used, protocol.way, total, key)
    return deal(class_ids, sizes, protocol, Stream(*key, "images"))


def most_tasks(class_sizes: Sequence[int] | NDArray[Any], protocol: Protocol) -> int:
    """Find the largest T with sum_c min(floor(n_c / (S+Q)), T) >= K T: no sampler can draw more."""
    return planning.most_tasks(planning.class_uses(class_sizes, protocol.per_class), protocol.way)


def _class_sequence(
    uses: NDArray[np.int64], way: int, tasks: int, key: tuple[str | int, ...]
) -> NDArray[np.int64]:
    """Draw the classes of each task (T, way), where class c is used exactly ``uses[c]`` times."""
    left = uses.copy()
    orders, offsets = Stream(*key, "orders"), Stream(*key, "offsets")
    starts = offsets.integers(np.arange(tasks, 0, -1))
    class_ids = np.empty((tasks, way), np.int64)
    slot = np.arange(way)
    tasks_at_once = max(1, _WORDS_AT_ONCE // uses.size)
    for first in range(0, tasks, tasks_at_once):
        # classes stand in a row, each as long as the uses it has left; none is longer than the
        # number of tasks to go, so K marks at that distance fall on different classes
        rows = orders.permutations(min(tasks_at_once, tasks - first), uses.size)
        for task, order in enumerate(rows, first):
            ends = np.add.accumulate(left[order])
            marks = starts[task] + (tasks - task) * slot
            chosen = order[ends.searchsorted(marks, side="right")]
            left[chosen] -= 1
            class_ids[task] = chosen
    labels = Stream(*key, "labels").permutations(tasks, way)
    return np.take_along_axis(class_ids, labels, axis=1)


def draw_grouped(
    class_sizes: Sequence[int],
    protocol: Protocol,
    *,
    dataset: str,
    seed: int,
    groups: Groups | None,
    tasks: int | None = None,
) -> DrawnTasks:
    """Draw tasks from one image of each group until too few are left, or `tasks` are drawn."""
    if groups is None:
        raise SamplingError(
            "a grouped set needs the groups of the images",
            where=f"{dataset}/grouped-{protocol}",
            fix="give a source with an images table; counts of a catalogue have no groups",
        )
    key = ("grouped", dataset, str(protocol), seed)
    images, checked = kept_images(class_sizes, protocol, dataset, key, groups)
    drawn = exhaust(checked, protocol, key, tasks)
    # from positions among the drawn images of a class to positions in the whole class
    within = images - np.repeat(first_image_ids(class_sizes), checked)
    start = first_image_ids(checked)[drawn.class_ids][..., None]
    support, query = within[start + drawn.support], within[start + drawn.query]
    return DrawnTasks(protocol, drawn.class_ids, support, query)


def kept_images(
    class_sizes: Sequence[int], protocol: Protocol, dataset: str, key: Key, groups: Groups
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw one image of each group; return their ids, ascending, and their numbers by class."""
    sizes = np.asarray(class_sizes, np.int64)
    if groups.shape != (sizes.sum(),):
        raise SamplingError(
            f"{groups.size} groups for {sizes.sum()} images", where=dataset, expected="one each"
        )
    if (groups < 0).all():
        raise SamplingError(
            "no image has a group, so there is nothing to keep together",
            where=f"{dataset}: column `group` of its images",
            fix="draw the suite `open`, which is the same without groups",
        )
    images = one_of_each(groups, Stream(*key, "groups"))
    class_of = np.repeat(np.arange(sizes.size), sizes)
    kept_sizes = np.bincount(class_of[images], minlength=sizes.size)
    try:
        checked = checked_sizes(kept_sizes.tolist(), protocol, dataset)
    except SamplingError as error:
        what = f"{error.what}, counting one image of each group"
        raise SamplingError(
            what, where=error.where, expected=error.expected, fix=error.fix
        ) from None
    return images, checked


def one_of_each(groups: Groups, stream: Stream) -> NDArray[np.int64]:
    """Draw one image of each group uniformly; return them and all without a group, ascending."""
    grouped = np.flatnonzero(groups >= 0)
    unit = np.unique(groups[grouped], return_inverse=True)[1]
    drawn = grouped[one_of_each_unit(unit, stream)]
    return np.sort(np.concatenate([np.flatnonzero(groups < 0), drawn]))
