"""Find which queries of a submission's rows are right, by `predictions` or by `correct`."""

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
    """A column of lists of integers; those of row i are ``values[starts[i] : starts[i + 1]]``."""

    values: NDArray[np.integer[Any]]
    starts: Ints
    missing: Bools
    """Rows that have no list."""
    nulls: Bools
    """Rows with a null in their list."""

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Lists:
        """Read a column, chunk by chunk: together, offsets may not fit into 32 bits."""
        flat = pa.chunked_array(
            [lists.flatten() for lists in column.chunks], column.type.value_type
        )
        lengths = [lists.value_lengths().fill_null(0).to_numpy() for lists in column.chunks]
        starts = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
        nulls = np.zeros(len(column), bool)
        if flat.null_count:
            at = np.flatnonzero(flat.is_null().to_numpy())
            nulls[np.searchsorted(starts, at, side="right") - 1] = True
            flat = flat.fill_null(0)
        return cls(flat.to_numpy(), starts, column.is_null().to_numpy(), nulls)

    @property
    def lengths(self) -> Ints:
        """Number of values of each list (N,), 0 where it is missing."""
        return np.diff(self.starts)

    def worst(self, most: AnyInts) -> tuple[Bools, Ints]:
        """Return which lists hold values below 0 or above `most` (N,), and of each one of them."""
        there = self.lengths > 0
        least, greatest = np.zeros((2, len(there)), np.int64)
        if there.any():
            least[there] = np.minimum.reduceat(self.values, self.starts[:-1][there])
            greatest[there] = np.maximum.reduceat(self.values, self.starts[:-1][there])
        return (least < 0) | there & (greatest > most), np.where(least < 0, least, greatest)

    def sums(self) -> Ints:
        """Return the sum of each list (N,)."""
        return sums_up_to(self.starts[1:], self.values)

    def of_rows(self, rows: AnyInts, sizes: AnyInts) -> NDArray[np.integer[Any]]:
        """Return the lists of some rows one after the other; `sizes` times -1 where one misses."""
        first = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
        begin, end = rows[first], rows[np.append(first[1:], len(rows)) - 1] + 1
        spans = zip(self.starts[begin].tolist(), self.starts[end].tolist(), strict=True)
        values = np.concatenate([self.values[start:stop] for start, stop in spans])
        if not (missing := self.missing[rows]).any():
            return values
        every = np.full(int(sizes.sum()), -1, values.dtype)
        every[np.repeat(~missing, sizes)] = values
        return every


class Labels(Struct, frozen=True, eq=False, dict=True):
    """The query labels of a set's tasks, one task after the other."""

    values: NDArray[np.integer[Any]]
    ways: Ints
    queries: Ints
    """Classes and queries of each task (T,)."""

    @classmethod
    def of(cls, release: Release, info: TaskSetInfo) -> Labels:
        """Read those of a task set."""
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
    """The predictions of rows on tasks of a release, or which of their queries are right.

    Every row has a list of the column `predictions`, of `correct` (1 where a query is right, else
    0), or none.
    """

    def __init__(
        self, table: pa.Table, groups: AnyInts, infos: Sequence[TaskSetInfo], release: Release
    ) -> None:
        """Take rows, the group of each, and the task set of each group."""
        names = table.column_names
        given = {name: table.column(name) for name in ("predictions", "correct") if name in names}
        there = {name: column.is_valid().to_numpy() for name, column in given.items()}
        self.is_correct = there.get("correct", np.zeros(len(table), bool))
        """Rows with a list of `correct` (N,)."""
        self.given_twice = self.is_correct & there.get("predictions", False)
        lists = next(iter(given.values()))
        if len(given) == 2:  # of which each row has one
            kind = max(
                (column.type for column in given.values()), key=lambda t: t.value_type.bit_width
            )
            lists = pc.coalesce(*(column.cast(kind) for column in given.values()))
        self.lists = Lists.of(lists)
        self.second = Lists.of(table.column("second")) if "second" in names else None
        self._task_id, self._groups = table.column("task_id").to_numpy(), groups
        self._infos, self._release = infos, release
        self._labels: dict[str, Labels] = {}
        self._right: dict[int, Bools] = {}

    def counted(self, group: int) -> tuple[Ints, Ints, Ints]:
        """Return how many queries are right, of each task, and of each class of each task.

        And the number of classes of each task.  The group must have all its tasks, with lists as
        long as there are queries.
        """
        labels = self._labels_of(self._infos[group])
        ways = labels.ways[: len(self.rows_of(group))]
        last = ways.cumsum()
        by_class = sums_up_to(labels.ends[: last[-1]], self.right(group))
        return sums_up_to(last, by_class), by_class, ways

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
        own = self.lists.of_rows(rows, sizes)
        expected = labels.values[: own.size]
        if correct.any():
            expected = np.where(np.repeat(correct, sizes), 1, expected)
        return np.asarray(own == expected)

    def right_by_task(self, group: int) -> NDArray[np.uint8]:
        """Return the same as 1 and 0 of each task (T, most queries), 0 after its last query."""
        right = self.right(group).view(np.uint8)
        queries = self._labels_of(self._infos[group]).queries[: len(self.rows_of(group))]
        if (queries == queries[0]).all():
            return right.reshape(len(queries), -1)
        made = np.zeros((len(queries), int(queries.max())), np.uint8)
        made[np.arange(made.shape[1]) < queries[:, None]] = right
        return made

    def regained(self, group: int) -> Ints | None:
        """Return the class without which a wrong prediction would be right, as :meth:`right`.

        (T, K·Q), -1 where there is none; None where second-best classes are not known of all tasks.
        Tasks have as many queries.
        """
        rows, second = self.rows_of(group), self.second
        if second is None or second.missing[rows].any():
            return None
        labels = self._labels_of(self._infos[group])
        sizes = labels.queries[: len(rows)]
        predicted, other = self.lists.of_rows(rows, sizes), second.of_rows(rows, sizes)
        regained = np.where(other == labels.values[: other.size], predicted, -1)
        return regained[labels.order[: other.size]].reshape(len(rows), -1)

    def complete(self, group: int) -> bool:
        """Return whether all rows of a group have a list."""
        return not self.lists.missing[self.rows_of(group)].any()

    def rows_of(self, group: int) -> Ints:
        """Return the rows of a group, in the order of its tasks."""
        ends, order = self._ordered
        return order[ends[group] : ends[group + 1]]

    @cached_property
    def _ordered(self) -> tuple[Ints, Ints]:
        """Where the rows of each group begin in the order of groups and tasks, and that order."""
        order = np.lexsort((self._task_id, self._groups))
        return np.searchsorted(self._groups[order], np.arange(len(self._infos) + 1)), order

    def _labels_of(self, info: TaskSetInfo) -> Labels:
        if info.text not in self._labels:
            self._labels[info.text] = Labels.of(self._release, info)
        return self._labels[info.text]


def sums_up_to(ends: Ints, values: NDArray[Any]) -> Ints:
    """Return the sums of values from the end of one part, which may be empty, to the next."""
    # int32 is eight times as fast in half of the memory, where it suffices
    kind: Any = np.int32 if values.dtype == bool and len(values) < 1 << 31 else np.int64
    sums = np.zeros(len(values) + 1, kind)
    np.cumsum(values, dtype=kind, out=sums[1:])
    return np.asarray(np.diff(sums[ends].astype(np.int64), prepend=0))
