"""Batches of tasks as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmark_spec.errors import PredictionError, SpecError
from fslbench_data.submission.recorder import Recorder, array_of
from fslbench_data.tasks import Task


@dataclass(frozen=True, eq=False)
class TaskBatch:
    """B tasks of one protocol.

    Attributes
    ----------
    tasks
        Which they are.
    support : float32 (B, K, S, D), or (B, K, S, C, H, W) of pictures
        Row k is of the class at position k.
    query : float32 (B, K·Q, D), or (B, K·Q, C, H, W) of pictures
        In the frozen order.
    query_label : int64 (B, K·Q)
        Position of each query's class: for the loss of a training task.  A method that is
        evaluated must not see it.
    """

    tasks: tuple[Task, ...]
    support: torch.Tensor
    query: torch.Tensor
    query_label: torch.Tensor

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> TaskBatch:
        """Return the batch with its tensors on a device."""
        return self._mapped(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> TaskBatch:
        """Return the batch in pinned memory; a DataLoader asks for it."""
        return self._mapped(lambda tensor: tensor.pin_memory())

    def record(self, recorder: Recorder, predictions: Any) -> int:
        """Record predictions (B, K·Q): positions 0..K-1, a tensor of any device or an array.

        Returns
        -------
        int
            The number of correct ones.

        Raises
        ------
        PredictionError
            If they are anything else, such as scores of classes.
        DoubledTaskError
            If a task of the batch has been recorded.
        """
        first = self.tasks[0]
        begin = f"{first.info}, the batch that begins with task {first.task_id}"
        where = f"{recorder.name} on {begin}"
        rows = array_of(predictions, where)
        if rows.shape[:1] != (len(self.tasks),):
            raise PredictionError(
                f"there are predictions for {len(rows) if rows.ndim else 'no'} tasks",
                where=where,
                expected=f"{len(self.tasks)} rows, one for each task of the batch",
            )
        return sum(recorder.add(task, row) for task, row in zip(self.tasks, rows, strict=True))

    def _mapped(self, change: Any) -> TaskBatch:
        return replace(
            self,
            support=change(self.support),
            query=change(self.query),
            query_label=change(self.query_label),
        )


def collate(batches: Sequence[TaskBatch]) -> TaskBatch:
    """Join batches of tasks to one, as ``DataLoader(..., collate_fn=collate)`` wants.

    Raises a SpecError if the tasks are of several protocols, or their images of several shapes.
    """
    shapes = {(batch.support.shape[1:], batch.query.shape[1:]) for batch in batches}
    if len(shapes) > 1:
        names = sorted({str(task.info) for batch in batches for task in batch.tasks})
        raise SpecError(
            f"a batch cannot hold tasks of several shapes: {', '.join(names)}",
            fix="use a DataLoader for each protocol and backbone",
        )
    return TaskBatch(
        tuple(task for batch in batches for task in batch.tasks),
        torch.cat([batch.support for batch in batches]),
        torch.cat([batch.query for batch in batches]),
        torch.cat([batch.query_label for batch in batches]),
    )
