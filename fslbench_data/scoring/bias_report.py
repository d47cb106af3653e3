"""The methods on one ladder of attribute-biased tasks: steps, gaps, pairs and rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np

from analysis_sql.bias.rank_correlation import RankCorrelation, rank_correlation
from analysis_sql.bias.spurious_bias import (
    Contrast,
    StepScore,
    contrast,
    gap_of,
)
from analysis_sql.bias.worst_class import worst_class
from analysis_sql.intervals.arrays import AnyInts, Floats
from benchmark_spec.suites import IntervalKind
from fslbench_data.scoring.ladder_answers import LadderAnswers, Steps, ladder_answers, step_of
from fslbench_data.scoring.selection import Selected
from fslbench_data.tasks import TaskSetInfo


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
    answers
        Of all methods, class by class: what says their accuracies at any level.
    last
        wAcc of each task of the last step (T,), of methods that answered all of it.
    """

    dataset: str
    name: str
    kind: IntervalKind
    methods: tuple[MethodBias, ...]
    pairs: tuple[PairBias, ...]
    rankings: tuple[Ranking, ...]
    answers: LadderAnswers = field(compare=False)
    last: dict[str, Floats] = field(default_factory=dict, compare=False)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Methods of which nothing is said, see :class:`LadderAnswers`."""
        return self.answers.left_out

    @property
    def of_one_model(self) -> tuple[str, ...]:
        """Methods of one training run, see :class:`LadderAnswers`."""
        return self.answers.of_one_model

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Methods of which nothing is concluded, see :class:`LadderAnswers`."""
        return self.answers.prefixes

    def __repr__(self) -> str:
        about = f"{len(self.methods)} methods, {len(self.pairs)} pairs"
        return f"<LadderReport {self.dataset}/{self.name}: {about}>"


def ladder_report(name: str, infos: list[TaskSetInfo], selected: Selected) -> LadderReport:
    """Report on the selected methods on the ladder ``<dataset>/<ladder>``, given its task sets."""
    release, level, against = selected.release, selected.selection.level, selected.selection.against
    answers = ladder_answers(infos, selected)
    by_method, kind, queries = answers.by_method, answers.kind, answers.queries
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
                scores,
                tuple(_gaps(answers, method, level)),
            )
            for method, scores in answers.scores(level).items()
        ),
        tuple(PairBias(a, b, *_pair(answers, a, b, level)) for a, b in pairs),
        tuple(_rankings(by_method, infos, level)),
        answers,
        {
            method: worst_class(steps[last], queries)
            for method, steps in by_method.items()
            if len(steps.get(last, ())) == infos[-1].n_tasks
        },
    )


def _pair(
    answers: LadderAnswers, method: str, versus: str, level: float
) -> tuple[dict[str, Contrast], Contrast | None]:
    """Contrast two methods on each step that both answered, and what they lose over all steps."""
    own, other = (answers.by_method[of] for of in (method, versus))
    most = {step: min(len(own[step]), len(other[step])) for step in own if step in other}
    contrasts = {
        step: _contrast(answers, [(1, method, step), (-1, versus, step)], n, level)
        for step, n in most.items()
    }
    if len(most) < 2:
        return contrasts, None
    first, *_, last = most
    parts = [(1, method, first), (-1, method, last), (-1, versus, first), (1, versus, last)]
    return contrasts, gap_of(_contrast(answers, parts, min(most[first], most[last]), level))


def _contrast(
    answers: LadderAnswers, parts: Sequence[tuple[int, str, str]], tasks: int, level: float
) -> Contrast:
    """Contrast weighted methods and steps, over so many first tasks.

    Nothing lies beyond the level on the first step, whence it is measured.
    """
    names = [method for _, method, _ in parts]
    counts = [(weight, answers.by_method[method][step][:tasks]) for weight, method, step in parts]
    at = [answers.at_level[method].get(step) for _, method, step in parts]
    beyond = [own and replace(own, beyond=own.beyond[:tasks]) for own in at]
    known = all(answers.at_level[name] for name in names)
    owners = [names.index(name) for name in names]
    return contrast(
        counts, answers.queries, answers.kind, level, beyond if known else (), methods=owners
    )


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
    accuracy = np.array([_of_tasks(steps[last]) for steps in whole])
    before, worst = (
        np.array([_of_tasks(steps[step].min(axis=1)) for steps in whole]) for step in ends
    )
    for names, (a, b) in (
        ((f"accuracy on {last}", f"wAcc on {last}"), (accuracy, worst)),
        ((f"wAcc on {first}", f"wAcc on {last}"), (before, worst)),
    ):
        yield Ranking(*names, rank_correlation(a, b, level))


def _of_tasks(counts: AnyInts) -> Floats:
    """Compute means of counts (T, ...) over all but tasks."""
    means: Floats = counts.reshape(len(counts), -1).mean(axis=1)
    return means


def _gaps(answers: LadderAnswers, method: str, level: float) -> Iterator[tuple[str, str, Contrast]]:
    steps = answers.by_method[method]
    names = list(steps)
    for before, after in [*pairwise(names), *([(names[0], names[-1])] if len(names) > 2 else [])]:
        common = min(len(steps[before]), len(steps[after]))
        parts = [(1, method, before), (-1, method, after)]
        yield before, after, gap_of(_contrast(answers, parts, common, level))
