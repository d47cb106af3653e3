"""What methods answered on one ladder of attribute-biased tasks, class by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from analysis_sql.bias.class_spread import AtLevel, ClassSpread
from analysis_sql.bias.spurious_bias import StepScore, step_score
from analysis_sql.intervals.arrays import AnyInts
from benchmark_spec.suites import FAMILIES, INTER_CLASS, IntervalKind, suite_of
from fslbench_data.release.release import Release
from fslbench_data.scoring.selection import Selected
from fslbench_data.tasks import TaskSet, TaskSetInfo
from fslbench_data.validation.per_class import by_run, class_counts, rows_of
from fslbench_data.validation.runs import Group
from fslbench_data.validation.validate import Validated

Steps = dict[str, AnyInts]
"""A method's correct queries of each class (T, K), of R runs (T, K, R), by step of a ladder."""


@dataclass(frozen=True, eq=False, repr=False)
class LadderAnswers:
    """What methods answered on one ladder; it is read once, and scored at any level.

    Attributes
    ----------
    infos
        The ladder's task sets, in the order of its steps.
    by_method
        Of the methods that say which classes they answer rightly.
    left_out
        Methods that do not say which classes they answer rightly, or stopped themselves.
    inter_class
        By step that asks for it, the share of (task, class) whose queries really have the attribute
        of another class; of the others too few images had one.
    prefixes
        Methods that answered only the first tasks of a step, as many as the submitter chose: they
        have intervals, from which nothing is concluded, and are in no ranking.
    of_one_model
        Methods that have one training run on a step, and may differ from run to run: what is said
        holds for these trained models.
    """

    infos: tuple[TaskSetInfo, ...]
    by_method: dict[str, Steps]
    left_out: tuple[str, ...]
    prefixes: tuple[str, ...]
    inter_class: dict[str, float]
    of_one_model: tuple[str, ...]

    @property
    def kind(self) -> IntervalKind:
        """Of the intervals: ``open`` where no image is used twice."""
        return self.infos[0].name.interval

    @property
    def queries(self) -> int:
        """Queries of each class of a task."""
        return self.infos[0].protocol.query

    @property
    def task_set(self) -> str:
        """The name that stands for all steps, such as ``ladder_titles-5w5s5q``."""
        name = self.infos[0].name
        suite = suite_of(name.suite)
        return f"{name.suite.replace(f'{suite.step}_', f'{suite.family}_', 1)}-{name.protocol}"

    def scores(self, level: float) -> dict[str, dict[str, StepScore]]:
        """Score each method on the steps that it answered, in their order."""
        return {
            method: {
                step: step_score(
                    counts, self.queries, self.kind, level, self.at_level[method].get(step)
                )
                for step, counts in steps.items()
            }
            for method, steps in self.by_method.items()
        }

    @cached_property
    def at_level(self) -> dict[str, dict[str, AtLevel]]:
        """What the level of accuracy alone would give, by method and step but the ladder's first.

        Empty for methods that did not answer that, or where it leaves open how far classes differ.
        """
        first = next(iter(FAMILIES[suite_of(self.infos[0].name.suite).family]))
        of_methods: dict[str, dict[str, AtLevel]] = {}
        for method, steps in self.by_method.items():
            spread = ClassSpread.of(steps[first], self.queries) if first in steps else None
            later = {step: counts for step, counts in steps.items() if step != first}
            of_methods[method] = {s: spread.at(c) for s, c in later.items()} if spread else {}
        return of_methods


def ladder_answers(infos: Sequence[TaskSetInfo], selected: Selected) -> LadderAnswers:
    """Read what the selected methods answered on a ladder, given its task sets."""
    left_out: list[str] = []
    by_method: dict[str, Steps] = {}
    tasks = {str(i): selected.release.task_set(i.dataset, str(i.name)) for i in infos}
    for part in selected.parts:
        for method in part.methods:
            groups = [
                group
                for info in infos
                for group in part.on(info.dataset, str(info.name))
                if group.method == method
            ]
            steps = _steps(part, groups, tasks)
            if len(steps) < len(groups):
                left_out.append(method)
            elif groups:
                by_method[method] = steps
    answered = [
        (part, group)
        for part in selected.parts
        for info in infos
        for group in part.on(info.dataset, str(info.name))
        if group.method in by_method
    ]
    prefixes = [group.method for part, group in answered if part.is_prefix(group)]
    single = [group.method for part, group in answered if part.of_one_model(group)]
    inter_class = {
        step_of(info): _inter_share(selected.release, info)
        for info in infos
        if step_of(info) in INTER_CLASS
    }
    told = tuple(left_out), tuple(dict.fromkeys(prefixes)), inter_class
    return LadderAnswers(tuple(infos), by_method, *told, tuple(dict.fromkeys(single)))


def _inter_share(release: Release, info: TaskSetInfo) -> float:
    """Compute the share of (task, class) of a set whose queries have another class's attribute."""
    flags = release.task_table(info).column("inter_class").combine_chunks().flatten()
    return float(flags.to_numpy(zero_copy_only=False).mean())


def _steps(part: Validated, groups: Sequence[Group], tasks: Mapping[str, TaskSet]) -> Steps:
    """Count correct queries of each class, of those task sets where the answers say them."""
    steps: Steps = {}
    for group in groups:
        info = group.info
        binding = part.submission.bindings.get((group.method, info.dataset, str(info.name)))
        if binding is not None and binding.stopping is not None:
            continue
        counts = _counts(rows_of(part.submission, group.method, info), group, tasks[str(info)])
        if counts is not None:
            steps[step_of(info)] = counts
    return steps


def _counts(rows: pa.Table, group: Group, tasks: TaskSet) -> AnyInts | None:
    """Count correct queries of each class, run by run; None where some row does not say."""
    if len(group.runs) < 2:
        return class_counts(rows, tasks)
    # by name, so that a run is in the same place on every step
    of_runs = [class_counts(part, tasks) for part in by_run(rows, sorted(group.runs))]
    said = [counts for counts in of_runs if counts is not None]
    return np.stack(said, axis=2) if len(said) == len(of_runs) else None


def step_of(info: TaskSetInfo) -> str:
    """Return the step of a ladder that a task set is."""
    return suite_of(info.name.suite).step
