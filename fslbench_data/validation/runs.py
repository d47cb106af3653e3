"""Several runs (training seeds) of one method: their counts are summed, their spread reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from analysis_sql.intervals.moments import EXACT
from analysis_sql.intervals.training_runs import own_task_terms
from benchmark_spec.errors import MissingTaskError, TooLargeError
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.rows import Array, Rows


@dataclass(frozen=True, eq=False)
class Group:
    """One method's answers on one task set, found complete.

    Attributes
    ----------
    counts : int16 (tasks,), or int32 where there are several runs
        Correct queries of each task, summed over runs.  Floats, accuracies of 0 to 1, where a log
        has no counts; of several runs their mean.
    bound
        Whether the answers say, by fingerprint, that they were made on these tasks.
    runs
        Names of the runs; empty where the submission has no column `run`.
    run_totals : int64 (runs,)
        Correct queries of each run, over all its tasks; of accuracies their sum.
    run_of_task : int64 (tasks,) or None
        Where every run of a log answered tasks of its own, which run that is, 0..R-1.
    """

    method: str
    info: TaskSetInfo
    counts: Array
    bound: bool
    runs: tuple[str, ...]
    run_totals: Array
    run_of_task: Array | None = None

    @property
    def tasks(self) -> int:
        """Number of tasks answered: T of the set, or the declared prefix."""
        return len(self.counts)

    @property
    def queries_per_task(self) -> int:
        """Queries in a task, over all runs; 1 of accuracies."""
        return 1 if self._of_accuracies else self.info.protocol.n_query * max(len(self.runs), 1)

    @property
    def run_spread(self) -> float | None:
        """Sample standard deviation between runs' accuracies, percentage points; None below 2."""
        if len(self.runs) < 2:
            return None
        if self.run_of_task is not None:
            variance, _ = own_task_terms(self.counts[None], self.run_of_task)
            return float(np.sqrt(len(self.runs) * variance[0, 0]))
        if (self.run_totals == self.run_totals[0]).all():
            return 0.0  # and no rounding of it
        queries = 1 if self._of_accuracies else self.info.protocol.n_query
        accuracy = 100.0 * self.run_totals / (self.tasks * queries)
        return float(np.std(accuracy, ddof=1))

    @property
    def _of_accuracies(self) -> bool:
        return bool(self.counts.dtype.kind == "f")


def sum_runs(table: Rows) -> list[Group]:
    """One group a method and task set, in the order of their first row.

    Raises a MissingTaskError if a method's runs do not answer the same tasks; a TooLargeError if
    they are more than can be compared exactly with as many runs of another method.
    """
    for members in table.answers.values():
        _check_runs(table, members)
    totals: list[int] = []
    if len(table.answers) < len(table.keys):
        table.facts("group_facts")
        sql = 'SELECT total FROM group_facts ORDER BY "group"'
        totals = [total for (total,) in table.connection.execute(sql).fetchall()]
    return [
        Group(
            method,
            table.keys[members[0]].info,
            counts,
            all(table.bound[i] for i in members),
            tuple(run for i in members if (run := table.keys[i].run) is not None),
            np.array([totals[i] for i in members] if len(members) > 1 else (), np.int64),
        )
        for ((method, _), members), counts in zip(
            table.answers.items(), table.counts(), strict=True
        )
    ]


def _check_runs(table: Rows, members: Sequence[int]) -> None:
    """Refuse runs that cannot be summed task by task, or not exactly."""
    method, info = table.keys[members[0]].method, table.keys[members[0]].info
    where = f"{table.where}: {', '.join(str(table.keys[i]) for i in members)}"
    if len({table.expected[i] for i in members}) > 1:
        raise MissingTaskError(
            f"the runs of {method} on {info} answer different numbers of tasks",
            where=where,
            expected="the same tasks in every run",
        )
    _check_number(method, info, len(members), table.expected[members[0]], table.where)


def _check_number(method: str, info: TaskSetInfo, runs: int, tasks: int, where: str) -> None:
    """Refuse runs beyond which the counts of two methods have no exact common unit.

    It is at most K·Q times both numbers of runs, and T times it must not exceed :data:`EXACT`.
    """
    most = isqrt(EXACT // (tasks * info.protocol.n_query))
    if runs > most:
        raise TooLargeError(
            f"{method} on {info} has {runs} runs",
            where=where,
            expected=f"at most {most} of {tasks} tasks of {info.protocol.n_query} queries: counts "
            "are compared in whole numbers of 63 bits",
            fix="leave out some runs",
        )
