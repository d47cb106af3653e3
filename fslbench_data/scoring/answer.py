"""What a report answers, in a few rows: which methods are better than which, and where.

A report holds every task set and every pair.  Its answer looks at one task set of each data set,
ways and shots, and at those methods that one would compare with first.  It is the same for the
terminal, a notebook and a page, and has no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from analysis_sql.comparison.verdicts import Comparison
from fslbench_data.scoring.headlines import Headline, headline, leading_sets
from fslbench_data.scoring.opponents import most_accurate, of_same_features, opponents, rival
from fslbench_data.scoring.order import best_first
from fslbench_data.scoring.remaining import NOTHING, Remaining, remaining
from fslbench_data.scoring.scores import Score
from fslbench_data.scoring.signature import Signature
from fslbench_data.scoring.standings import Standings, standings
from fslbench_data.scoring.task_set_report import TaskSetReport


class Reported(Protocol):
    """What an answer is found in: a :class:`fslbench_data.scoring.report.Report`."""

    @property
    def signature(self) -> Signature:
        """What the results rest on."""

    @property
    def sets(self) -> tuple[TaskSetReport, ...]:
        """The task sets, in the release's order."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Task sets made with attributes of images that were left out."""

    @property
    def against(self) -> tuple[str, ...]:
        """The methods that were asked for by name."""


@dataclass(frozen=True)
class Row:
    """One method on a leading task set.

    Attributes
    ----------
    met
        Its comparisons with the methods that it meets.
    best
        Of all comparisons, those that are shown: with the most accurate reference method of the
        same features and, if it is another, with the most accurate of all; or with every method
        that was asked for.
    """

    headline: Headline
    score: Score
    met: tuple[Comparison, ...]
    best: tuple[Comparison, ...]


@dataclass(frozen=True)
class Answer:
    """What a report says first.

    Attributes
    ----------
    methods
        Of the submission, those that are compared, from the best down
        (:func:`fslbench_data.scoring.order.best_first`).
    references
        Other methods beside them in `columns`.
    rows
        Of a single method, a row a task set; else empty.
    columns
        Of several methods, a column a task set; else empty.
    scores
        Of all methods that are shown, on the task sets that are.
    other_sets
        How many more task sets of the same data sets, ways and shots the report holds.
    unshown
        Methods that answer only such sets.
    left_out
        How many task sets made with attributes of images were left out of the report.
    unmet
        How many reference methods the report holds that are met nowhere.
    against
        The methods that were asked for by name.
    images, classes
        Of a single method, what Holm's procedure over all that it meets leaves of the differences
        that are shown for new images, and for new classes.
    """

    signature: Signature
    methods: tuple[str, ...]
    references: tuple[str, ...]
    rows: tuple[Row, ...]
    columns: tuple[Standings, ...]
    scores: tuple[Score, ...]
    other_sets: int
    unshown: tuple[str, ...]
    left_out: int
    unmet: int
    against: tuple[str, ...]
    images: Remaining = NOTHING
    classes: Remaining = NOTHING

    @property
    def headlines(self) -> tuple[Headline, ...]:
        """The task sets that lead."""
        return (*(r.headline for r in self.rows), *(c.headline for c in self.columns))


def answer(report: Reported, *, all_references: bool = False) -> Answer:
    """Say what a report shows of the task sets that lead.

    Parameters
    ----------
    all_references
        Let methods meet every reference method, not only those that one would compare with first
        (:func:`fslbench_data.scoring.opponents.opponents`).
    """
    meeting = meetings(report, all_references=all_references)
    subjects = _subjects(report)
    answering = {each.methods[row] for each, met in meeting for row in met}
    shown = [name for name in subjects if name in answering]
    rows: tuple[Row, ...] = ()
    columns: tuple[Standings, ...] = ()
    left = NOTHING, NOTHING
    if len(shown) == 1:
        rows = tuple(
            _row(each, *one, named=bool(report.against))
            for each, met in meeting
            for one in met.items()
        )
        left = remaining(meeting), remaining(meeting, of_classes=True)
    else:
        columns = tuple(standings(each, _together(met)) for each, met in meeting)
    scores = tuple(_scores(meeting, rows))
    beside = dict.fromkeys(s.method for s in scores if s.method not in answering)
    every = (score for each in report.sets for score in each.scores)
    references = dict.fromkeys(score.method for score in every if score.is_reference)
    return Answer(
        signature=report.signature,
        methods=tuple(best_first(shown, columns)),
        references=tuple(best_first([*beside], columns)),
        rows=rows,
        columns=columns,
        scores=scores,
        other_sets=len(report.sets) - len(meeting),
        unshown=tuple(name for name in subjects if name not in shown),
        left_out=len(report.left_out),
        unmet=0 if report.against else len(references.keys() - beside.keys()),
        against=report.against,
        images=left[0],
        classes=left[1],
    )


def meetings(
    report: Reported, *, all_references: bool = False
) -> list[tuple[TaskSetReport, dict[int, list[int]]]]:
    """Return for each task set that leads whom each method of the submission meets, by position."""
    subjects = {*_subjects(report)}
    found = [
        (
            each,
            {
                row: opponents(each, row, report.against, all_references=all_references)
                for row, name in enumerate(own_methods(each))
                if name in subjects
            },
        )
        for each in leading_sets(report.sets)
    ]
    return [(each, met) for each, met in found if met]


def own_methods(task_set: TaskSetReport) -> tuple[str, ...]:
    """Return the methods of the submission that answer a task set."""
    return task_set.methods[: len(task_set.asked)]


def _subjects(report: Reported) -> list[str]:
    """The methods of the submission; of those that it is compared with, only if all are."""
    own = dict.fromkeys(name for each in report.sets for name in own_methods(each))
    return [name for name in own if name not in report.against] or [*own]


def _row(each: TaskSetReport, row: int, met: Sequence[int], *, named: bool) -> Row:
    best = dict.fromkeys(met)
    if not named:
        others = [i for i in range(len(each.scores)) if i != row]
        found = most_accurate(each, of_same_features(each, row)), most_accurate(each, others)
        best = dict.fromkeys([*rival(each, row), *(i for i in found if i is not None)])
    compared = [*dict.fromkeys([*met, *best])]
    comparisons = {}
    if compared:
        made = each.comparisons_of(row, np.array(compared, np.int64))
        comparisons = dict(zip(compared, (c.shown for c in made), strict=True))
    return Row(
        headline(each),
        each.scores[row],
        tuple(comparisons[i] for i in met),
        tuple(comparisons[i] for i in best),
    )


def _together(met: dict[int, list[int]]) -> list[int]:
    return sorted({*met}.union(*met.values()))


def _scores(
    meeting: Iterable[tuple[TaskSetReport, dict[int, list[int]]]], rows: Iterable[Row]
) -> Iterator[Score]:
    shown = {(row.headline.scored, c.versus) for row in rows for c in row.best}
    for each, met in meeting:
        together = {*_together(met)}
        for i, score in enumerate(each.scores):
            if i in together or (each.scored, score.method) in shown:
                yield score
