"""The task of each set that methods miss most: what a page shows in pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import AnyInts
from fslbench_data.scoring.bias import LadderReport, step_of
from fslbench_data.scoring.task_set_report import TaskSetReport
from fslbench_data.tasks import TaskSetInfo


@dataclass(frozen=True)
class HardTask:
    """The task of a set with the lowest mean accuracy over methods; of equal ones the first.

    Attributes
    ----------
    tasks
        How many it is the hardest of: tasks 0 to `tasks` - 1.
    accuracies
        On this task, percent by method, the highest first: of those that answered the most tasks.
    """

    info: TaskSetInfo
    task_id: int
    tasks: int
    accuracies: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Mean accuracy over the methods, percent."""
        return fsum(self.accuracies.values()) / len(self.accuracies)


def hardest(info: TaskSetInfo, shares: Mapping[str, NDArray[np.float64]]) -> HardTask:
    """Find the hardest task of a set.

    Parameters
    ----------
    shares
        Of at least one method, the percent of right queries of each of the first tasks (tasks,).
    """
    tasks = max(map(len, shares.values()))
    whole = {method: share for method, share in shares.items() if len(share) == tasks}
    totals = [fsum(column) for column in zip(*whole.values(), strict=True)]
    task_id = totals.index(min(totals))
    here = [(float(share[task_id]), method) for method, share in whole.items()]
    here.sort(key=lambda pair: (-pair[0], pair[1]))
    return HardTask(info, task_id, tasks, {method: share for share, method in here})


def hard_tasks(
    infos: Sequence[TaskSetInfo],
    sets: Sequence[TaskSetReport],
    methods: Sequence[str],
    ladders: Sequence[LadderReport],
) -> Iterator[HardTask]:
    """Yield the hardest task of each task set, then of the last step of each ladder.

    Parameters
    ----------
    infos
        Of all these task sets.
    methods
        Those of the page; on each set some have results.
    """
    named = {str(info): info for info in infos}
    for report in sets:
        yield hardest(named[str(report.scored)], _of_set(report, methods))
    for ladder in ladders:
        answers = ladder.answers
        answered = {step for steps in answers.by_method.values() for step in steps}
        last = next((i for i in reversed(answers.infos) if step_of(i) in answered), None)
        if last is not None and str(last) not in named:
            yield hardest(last, _of_step(ladder, last, methods))


def _of_set(report: TaskSetReport, methods: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    counts, place = report.counts, {method: i for i, method in enumerate(report.methods)}
    return {
        method: 100.0 * counts.correct[i, : counts.tasks[i]] / counts.queries_per_task[i]
        for method in methods
        if (i := place.get(method)) is not None
    }


def _of_step(
    ladder: LadderReport, info: TaskSetInfo, methods: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    step, by_method = step_of(info), ladder.answers.by_method
    there = {method: steps[step] for method, steps in by_method.items() if step in steps}
    chosen = [method for method in methods if method in there] or [*there]
    return {method: _percent(there[method], info.protocol.n_query) for method in chosen}


def _percent(counts: AnyInts, queries: int) -> NDArray[np.float64]:
    """Compute each task's accuracy of correct queries by class (T, K), of runs (T, K, R)."""
    runs = counts[0, 0].size
    return np.asarray(100.0 * counts.reshape(len(counts), -1).sum(axis=1) / (queries * runs))
