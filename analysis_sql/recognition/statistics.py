"""What permutations test: sums over the tasks of each class, correlations with references.

Both are in :mod:`analysis_sql.recognition.recognition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import AnyInts, Floats

_NUMBERS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Answered:
    """One method's results on a task set, and what is known of its tasks.

    Attributes
    ----------
    class_ids : int (T, K)
        Classes of each task, numbered alike in all task sets of the data set, from 0.
    values : int or float (T,)
        Correct queries of each task, or accuracies.
    reference : float (T,), optional
        Mean accuracy of the reference methods on each task.
    """

    method: str
    dataset: str
    task_set: str
    class_ids: AnyInts
    values: NDArray[Any]
    reference: NDArray[Any] | None = None


class ClassSums:
    """Sums over the tasks of each class, of one method's results on task sets of a data set."""

    def __init__(self, family: Sequence[Answered], permutations: int) -> None:
        self._n_classes = 1 + max(int(answer.class_ids.max()) for answer in family)
        self._observed = {id(a): _standard(a.values) @ self._members(a) for a in family}
        self._all = sum(self._observed.values(), np.zeros(self._n_classes))
        self._permuted = np.zeros((permutations + 1, self._n_classes))

    def score(self, answer: Answered, order: NDArray[np.int32]) -> Floats:
        """|Z'y + a|² - |a|² (B + 1,), permuting the values of this task set only."""
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
        """Z (T, C), less its column means."""
        members = np.zeros((len(answer.class_ids), self._n_classes))
        members[np.arange(len(members))[:, None], answer.class_ids] = 1.0
        return np.asarray(members - members.mean(axis=0))


def correlations(answer: Answered, order: NDArray[np.int32]) -> list[Floats]:
    """Correlations with the references (B + 1,), if there are any."""
    if answer.reference is None:
        return []
    reference = _standard(answer.reference)
    step = max(1, _NUMBERS_AT_ONCE // len(reference))
    values = _standard(answer.values)
    parts = [values[order[at : at + step]] @ reference for at in range(0, len(order), step)]
    return [np.concatenate(parts) / len(reference)]


def _standard(values: NDArray[Any]) -> Floats:
    """Values (T,) less their mean, in standard deviations; 0 if they are all equal."""
    centred = np.asarray(values, np.float64) - np.mean(values)
    if (np.asarray(values) == values[0]).all():
        return np.zeros(len(centred))
    return np.asarray(centred / centred.std())
