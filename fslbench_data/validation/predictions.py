"""Checking predictions and per-class counts against the counts beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.errors import ContradictionError, PredictionError
from fslbench_data.tasks import TaskSetInfo

Array = NDArray[Any]
Speller = Callable[[Array], str]


def check_answer_lists(
    table: pa.Table, group: Array, infos: Sequence[TaskSetInfo], spell: Speller
) -> None:
    """Check ``class_correct`` and ``predictions`` where a row has them.

    Parameters
    ----------
    table
        Of a submission.
    group, infos
        The group of each row (N,), and the task set of each group.
    spell
        Names rows for a message.

    Raises
    ------
    PredictionError
        For a list of the wrong length, with a null, or with a number out of range.
    ContradictionError
        If ``class_correct`` does not sum to ``n_correct``.
    """
    way = np.array([info.protocol.way for info in infos])[group]
    n_query = np.array([info.protocol.n_query for info in infos])[group]
    per_class = n_query // way
    if "class_correct" in table.column_names:
        lists = _Lists(table, "class_correct", spell)
        lists.check_lengths(way, "K, one count for each class of the task")
        lists.check_range(per_class + 1, "0..Q, the class's queries answered rightly")
        total = lists.sums()
        wrong = lists.present & (total != table.column("n_correct").to_numpy())
        if (bad := np.flatnonzero(wrong)).size:
            raise ContradictionError(
                f"class_correct sums to {total[bad[0]]} where n_correct is "
                f"{table.column('n_correct')[int(bad[0])]}",
                where=spell(bad),
                expected="the counts of a task's classes to sum to n_correct",
            )
    if "predictions" in table.column_names:
        lists = _Lists(table, "predictions", spell)
        lists.check_lengths(n_query, "K·Q, one position for each query in the frozen order")
        lists.check_range(way, "0..K-1, the position of the class in the task's class_ids")


def check_predictions(
    table: pa.Table, at: Array, task_id: Array, query_label: Array, query: int, spell: Speller
) -> None:
    """Count the predictions of one task set's rows, and compare with the counts they claim.

    Parameters
    ----------
    table
        Of a submission, its lists already found to be of the right form.
    at, task_id
        The rows of the task set, and their tasks.
    query_label : int8 (T, K·Q)
        The task set's true positions.
    query
        Q, the queries of each class.
    spell
        Names rows for a message.

    Raises
    ------
    ContradictionError
        If ``n_correct`` or ``class_correct`` is not what the predictions give.
    """
    rows_of_set = table.take(pa.array(at))
    predictions = rows_of_set.column("predictions").combine_chunks()
    has = predictions.is_valid().to_numpy(zero_copy_only=False)
    at, labels = at[has], query_label[task_id[has]]
    if not at.size:
        return
    right = predictions.flatten().to_numpy().reshape(labels.shape) == labels
    counted = right.sum(axis=1)
    claimed = rows_of_set.column("n_correct").to_numpy()[has]
    if (bad := np.flatnonzero(counted != claimed)).size:
        raise ContradictionError(
            f"the predictions are right on {counted[bad[0]]} queries where n_correct is "
            f"{claimed[bad[0]]}",
            where=spell(at[bad]),
            expected="counts that follow from the predictions",
            fix="predictions are positions 0..K-1 in class_ids, in the frozen query order; "
            "drop the counts' own computation or mend it",
        )
    if "class_correct" in table.column_names:
        lists = rows_of_set.column("class_correct").combine_chunks().filter(pa.array(has))
        both = lists.is_valid().to_numpy(zero_copy_only=False)
        way = labels.shape[1] // query
        by_class = np.stack([(right & (labels == k)).sum(axis=1) for k in range(way)], axis=1)
        given = lists.flatten().to_numpy().reshape(-1, way)
        if (bad := np.flatnonzero((given != by_class[both]).any(axis=1))).size:
            raise ContradictionError(
                f"class_correct is {given[bad[0]].tolist()} where the predictions give "
                f"{by_class[both][bad[0]].tolist()}",
                where=spell(at[both][bad]),
                expected="counts that follow from the predictions, by position in class_ids",
            )


class _Lists:
    """A list column as flat values, and the rows whose lists are not empty."""

    def __init__(self, table: pa.Table, name: str, spell: Speller) -> None:
        column = table.column(name).combine_chunks()
        self.name, self._spell = name, spell
        self.present: Array = column.is_valid().to_numpy(zero_copy_only=False)
        lengths = column.value_lengths().fill_null(0)
        self.lengths: Array = lengths.to_numpy(zero_copy_only=False)
        self._filled = np.flatnonzero(self.lengths)
        ends = np.cumsum(self.lengths)
        self._starts = (ends - self.lengths)[self._filled]
        flat = column.flatten()
        if flat.null_count:
            empty = np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))
            at = np.unique(np.searchsorted(ends, empty, side="right"))
            raise PredictionError(f"{name} has a null inside", where=spell(at))
        self._values: Array = flat.to_numpy()

    def sums(self) -> Array:
        """Sum of each row's list, int64 (N,); 0 where there is none."""
        total = np.zeros(len(self.lengths), np.int64)
        if self._filled.size:
            total[self._filled] = np.add.reduceat(self._values, self._starts, dtype=np.int64)
        return total

    def check_lengths(self, expected: Array, meaning: str) -> None:
        if (bad := np.flatnonzero(self.present & (self.lengths != expected))).size:
            raise PredictionError(
                f"{self.name} has {self.lengths[bad[0]]} entries",
                where=self._spell(bad),
                expected=f"{expected[bad[0]]} ({meaning})",
            )

    def check_range(self, below: Array, meaning: str) -> None:
        if not self._filled.size:
            return
        least = np.minimum.reduceat(self._values, self._starts)
        most = np.maximum.reduceat(self._values, self._starts)
        if (bad := np.flatnonzero((least < 0) | (most >= below[self._filled]))).size:
            worst = least[bad[0]] if least[bad[0]] < 0 else most[bad[0]]
            raise PredictionError(
                f"{self.name} holds {worst}",
                where=self._spell(self._filled[bad]),
                expected=meaning,
            )
