"""What methods lose on attribute-biased tasks: the steps of a ladder, and the gaps between."""

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
from benchmark_spec.errors import SubmissionError, many
from benchmark_spec.protocol import FAMILIES, INTER_CLASS, IntervalKind, suite_of
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.scores import Signature, signature_of
from fslbench_data.scoring.selection import Selected, Selection, Sources, select
from fslbench_data.tasks import TaskSet, TaskSetInfo
from fslbench_data.validation.per_class import by_run, class_counts, rows_of
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated

Steps = dict[str, AnyInts]
"""A method's correct queries of each class (T, K), of R runs (T, K, R), by step of a ladder."""


RELIANCE = ("support", "inter"), ("same", "other")
"""Steps between which the accuracy lost orders methods by reliance on an attribute best."""


class Key(NamedTuple):
    """What is measured on a ladder: a method, or it minus `versus`, on a step or `to` a later one.

    `versus` is empty of a method alone, and `to` of a value on one step.
    """

    method: str
    versus: str
    step: str
    to: str


class Ranking(Struct, frozen=True):
    """How alike two metrics, in words such as ``wAcc on random``, rank the methods."""

    first: str
    second: str
    found: RankCorrelation


class Ladder(Struct, frozen=True, eq=False, dict=True):
    """The results of methods on one ladder, ``<dataset>/<name>``, read once.

    `pairs` are compared. `left_out` have no counts by class, or a rule to stop; `prefixes` are in
    no ranking. `inter_class` is by step the share of (task, class) whose queries really have the
    attribute of another class.
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

    def __repr__(self) -> str:
        about = f"{many(len(self.by_method), 'method')}, {many(len(self.pairs), 'pair')}"
        return f"<Ladder {self.dataset}/{self.name}: {about}>"

    @property
    def dataset(self) -> str:
        """The data set."""
        return self.infos[0].dataset

    @property
    def kind(self) -> IntervalKind:
        """The kind of the intervals: ``open`` where no image is used twice."""
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
        """All that is measured, of methods (a :class:`StepScore` on each step) and then of pairs.

        Of each the steps that were answered, in their order, then what is lost from one to another:
        first between those of :data:`RELIANCE`, and last from the first to the last.
        """
        scores = self.scores(self.level)
        found: dict[Key, Contrast] = {}
        for method, steps in scores.items():
            found |= {Key(method, "", step, ""): score for step, score in steps.items()}
            found |= self._lost(method, "", pairwise(steps))
        for method, versus in self.pairs:
            for step, tasks in self._tasks(method, versus).items():
                parts = [(1, method, step), (-1, versus, step)]
                found[Key(method, versus, step, "")] = self._contrast(parts, tasks)
            found |= self._lost(method, versus)
        return found

    def scores(self, level: float) -> dict[str, dict[str, StepScore]]:
        """Score each method on the steps that it answered, in their order, at any level."""
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

    def _tasks(self, *methods: str) -> dict[str, int]:
        """Return the steps that methods answered, each with the number of tasks of them all."""
        first, *others = (self.by_method[method] for method in methods if method)
        common = (step for step in first if all(step in steps for steps in others))
        return {step: min(len(steps[step]) for steps in (first, *others)) for step in common}

    def _lost(
        self, method: str, versus: str, between: Iterable[tuple[str, str]] = ()
    ) -> Iterator[tuple[Key, Contrast]]:
        """Yield what a method loses between steps, minus what `versus` does, if any."""
        tasks = self._tasks(method, versus)
        steps = [*tasks]
        whole = [(steps[0], steps[-1])] if len(steps) > 1 else []
        reliance = [span for span in RELIANCE if {*span} <= {*steps}]
        for a, b in dict.fromkeys([*reliance, *between, *whole]):
            parts = [(1, method, a), (-1, method, b)]
            parts += [(-1, versus, a), (1, versus, b)] if versus else []
            found = self._contrast(parts, min(tasks[a], tasks[b]))
            yield Key(method, versus, a, b), gap_of(found)

    def _contrast(self, parts: Sequence[tuple[int, str, str]], tasks: int) -> Contrast:
        """Contrast weighted methods and steps, over so many first tasks.

        On the first step, where the level is measured, nothing is beyond it.
        """
        names = [method for _, method, _ in parts]
        counts = [(weight, self.by_method[method][step][:tasks]) for weight, method, step in parts]
        at = [self.at_level[method].get(step) for _, method, step in parts]
        beyond = [own and replace(own, beyond=own.beyond[:tasks]) for own in at]
        known = all(self.at_level[name] for name in names)
        owners = [names.index(name) for name in names]
        return contrast(
            counts, self.queries, self.kind, self.level, beyond if known else (), methods=owners
        )

    @cached_property
    def last(self) -> dict[str, Floats]:
        """The wAcc of each task of the last step, of the methods that answered all of them."""
        step = step_of(self.infos[-1])
        return {
            method: worst_class(steps[step], self.queries)
            for method, steps in self.by_method.items()
            if len(steps.get(step, ())) == self.infos[-1].n_tasks
        }

    @cached_property
    def rankings(self) -> tuple[Ranking, ...]:
        """How alike metrics rank the methods that answered all of the first and last step.

        None of fewer than three methods.
        """
        ends = {step_of(info): info.n_tasks for info in (self.infos[0], self.infos[-1])}
        whole = [
            steps
            for steps in self.by_method.values()
            if all(len(steps.get(step, ())) == tasks for step, tasks in ends.items())
        ]
        if len(whole) < 3 or len(ends) < 2:
            return ()
        first, last = ends
        accuracy = np.array([_of_tasks(steps[last]) for steps in whole])
        before, worst = (
            np.array([_of_tasks(steps[step].min(axis=1)) for steps in whole]) for step in ends
        )
        common = min(ends.values())  # tasks of the same classes, the first of each
        of_metrics = (
            (f"accuracy on {last}", accuracy, worst),
            (f"wAcc on {first}", before[:, :common], worst[:, :common]),
        )
        return tuple(
            Ranking(name, f"wAcc on {last}", rank_correlation(a, b, self.level))
            for name, a, b in of_metrics
        )


def _of_tasks(counts: AnyInts) -> Floats:
    """Compute means of counts (T, ...) over all but tasks."""
    means: Floats = counts.reshape(len(counts), -1).mean(axis=1)
    return means


def ladder_of(infos: Sequence[TaskSetInfo], selected: Selected, name: str = "") -> Ladder:
    """Read the results of the selected methods on a ladder, given its task sets."""
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
            steps = _steps(part, groups, tasks)
            if len(steps) < len(groups):
                left_out.append(method)
            elif groups:
                by_method[method] = steps
                if any(map(part.is_prefix, groups)):
                    prefixes.append(method)
                if any(map(part.of_one_model, groups)):
                    single.append(method)
    inter_class = {
        step_of(info): float(pc.mean(pc.list_flatten(flags)).as_py())
        for info in infos
        if step_of(info) in INTER_CLASS
        for flags in [release.task_table(info).column("inter_class")]
    }
    requested = {m for m in by_method if m in against or m not in release.methods}
    pairs = tuple(
        both
        for both in combinations(by_method, 2)
        if requested & {*both} and (not against or {*against} & {*both})
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
    )


def _steps(part: Validated, groups: Sequence[Group], tasks: Mapping[str, TaskSet]) -> Steps:
    """Count correct queries of each class, of those task sets whose results have them."""
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
    """Count correct queries of each class, run by run; None where some row has none."""
    if len(group.runs) < 2:
        return class_counts(rows, tasks)
    # by name, so that a run is in the same place on every step
    of_runs = [class_counts(part, tasks) for part in by_run(rows, sorted(group.runs))]
    known = [counts for counts in of_runs if counts is not None]
    return np.stack(known, axis=2) if len(known) == len(of_runs) else None


def step_of(info: TaskSetInfo) -> str:
    """Return the step of a ladder that a task set is."""
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
    release: Release | None = None,
    selection: Selection | None = None,
) -> BiasReport:
    """Return worst-class accuracies and gaps of the methods of a submission and the references.

    Without a submission only methods that the selection is `against` are compared with each other.

    Raises
    ------
    SubmissionError
        If no task set of a ladder is answered.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    release = load_release() if release is None else release
    return bias_on(select(submission, release, selection, only_ladders=True))


def bias_on(selected: Selected) -> BiasReport:
    """Report on the ladders of selected methods, whose results must have counts by class."""
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
    """Correlate how ladders of one data set rank the methods, two by two.

    Such as those of two captioners, or of texts and of pixels: their tasks differ.
    """
    for one, other in combinations(ladders, 2):
        methods = [method for method in one.last if method in other.last]
        if (one.dataset, one.kind) == (other.dataset, other.kind) and len(methods) >= 3:
            a, b = (np.array([ladder.last[m] for m in methods]) for ladder in (one, other))
            first, second = (f"wAcc on {e.dataset}/{e.name}, last step" for e in (one, other))
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
        if name.endswith(" ablation"):  # against the tasks whose queries they have
            whole = ladders.get(name.removesuffix(" ablation"), [])
            steps += [info for info in whole if step_of(info) == "biased"]
    return ladders
