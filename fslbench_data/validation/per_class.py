"""Count the correct queries of each class of a task, for variances within tasks."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import Ints
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSet, TaskSetInfo


def rows_of(submission: Submission, method: str, info: TaskSetInfo) -> pa.Table:
    """Return the rows of one method on one task set, in the order of tasks.

    The submission must be valid (:func:`fslbench_data.validation.validate.validate`); rows of one
    task in several runs follow each other.
    """
    table = submission.table
    key = {"task_set": str(info.name), "dataset": info.dataset, "method": method}
    for column, name in key.items():
        table = table.filter(pc.equal(table.column(column).cast(pa.string()), name))
    return table.sort_by("task_id")


def class_counts(rows: pa.Table, tasks: TaskSet) -> Ints | None:
    """Count correct queries of each class of each task (T, K); None if a row lacks them."""
    way = tasks.class_ids.shape[1]
    if (counts := _lists(rows, "class_correct", way)) is not None:
        return counts.astype(np.int64)
    right = _right_queries(rows, tasks)
    return None if right is None else _by_class(right, tasks)


def by_run(rows: pa.Table, runs: Sequence[str]) -> list[pa.Table]:
    """Split the rows of a method by its runs; without names of runs there is one."""
    if not runs:
        return [rows]
    names = rows.column("run").cast(pa.string())
    return [rows.filter(pc.equal(names, run)) for run in runs]


def class_differences(
    methods: Sequence[Sequence[pa.Table]], tasks: TaskSet
) -> tuple[Ints, Ints, int] | None:
    """Return Σd and Σd² of each class of each task (T, K), and the unit of d; None if unknown.

    d of a query is the share of runs of the first method that predict it correctly, minus that of
    the second method, if any.  Its unit is 1 / the least common multiple of the numbers of runs.

    Parameters
    ----------
    methods
        The rows of each method, :func:`by_run`.
    """
    unit = lcm(*(len(runs) for runs in methods))
    shares: list[Ints] = []
    for runs in methods:
        right = [_right_queries(rows, tasks) for rows in runs]
        known = [of_run for of_run in right if of_run is not None]
        if len(known) < len(right):
            return None
        shares.append(np.asarray(np.sum(known, axis=0, dtype=np.int64) * (unit // len(runs))))
    n_tasks = min(map(len, shares))
    d = shares[0][:n_tasks]
    for share in shares[1:]:
        d = d - share[:n_tasks]
    return _by_class(d, tasks), _by_class(d * d, tasks), unit


def _right_queries(rows: pa.Table, tasks: TaskSet) -> NDArray[np.bool_] | None:
    """Return which queries are right (T, K·Q), in the frozen order; None if unknown."""
    correct = _lists(rows, "correct", tasks.query_label.shape[1])
    if correct is not None:
        return np.asarray(correct == 1)
    predictions = _lists(rows, "predictions", tasks.query_label.shape[1])
    if predictions is None:
        return None
    return np.asarray(predictions == tasks.query_label[: len(predictions)])


def _by_class(values: NDArray[Any], tasks: TaskSet) -> Ints:
    """Sum values (T, K·Q) over the queries of each class: (T, K)."""
    labels = tasks.query_label[: len(values)]
    way = tasks.class_ids.shape[1]
    sums = [np.where(labels == k, values, 0).sum(axis=1, dtype=np.int64) for k in range(way)]
    return np.stack(sums, axis=1)


def _lists(rows: pa.Table, name: str, length: int) -> NDArray[Any] | None:
    """Return a list column as an array (rows, length); None if it is missing or has a null."""
    if name not in rows.column_names or not rows.num_rows:
        return None
    column = rows.column(name).combine_chunks()
    if column.null_count:
        return None
    values: NDArray[Any] = column.flatten().to_numpy().reshape(rows.num_rows, length)
    return values
