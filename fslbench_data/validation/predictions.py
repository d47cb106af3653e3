"""Find which queries are right, from `predictions` or from `correct`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import AnyInts, Bools, Ints
from fslbench_data.release.release import Release
from fslbench_data.tasks import TaskSetInfo


class Lists(Struct, frozen=True, eq=False):
    """A column of lists of integers; that of row i is ``values[starts[i] : starts[i + 1]]``."""

    values: NDArray[np.integer[Any]]
    starts: Ints
    missing: Bools
    """Rows that have no list."""
    nulls: Bools
    """Rows with a null in their list."""

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Lists:
        """Read a column chunk by chunk: offsets into the whole may exceed 32 bits."""
        flat = pa.chunked_array(
            [lists.flatten() for lists in column.chunks], column.type.value_type
        )
        lengths = [lists.value_lengths().fill_null(0).to_numpy() for lists in column.chunks]
        starts = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
        nulls = np.zeros(len(column), bool)
        if flat.null_count:
            positions = np.flatnonzero(flat.is_null().to_numpy())
            nulls[np.searchsorted(starts, positions, side="right") - 1] = True
            flat = flat.fill_null(0)
        return cls(flat.to_numpy(), starts, column.is_null().to_numpy(), nulls)

    @property
    def lengths(self) -> Ints:
        """Number of values of each list (N,), 0 if it is missing."""
        return np.diff(self.starts)

    def worst(self, most: AnyInts) -> tuple[Bools, Ints]:
        """Return which lists hold values below 0 or above `most`, and one of them for each (N,)."""
        filled = self.lengths > 0
        least, greatest = np.zeros((2, len(filled)), np.int64)
        if filled.any():
            least[filled] = np.minimum.reduceat(self.values, self.starts[:-1][filled])
            greatest[filled] = np.maximum.reduceat(self.values, self.starts[:-1][filled])
        return (least < 0) | filled & (greatest > most), np.where(least < 0, least, greatest)

    def sums(self) -> Ints:
        """Return the sum of each list (N,)."""
        return sums_up_to(self.starts[1:], self.values)

    def of_rows(self, rows: AnyInts, sizes: AnyInts) -> NDArray[np.integer[Any]]:
        """Return the lists of some rows, concatenated; a missing one is `sizes` times -1."""
        first = np.flatnonzero(np.diff(rows, prepend=-2) != 1)  # of consecutive rows
        last = np.append(first[1:], len(rows)) - 1
        begins, ends = self.starts[rows[first]].tolist(), self.starts[rows[last] + 1].tolist()
        spans = zip(begins, ends, strict=True)
        values = np.concatenate([self.values[begin:end] for begin, end in spans])
        if not (missing := self.missing[rows]).any():
            return values
        padded = np.full(int(sizes.sum()), -1, values.dtype)
        padded[np.repeat(~missing, sizes)] = values
        return padded


class Labels(Struct, frozen=True, eq=False, dict=True):
    """The query labels of a set's tasks, one task after the other."""

    values: NDArray[np.integer[Any]]
    ways: Ints
    queries: Ints
    """Classes and queries of each task (T,)."""

    @classmethod
    def of(cls, release: Release, info: TaskSetInfo) -> Labels:
        """Read the labels of a task set."""
        if info.name.varies:
            table = release.task_table(info)
            label = Lists.of(table.column("query_label"))
            ways = np.diff(Lists.of(table.column("class_ids")).starts)
            return cls(label.values, ways, np.diff(label.starts))
        labels = release.query_labels(info)
        sizes = (np.full(len(labels), size) for size in (info.protocol.way, labels.shape[1]))
        return cls(labels.reshape(-1), *sizes)

    @cached_property
    def order(self) -> Ints:
        """Positions of all queries, class by class of one task after the other."""
        return np.argsort(self._keys, kind="stable")

    @cached_property
    def ends(self) -> Ints:
        """Number of queries up to the end of each class of each task, (sum of `ways`,)."""
        return np.bincount(self._keys, minlength=int(self.ways.sum())).cumsum()

    @cached_property
    def _keys(self) -> Ints:
        first = np.cumsum(self.ways) - self.ways
        return np.asarray(np.repeat(first, self.queries) + self.values)


