"""Whether accuracies were made on these tasks, told from the accuracies alone.

**Classes.**  Tasks that share hard classes are all hard.  With Z the T x C membership matrix of a
task set less its column means, and y the accuracies less their mean, in standard deviations, the
statistic is::

    |Z'y + a|² - |a|²            a = Σ over the method's other task sets of the data set of Z_s'y_s

**References.**  Tasks that are hard for reference methods are hard for others: the correlation of y
with the mean accuracy of the reference methods on each task.

Both are tested by dealing the accuracies out anew, B times, among blocks of consecutive tasks: at
most 20, and no more than a fifth of those that are left, since tasks drift along an open set.  With
b statistics at least as large as the observed one, p = (1 + b)/(1 + B) (Phipson and Smyth, 2010).
In permutation b task number t has the same random word in every task set and for every method, so
that dependence between them stays.

Results are *recognised* if the smaller of the two p-values, allowing for their being two, is at
most .001.  No small p-value means *cannot tell*, never that the tasks are others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.random_stream import Stream

BLOCK = 20
"""Consecutive tasks that are permuted among each other, at most."""

_SHARE = 5
"""A block has at most one in so many of the tasks that are left, but 2 or the last one."""

PERMUTATIONS = 9_999

_KEPT = 4
"""Task sets whose orders are kept, for the methods that follow."""

_DIGITS = 9
"""Decimals of standardised statistics that tell two of them apart."""

_CONSTANT = 1e-10
"""Statistics that differ by less than this share of the largest are equal."""


def blocks(tasks: int) -> list[slice]:
    """Divide a set of T tasks into consecutive blocks."""
    slices, start = [], 0
    while start < tasks:
        size = min(BLOCK, max(2, (tasks - start) // _SHARE))
        slices.append(slice(start, min(start + size, tasks)))
        start += size
    return slices


class BlockOrders:
    """The `count` permutations of a test, common to all methods and task sets that it looks at."""

    def __init__(self, *, seed: int, count: int = PERMUTATIONS) -> None:
        self.seed, self.count = seed, count
        self._last: dict[int, NDArray[np.int32]] = {}

    def of(self, tasks: int) -> NDArray[np.int32]:
        """Return orders of the tasks of a set, (B + 1, T), first that in which they stand."""
        if tasks not in self._last:
            if len(self._last) >= _KEPT:
                del self._last[next(iter(self._last))]
            self._last[tasks] = self._order(tasks)
        return self._last[tasks]

    def _order(self, tasks: int) -> NDArray[np.int32]:
        orders = np.empty((self.count + 1, tasks), np.int32)
        orders[0] = np.arange(tasks)
        for block in blocks(tasks):
            # the words (B,) of a task; two of a block are equal once in 10^17 times
            streams = [
                Stream("block-permutation", self.seed, task)
                for task in range(block.start, block.stop)
            ]
            words = np.stack([stream.words(self.count) for stream in streams], axis=1)
            orders[1:, block] = block.start + words.argsort(axis=1, kind="stable")
        return orders


def is_constant(statistic: Floats) -> bool:
    """Tell whether no permutation changes a statistic (B + 1,), so that it tests nothing."""
    return bool(np.ptp(statistic) <= _CONSTANT * np.abs(statistic).max())


def standardised(statistic: Floats) -> Floats:
    """Return a statistic (B + 1,) less its mean over all permutations, in standard deviations."""
    if is_constant(statistic):
        return np.zeros_like(statistic)
    centred = statistic - statistic.mean()
    return np.asarray(np.round(centred / centred.std(), _DIGITS))


def together(statistics: Sequence[Floats]) -> Floats:
    """Add standardised statistics, each (B + 1,) on common permutations."""
    return np.asarray(np.sum([standardised(statistic) for statistic in statistics], axis=0))


def tails(statistic: Floats) -> Floats:
    """Compute, for each permutation, the share with a statistic at least as large (B + 1,)."""
    values = standardised(statistic)
    ordered = np.sort(values)
    at_least = values.size - np.searchsorted(ordered, values, side="left")
    return np.asarray(at_least / float(values.size))


def p_value(statistic: Floats) -> float:
    """Compute the p-value of the first of the statistics (B + 1,), that of the observed order."""
    values = standardised(statistic)
    return float(np.count_nonzero(values >= values[0])) / values.size


def either(statistics: Sequence[Floats]) -> Floats:
    """Return a statistic that is large where any of several is (B + 1,): minus their least tail."""
    return np.asarray(-np.min([tails(statistic) for statistic in statistics], axis=0))


def log_orders(values: NDArray[Any]) -> float:
    """Compute ln of the number of sequences that permutation within blocks makes of (T,)."""
    total = 0.0
    for block in blocks(len(values)):
        _, repeats = np.unique(values[block], return_counts=True)
        total += float(gammaln(repeats.sum() + 1.0) - gammaln(repeats + 1.0).sum())
    return total


_NUMBERS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Answered:
    """One method's results on a task set, and what is known of its tasks."""

    method: str
    dataset: str
    task_set: str
    class_ids: AnyInts
    """int (T, K): classes of each task, numbered alike in all task sets of the data set, from 0."""
    values: NDArray[Any]
    """int or float (T,): correct queries of each task, or accuracies."""
    reference: NDArray[Any] | None = None
    """float (T,): mean accuracy of the reference methods on each task."""


