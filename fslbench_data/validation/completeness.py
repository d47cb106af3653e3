"""Every task answered once: from rows to dense counts, methods x tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.moments import Integers
from benchmark_spec.errors import DoubledTaskError, MissingTaskError, UnknownTaskError, listing
from fslbench_data.submission.model import Submission
from fslbench_data.validation.grouping import Array, Rows


def declared_tasks(submission: Submission, table: Rows) -> list[int]:
    """Number of tasks that each group claims to answer: all of its set, or a declared prefix."""
    tasks = []
    for key in table.keys:
        binding = submission.bindings.get(key.bound_by) if submission.bindings else None
        declared = binding.tasks if binding is not None else None
        if declared is not None and declared > key.info.n_tasks:
            raise UnknownTaskError(
                f"the metadata declares {declared} tasks",
                where=f"{table.where} ({key})",
                expected=f"at most {key.info.n_tasks}, the tasks of the set",
            )
        tasks.append(key.info.n_tasks if declared is None else declared)
    return tasks


def dense_counts(table: Rows, tasks: Sequence[int]) -> list[Array]:
    """Counts of each group, int16 (tasks,), by task; each group's tasks exactly once.

    Raises
    ------
    DoubledTaskError, MissingTaskError, UnknownTaskError
        Naming the tasks and rows.
    """
    expected = np.asarray(tasks)
    if (table.sizes != expected).any():
        raise _incomplete(table, tasks, int(np.flatnonzero(table.sizes != expected)[0]))
    ends = np.cumsum(expected)
    offset = ends - expected
    flat = np.full(int(ends[-1]), -1, np.int16)
    for block, group in table.blocks():
        task_id = table.task_id[block]
        beyond = np.flatnonzero(task_id >= expected[group])
        if beyond.size:
            raise _incomplete(table, tasks, int(group[beyond[0]]))
        flat[offset[group] + task_id] = table.n_correct[block]
    # as many answers as tasks, none beyond: a task is missing where another is doubled
    if (missing := np.flatnonzero(flat < 0)).size:
        raise _incomplete(table, tasks, int(np.searchsorted(ends, missing[0], side="right")))
    return np.split(flat, ends[:-1])


def as_matrix(parts: Sequence[Array], unit: Integers) -> Counts:
    """Counts of several methods on one task set: (tasks,) each, in units of their own or in one."""
    tasks = np.array([len(part) for part in parts], np.int64)
    if (tasks == tasks.max()).all():
        return Counts(np.stack(parts), tasks, unit)
    correct = np.zeros((len(parts), int(tasks.max())), np.result_type(*parts))
    for row, part in zip(correct, parts, strict=True):
        row[: len(part)] = part
    return Counts(correct, tasks, unit)


def _incomplete(
    table: Rows, tasks: Sequence[int], index: int
) -> DoubledTaskError | MissingTaskError | UnknownTaskError:
    """What is wrong with a group that does not answer each of its tasks once."""
    key, m = table.keys[index], tasks[index]
    at = np.flatnonzero(table.group == index)
    seen = np.bincount(table.task_id[at], minlength=key.info.n_tasks)
    if (seen > 1).any():
        bad = at[seen[table.task_id[at]] > 1]
        return DoubledTaskError(
            f"task {listing(np.flatnonzero(seen > 1).tolist())} is answered more than once",
            where=table.spell(bad),
            expected="one row for each task",
            fix="keep one answer; several methods in one file need different names, and several "
            "runs of one method a column `run`",
        )
    group = f"{table.where} ({key})"
    if (missing := np.flatnonzero(seen[:m] == 0)).size:
        return MissingTaskError(
            f"{missing.size} of {m} tasks are missing: task_id {listing(missing.tolist())}",
            where=group,
            expected=f"every task_id 0..{m - 1} once",
            fix="run the missing tasks; a file of only the first m tasks must declare so, as "
            "Parquet files do that Recorder wrote (CSV and JSON Lines cannot)",
        )
    beyond = np.flatnonzero(seen[m:]) + m
    return UnknownTaskError(
        f"task_id {listing(beyond.tolist())} lies beyond the {m} tasks that the metadata declares",
        where=group,
        expected=f"task_id 0..{m - 1}",
        fix="declare the number of tasks that were really answered",
    )
