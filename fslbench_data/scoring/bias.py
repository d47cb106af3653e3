"""Measure what methods lose on attribute-biased tasks, between steps of a ladder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.bias import (
    AtLevel,
    ClassSpread,
    Contrast,
    RankCorrelation,
    StepScore,
    contrast,
    gap_of,
    rank_correlation,
    step_score,
    worst_class,
)
from analysis_sql.intervals.arrays import AnyInts, Floats
from benchmark_spec.errors import SubmissionError, listing, many
from benchmark_spec.protocol import FAMILIES, INTER_CLASS, IntervalKind, suite_of
from fslbench_data.release.release import AnyRelease, load_release
from fslbench_data.scoring.scores import Signature, rule_of, signature_of
from fslbench_data.scoring.selection import (
    Selected,
    Selection,
    Sources,
    features_in,
    features_of,
    select,
)
from fslbench_data.scoring.summary import MOST_ACCURATE
from fslbench_data.tasks import TaskSet, TaskSetInfo
from fslbench_data.validation.per_class import by_run, class_counts, rows_of
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated

Steps = dict[str, AnyInts]
"""A method's correct queries of each class by step: (T, K), or (T, K, R) of several runs."""

RELIANCE = ("support", "inter"), ("same", "other")
"""Pairs of steps whose accuracy gaps order methods by reliance on an attribute best."""


class Key(NamedTuple):
    """What is measured on a ladder: a method or a difference, on a step or between two.

    `versus` is empty for a single method, `to` for a value on one step.
    """

    method: str
    versus: str
    step: str
    to: str


class Ranking(Struct, frozen=True):
    """How alike two metrics, such as ``wAcc on random``, rank the methods."""

    first: str
    second: str
    found: RankCorrelation


