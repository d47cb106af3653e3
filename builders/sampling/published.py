"""The suite ``published``: the tasks behind the accuracies that Lafargue et al. released.

This is Algorithm 2 of "Oops, I Sampled it Again" (TMLR 2024) as their runs drew it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.protocol import Protocol
from fslbench_data.tasks.draw import DrawnTasks, checked_sizes, split_support

SEED = 0
MAX_TASKS = 2000


def draw_published(
    class_sizes: Sequence[int], protocol: Protocol, *, dataset: str, max_tasks: int = MAX_TASKS
) -> DrawnTasks:
    """Draw the published sequence for classes of these sizes, in the split's order of classes."""
    sizes = checked_sizes(class_sizes, protocol, dataset)
    generator = np.random.RandomState(SEED)
    remaining = [np.arange(size, dtype=np.int32) for size in sizes]
    left = sizes.copy()
    class_ids: list[NDArray[Any]] = []
    images: list[NDArray[Any]] = []
    while len(class_ids) < max_tasks:
        eligible = np.flatnonzero(left >= protocol.per_class)
        if eligible.size < protocol.way:
            break
        chosen = generator.choice(eligible, protocol.way, replace=False)
        drawn = np.empty((protocol.way, protocol.per_class), np.int32)
        for slot, class_id in enumerate(chosen):
            # RandomState.choice without replacement is the head of a permutation
            at = generator.permutation(left[class_id])[: protocol.per_class]
            drawn[slot] = remaining[class_id][at]
            remaining[class_id] = np.delete(remaining[class_id], at)
            left[class_id] -= protocol.per_class
        class_ids.append(chosen)
        images.append(drawn)
    return split_support(protocol, np.stack(class_ids), np.stack(images))
