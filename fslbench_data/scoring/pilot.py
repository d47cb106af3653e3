"""A pilot: what a method's results, or the difference of two, say of variances."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.planning.likely_components import LikelyComponents
from analysis_sql.planning.planned_runs import PlannedRuns
from analysis_sql.planning.query_size import SetEstimate, estimate_difference, estimate_set
from analysis_sql.planning.variance_budget import Components, components_of
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing
from fslbench_data.release.release import Release
from fslbench_data.scoring.selection import reference_results
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.per_class import (
    by_run,
    class_counts,
    class_differences,
    rows_of,
)
from fslbench_data.validation.runs import Group
from fslbench_data.validation.validate import Validated, validate


@dataclass(frozen=True)
class Pilot:
    """Variances of a method's accuracy, or of its paired difference from another's.

    Attributes
    ----------
    info
        The task set of the results.
    method, versus
        Names; `versus` is empty where it is the accuracy alone.
    mean
        Accuracy or difference, percentage points.
    estimate, components
        In fractions squared.
    likely
        The components that the results leave likely; None where all tasks are alike.
    bound
        Whether the results say which tasks they were made on.
    runs
        Training runs.
    """

    info: TaskSetInfo
    method: str
    versus: str
    mean: float
    estimate: SetEstimate
    components: Components
    likely: LikelyComponents | None
    bound: bool
    runs: PlannedRuns

    @property
    def name(self) -> str:
        """The method, or both."""
        return f"{self.method} minus {self.versus}" if self.versus else self.method


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

    def pilot_sets(self, methods: Sequence[str], way: int, shot: int) -> list[TaskSetInfo]:
        """Task sets of these ways and shots that all the methods answer and variances come from."""
        return [
            info
            for info in open_sets(self.release, way, shot)
            if info.protocol.query > 1
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
    ) -> Pilot:
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
        names = [method, *([versus] if versus else [])]
        answers, bound = [], True
        for name in names:
            part, group = self.answers(name, info)
            _check_usable(part, group)
            check_not_stopped(part, group)
            answers.append(by_run(rows_of(part.submission, name, info), group.runs))
            bound = bound and group.bound
        query, unit = info.protocol.query, 1
        if versus or len(answers[0]) > 1:
            differences = class_differences(answers, tasks)
            if differences is None:
                raise _lacks(" and ".join(names), info, "predictions")
            sums, squares, unit = differences
            estimate = estimate_difference(sums, squares, query, unit)
        else:
            counts = class_counts(answers[0][0], tasks)
            if counts is None:
                raise _lacks(method, info, "class_correct (or predictions)")
            sums, estimate = counts, estimate_set(counts, query)
        design = ClassDesign.of(tasks.class_ids).prefix(len(sums))
        return Pilot(
            info,
            method,
            versus,
            100.0 * int(sums.sum()) / (len(sums) * info.protocol.n_query * unit),
            estimate,
            components_of(design, sums, estimate, unit),
            LikelyComponents.of(design, sums, estimate, unit),
            bound,
            self.runs(info, names, planned),
        )


def open_sets(release: Release, way: int, shot: int) -> list[TaskSetInfo]:
    """Return the task sets of these ways and shots whose images do not recur."""
    return [
        info
        for info in release.task_sets
        if (info.protocol.way, info.protocol.shot) == (way, shot) and info.name.interval == "open"
    ]


def check_not_stopped(part: Validated, group: Group) -> None:
    """Raise a SubmissionError if a rule decided how many tasks a method answered."""
    info = group.info
    bound_to = part.submission.bindings.get((group.method, info.dataset, str(info.name)))
    if bound_to is not None and bound_to.stopping is not None:
        raise SubmissionError(
            f"{group.method} on {info} was run until it was conclusive, which makes its tasks no "
            "fair sample to plan from",
            fix="plan from a run of a fixed number of tasks",
        )


def check_runs(runs: int | None) -> None:
    """Raise a SpecError if so many training runs do not tell what they differ by."""
    if runs is not None and runs < 2:
        raise SpecError(
            f"{runs} training runs cannot be planned",
            expected="at least 2: one says nothing of what others would differ by",
        )


def _check_usable(part: Validated, group: Group) -> None:
    about = part.submission.methods.get(group.method)
    if about is not None and about.transductive:
        raise SubmissionError(
            f"{group.method} is transductive: its answers to the queries of a task are not "
            "independent of each other",
            expected="a method that answers each query by itself",
            fix="plan with another method's results",
        )


def _lacks(who: str, info: TaskSetInfo, column: str) -> SubmissionError:
    return SubmissionError(
        f"the results of {who} on {info} do not say how many queries of each class are right"
        if column != "predictions"
        else f"the results of {who} on {info} do not say which queries each is right on",
        expected=f"the column {column} in every row",
        fix="record the answers with fslbench evaluate or the recorder, which write it",
    )
