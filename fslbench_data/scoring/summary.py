"""Choose what to read of a report first: primary task sets and few comparisons.

The terminal, notebooks, pages and papers show the same choice; there is no text in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.comparisons import Comparison, Verdict, conclusive, holm
from analysis_sql.multiple_comparisons import AdjustedPairs, adjusted_pairs
from benchmark_spec.protocol import IntervalKind
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score, Signature
from fslbench_data.scoring.task_set_report import (
    TaskSetReport,
    own_methods,
    primary_sets,
)
from fslbench_data.tasks import TaskSetInfo

MOST_ACCURATE = 3
"""Reference methods that a method is compared with if none is on its own features."""

SIGNIFICANT = (Verdict.BETTER, Verdict.WORSE)
"""Verdicts of a significant difference."""


class Mark(Enum):
    """How a method compares with the highest mean, after an adjustment for all pairs."""

    HIGHEST = "the highest mean"
    NOT_SIGNIFICANT = "no significant difference from it for new images"
    NEW_IMAGES = "significant for new images alone"
    SIGNIFICANT = "significant for new images, and for new classes where there is an interval"
    UNJUDGED = "not all tasks answered, or a run with a rule to stop: not among the pairs"


class Standing(Struct, frozen=True):
    """A method's place on a task set; `behind` the highest mean by so many percentage points."""

    score: Score
    mark: Mark
    behind: float


class Standings(Struct, frozen=True):
    """The places of methods on a primary task set; marks are adjusted for `family` pairs."""

    primary: TaskSetReport
    by_method: Mapping[str, Standing]
    family: int
    holm: bool


def behind_best(
    task_set: TaskSetReport, kind: IntervalKind, judged: Sequence[int]
) -> tuple[NDArray[np.bool_], AdjustedPairs]:
    """Return which methods differ significantly from the best, adjusted for all pairs."""
    best = int(np.argmax([task_set.scores[i].accuracy.mean for i in judged]))
    design = task_set.designs.get(kind)
    adjusted = adjusted_pairs(task_set.counts, kind, design, only=best, rows=judged)
    return adjusted.differing_from(best, task_set.level), adjusted


def standings(
    task_set: TaskSetReport, positions: Iterable[int], chosen_among: Iterable[int] = ()
) -> Standings:
    """Compare some methods of a task set with the best of them, adjusted for all pairs.

    If they were `chosen_among` other methods by their accuracy, pairs with these count, too.
    """
    scores = {i: task_set.scores[i] for i in sorted(positions)}
    judged = [i for i in sorted({*scores, *chosen_among}) if task_set.judged[i]]
    family, by_holm = 0, True
    highest = max(task_set.scores[i].accuracy.mean for i in judged or scores)
    marks = dict.fromkeys(scores, Mark.UNJUDGED)
    if judged:
        for_images, adjusted = behind_best(task_set, task_set.displayed_kinds[0], judged)
        family, by_holm = adjusted.family, adjusted.by_holm
        kind = task_set.kind_about("new classes")
        for_classes = for_images if kind is None else behind_best(task_set, kind, judged)[0]
        for i, images, classes in zip(judged, for_images, for_classes, strict=True):
            if i not in scores:
                continue
            marks[i] = Mark.SIGNIFICANT if classes else Mark.NEW_IMAGES
            if scores[i].accuracy.mean > highest - 1e-9:
                marks[i] = Mark.HIGHEST
            elif not images:
                marks[i] = Mark.NOT_SIGNIFICANT
    placed = [Standing(s, marks[i], highest - s.accuracy.mean) for i, s in scores.items()]
    return Standings(task_set, {one.score.method: one for one in placed}, family, by_holm)


def best_first(names: Sequence[str], columns: Sequence[Standings]) -> list[str]:
    """Sort methods by how far they are behind the highest mean, on average over their task sets.

    A method moves above the one before it if it is ahead on the task sets that both answer.
    """
    gaps: dict[str, dict[int, float]] = {name: {} for name in names}
    for number, column in enumerate(columns):
        for name in names:
            if name in column.by_method:
                gaps[name][number] = column.by_method[name].behind

    def mean(values: Collection[float]) -> float:
        return sum(values) / len(values) if values else 0.0

    def is_ahead(name: str, other: str) -> bool:
        both = sorted(gaps[name].keys() & gaps[other].keys())
        return mean([gaps[name][n] for n in both]) < mean([gaps[other][n] for n in both])

    placed: list[str] = []
    for name in sorted(names, key=lambda name: mean(gaps[name].values())):
        place = len(placed)
        while place and is_ahead(name, placed[place - 1]):
            place -= 1
        placed.insert(place, name)
    return placed