class Ladder(Struct, frozen=True, eq=False, dict=True):
    """The results of methods on one ladder, ``<dataset>/<name>``.

    `pairs` of methods are compared; methods `left_out` have no counts by class, or a rule to stop;
    `prefixes` are in no ranking.  `inter_class` gives for each step the share of (task, class)
    whose queries really have the attribute of another class.  `nearest` are the references that a
    submission is shown with, unless all are asked for.
    """

    name: str
    infos: tuple[TaskSetInfo, ...]
    level: float
    by_method: dict[str, Steps]
    references: frozenset[str]
    pairs: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]
    prefixes: tuple[str, ...]
    inter_class: dict[str, float]
    of_one_model: tuple[str, ...]
    nearest: tuple[str, ...]

    def __repr__(self) -> str:
        about = f"{many(len(self.by_method), 'method')}, {many(len(self.pairs), 'pair')}"
        return f"<Ladder {self.dataset}/{self.name}: {about}>"

    @property
    def dataset(self) -> str:
        """The data set."""
        return self.infos[0].dataset

    @property
    def kind(self) -> IntervalKind:
        """The kind of the intervals: ``open`` if no image is used twice."""
        return self.infos[0].name.interval

    @property
    def queries(self) -> int:
        """Queries of each class of a task."""
        return self.infos[0].protocol.query

    @property
    def task_set(self) -> str:
        """The name of all steps together, such as ``ladder_titles-5w5s5q``."""
        name = self.infos[0].name
        suite = suite_of(name.suite)
        return f"{name.suite.replace(f'{suite.step}_', f'{suite.family}_', 1)}-{name.protocol}"

    @cached_property
    def values(self) -> dict[Key, Contrast]:
        """Everything that is measured, first of methods, then of pairs of them.

        For each, the value on every step that was answered (of a method a :class:`StepScore`), then
        the gaps: first between the steps of :data:`RELIANCE`, last from the first to the last step.
        """
        found: dict[Key, Contrast] = {}
        for method, steps in self.scores(self.level).items():
            found |= {Key(method, "", step, ""): score for step, score in steps.items()}
            found |= self._gaps(method, "", pairwise(steps))
        for method, versus in self.pairs:
            for step, tasks in self._common_tasks(method, versus).items():
                parts = [(1, method, step), (-1, versus, step)]
                found[Key(method, versus, step, "")] = self._contrast(parts, tasks)
            found |= self._gaps(method, versus)
        return found

    def scores(self, level: float) -> dict[str, dict[str, StepScore]]:
        """Score each method on the steps that it answered, in their order, at any level."""
        found: dict[str, dict[str, StepScore]] = {}
        for method, steps in self.by_method.items():
            at = self.at_level[method]
            found[method] = {
                step: step_score(counts, self.queries, self.kind, level, at.get(step))
                for step, counts in steps.items()
            }
        return found

    @cached_property
    def at_level(self) -> dict[str, dict[str, AtLevel]]:
        """What the level of accuracy alone would give, by method and later step of the ladder.

        Empty for methods that did not answer the first step, or on which it does not tell how far
        classes differ.
        """
        first = next(iter(FAMILIES[suite_of(self.infos[0].name.suite).family]))
        found: dict[str, dict[str, AtLevel]] = {}
        for method, steps in self.by_method.items():
            spread = ClassSpread.of(steps[first], self.queries) if first in steps else None
            found[method] = {}
            if spread:
                found[method] = {s: spread.at(counts) for s, counts in steps.items() if s != first}
        return found

    def _common_tasks(self, *methods: str) -> dict[str, int]:
        """Return the steps that all methods answered, with the number of common tasks."""
        first, *others = (self.by_method[method] for method in methods if method)
        common = (step for step in first if all(step in steps for steps in others))
        return {step: min(len(steps[step]) for steps in (first, *others)) for step in common}

    def _gaps(
        self, method: str, versus: str, between: Iterable[tuple[str, str]] = ()
    ) -> Iterator[tuple[Key, Contrast]]:
        """Yield what a method loses between steps, minus what `versus` loses, if given."""
        tasks = self._common_tasks(method, versus)
        steps = [*tasks]
        ends = [(steps[0], steps[-1])] if len(steps) > 1 else []
        reliance = [span for span in RELIANCE if {*span} <= {*steps}]
        for a, b in dict.fromkeys([*reliance, *between, *ends]):
            parts = [(1, method, a), (-1, method, b)]
            parts += [(-1, versus, a), (1, versus, b)] if versus else []
            difference = self._contrast(parts, min(tasks[a], tasks[b]))
            yield Key(method, versus, a, b), gap_of(difference)

    def _contrast(self, parts: Sequence[tuple[int, str, str]], tasks: int) -> Contrast:
        """Contrast (weight, method, step) over the first tasks.

        On the first step, where the level is measured, nothing is beyond it.
        """
        names = [method for _, method, _ in parts]
        counts = [(weight, self.by_method[method][step][:tasks]) for weight, method, step in parts]
        beyond: list[AtLevel | None] = []
        if all(self.at_level[name] for name in names):
            at_level = [self.at_level[method].get(step) for _, method, step in parts]
            beyond = [at and replace(at, beyond=at.beyond[:tasks]) for at in at_level]
        owners = [names.index(name) for name in names]
        return contrast(counts, self.queries, self.kind, self.level, beyond, methods=owners)

    @cached_property
    def last(self) -> dict[str, Floats]:
        """The wAcc of each task of the last step, for methods that answered all of them."""
        step = step_of(self.infos[-1])
        return {
            method: worst_class(steps[step], self.queries)
            for method, steps in self.by_method.items()
            if len(steps.get(step, ())) == self.infos[-1].n_tasks
        }

    @cached_property
    def rankings(self) -> tuple[Ranking, ...]:
        """How alike metrics rank the methods that answered all of the first and last step.

        Fewer than three methods are not ranked.
        """
        ends = {step_of(info): info.n_tasks for info in (self.infos[0], self.infos[-1])}
        methods = [
            steps
            for steps in self.by_method.values()
            if all(len(steps.get(step, ())) == tasks for step, tasks in ends.items())
        ]
        if len(methods) < 3 or len(ends) < 2:
            return ()
        first, last = ends
        accuracy = np.array([_task_means(steps[last]) for steps in methods])
        first_worst = np.array([_task_means(steps[first].min(axis=1)) for steps in methods])
        last_worst = np.array([_task_means(steps[last].min(axis=1)) for steps in methods])
        common = min(ends.values())  # the first tasks of both steps have the same classes
        of_accuracy = rank_correlation(accuracy, last_worst, self.level)
        of_wacc = rank_correlation(first_worst[:, :common], last_worst[:, :common], self.level)
        return (
            Ranking(f"accuracy on {last}", f"wAcc on {last}", of_accuracy),
            Ranking(f"wAcc on {first}", f"wAcc on {last}", of_wacc),
        )