class Predictions:
    """The predictions of a submission's rows, or which of their queries are right.

    A row has a list in the column `predictions`, or in `correct` (1 where a query is right, else
    0), or neither.
    """

    def __init__(
        self, table: pa.Table, groups: AnyInts, infos: Sequence[TaskSetInfo], release: Release
    ) -> None:
        """Take rows, the group of each (N,), and the task set of each group."""
        names = table.column_names
        given = {name: table.column(name) for name in ("predictions", "correct") if name in names}
        valid = {name: column.is_valid().to_numpy() for name, column in given.items()}
        self.is_correct = valid.get("correct", np.zeros(len(table), bool))
        """Rows with a list of `correct` (N,)."""
        self.given_twice = self.is_correct & valid.get("predictions", False)
        columns = [*given.values()]
        if len(columns) == 2:  # a row has a list in one of them
            kind = max((c.type for c in columns), key=lambda lists: lists.value_type.bit_width)
            columns = [pc.coalesce(*(column.cast(kind) for column in columns))]
        self.lists = Lists.of(columns[0])
        self.second = Lists.of(table.column("second")) if "second" in names else None
        self._task_id, self._groups = table.column("task_id").to_numpy(), groups
        self._infos, self._release = infos, release
        self._labels: dict[str, Labels] = {}
        self._right: dict[int, Bools] = {}

    def counted(self, group: int) -> tuple[Ints, Ints, Ints]:
        """Count the correct queries of each task, and of each class of each task.

        Returns these counts and the number of classes of each task.  The group must have all its
        tasks, with lists as long as there are queries.
        """
        labels = self._labels_of(self._infos[group])
        ways = labels.ways[: len(self.rows_of(group))]
        ends = ways.cumsum()
        by_class = sums_up_to(labels.ends[: ends[-1]], self.right(group))
        return sums_up_to(ends, by_class), by_class, ways

    def right(self, group: int) -> Bools:
        """Return which queries of a group's tasks are right, class by class of each task."""
        if group not in self._right:
            right = self.right_in_task_order(group)
            self._right[group] = right[self._labels_of(self._infos[group]).order[: right.size]]
        return self._right[group]

    def right_in_task_order(self, group: int) -> Bools:
        """Return which queries of a group's tasks are right, in the frozen order of each task."""
        rows, labels = self.rows_of(group), self._labels_of(self._infos[group])
        sizes, correct = labels.queries[: len(rows)], self.is_correct[rows]
        values = self.lists.of_rows(rows, sizes)
        expected = labels.values[: values.size]
        if correct.any():
            expected = np.where(np.repeat(correct, sizes), 1, expected)
        return np.asarray(values == expected)

    def right_by_task(self, group: int) -> NDArray[np.uint8]:
        """Return :meth:`right` as 1 and 0, (T, most queries); 0 after a task's last query."""
        right = self.right(group).view(np.uint8)
        queries = self._labels_of(self._infos[group]).queries[: len(self.rows_of(group))]
        if (queries == queries[0]).all():
            return right.reshape(len(queries), -1)
        padded = np.zeros((len(queries), int(queries.max())), np.uint8)
        padded[np.arange(padded.shape[1]) < queries[:, None]] = right
        return padded

    def regained(self, group: int) -> Ints | None:
        """Return the class without which a wrong prediction would be right, else -1: (T, K·Q).

        Queries are in the order of :meth:`right`; all tasks must have as many.  Returns None if
        second-best classes are not known for all tasks.
        """
        rows, second = self.rows_of(group), self.second
        if second is None or second.missing[rows].any():
            return None
        labels = self._labels_of(self._infos[group])
        sizes = labels.queries[: len(rows)]
        predicted, runner_up = self.lists.of_rows(rows, sizes), second.of_rows(rows, sizes)
        regained = np.where(runner_up == labels.values[: runner_up.size], predicted, -1)
        return regained[labels.order[: runner_up.size]].reshape(len(rows), -1)

    def complete(self, group: int) -> bool:
        """Return whether all rows of a group have a list."""
        return not self.lists.missing[self.rows_of(group)].any()

    def rows_of(self, group: int) -> Ints:
        """Return the rows of a group, in the order of its tasks."""
        ends, order = self._ordered
        return order[ends[group] : ends[group + 1]]

    @cached_property
    def _ordered(self) -> tuple[Ints, Ints]:
        """Where each group begins in the rows sorted by group and task, and these rows."""
        order = np.lexsort((self._task_id, self._groups))
        return np.searchsorted(self._groups[order], np.arange(len(self._infos) + 1)), order

    def _labels_of(self, info: TaskSetInfo) -> Labels:
        if info.text not in self._labels:
            self._labels[info.text] = Labels.of(self._release, info)
        return self._labels[info.text]


def sums_up_to(ends: Ints, values: NDArray[Any]) -> Ints:
    """Sum the values of consecutive parts, given the end of each; parts may be empty."""
    # int32, if it suffices, is eight times as fast in half of the memory
    kind: Any = np.int32 if values.dtype == bool and len(values) < 1 << 31 else np.int64
    sums = np.zeros(len(values) + 1, kind)
    np.cumsum(values, dtype=kind, out=sums[1:])
    return np.asarray(np.diff(sums[ends].astype(np.int64), prepend=0))