def baselines(
    task_set: TaskSetReport, row: int, against: Collection[str], *, all_references: bool
) -> list[int]:
    """Return positions of the methods that the submission's method number `row` is compared with.

    They are those in `against`, if any; else the submission's other methods, the references on the
    same features, or the most accurate ones, and the rival of a run with a rule to stop.
    """
    if against:
        return [i for i, name in enumerate(task_set.methods) if name in against and i != row]
    n_own = len(task_set.requested)
    peers = [i for i in range(n_own) if i != row]
    references = range(n_own, len(task_set.scores))
    if all_references:
        return [*peers, *references]
    chosen = {*(_on_same_features(task_set, row) or _most_accurate(task_set, references))}
    return [*peers, *sorted(chosen | {i for i in _rival(task_set, row) if i >= n_own})]


def candidates(task_set: TaskSetReport, rows: Iterable[int], against: Collection[str]) -> set[int]:
    """Return the references if some :func:`baselines` were chosen among them by their accuracy."""
    if against or all(_on_same_features(task_set, row) for row in rows):
        return set()
    return {*range(len(task_set.requested), len(task_set.scores))}


def _rival(task_set: TaskSetReport, row: int) -> list[int]:
    """Return the position of the rival of a run with a rule to stop, if there is one."""
    stopped = task_set.scores[row].stopped
    if stopped is None or stopped.versus not in task_set.methods:
        return []
    return [task_set.methods.index(stopped.versus)]


def _on_same_features(task_set: TaskSetReport, row: int) -> list[int]:
    """Return the positions of references on the features of a method, if these are known."""
    backbone = task_set.scores[row].backbone
    references = range(len(task_set.requested), len(task_set.scores))
    return [i for i in references if backbone and task_set.scores[i].backbone == backbone]


def _most_accurate(task_set: TaskSetReport, positions: Iterable[int]) -> list[int]:
    """Return the first few by mean; methods that did not answer all tasks come last."""

    def order(position: int) -> tuple[bool, float]:
        accuracy = task_set.scores[position].accuracy
        return accuracy.tasks < task_set.scored.n_tasks, -accuracy.mean

    return sorted(positions, key=order)[:MOST_ACCURATE]


class Row(Struct, frozen=True):
    """A single method on a primary task set: its comparisons, and those that a table shows.

    `passed_over` are those with references that were not chosen for their accuracy.
    """

    primary: TaskSetReport
    score: Score
    compared: tuple[Comparison, ...]
    displayed: tuple[Comparison, ...]
    passed_over: tuple[Comparison, ...]


Question = Literal["new images", "new classes", "same images only"]


class Tally(Struct, frozen=True):
    """The verdicts on a single method for one question.

    `better` and `worse` name the other method of each such comparison, Holm-adjusted over `family`
    comparisons, with those passed over; `alone` are the task set and other method of those that are
    significant only by themselves, and `unknown` have no verdict.
    """

    question: Question
    compared: int
    better: tuple[str, ...]
    worse: tuple[str, ...]
    alone: frozenset[tuple[TaskSetInfo, str]]
    unknown: int
    family: int

    @property
    def ns(self) -> int:
        """Comparisons without a significant difference."""
        return self.compared - len(self.better) - len(self.worse) - self.unknown


class Summary(Struct, frozen=True):
    """The part of a report to read first.

    `rows` and `tallies` are filled for a single method, `columns` for several; `references` are the
    other methods in them.  `other_sets`, `unshown`, `left_out` and `other_references` are not
    displayed.
    """

    signature: Signature
    methods: tuple[str, ...]
    references: tuple[str, ...]
    rows: tuple[Row, ...]
    tallies: tuple[Tally, ...]
    columns: tuple[Standings, ...]
    scores: tuple[Score, ...]
    other_sets: int
    unshown: tuple[str, ...]
    left_out: int
    other_references: int

    @property
    def primary(self) -> tuple[TaskSetReport, ...]:
        """The task sets that are displayed."""
        return (*(r.primary for r in self.rows), *(c.primary for c in self.columns))


