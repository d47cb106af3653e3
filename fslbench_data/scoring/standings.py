"""How each of several methods stands to the best of them on a task set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.multiplicity import adjust, paired_p
from analysis_sql.comparison.pairs import all_differences
from analysis_sql.interval_kinds import BESIDE
from analysis_sql.intervals.counts import Counts
from analysis_sql.ranking.ties_with_best import MOST_LETTERS
from benchmark_spec.protocol import IntervalKind
from fslbench_data.scoring.headlines import Headline, headline
from fslbench_data.scoring.scores import Score
from fslbench_data.scoring.task_set_report import TaskSetReport


class Mark(Enum):
    """How a method stands to the one with the highest mean, after an adjustment for all pairs."""

    HIGHEST = "the highest mean"
    NOT_APART = "not told apart from it for new images"
    NEW_IMAGES = "told apart from it for new images, not for new classes"
    APART = "told apart from it for new images, and for new classes where there is an interval"
    UNJUDGED = "not all tasks answered, or a run with a rule to stop: not among the pairs"


@dataclass(frozen=True)
class Standing:
    """A method on a task set, among others.

    Attributes
    ----------
    behind
        Percentage points that its mean is below the highest.
    """

    score: Score
    mark: Mark
    behind: float


@dataclass(frozen=True)
class Standings:
    """Methods on a task set that leads.

    Attributes
    ----------
    by_method
        In the order of the task set.
    family
        Pairs that the verdicts are adjusted for: all of the judged methods.
    holm
        Whether by Holm's procedure; else, of very many methods, by Bonferroni's, which needs but
        the pairs with the best and finds no more.
    """

    headline: Headline
    by_method: Mapping[str, Standing]
    family: int
    holm: bool


def standings(task_set: TaskSetReport, positions: Sequence[int]) -> Standings:
    """Compare some methods of a task set with the best of them, for all pairs at once."""
    about = headline(task_set)
    images, classes = about.images, about.classes
    scores = [task_set.scores[i] for i in positions]
    whole = task_set.counts.tasks == task_set.scored.n_tasks
    judged = [i for i in positions if task_set.scores[i].ordinary and whole[i]]
    family = 0
    highest = max((task_set.scores[i].accuracy.mean for i in judged), default=None)
    top = max(score.accuracy.mean for score in scores) if highest is None else highest
    marks = dict.fromkeys(positions, Mark.UNJUDGED)
    if judged:
        counts = task_set.counts.some(judged)
        means = [task_set.scores[i].accuracy.mean for i in judged]
        best = int(np.argmax(means))
        apart, family = told_from_best(task_set, counts, best, images)
        further = apart
        if classes is not None:
            further = apart & told_from_best(task_set, counts, best, classes)[0]
        for i, shown, of_classes in zip(judged, apart, further, strict=True):
            marks[i] = Mark.NOT_APART
            if shown:
                marks[i] = Mark.APART if of_classes else Mark.NEW_IMAGES
        marks[judged[best]] = Mark.HIGHEST
    return Standings(
        about,
        {
            score.method: Standing(score, marks[i], top - score.accuracy.mean)
            for i, score in zip(positions, scores, strict=True)
        },
        family,
        len(judged) <= MOST_LETTERS,
    )


def told_from_best(
    task_set: TaskSetReport, counts: Counts, best: int, kind: IntervalKind
) -> tuple[NDArray[np.bool_], int]:
    """Return which of M methods are told apart from the best by a kind of interval, (M,).

    And the family: how many pairs there are that can be compared.
    """
    methods = len(counts.tasks)
    told = np.zeros(methods, np.bool_)
    others = [i for i in range(methods) if i != best]
    if not others:
        return told, 0
    few = methods <= MOST_LETTERS
    pairs = [*combinations(range(methods), 2)] if few else [(best, i) for i in others]
    first, second = np.array(pairs, np.int64).T
    if kind != task_set.interval_kind:
        p = np.asarray(BESIDE[kind].p_values(task_set.designs[kind], counts, first, second))
    elif few:
        p = np.asarray(paired_p(all_differences(counts), kind))[first, second]
    else:
        apart = counts.differences(first, second, int(counts.tasks[0]))
        p = np.asarray(paired_p(apart.moments(), kind))
    family = methods * (methods - 1) // 2
    if few:
        adjusted = adjust(p, "holm")
        shown, family = adjusted.apart(task_set.level), adjusted.size
    else:
        shown = np.asarray(p * family <= 1.0 - task_set.level + 1e-12)
    of_best = (first == best) | (second == best)
    told[(first + second - best)[of_best]] = shown[of_best]
    return told, family
