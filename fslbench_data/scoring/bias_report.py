"""The methods on one ladder of attribute-biased tasks: steps, gaps, pairs and rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np

from analysis_sql.bias.rank_correlation import RankCorrelation, rank_correlation
from analysis_sql.bias.spurious_bias import (
    Contrast,
    StepScore,
    contrast,
    gap,
    gap_of,
    step_score,
)
from analysis_sql.bias.worst_class import worst_class
from analysis_sql.intervals.arrays import AnyInts, Floats
from benchmark_spec.protocol import IntervalKind, suite_of
from fslbench_data.release.release import Release
from fslbench_data.scoring.selection import Selected
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.per_class import class_counts, rows_of
from fslbench_data.validation.runs import Group
from fslbench_data.validation.validate import Validated

Steps = dict[str, AnyInts]
"""A method's correct queries of each class (T, K), by step of a ladder."""


@dataclass(frozen=True)
class MethodBias:
    """A method on the steps of a ladder that it answered.

    Attributes
    ----------
    steps
        Scores by step, in the order of the ladder.
    gaps
        From each step to the next, and from the first to the last, over the tasks that were
        answered on both: ``(before, after, gap)``.
    """

    method: str
    is_reference: bool
    steps: dict[str, StepScore]
    gaps: tuple[tuple[str, str, Contrast], ...]


@dataclass(frozen=True)
class PairBias:
    """Two methods on a ladder, over the tasks that both answered.

    Attributes
    ----------
    steps
        `method` minus `versus`, by step.
    lost
        What `method` loses from the first step to the last minus what `versus` does, excess
        gained likewise; None where they have but one step in common.
    """

    method: str
    versus: str
    steps: dict[str, Contrast]
    lost: Contrast | None


@dataclass(frozen=True)
class Ranking:
    """How alike two metrics, in words such as ``wAcc on random``, rank the methods."""

    first: str
    second: str
    found: RankCorrelation


@dataclass(frozen=True, repr=False)
class LadderReport:
    """The methods on one ladder.

    Attributes
    ----------
    dataset, name
        Of the data set, and of the ladder, such as ``open_*_titles-5w5s5q``.
    kind
        Of the intervals: ``open`` where no image is used twice.
    pairs
        Each method of the submission with every other.
    rankings
        Of three methods or more that answered all tasks of the first and the last step.
    prefixes
        Methods that answered only the first tasks of a step, as many as the submitter chose: they
        have intervals, from which nothing is concluded, and are in no ranking.
    last
        wAcc of each task of the last step (T,), of methods that answered all of it.
    left_out
        Methods that do not say which classes they answer rightly, have several runs or stopped
        themselves.
    """

    dataset: str
    name: str
    kind: IntervalKind
    methods: tuple[MethodBias, ...]
    pairs: tuple[PairBias, ...]
    rankings: tuple[Ranking, ...]
    left_out: tuple[str, ...]
    prefixes: tuple[str, ...] = ()
    last: dict[str, Floats] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        about = f"{len(self.methods)} methods, {len(self.pairs)} pairs"
        return f"<LadderReport {self.dataset}/{self.name}: {about}>"