def summarize(report: Report, *, all_references: bool = False) -> Summary:
    """Choose what to read of a report first.

    Parameters
    ----------
    all_references
        Compare with every reference method, not only the closest (:func:`baselines`).
    """
    own = dict.fromkeys(name for task_set in report.sets for name in own_methods(task_set))
    # methods in `against` are subjects only if all are in it
    subjects = [name for name in own if name not in report.against] or [*own]
    subject_names, answering = {*subjects}, set[str]()
    chosen: list[tuple[TaskSetReport, list[int], set[int]]] = []

    def compared(task_set: TaskSetReport, row: int) -> list[int]:
        return baselines(task_set, row, report.against, all_references=all_references)

    for task_set in primary_sets(report.sets):
        own_names = enumerate(own_methods(task_set))
        rows_of_set = [row for row, name in own_names if name in subject_names]
        if rows_of_set:
            answering.update(task_set.methods[row] for row in rows_of_set)
            positions = {*rows_of_set}
            for row in rows_of_set:  # of a thousand methods, these lists take half a gigabyte
                positions.update(compared(task_set, row))
            chosen.append((task_set, rows_of_set, positions))
    displayed = [name for name in subjects if name in answering]
    rows: list[Row] = []
    columns: tuple[Standings, ...] = ()
    tallies: tuple[Tally, ...] = ()
    if len(displayed) == 1:
        named = bool(report.against)
        for task_set, rows_of_set, _ in chosen:
            among = candidates(task_set, rows_of_set, report.against)
            rows += [
                _row(task_set, row, compared(task_set, row), among, named=named)
                for row in rows_of_set
            ]
        tallies = _tallies(rows)
    else:
        columns = tuple(
            standings(task_set, positions, candidates(task_set, rows_of_set, report.against))
            for task_set, rows_of_set, positions in chosen
        )
    in_rows = {(row.primary.scored, c.versus) for row in rows for c in row.displayed}
    scores = tuple(
        score
        for task_set, _, positions in chosen
        for i, score in enumerate(task_set.scores)
        if i in positions or (task_set.scored, score.method) in in_rows
    )
    others = dict.fromkeys(s.method for s in scores if s.method not in answering)
    references = {score.method for score in report.scores if score.is_reference}
    return Summary(
        signature=report.signature,
        methods=tuple(best_first(displayed, columns)),
        references=tuple(best_first([*others], columns)),
        rows=tuple(rows),
        tallies=tallies,
        columns=columns,
        scores=scores,
        other_sets=len(report.sets) - len(chosen),
        unshown=tuple(name for name in subjects if name not in displayed),
        left_out=len(report.left_out),
        other_references=0 if report.against else len(references - others.keys() - answering),
    )


def _row(
    task_set: TaskSetReport,
    row: int,
    compared: Sequence[int],
    chosen_among: set[int],
    *,
    named: bool,
) -> Row:
    """Compare a single method; unless baselines were `named`, only the closest are displayed."""
    displayed = [*compared]
    if not named:
        others = [i for i in range(len(task_set.scores)) if i != row]
        closest = _most_accurate(task_set, _on_same_features(task_set, row))[:1]
        best = _most_accurate(task_set, others)[:1]
        displayed = [*dict.fromkeys([*_rival(task_set, row), *closest, *best])]
    passed_over = sorted(chosen_among.difference(compared))
    positions = [*dict.fromkeys([*compared, *displayed, *passed_over])]
    made = task_set.comparisons_of(row, np.array(positions, np.int64)) if positions else []
    comparisons = dict(zip(positions, (c.displayed for c in made), strict=True))
    return Row(
        task_set,
        task_set.scores[row],
        tuple(comparisons[i] for i in compared),
        tuple(comparisons[i] for i in displayed),
        tuple(comparisons[i] for i in passed_over),
    )


def _tallies(rows: Sequence[Row]) -> tuple[Tally, ...]:
    """Count the verdicts on a single method for each question, Holm-adjusted.

    The adjustment counts comparisons that were passed over, too.
    """
    found: dict[Question, list[tuple[TaskSetInfo, str, Verdict, float, bool]]] = {}
    for row in rows:
        position, p_values = row.primary.methods.index, cache(row.primary.p_values)
        for number, comparison in enumerate((*row.compared, *row.passed_over)):
            pair = position(comparison.method), position(comparison.versus)
            primary, counted = comparison.interval_kind, number < len(row.compared)
            questions: dict[Question, IntervalKind | None] = {
                "same images only" if primary == "closed" else "new images": primary,
                "new classes": row.primary.kind_about("new classes"),
            }
            for question, kind in questions.items():
                if kind is not None and kind in comparison.intervals:
                    verdict, p = comparison.intervals[kind].verdict, float(p_values(kind)[pair])
                    judged = row.primary.scored, comparison.versus, verdict, p, counted
                    found.setdefault(question, []).append(judged)
    level = rows[0].primary.level
    tallies = []
    for question, judgements in found.items():
        adjusted = holm(np.array([p for *_, p, _ in judgements]))
        holds = conclusive(adjusted, level) | np.isnan(adjusted)
        by_verdict: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
        alone = set()
        for held, (scored, versus, verdict, _, counted) in zip(holds, judgements, strict=True):
            if not counted:
                continue
            if held or verdict not in SIGNIFICANT:
                by_verdict[verdict].append(versus)
            else:
                alone.add((scored, versus))
        tallies.append(
            Tally(
                question,
                compared=sum(counted for *_, counted in judgements),
                better=tuple(by_verdict[Verdict.BETTER]),
                worse=tuple(by_verdict[Verdict.WORSE]),
                alone=frozenset(alone),
                unknown=len(by_verdict[Verdict.NOT_ESTIMABLE]),
                family=int((~np.isnan(adjusted)).sum()),
            )
        )
    return tuple(tallies)
