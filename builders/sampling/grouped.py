"""The suite ``grouped``: no two images of one group, anywhere in the set.

Frames of one track, photos of one burst, one emoji drawn by four vendors: such images are no
independent draws of their class.  If they fall on both sides of a task it becomes too easy; if
they fall into different tasks, these are dependent and intervals too narrow.  So one image of
each group is drawn uniformly, and Algorithm 2 (:mod:`fslbench_data.tasks.uniform`) draws from the
drawn images.  A group may span classes, as the crops of one photograph do: it then serves the
class of its drawn image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol
from fslbench_data.tasks.drawn import DrawnTasks, Groups, checked_sizes, first_image_ids
from fslbench_data.tasks.uniform import Key, exhaust


def draw_grouped(
    class_sizes: Sequence[int],
    protocol: Protocol,
    *,
    dataset: str,
    seed: int,
    groups: Groups,
    max_tasks: int | None = None,
) -> DrawnTasks:
    """Draw tasks from one image of each group until too few are left, or `max_tasks` are drawn."""
    key = ("grouped", dataset, str(protocol), seed)
    images, checked = kept_images(class_sizes, protocol, dataset, key, groups)
    class_of = np.repeat(np.arange(len(class_sizes)), class_sizes)
    drawn = exhaust(checked, protocol, key, max_tasks)
    # from positions among the drawn images of a class to positions in the class
    within = images - first_image_ids(class_sizes)[class_of[images]]
    start = (np.cumsum(checked) - checked)[drawn.class_ids][..., None]
    support, query = within[start + drawn.support], within[start + drawn.query]
    return DrawnTasks(protocol, drawn.class_ids, support.astype(np.int32), query.astype(np.int32))


def kept_images(
    class_sizes: Sequence[int], protocol: Protocol, dataset: str, key: Key, groups: Groups
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the ids of one image of each group, ascending, and how many of these each class has."""
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
    sizes_left = np.bincount(class_of[images], minlength=sizes.size)
    try:
        checked = checked_sizes(sizes_left.tolist(), protocol, dataset)
    except SamplingError as error:
        raise SamplingError(
            f"{error.what}, counting one image of each group",
            where=error.where,
            expected=error.expected,
            fix=error.fix,
        ) from None
    return images, checked


def one_of_each(groups: Groups, stream: Stream) -> NDArray[np.int64]:
    """Draw the images kept, ascending: one of each group, uniformly, and all without a group."""
    alone = np.flatnonzero(groups < 0)
    grouped = np.flatnonzero(groups >= 0)
    together = grouped[np.argsort(groups[grouped], kind="stable")]
    _, start, size = np.unique(groups[together], return_index=True, return_counts=True)
    drawn = together[start + stream.integers(size.astype(np.int64))]
    return np.sort(np.concatenate([alone, drawn]))
