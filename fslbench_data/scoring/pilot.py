"""Pilots: what a method's results, or the difference of two, say of variances."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.planning.leave_one_out_plan import LeftOutPilot
from analysis_sql.planning.planned_runs import PlannedRuns
from analysis_sql.planning.query_size import SetEstimate, estimate_difference, estimate_set
from analysis_sql.planning.variance_budget import Components, LikelyComponents, components_of
from benchmark_spec.errors import SubmissionError, UnknownNameError, listing
from benchmark_spec.suites import suite_of
from fslbench_data.release.release import Release
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.selection import reference_results
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.per_class import (
    by_run,
    class_counts,
    class_differences,
    rows_of,
)
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated, counts_on, validate


@dataclass(frozen=True)
class Pilot:
    """Results of a method, or of its paired difference from another's, on one task set.

    Attributes
    ----------
    method, versus
        Names; `versus` is empty where it is the accuracy alone.
    mean
        Accuracy or difference, percentage points.
    bound
        Whether the results say which tasks they were made on.
    runs
        Training runs.
    """

    info: TaskSetInfo
    method: str
    versus: str
    mean: float
    bound: bool
    runs: PlannedRuns

    @property
    def name(self) -> str:
        """The method, or both."""
        return f"{self.method} minus {self.versus}" if self.versus else self.method


@dataclass(frozen=True)
class OpenPilot(Pilot):
    """What results on tasks that reuse no image say of variances, in fractions squared.

    `likely` are the components that the results leave likely; None where all tasks are alike.
    """

    estimate: SetEstimate
    components: Components
    likely: LikelyComponents | None


@dataclass(frozen=True)
class PooledPilot(Pilot):
    """What results on tasks that reuse images say of variances."""

    variances: LeftOutPilot


@dataclass(frozen=True, eq=False)
class Results:
    """Results that a pilot can be taken from: those of a submission, and the reference methods'."""

    release: Release
    parts: tuple[Validated, ...]

    @classmethod
    def of(
        cls,
        submission: Submission | None,
        release: Release,
        *,
        allow_unbound: bool = False,
        counts_only: bool = False,
        only: Collection[TaskSetInfo] | None = None,
    ) -> Results:
        """The release's reference results, and those of a submission before them.

        Parameters
        ----------
        only
            Read the references' results on these task sets alone; by default on all.
        """
        parts = []
        if submission is not None:
            parts.append(validate(submission, release, allow_unbound=allow_unbound))
        if references := reference_results(release, only, counts_only=counts_only):
            parts.append(references)
        return cls(release, tuple(parts))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of all methods, the submission's first."""
        own = (name for part in self.parts for name in part.methods)
        return tuple(dict.fromkeys((*own, *self.release.methods)))

    def find(self, method: str, info: TaskSetInfo) -> tuple[Validated, Group] | None:
        """What a method answered of a task set, and where."""
        for part in self.parts:
            for group in part.on(info.dataset, str(info.name)):
                if group.method == method:
                    return part, group
        return None

    def only_method(self) -> str:
        """The method to plan with where none is named: the submission's, or the first reference."""
        if not self.parts:
            raise SubmissionError(
                f"release {self.release} has no reference results to plan with",
                expected="results of a pilot",
                fix="give a submission with class_correct or predictions: --pilot FILE",
            )
        first = self.parts[0]
        if len(first.methods) > 1 and not first.are_references:
            raise SubmissionError(
                f"{first.submission.source} has results of {len(first.methods)} methods",
                expected=f"one of {listing(first.methods)}",
                fix="name the one to plan with: --pilot FILE::METHOD",
            )
        return self.methods[0]

    def check_method(self, name: str) -> str:
        """Return the name if there are results of the method."""
        if name not in self.methods:
            raise UnknownNameError("method", name, self.methods)
        return name

    def pilot_sets(
        self, methods: Sequence[str], way: int, shot: int, *, pooled: bool = False
    ) -> list[TaskSetInfo]:
        """Task sets of these ways and shots that all the methods answer and variances come from.

        Those whose images do not recur, or uniform ones that reuse images.
        """
        interval = "closed" if pooled else "open"
        return [
            info
            for info in self.release.task_sets
            if (info.protocol.way, info.protocol.shot) == (way, shot)
            and info.name.interval == interval
            and (suite_of(info.name.suite).uniform if pooled else info.protocol.query > 1)
            and all(self.find(method, info) is not None for method in methods)
        ]

    def runs(
        self, info: TaskSetInfo, names: Sequence[str], planned: int | None = None
    ) -> PlannedRuns:
        """Return the training runs of methods that answered a task set.

        Raises a SubmissionError if a number of runs is planned, and no method has two to tell what
        they differ by.
        """
        found = [self.answers(name, info) for name in names]
        runs = PlannedRuns(
            tuple(names),
            tuple(max(len(group.runs), 1) for _, group in found),
            tuple(group.run_spread for _, group in found),
            planned,
            tuple(group.method for part, group in found if part.of_one_model(group)),
        )
        if planned is not None and runs.spreads == (None,) * len(runs.spreads):
            raise SubmissionError(
                f"{listing(names)} {'has' if len(names) == 1 else 'have'} one training run on "
                f"{info}: what runs differ by is unknown, so {planned} of them cannot be planned",
                expected="a pilot with two runs or more, named in the column run",
                fix="add results of other runs, or leave out the number of runs",
            )
        return runs

    def answers(self, name: str, info: TaskSetInfo) -> tuple[Validated, Group]:
        """Return what a method answered of a task set, and where; a SubmissionError if nothing."""
        answers = self.find(name, info)
        if answers is None:
            raise SubmissionError(f"{name} has no results on {info}")
        return answers

    def pilot(
        self, info: TaskSetInfo, method: str, versus: str = "", planned: int | None = None
    ) -> OpenPilot:
        """Estimate the variances on one task set; `planned` is a number of training runs.

        Raises
        ------
        SubmissionError
            If the results do not say which class's queries were answered rightly (or, for a
            difference or several runs, which queries), or are of a transductive method.
        SpecError
            If there are too few tasks, or all have the same classes.
        """
        tasks = self.release.task_set(info.dataset, str(info.name))
        names, found = self._usable(info, method, versus)
        answers = []
        for name, (part, group) in zip(names, found, strict=True):
            about = part.submission.methods.get(name)
            if about is not None and about.transductive:
                raise SubmissionError(
                    f"{name} is transductive: its answers to the queries of a task are not "
                    "independent of each other",
                    expected="a method that answers each query by itself",
                    fix="plan with another method's results",
                )
            answers.append(by_run(rows_of(part.submission, name, info), group.runs))
        query, unit = info.protocol.query, 1
        if versus or len(answers[0]) > 1:
            differences = class_differences(answers, tasks)
            if differences is None:
                raise _lacks(" and ".join(names), info, "which queries each is right on")
            sums, squares, unit = differences
            estimate = estimate_difference(sums, squares, query, unit)
        else:
            counts = class_counts(answers[0][0], tasks)
            if counts is None:
                raise _lacks(method, info, "how many queries of each class are right")
            sums, estimate = counts, estimate_set(counts, query)
        design = ClassDesign.of(tasks.class_ids).prefix(len(sums))
        return OpenPilot(
            info,
            method,
            versus,
            100.0 * int(sums.sum()) / (len(sums) * info.protocol.n_query * unit),
            all(group.bound for _, group in found),
            self.runs(info, names, planned),
            estimate,
            components_of(design, sums, estimate, unit),
            LikelyComponents.of(design, sums, estimate, unit),
        )

    def pooled_pilot(
        self, info: TaskSetInfo, method: str, versus: str = "", planned: int | None = None
    ) -> PooledPilot:
        """Estimate the variances on one task set that reuses images, from counts of right answers.

        Raises what :meth:`LeftOutPilot.of` does.
        """
        names, found = self._usable(info, method, versus)
        counted = [counts_on([group]) for _, group in found]
        values = [counts.correct[0] / counts.queries_per_task[0] for counts in counted]
        common = min(map(len, values))
        y = values[0] if not versus else values[0][:common] - values[1][:common]
        variances = LeftOutPilot.of(left_out_design(self.release, info).prefix(common), y)
        mean, bound = 100.0 * float(np.mean(y)), all(group.bound for _, group in found)
        runs = self.runs(info, names, planned)
        return PooledPilot(info, method, versus, mean, bound, runs, variances)

    def _usable(
        self, info: TaskSetInfo, method: str, versus: str
    ) -> tuple[list[str], list[tuple[Validated, Group]]]:
        """Names of one or two methods, and what they answered; none until a rule stopped it."""
        names = [method, *([versus] if versus else [])]
        found = [self.answers(name, info) for name in names]
        for name, (part, _) in zip(names, found, strict=True):
            bound_to = part.submission.bindings.get((name, info.dataset, str(info.name)))
            if bound_to is not None and bound_to.stopping is not None:
                raise SubmissionError(
                    f"{name} on {info} was run until it was conclusive, which makes its tasks no "
                    "fair sample to plan from",
                    fix="plan from a run of a fixed number of tasks",
                )
        return names, found


def _lacks(who: str, info: TaskSetInfo, what: str) -> SubmissionError:
    column = "predictions" if what.startswith("which") else "class_correct (or predictions)"
    return SubmissionError(
        f"the results of {who} on {info} do not say {what}",
        expected=f"the column {column} in every row",
        fix="record the answers with fslbench evaluate or the recorder, which write it",
    )
