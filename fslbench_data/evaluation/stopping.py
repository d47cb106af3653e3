"""Stopping a run as soon as it is conclusive, at no cost to what may be concluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.stopping import ConfidenceSequence
from benchmark_spec.errors import SpecError, SubmissionError
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Stopping
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSet, TaskSetInfo
from fslbench_data.validation.stopping_rules import check_may_stop
from fslbench_data.validation.validate import Validated, validate


class Rival:
    """The method that a run is compared with, task by task, until it is conclusive.

    `versus` names a reference method of the release, or holds the results of one method; the level
    is the confidence sequence's (:mod:`analysis_sql.intervals.stopping`).
    """

    def __init__(self, versus: str | Submission, release: Release, level: float) -> None:
        if isinstance(versus, str):
            versus = release.reference(versus, counts_only=True)
        self._answers: Validated = validate(versus, release, taken=())
        if len(self._answers.methods) != 1:
            raise SubmissionError(
                f"the results to compare with are of {len(self._answers.methods)} methods",
                expected="one",
            )
        self.rule = Stopping(self._answers.methods[0], float(level))

    def check(self, infos: Sequence[TaskSetInfo], release: Release) -> None:
        """Refuse task sets on which a run may not stop early, before the first task is run."""
        for info in infos:
            check_may_stop(info, release, self.rule.level)

    def counts(self, info: TaskSetInfo) -> NDArray[np.int64]:
        """Correct queries of the tasks of a set that the rival answered."""
        groups = self._answers.on(info.dataset, str(info.name))
        if not groups:
            raise SpecError(
                f"{self.rule.versus} has no results on {info}",
                fix="choose task sets that it answered, or run without stopping",
            )
        if len(groups[0].runs) > 1:
            raise SpecError(f"{self.rule.versus} has several runs on {info}", expected="one")
        return np.asarray(groups[0].counts, np.int64)

    def watch(self, tasks: TaskSet) -> Watch:
        """The sequence of one task set."""
        return Watch(tasks, self.counts(tasks.info), self.rule.level)


class Watch:
    """The comparison with the rival on one task set, in the order of its tasks."""

    def __init__(self, tasks: TaskSet, rival: NDArray[np.int64], level: float) -> None:
        self._tasks, self._rival = tasks, rival
        self._sequence = ConfidenceSequence(tasks.info.protocol.n_query, level)

    def conclusive(self, answers: Mapping[int, Sequence[int]]) -> bool:
        """Take the next answers, by task id; return whether they lead to a verdict."""
        label, intervals = self._tasks.query_label, []
        for task_id, predictions in answers.items():
            right = int((np.asarray(predictions) == label[task_id]).sum())
            intervals.append(self._sequence.update(right - int(self._rival[task_id])))
        return intervals[-1].conclusive_at is not None