class ClassSums:
    """Sums over the tasks of each class, of one method's results on task sets of a data set."""

    def __init__(self, family: Sequence[Answered], permutations: int) -> None:
        self._n_classes = 1 + max(int(answer.class_ids.max()) for answer in family)
        self._observed = {id(a): _standard(a.values) @ self._members(a) for a in family}
        self._all = sum(self._observed.values(), np.zeros(self._n_classes))
        self._permuted = np.zeros((permutations + 1, self._n_classes))

    def score(self, answer: Answered, order: NDArray[np.int32]) -> Floats:
        """Return |Z'y + a|² - |a|² (B + 1,), permuting the values of this task set only."""
        members, values = self._members(answer), _standard(answer.values)
        others = 2.0 * (self._all - self._observed[id(answer)])
        scores = np.empty(len(order))
        step = max(1, _NUMBERS_AT_ONCE // max(members.shape))
        for start in range(0, len(order), step):
            rows = slice(start, start + step)
            sums = values[order[rows]] @ members
            scores[rows] = np.einsum("bc,bc->b", sums, sums + others)
            self._permuted[rows] += sums
        return scores

    @property
    def joint(self) -> Floats:
        """|Σ Z_s'y_s|² (B + 1,), permuting all task sets' values at once."""
        return np.asarray(np.einsum("bc,bc->b", self._permuted, self._permuted))

    def _members(self, answer: Answered) -> Floats:
        """Return Z (T, C), less its column means."""
        members = np.zeros((len(answer.class_ids), self._n_classes))
        members[np.arange(len(members))[:, None], answer.class_ids] = 1.0
        return np.asarray(members - members.mean(axis=0))


def correlations(answer: Answered, order: NDArray[np.int32]) -> list[Floats]:
    """Return correlations with the references (B + 1,), if there are any."""
    if answer.reference is None:
        return []
    reference = _standard(answer.reference)
    step = max(1, _NUMBERS_AT_ONCE // len(reference))
    values = _standard(answer.values)
    parts = [values[order[at : at + step]] @ reference for at in range(0, len(order), step)]
    return [np.concatenate(parts) / len(reference)]


def _standard(values: NDArray[Any]) -> Floats:
    """Return values (T,) less their mean, in standard deviations; 0 if they are all equal."""
    centred = np.asarray(values, np.float64) - np.mean(values)
    if (np.asarray(values) == values[0]).all():
        return np.zeros(len(centred))
    return np.asarray(centred / centred.std())


ALPHA = 0.001
"""Results whose p-value is at most this are recognised."""


class Finding(Enum):
    """What is concluded of the tasks behind some results."""

    RECOGNISED = "recognised"
    CANNOT_TELL = "cannot tell"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True)
class Recognition:
    """What is concluded, the p-values of both tests together and of each, or why there is none."""

    finding: Finding
    p: float | None
    by_classes: float | None
    by_references: float | None
    reason: str = ""


@dataclass(frozen=True)
class Recognitions:
    """What is concluded of several results, each in the order in which they were given."""

    each: tuple[Recognition, ...]
    task_sets: dict[tuple[str, str], Recognition]
    """Of all methods' results on a task set (data set, task set), together."""
    together: Recognition
    """Of all: whether at least some of the results belong to these tasks."""


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
        """Return the conclusion, or `reason` if there is nothing to test."""
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
    """Test whether results were made on the tasks that they are said to answer."""
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
    """Say why results are not testable, or nothing."""
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
