"""Hold the frozen tasks of a task set as arrays, and say whose their images are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import Ints
from analysis_sql.leave_one_out.episodes import padded
from benchmark_spec.errors import FSLBenchError, TooLargeError
from benchmark_spec.protocol import Protocol, TaskSetName, task_sets_of

Ids = NDArray[np.int32]
Labels = NDArray[np.int8]

Groups = NDArray[np.int64]
"""Group of each image (N,), by image id; -1 for an image without one."""

MOST_IMAGES = 2**26
"""Images of a data set that fit into some gigabytes of memory.  Quickdraw has 50 million."""


class TaskSetInfo(Struct, frozen=True, dict=True):
    """The facts about a task set that checking a submission needs, without its tasks."""

    dataset: str
    name: TaskSetName
    n_tasks: int
    fingerprint: str

    @property
    def task_set(self) -> str:
        """Suite and protocol, such as ``open-5w5s5q``."""
        return str(self.name)

    @property
    def protocol(self) -> Protocol:
        """Ways, shots and queries of its tasks."""
        return self.name.protocol

    @property
    def ways_and_shots(self) -> tuple[int | None, int | None]:
        """The ways and shots that task sets must share for a mean over data sets.

        Ways are None for tasks of all classes; both are None for episodes, which differ in them.
        """
        if self.name.varies:
            return None, None
        whole = self.name.whole
        return None if whole else self.protocol.way, self.protocol.shot

    @cached_property
    def text(self) -> str:
        """``<dataset>/<task set>``."""
        return f"{self.dataset}/{self.name}"

    def __str__(self) -> str:
        return self.text

    def as_json(self) -> dict[str, Any]:
        """Return the task set as JSON."""
        names = ("dataset", "task_set", "n_tasks", "fingerprint")
        return {name: getattr(self, name) for name in names}


class Task(Struct, frozen=True, eq=False):
    """One task; images are given by id, classes by their position 0..K-1.

    Attributes
    ----------
    class_ids : int32 (K,)
    support : int32 (K, S)
        Image ids, row k for the class at position k; in episodes a list of K arrays.
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


class TaskSet(Struct, frozen=True, eq=False):
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
        protocol = self.info.protocol
        return (
            f"<TaskSet {self.info}: {len(self)} tasks of {protocol.way} classes, "
            f"each with {protocol.shot} support and {protocol.query} query images>"
        )

    @classmethod
    def from_table(cls, info: TaskSetInfo, table: pa.Table) -> TaskSet:
        """Make a task set of a table of the schema :func:`benchmark_spec.schemas.task_set`."""
        protocol = info.protocol
        if info.name.varies:
            names = ("class_ids", "support", "query", "query_label", "support_label")
            return Episodes(info, *(padded_lists(table.column(name)) for name in names))
        shapes = {
            "class_ids": (protocol.way,),
            "support": (protocol.way, protocol.shot),
            "query": (protocol.n_query,),
            "query_label": (protocol.n_query,),
        }
        return cls(info, *(_array(table, name, shape) for name, shape in shapes.items()))

    def __len__(self) -> int:
        return len(self.class_ids)

    def __getitem__(self, task_id: int) -> Task:
        if not 0 <= task_id < len(self):
            raise IndexError(f"{self.info} has tasks 0..{len(self) - 1}, not {task_id}")
        arrays = self.class_ids, self.support, self.query, self.query_label
        return Task(self.info, task_id, *(array[task_id] for array in arrays))

    def __iter__(self) -> Iterator[Task]:
        return map(self.__getitem__, range(len(self)))


class Episodes(TaskSet, frozen=True, eq=False):
    """Tasks of different shapes; arrays are padded with -1 to the largest.

    `support` (T, n) holds all support images of a task, `support_label` their classes' positions.
    """

    support_label: Labels

    def __repr__(self) -> str:
        ways = (self.class_ids >= 0).sum(axis=1)
        return f"<Episodes {self.info}: {len(self)} tasks of {ways.min()} to {ways.max()} classes>"

    def __getitem__(self, task_id: int) -> Task:
        padded_task = super().__getitem__(task_id)
        class_ids = padded_task.class_ids[padded_task.class_ids >= 0]
        label = self.support_label[task_id]
        support: Any = [padded_task.support[label == k] for k in range(class_ids.size)]
        is_query = padded_task.query >= 0
        query, query_label = padded_task.query[is_query], padded_task.query_label[is_query]
        return Task(self.info, task_id, class_ids, support, query, query_label)

    @property
    def queries(self) -> NDArray[np.int64]:
        """Number of queries of each task (T,)."""
        return np.asarray((self.query >= 0).sum(axis=1))


def padded_lists(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return lists of different lengths as a read-only array, padded with -1."""
    lists = column.combine_chunks()
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    array = padded(lists.flatten().to_numpy(), lengths)
    array.flags.writeable = False
    return array


def _array(table: pa.Table, column: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a fixed-size-list column as a read-only array (rows, *shape)."""
    lists = table.column(column).combine_chunks()
    array: NDArray[Any] = lists.flatten().to_numpy().reshape(len(table), *shape)
    array.flags.writeable = False
    return array


def by_class(values: NDArray[Any], query_label: NDArray[Any]) -> NDArray[Any]:
    """Sort the values of each task's queries (T, K·Q) by class."""
    order = np.argsort(query_label, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1)


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names as a tuple; a single text is one name."""
    return (names,) if isinstance(names, str) else tuple(names)


def task_set_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return task sets' names; ``ladder_titles-5w5s5q`` becomes all levels, unknown names stay."""
    chosen: dict[str, None] = {}
    for name in names_of(names):
        try:
            chosen |= dict.fromkeys(task_sets_of(name))
        except FSLBenchError:
            chosen[name] = None
    return tuple(chosen)


def classes_of_images(class_sizes: Ints, where: str) -> Ints:
    """Return the class of each image (N,), images in the order of their classes."""
    check_images(class_sizes, where)
    return np.repeat(np.arange(class_sizes.size), class_sizes)


def check_images(class_sizes: Ints, where: str) -> None:
    """Raise a TooLargeError if the images are too many to be held one by one."""
    images = sum(class_sizes.tolist())  # in Python's integers, which do not overflow
    if images > MOST_IMAGES:
        raise TooLargeError(
            f"the classes have {images:,} images",
            where=where,
            expected=f"at most {MOST_IMAGES:,} where the images are counted one by one",
            fix="see whether the sizes of the classes are right; else leave classes out",
        )


def groups_of(images: pa.Table) -> Groups:
    """Return the group of each image of a table (:data:`benchmark_spec.schemas.IMAGES`)."""
    return images.column("group").cast(pa.int64()).fill_null(-1).to_numpy()  # type: ignore[no-any-return]
