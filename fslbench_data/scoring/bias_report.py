"""The methods on one ladder of attribute-biased tasks: steps, gaps, pairs and rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.per_class import class_counts, rows_of
from fslbench_data.validation.validate import Validated


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
    """How alike two metrics rank the methods.

    Attributes
    ----------
    first, second
        The metrics in words, such as ``wAcc on random``.
    """

    first: str
    second: str
    found: RankCorrelation


@dataclass(frozen=True)
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
    last: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)


def ladder_report(
    name: str,
    infos: list[TaskSetInfo],
    parts: Sequence[Validated],
    release: Release,
    level: float,
    against: Sequence[str],
) -> LadderReport:
    """The methods of some submissions on one ladder.

    Parameters
    ----------
    name
        ``<dataset>/<ladder>``.
    infos
        The ladder's task sets, in the order of its steps.
    parts
        Valid answers.
    against
        As :func:`fslbench_data.scoring.bias.bias` takes it.
    """
    kind, queries = infos[0].name.interval, infos[0].protocol.query
    left_out: list[str] = []
    methods = []
    all_counts: dict[str, dict[str, AnyInts]] = {}
    for part in parts:
        for method in part.methods:
            answered = [info for info in infos if _answered(part, method, info)]
            if not answered:
                continue
            counts = {
                suite_of(info.name.suite).step: _counts(part, method, info, release)
                for info in answered
            }
            known = {step: found for step, found in counts.items() if found is not None}
            if len(known) < len(counts):
                left_out.append(method)
                continue
            all_counts[method] = known
            methods.append(
                MethodBias(
                    method,
                    method in release.methods,
                    {step: step_score(c, queries, kind, level) for step, c in known.items()},
                    tuple(_gaps(known, queries, kind, level)),
                )
            )
    dataset, _, ladder = name.partition("/")
    last = suite_of(infos[-1].name.suite).step
    asked = [m for m in all_counts if m in against or m not in release.methods]
    pairs = [
        (a, b)
        for i, a in enumerate(all_counts)
        for b in [*all_counts][i + 1 :]
        if (a in asked or b in asked) and (not against or a in against or b in against)
    ]
    return LadderReport(
        dataset,
        ladder,
        kind,
        tuple(methods),
        tuple(_pair(a, b, all_counts, queries, kind, level) for a, b in pairs),
        tuple(_rankings(all_counts, infos, level)),
        tuple(left_out),
        tuple(
            dict.fromkeys(
                group.method
                for part in parts
                for info in infos
                for group in part.on(info.dataset, str(info.name))
                if group.method in all_counts and part.is_prefix(group)
            )
        ),
        {
            method: worst_class(of[last], queries)
            for method, of in all_counts.items()
            if len(of.get(last, ())) == infos[-1].n_tasks
        },
    )


def agreement(ladders: Sequence[LadderReport], level: float) -> Iterator[Ranking]:
    """How alike ladders of one data set rank the methods, two by two.

    Those of two captioners, say, or of texts and of pixels: they have other tasks.
    """
    for i, one in enumerate(ladders):
        for other in ladders[i + 1 :]:
            methods = [method for method in one.last if method in other.last]
            if (one.dataset, one.kind) != (other.dataset, other.kind) or len(methods) < 3:
                continue
            a, b = (np.array([each.last[m] for m in methods]) for each in (one, other))
            first, second = (f"wAcc on {e.dataset}/{e.name}, last step" for e in (one, other))
            yield Ranking(first, second, rank_correlation(a, b, level, same_tasks=False))


def _pair(
    method: str,
    versus: str,
    counts: dict[str, dict[str, AnyInts]],
    queries: int,
    kind: IntervalKind,
    level: float,
) -> PairBias:
    steps = [step for step in counts[method] if step in counts[versus]]
    own, other = ([counts[name][step] for step in steps] for name in (method, versus))
    most = [min(len(a), len(b)) for a, b in zip(own, other, strict=True)]
    found = {
        step: contrast([(1, a[:n]), (-1, b[:n])], queries, kind, level)
        for step, a, b, n in zip(steps, own, other, most, strict=True)
    }
    lost = None
    if len(steps) > 1:
        n = min(most[0], most[-1])
        parts = [(1, own[0]), (-1, own[-1]), (-1, other[0]), (1, other[-1])]
        lost = gap_of(contrast([(w, c[:n]) for w, c in parts], queries, kind, level))
    return PairBias(method, versus, found, lost)


def _rankings(
    counts: dict[str, dict[str, AnyInts]], infos: list[TaskSetInfo], level: float
) -> Iterator[Ranking]:
    first, last = (suite_of(info.name.suite).step for info in (infos[0], infos[-1]))
    whole = [
        of
        for of in counts.values()
        if all(
            len(of.get(step, ())) == info.n_tasks
            for step, info in ((first, infos[0]), (last, infos[-1]))
        )
    ]
    if len(whole) < 3 or first == last:
        return
    accuracy = np.array([of[last].mean(axis=1) for of in whole])
    before, worst = (np.array([of[step].min(axis=1) for of in whole]) for step in (first, last))
    for names, (a, b) in (
        ((f"accuracy on {last}", f"wAcc on {last}"), (accuracy, worst)),
        ((f"wAcc on {first}", f"wAcc on {last}"), (before, worst)),
    ):
        yield Ranking(*names, rank_correlation(a, b, level))


def _answered(part: Validated, method: str, info: TaskSetInfo) -> bool:
    return any(group.method == method for group in part.on(info.dataset, str(info.name)))


def _counts(part: Validated, method: str, info: TaskSetInfo, release: Release) -> AnyInts | None:
    """Correct queries of each class (T, K); None where they are not said, or not of one run."""
    groups = part.on(info.dataset, str(info.name))
    (group,) = (group for group in groups if group.method == method)
    binding = part.submission.bindings.get((method, info.dataset, str(info.name)))
    if len(group.runs) > 1 or (binding is not None and binding.stopping is not None):
        return None
    rows = rows_of(part.submission, method, info)
    return class_counts(rows, release.task_set(info.dataset, str(info.name)))


def _gaps(
    known: dict[str, AnyInts], queries: int, kind: IntervalKind, level: float
) -> Iterator[tuple[str, str, Contrast]]:
    steps = list(known)
    pairs = list(pairwise(steps))
    if len(steps) > 2:
        pairs.append((steps[0], steps[-1]))
    for before, after in pairs:
        common = min(len(known[before]), len(known[after]))
        a, b = known[before][:common], known[after][:common]
        yield before, after, gap(a, b, queries, kind, level)
