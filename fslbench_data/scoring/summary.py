"""What to read of a report first: one task set of each data set and shots, and few comparisons.

The same for the terminal, a notebook, a page and a paper; it has no text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from itertools import compress
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import Comparison, Verdict, conclusive, holm
from analysis_sql.ranking.multiple_comparisons import AdjustedPairs, adjusted_pairs
from benchmark_spec.protocol import IntervalKind
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score, Signature
from fslbench_data.scoring.task_set_report import (
    TaskSetReport,
    own_methods,
    primary_sets,
)

MOST_ACCURATE = 3
"""Reference methods that a method is compared with where none is on its own features."""


class Mark(Enum):
    """How a method compares with the highest mean, after an adjustment for all pairs."""

    HIGHEST = "the highest mean"
    NOT_SIGNIFICANT = "no significant difference from it for new images"
    NEW_IMAGES = "significant for new images alone"
    SIGNIFICANT = "significant for new images, and for new classes where there is an interval"
    UNJUDGED = "not all tasks answered, or a run with a rule to stop: not among the pairs"


class Standing(Struct, frozen=True):
    """A method on a task set, among others; `behind` the highest mean, percentage points."""

    score: Score
    mark: Mark
    behind: float


class Standings(Struct, frozen=True):
    """Several methods on a primary task set; verdicts are adjusted for `family` pairs."""

    primary: TaskSetReport
    by_method: Mapping[str, Standing]
    family: int
    holm: bool


def judged_of(task_set: TaskSetReport, positions: Iterable[int]) -> list[int]:
    """Return which methods answered all tasks, whose number was fixed before."""
    whole = task_set.counts.tasks == task_set.scored.n_tasks
    return [i for i in positions if task_set.scores[i].ordinary and whole[i]]


def behind_best(
    task_set: TaskSetReport, kind: IntervalKind, judged: Sequence[int]
) -> tuple[NDArray[np.bool_], AdjustedPairs]:
    """Return which methods differ significantly from the best, adjusted for all pairs."""
    best = int(np.argmax([task_set.scores[i].accuracy.mean for i in judged]))
    design = task_set.designs.get(kind)
    adjusted = adjusted_pairs(task_set.counts, kind, design, only=best, rows=judged)
    return adjusted.differing_from(best, task_set.level), adjusted


def standings(task_set: TaskSetReport, positions: Sequence[int]) -> Standings:
    """Compare some methods of a task set with the best of them, adjusted for all pairs."""
    scores = {i: task_set.scores[i] for i in positions}
    judged = judged_of(task_set, positions)
    family, holm = 0, True
    top = max(scores[i].accuracy.mean for i in judged or positions)
    marks = dict.fromkeys(positions, Mark.UNJUDGED)
    if judged:
        images, adjusted = behind_best(task_set, task_set.displayed_kinds[0], judged)
        family, holm = adjusted.family, adjusted.by_holm
        of_classes = task_set.kind_about("new classes")
        classes = images if of_classes is None else behind_best(task_set, of_classes, judged)[0]
        for i, by_images, by_classes in zip(judged, images, classes, strict=True):
            marks[i] = Mark.SIGNIFICANT if by_classes else Mark.NEW_IMAGES
            marks[i] = marks[i] if by_images else Mark.NOT_SIGNIFICANT
            marks[i] = Mark.HIGHEST if scores[i].accuracy.mean > top - 1e-9 else marks[i]
    of = {s.method: Standing(s, marks[i], top - s.accuracy.mean) for i, s in scores.items()}
    return Standings(task_set, of, family, holm)


def best_first(names: Sequence[str], columns: Sequence[Standings]) -> list[str]:
    """Sort methods by how far they are behind the highest mean, on average over their task sets.

    A method moves above the one before it if it is ahead on the task sets that both answer.
    """
    of = {
        name: {at: c.by_method[name].behind for at, c in enumerate(columns) if name in c.by_method}
        for name in names
    }

    def mean(gaps: Collection[float]) -> float:
        return sum(gaps) / len(gaps) if gaps else 0.0

    def ahead(one: dict[int, float], other: dict[int, float]) -> bool:
        both = sorted(one.keys() & other.keys())
        return mean([one[at] for at in both]) < mean([other[at] for at in both])

    placed: list[str] = []
    for name in sorted(names, key=lambda name: mean(of[name].values())):
        place = len(placed)
        while place and ahead(of[name], of[placed[place - 1]]):
            place -= 1
        placed.insert(place, name)
    return placed


def baselines(
    task_set: TaskSetReport, row: int, against: Collection[str], *, all_references: bool
) -> list[int]:
    """Return positions of the methods that the submission's method number `row` is compared with.

    Those in `against`, if any; else its other methods, the references of its own features, or the
    most accurate ones, and what a run with a rule to stop was run against.
    """
    if against:
        return [i for i, name in enumerate(task_set.methods) if name in against and i != row]
    own = len(task_set.requested)
    peers = [*range(row), *range(row + 1, own)]
    references = range(own, len(task_set.scores))
    if all_references:
        return [*peers, *references]
    chosen = {*(_of_same_features(task_set, row) or _most_accurate(task_set, references))}
    return [*peers, *sorted(chosen | {i for i in _rival(task_set, row) if i >= own})]


def _rival(task_set: TaskSetReport, row: int) -> list[int]:
    """Return the position of the method that a run with a rule to stop was run against, if any."""
    stopped = task_set.scores[row].stopped
    if stopped is None or stopped.versus not in task_set.methods:
        return []
    return [task_set.methods.index(stopped.versus)]


def _of_same_features(task_set: TaskSetReport, row: int) -> list[int]:
    backbone = task_set.scores[row].backbone
    references = range(len(task_set.requested), len(task_set.scores))
    return [i for i in references if backbone and task_set.scores[i].backbone == backbone]


def _most_accurate(task_set: TaskSetReport, positions: Iterable[int]) -> list[int]:
    """Return a few methods from the highest mean down; those of only some tasks come last."""

    def order(position: int) -> tuple[bool, float]:
        accuracy = task_set.scores[position].accuracy
        return accuracy.tasks < task_set.scored.n_tasks, -accuracy.mean

    return sorted(positions, key=order)[:MOST_ACCURATE]


class Row(Struct, frozen=True):
    """A single method on a primary task set: its comparisons, and those that a table has."""

    primary: TaskSetReport
    score: Score
    compared: tuple[Comparison, ...]
    displayed: tuple[Comparison, ...]


Question = Literal["new images", "new classes", "same images only"]


class Tally(Struct, frozen=True):
    """What the comparisons of a single method came to, for one question.

    `better` and `worse` are significant after Holm's procedure over `family` comparisons,
    `unadjusted` each alone; nothing can be concluded from `unknown`.
    """

    question: Question
    compared: int
    better: int
    worse: int
    unadjusted: int
    unknown: int
    family: int

    @property
    def ns(self) -> int:
        """Comparisons without a significant difference."""
        return self.compared - self.better - self.worse - self.unknown


class Summary(Struct, frozen=True):
    """The part of a report to read first.

    `rows` and `tallies` are of a single method, `columns` of several; `references` are the
    others in them. `other_sets`, `unshown`, `left_out` and `other_references` are not displayed.
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
    own = dict.fromkeys(name for each in report.sets for name in own_methods(each))
    # of the methods that are compared with, only if all are
    subjects = [name for name in own if name not in report.against] or [*own]
    answering: set[str] = set()
    together: list[tuple[TaskSetReport, set[int]]] = []
    alone: list[tuple[TaskSetReport, int, list[int]]] = []
    for each in primary_sets(report.sets):
        of = {
            row: baselines(each, row, report.against, all_references=all_references)
            for row, name in enumerate(own_methods(each))
            if name in subjects
        }
        if not of:
            continue
        answering.update(each.methods[row] for row in of)
        together.append((each, {*of}.union(*of.values())))
        if len(of) == 1:
            alone += [(each, *one) for one in of.items()]
    displayed = [name for name in subjects if name in answering]
    rows: tuple[Row, ...] = ()
    columns: tuple[Standings, ...] = ()
    tallies: tuple[Tally, ...] = ()
    if len(displayed) == 1:
        rows = tuple(_row(*one, named=bool(report.against)) for one in alone)
        tallies = _tallies(rows)
    else:
        columns = tuple(standings(each, sorted(some)) for each, some in together)
    in_rows = {(row.primary.scored, c.versus) for row in rows for c in row.displayed}
    scores = tuple(
        score
        for each, some in together
        for i, score in enumerate(each.scores)
        if i in some or (each.scored, score.method) in in_rows
    )
    others = dict.fromkeys(s.method for s in scores if s.method not in answering)
    every = (score for each in report.sets for score in each.scores)
    references = {score.method for score in every if score.is_reference}
    return Summary(
        signature=report.signature,
        methods=tuple(best_first(displayed, columns)),
        references=tuple(best_first([*others], columns)),
        rows=rows,
        tallies=tallies,
        columns=columns,
        scores=scores,
        other_sets=len(report.sets) - len(together),
        unshown=tuple(name for name in subjects if name not in displayed),
        left_out=len(report.left_out),
        other_references=0 if report.against else len(references - others.keys() - answering),
    )


