"""Whether accuracies were made on these tasks, told from the accuracies alone.

Bare accuracies may have been run on other tasks, or stand in another order.  Two things give the
right tasks away, and each is tested by permutation within blocks
(:mod:`analysis_sql.recognition.permutation`; null hypothesis: to which task of a block an accuracy
is assigned is of no matter).

**Classes.**  Tasks that share hard classes are all hard.  With Z the T x C membership matrix of a
task set less its column means, and y the accuracies less their mean, in standard deviations, the
statistic is::

    |Z'y + a|² - |a|²            a = Σ over the method's other task sets of the data set of Z_s'y_s

For a = 0 this is Σ λ_i u_i² / |y|² times T, the score of the class variance (the locally most
powerful statistic against g = 0); otherwise that of the model in which a class is as hard in one
task set as in the other, where the other sets are held fixed.  So a set that uses each class but
twice can be recognised by what a larger set says of the classes, and a wrong set next to a right
one is not.  (R² would not do: it is 1 wherever k = T-1.) The score is preferred to the likelihood
ratio because it is the most powerful where effects are small, which is where it matters, adds over
task sets, and needs one product of matrices for all permutations.  The ratio does better only for
few tasks with large effects.

**References.**  Tasks that are hard for reference methods are hard for others: the correlation of y
with the mean accuracy of the reference methods on each task.

A group of results is *recognised* if the smaller of the two p-values, allowing for their being two,
is at most .001.  No small p-value means *cannot tell*, never that the tasks are others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import log

import numpy as np

from analysis_sql.intervals.arrays import Floats
from analysis_sql.recognition.permutation import (
    PERMUTATIONS,
    BlockOrders,
    either,
    is_constant,
    log_orders,
    p_value,
    together,
)
from analysis_sql.recognition.statistics import Answered, ClassSums, correlations

ALPHA = 0.001
"""Results whose p-value is at most this are recognised."""


class Finding(Enum):
    """What is concluded of the tasks behind some results."""

    RECOGNISED = "recognised"
    CANNOT_TELL = "cannot tell"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True)
class Recognition:
    """What is concluded, and from what.

    `p` is that of both tests together, None if neither says anything; `by_classes` and
    `by_references` are that of each.  `reason` says why results are not testable; else it is empty.
    """

    finding: Finding
    p: float | None
    by_classes: float | None
    by_references: float | None
    reason: str = ""


@dataclass(frozen=True)
class Recognitions:
    """What is concluded of several results, each in the order in which they were given.

    Attributes
    ----------
    task_sets
        Of all methods' results on a task set (data set, task set), together.
    together
        Of all: whether at least some of the results belong to these tasks.
    """

    each: tuple[Recognition, ...]
    task_sets: dict[tuple[str, str], Recognition]
    together: Recognition


@dataclass(eq=False)
class _Statistics:
    """Statistics (B + 1,) of a group of results; those that are constant are left out."""

    classes: list[Floats]
    references: list[Floats]

    @classmethod
    def of(cls, classes: Iterable[Floats], references: Iterable[Floats]) -> _Statistics:
        return cls(
            [values for values in classes if not is_constant(values)],
            [values for values in references if not is_constant(values)],
        )

    def recognition(self, reason: str) -> Recognition:
        """The conclusion, or `reason` if there is nothing to test."""
        parts = [together(group) for group in (self.classes, self.references) if group]
        if reason or not parts:
            return Recognition(Finding.NOT_TESTABLE, None, None, None, reason)
        p = p_value(either(parts) if len(parts) > 1 else parts[0])
        ps = [p_value(part) for part in parts]
        return Recognition(
            Finding.RECOGNISED if p <= ALPHA else Finding.CANNOT_TELL,
            p,
            ps[0] if self.classes else None,
            ps[-1] if self.references else None,
        )


def recognise(
    answers: Sequence[Answered],
    *,
    seed: int,
    permutations: int = PERMUTATIONS,
    progress: Callable[[str], object] = lambda _: None,
) -> Recognitions:
    """Test whether results were made on the tasks that they are said to answer.

    Each method and task set comes once; B is at least 999 if anything is to be recognised.
    `progress` is called with the name of each of the results before it is looked at.
    """
    orders = BlockOrders(seed=seed, count=permutations)
    families: dict[tuple[str, str], list[int]] = {}
    for index, answer in sorted(enumerate(answers), key=lambda pair: pair[1].dataset):
        families.setdefault((answer.dataset, answer.method), []).append(index)
    own: dict[int, _Statistics] = {}
    whole = []
    for members in families.values():
        family = [answers[index] for index in members]
        sums = ClassSums(family, permutations)
        for index, answer in zip(members, family, strict=True):
            progress(f"{answer.method} on {answer.dataset}/{answer.task_set}")
            order = orders.of(len(answer.values))
            classes = sums.score(answer, order)
            own[index] = _Statistics.of([classes], correlations(answer, order))
        whole.append(sums.joint)
    results = [own[at].recognition(_obstacle(answer, own[at])) for at, answer in enumerate(answers)]
    sets: dict[tuple[str, str], _Statistics] = {}
    for index, answer in enumerate(answers):
        on_set = sets.setdefault((answer.dataset, answer.task_set), _Statistics([], []))
        on_set.classes.extend(own[index].classes)
        on_set.references.extend(own[index].references)
    references = [values for one in own.values() for values in one.references]
    return Recognitions(
        tuple(results),
        {name: on_set.recognition("") for name, on_set in sets.items()},
        _Statistics.of(whole, references).recognition(""),
    )


def _obstacle(answer: Answered, statistics: _Statistics) -> str:
    """Why results are not testable, or nothing."""
    if (answer.values == answer.values[0]).all():
        return "the same accuracy on every task"
    possible = log_orders(answer.values)
    if possible < log(1.0 / ALPHA):
        return f"only {round(np.exp(possible))} orders of the accuracies differ"
    if statistics.classes or statistics.references:
        return ""
    ids = np.sort(answer.class_ids, axis=1)
    if (ids == ids[0]).all():
        return "all tasks have the same classes"
    return "every two tasks share equally many classes, or none"
