"""Frozen tasks: a task set as arrays, and task by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.protocol import Protocol, TaskSetName, task_sets_of

Ids = NDArray[np.int32]
Labels = NDArray[np.int8]


@dataclass(frozen=True)
class TaskSetInfo:
    """What a release says of a task set: enough to check a submission, without its tasks."""

    dataset: str
    name: TaskSetName
    n_tasks: int
    fingerprint: str

    @property
    def protocol(self) -> Protocol:
        """Ways, shots and queries of its tasks."""
        return self.name.protocol

    @cached_property
    def text(self) -> str:
        """``<dataset>/<task set>``."""
        return f"{self.dataset}/{self.name}"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """One task: images are given by id, classes by their position 0..K-1.

    Attributes
    ----------
    class_ids : int32 (K,)
    support : int32 (K, S)
        Image ids, row k of the class at position k.
    query : int32 (K·Q,)
        Image ids in the frozen order.
    query_label : int8 (K·Q,)
        Position of each query's class.  A method must not see it.
    """

    info: TaskSetInfo
    task_id: int
    class_ids: Ids
    support: Ids
    query: Ids
    query_label: Labels

    def __repr__(self) -> str:
        return f"<Task {self.task_id} of {self.info}: classes {self.class_ids.tolist()}>"


@dataclass(frozen=True, eq=False, repr=False)
class TaskSet:
    """All T tasks of a task set as read-only arrays; iterate or index it for single tasks.

    Attributes
    ----------
    class_ids : int32 (T, K)
    support : int32 (T, K, S) image ids
    query : int32 (T, K·Q) image ids in the frozen order
    query_label : int8 (T, K·Q) positions 0..K-1
    """

    info: TaskSetInfo
    class_ids: Ids
    support: Ids
    query: Ids
    query_label: Labels

    def __repr__(self) -> str:
        about = self.info.protocol
        return (
            f"<TaskSet {self.info}: {len(self)} tasks of {about.way} classes, "
            f"each with {about.shot} support and {about.query} query images>"
        )

    @classmethod
    def from_table(cls, info: TaskSetInfo, table: pa.Table) -> TaskSet:
        """Task set of a table of the schema :func:`benchmark_spec.schemas.tasks`."""
        protocol = info.protocol
        return cls(
            info,
            _array(table, "class_ids", (protocol.way,)),
            _array(table, "support", (protocol.way, protocol.shot)),
            _array(table, "query", (protocol.n_query,)),
            _array(table, "query_label", (protocol.n_query,)),
        )

    def __len__(self) -> int:
        return len(self.class_ids)

    def __getitem__(self, task_id: int) -> Task:
        if not 0 <= task_id < len(self):
            raise IndexError(f"{self.info} has tasks 0..{len(self) - 1}, not {task_id}")
        return Task(
            self.info,
            task_id,
            self.class_ids[task_id],
            self.support[task_id],
            self.query[task_id],
            self.query_label[task_id],
        )

    def __iter__(self) -> Iterator[Task]:
        return (self[task_id] for task_id in range(len(self)))


def _array(table: pa.Table, column: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """A fixed-size-list column as a read-only array (rows, *shape)."""
    lists = table.column(column).combine_chunks()
    array: NDArray[Any] = lists.flatten().to_numpy().reshape(len(table), *shape)
    array.flags.writeable = False
    return array


def by_class(values: NDArray[Any], query_label: NDArray[Any]) -> NDArray[Any]:
    """Return what queries of tasks have (T, K·Q), class by class, in the order of the classes."""
    order = np.argsort(query_label, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1)


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple; a single text is one name."""
    return (names,) if isinstance(names, str) else tuple(names)


def task_set_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Name task sets; ``ladder_titles-5w5s5q`` stands for all steps, unknown names stay."""
    chosen: dict[str, None] = {}
    for name in names_of(names):
        try:
            chosen |= dict.fromkeys(task_sets_of(name))
        except FSLBenchError:
            chosen[name] = None
    return tuple(chosen)