def ladder_report(name: str, infos: list[TaskSetInfo], selected: Selected) -> LadderReport:
    """Report on the selected methods on the ladder ``<dataset>/<ladder>``, given its task sets."""
    release, level, against = selected.release, selected.selection.level, selected.selection.against
    kind, queries = infos[0].name.interval, infos[0].protocol.query
    left_out: list[str] = []
    by_method: dict[str, Steps] = {}
    for part in selected.parts:
        for method in part.methods:
            groups = [
                group
                for info in infos
                for group in part.on(info.dataset, str(info.name))
                if group.method == method
            ]
            steps = _steps(part, groups, release)
            if len(steps) < len(groups):
                left_out.append(method)
            elif groups:
                by_method[method] = steps
    prefixes = [
        group.method
        for part in selected.parts
        for info in infos
        for group in part.on(info.dataset, str(info.name))
        if group.method in by_method and part.is_prefix(group)
    ]
    dataset, _, ladder = name.partition("/")
    last = step_of(infos[-1])
    asked = [m for m in by_method if m in against or m not in release.methods]
    pairs = [
        (a, b)
        for a, b in combinations(by_method, 2)
        if (a in asked or b in asked) and (not against or a in against or b in against)
    ]
    return LadderReport(
        dataset,
        ladder,
        kind,
        tuple(
            MethodBias(
                method,
                method in release.methods,
                {step: step_score(counts, queries, kind, level) for step, counts in steps.items()},
                tuple(_gaps(steps, queries, kind, level)),
            )
            for method, steps in by_method.items()
        ),
        tuple(
            PairBias(a, b, *_pair(by_method[a], by_method[b], queries, kind, level))
            for a, b in pairs
        ),
        tuple(_rankings(by_method, infos, level)),
        tuple(left_out),
        tuple(dict.fromkeys(prefixes)),
        {
            method: worst_class(steps[last], queries)
            for method, steps in by_method.items()
            if len(steps.get(last, ())) == infos[-1].n_tasks
        },
    )


def step_of(info: TaskSetInfo) -> str:
    """Return the step of a ladder that a task set is."""
    return suite_of(info.name.suite).step


def _pair(
    own: Steps, other: Steps, queries: int, kind: IntervalKind, level: float
) -> tuple[dict[str, Contrast], Contrast | None]:
    """Contrast two methods on each step that both answered, and what they lose over all steps."""
    most = {step: min(len(own[step]), len(other[step])) for step in own if step in other}
    contrasts = {
        step: contrast([(1, own[step][:n]), (-1, other[step][:n])], queries, kind, level)
        for step, n in most.items()
    }
    if len(most) < 2:
        return contrasts, None
    first, *_, last = most
    n = min(most[first], most[last])
    parts = [(1, own[first]), (-1, own[last]), (-1, other[first]), (1, other[last])]
    return contrasts, gap_of(contrast([(w, c[:n]) for w, c in parts], queries, kind, level))


def _rankings(
    by_method: dict[str, Steps], infos: list[TaskSetInfo], level: float
) -> Iterator[Ranking]:
    ends = {step_of(info): info.n_tasks for info in (infos[0], infos[-1])}
    whole = [
        steps
        for steps in by_method.values()
        if all(len(steps.get(step, ())) == tasks for step, tasks in ends.items())
    ]
    if len(whole) < 3 or len(ends) < 2:
        return
    first, last = ends
    accuracy = np.array([steps[last].mean(axis=1) for steps in whole])
    before, worst = (np.array([steps[step].min(axis=1) for steps in whole]) for step in ends)
    for names, (a, b) in (
        ((f"accuracy on {last}", f"wAcc on {last}"), (accuracy, worst)),
        ((f"wAcc on {first}", f"wAcc on {last}"), (before, worst)),
    ):
        yield Ranking(*names, rank_correlation(a, b, level))


def _steps(part: Validated, groups: Sequence[Group], release: Release) -> Steps:
    """Count correct queries of each class, of those task sets where one run says them."""
    steps: Steps = {}
    for group in groups:
        info = group.info
        binding = part.submission.bindings.get((group.method, info.dataset, str(info.name)))
        if len(group.runs) > 1 or (binding is not None and binding.stopping is not None):
            continue
        rows = rows_of(part.submission, group.method, info)
        counts = class_counts(rows, release.task_set(info.dataset, str(info.name)))
        if counts is not None:
            steps[step_of(info)] = counts
    return steps


def _gaps(
    steps: Steps, queries: int, kind: IntervalKind, level: float
) -> Iterator[tuple[str, str, Contrast]]:
    names = list(steps)
    for before, after in [*pairwise(names), *([(names[0], names[-1])] if len(names) > 2 else [])]:
        common = min(len(steps[before]), len(steps[after]))
        a, b = steps[before][:common], steps[after][:common]
        yield before, after, gap(a, b, queries, kind, level)