def _task_means(counts: AnyInts) -> Floats:
    """Compute the mean of each task's counts (T, ...)."""
    means: Floats = counts.reshape(len(counts), -1).mean(axis=1)
    return means


def ladder_of(infos: Sequence[TaskSetInfo], selected: Selected, name: str = "") -> Ladder:
    """Read the selected methods' results on a ladder, given by its task sets."""
    left_out: list[str] = []
    prefixes: list[str] = []
    single: list[str] = []
    by_method: dict[str, Steps] = {}
    release, against = selected.release, selected.selection.against
    tasks = {str(i): release.task_set(i.dataset, str(i.name)) for i in infos}
    for part in selected.parts:
        for method in part.methods:
            groups = [
                group
                for info in infos
                for group in part.on(info.dataset, str(info.name))
                if group.method == method
            ]
            _check_same_runs(method, groups)
            steps = _steps(part, groups, tasks)
            if len(steps) < len(groups):
                left_out.append(method)
            elif groups:
                by_method[method] = steps
                if any(map(part.is_prefix, groups)):
                    prefixes.append(method)
                if any(map(part.of_one_model, groups)):
                    single.append(method)
    inter_class = {}
    for info in infos:
        if step_of(info) in INTER_CLASS:
            flags = pc.list_flatten(release.task_table(info).column("inter_class"))
            inter_class[step_of(info)] = float(pc.mean(flags).as_py())
    requested = {m for m in by_method if m in against or m not in release.methods}
    pairs = tuple(
        pair
        for pair in combinations(by_method, 2)
        if requested & {*pair} and (not against or {*against} & {*pair})
    )
    return Ladder(
        name,
        tuple(infos),
        selected.selection.level,
        by_method,
        frozenset(release.methods),
        pairs,
        tuple(left_out),
        tuple(prefixes),
        inter_class,
        tuple(single),
        _nearest(by_method, selected),
    )


def _nearest(by_method: Mapping[str, Steps], selected: Selected) -> tuple[str, ...]:
    """Return the references asked for, or on the submission's features, or the most accurate."""
    if selected.selection.against:
        return selected.selection.against
    submitted = [part for part in selected.parts if not part.are_references]
    features = {name for part in submitted for name in features_in(part.submission, part.methods)}
    references = [name for name in by_method if name in selected.release.methods]
    if on_same := [name for name in references if features_of(name, None) in features]:
        return tuple(on_same)
    first = {name: next(iter(by_method[name].values())) for name in references}
    return tuple(sorted(references, key=lambda name: -float(first[name].mean())))[:MOST_ACCURATE]


def _check_same_runs(method: str, groups: Sequence[Group]) -> None:
    """Refuse a method whose training runs are not the same on all steps, by their names."""
    by_runs: dict[tuple[str, ...], list[TaskSetInfo]] = {}
    for group in groups:
        by_runs.setdefault(tuple(sorted(group.runs)), []).append(group.info)
    if len(by_runs) > 1:
        (runs, first), (others, second), *_ = by_runs.items()
        raise SubmissionError(
            f"{method} has the runs {listing(runs) or 'none'} on {first[0]}, and "
            f"{listing(others) or 'none'} on {second[0]}",
            expected="the same trained models on every step of a ladder, under the same names",
            fix="answer all steps in every run, or choose steps with --task-set",
        )


def _steps(part: Validated, groups: Sequence[Group], tasks: Mapping[str, TaskSet]) -> Steps:
    """Count correct queries of each class on the task sets whose results tell them."""
    steps: Steps = {}
    for group in groups:
        if rule_of(part, group) is None:
            rows, info = rows_of(part.submission, group.method, group.info), group.info
            counts = _counts(rows, group, tasks[str(info)])
            if counts is not None:
                steps[step_of(info)] = counts
    return steps