def _row(each: TaskSetReport, row: int, compared: Sequence[int], *, named: bool) -> Row:
    displayed = dict.fromkeys(compared)
    if not named:
        others = [i for i in range(len(each.scores)) if i != row]
        best = (_most_accurate(each, some)[:1] for some in (_of_same_features(each, row), others))
        displayed = dict.fromkeys([*_rival(each, row), *(i for some in best for i in some)])
    every = [*dict.fromkeys([*compared, *displayed])]
    made = each.comparisons_of(row, np.array(every, np.int64)) if every else []
    of = dict(zip(every, (c.displayed for c in made), strict=True))
    return Row(
        each,
        each.scores[row],
        tuple(of[i] for i in compared),
        tuple(of[i] for i in displayed),
    )


def _tallies(rows: Sequence[Row]) -> tuple[Tally, ...]:
    """Count verdicts of a single method, alone and after Holm's procedure, for each question."""
    found: dict[Question, tuple[list[Verdict], list[float]]] = {}
    for row in rows:
        position, p_values = row.primary.methods.index, cache(row.primary.p_values)
        for comparison in row.compared:
            at = position(comparison.method), position(comparison.versus)
            first = comparison.interval_kind
            questions: dict[Question, IntervalKind | None] = {
                "same images only" if first == "closed" else "new images": first,
                "new classes": row.primary.kind_about("new classes"),
            }
            for question, kind in questions.items():
                if kind is not None and kind in comparison.intervals:
                    verdicts, p = found.setdefault(question, ([], []))
                    verdicts.append(comparison.intervals[kind].verdict)
                    p.append(float(p_values(kind)[at]))
    return tuple(_tally(question, *of, rows[0].primary.level) for question, of in found.items())


def _tally(
    question: Question, verdicts: Sequence[Verdict], p: Sequence[float], level: float
) -> Tally:
    adjusted = holm(np.array(p))
    kept = conclusive(adjusted, level) | np.isnan(p)
    better, worse = ([*compress(verdicts, kept)].count(claim) for claim in _CLAIMS)
    return Tally(
        question,
        compared=len(verdicts),
        better=better,
        worse=worse,
        unadjusted=sum(verdict in _CLAIMS for verdict in verdicts),
        unknown=sum(verdict is Verdict.NOT_ESTIMABLE for verdict in verdicts),
        family=int((~np.isnan(adjusted)).sum()),
    )


_CLAIMS = (Verdict.BETTER, Verdict.WORSE)
