"""How each of several methods stands to the best of them on a task set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from analysis_sql.ranking.told_apart import told_apart
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
    level, designs = task_set.level, task_set.designs
    family, holm = 0, True
    highest = max((task_set.scores[i].accuracy.mean for i in judged), default=None)
    top = max(score.accuracy.mean for score in scores) if highest is None else highest
    marks = dict.fromkeys(positions, Mark.UNJUDGED)
    if judged:
        counts = task_set.counts.some(judged)
        means = [task_set.scores[i].accuracy.mean for i in judged]
        best = int(np.argmax(means))
        told = told_apart(counts, images, level, designs.get(images), only=best)
        apart, family, holm = told.of(best), told.family, told.by_holm
        further = apart
        if classes is not None:
            told = told_apart(counts, classes, level, designs.get(classes), only=best)
            further = apart & told.of(best)
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
        holm,
    )