def _counts(rows: pa.Table, group: Group, tasks: TaskSet) -> AnyInts | None:
    """Count correct queries of each class, run by run; None if some row does not tell them."""
    if len(group.runs) < 2:
        return class_counts(rows, tasks)
    # runs sorted by name are in the same place on every step
    of_runs = [class_counts(part, tasks) for part in by_run(rows, sorted(group.runs))]
    known = [counts for counts in of_runs if counts is not None]
    return np.stack(known, axis=2) if len(known) == len(of_runs) else None


def step_of(info: TaskSetInfo) -> str:
    """Return which step of a ladder a task set is."""
    return suite_of(info.name.suite).step


class BiasReport(Struct, frozen=True):
    """What `fslbench score --bias` shows: each ladder, and how alike ladders rank the methods."""

    signature: Signature
    ladders: tuple[Ladder, ...]
    agreement: tuple[Ranking, ...]

    def __repr__(self) -> str:
        return f"<BiasReport on {len(self.ladders)} ladders, level {self.signature.level:g}>"


def bias(
    submission: Sources | None = None,
    release: AnyRelease = None,
    selection: Selection | None = None,
) -> BiasReport:
    """Return worst-class accuracies and gaps of the methods of a submission and the references.

    Without a submission, only the methods in the selection's `against` are compared.

    Raises
    ------
    SubmissionError
        If no task set of a ladder is answered.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    release = load_release(release)
    return bias_on(select(submission, release, selection, only_ladders=True))


def bias_on(selected: Selected) -> BiasReport:
    """Report on the ladders that selected methods answered."""
    release, infos = selected.release, selected.infos
    ladders, level = _ladders(infos), selected.selection.level
    if not ladders:
        raise SubmissionError(
            "no task set that is made with attributes of images is answered",
            where=f"release {release}",
            expected="task sets such as biased_titles-5w5s5q and random_titles-5w5s5q",
            fix="see `fslbench info` for those that the release has",
        )
    read = tuple(
        ladder_of(steps, selected, name.partition("/")[2]) for name, steps in ladders.items()
    )
    used = {str(info) for info in infos}
    signature = signature_of(release, selected.results, used, level)
    return BiasReport(signature, read, tuple(agreement(read, level)))


def agreement(ladders: Sequence[Ladder], level: float) -> Iterator[Ranking]:
    """Correlate how pairs of ladders of one data set rank the methods.

    Ladders differ, for instance, by captioner, or are of texts and of pixels; so do their tasks.
    """
    for pair in combinations(ladders, 2):
        one, other = pair
        methods = [method for method in one.last if method in other.last]
        if (one.dataset, one.kind) == (other.dataset, other.kind) and len(methods) >= 3:
            a, b = (np.array([ladder.last[m] for m in methods]) for ladder in pair)
            first, second = (f"wAcc on {e.dataset}/{e.name}, last step" for e in pair)
            yield Ranking(first, second, rank_correlation(a, b, level, same_tasks=False))


def _ladders(infos: Sequence[TaskSetInfo]) -> dict[str, list[TaskSetInfo]]:
    """Group the task sets of each ladder, in the order of its steps."""
    order = [step for steps in FAMILIES.values() for step in steps]
    ladders: dict[str, list[TaskSetInfo]] = {}
    for info in infos:
        suite = suite_of(info.name.suite)
        if suite.attributes:
            name = suite.name.replace(f"{suite.step}_", "*_", 1)
            ladder = f"{info.dataset}/{name}-{info.protocol}"
            family = "" if suite.family == "ladder" else f" {suite.family}"
            ladders.setdefault(f"{ladder}{family}", []).append(info)
    for steps in ladders.values():
        steps.sort(key=lambda info: order.index(step_of(info)))
    for name, steps in ladders.items():
        if name.endswith(" ablation"):  # is compared with the biased tasks, whose queries it has
            ladder_steps = ladders.get(name.removesuffix(" ablation"), [])
            steps += [info for info in ladder_steps if step_of(info) == "biased"]
    return ladders
