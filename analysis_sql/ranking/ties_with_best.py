"""Many methods on one task set: who cannot be told from the best, with a stated family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.pairs import p_values
from analysis_sql.comparison.multiplicity import Adjustment, adjust, paired_p
from analysis_sql.comparison.pairs import all_differences
from analysis_sql.comparison.ties import letter_display, mirrored, tied_with_best
from analysis_sql.intervals.counts import Counts
from benchmark_spec.protocol import IntervalKind

MOST_LETTERS = 100
"""Methods up to which letters are given, and ties are told for new classes too."""


@dataclass(frozen=True)
class Contest:
    """Ties among M methods on a task set, after an adjustment over all their pairs.

    Attributes
    ----------
    methods
        Names, in the order they came in.
    adjustment, family
        Which, over how many pairs.
    best
        The method with the highest mean.
    tied, tied_new_classes
        Methods that cannot be told from it, itself included, from the highest mean down; for new
        images of these classes, and for new classes (None where that is not computed).
    letters
        Of each method: two share one if and only if they are not told
        apart (new images of these classes); None for very many methods.
    """

    methods: tuple[str, ...]
    adjustment: Adjustment
    family: int
    best: str
    tied: tuple[str, ...]
    tied_new_classes: tuple[str, ...] | None
    letters: tuple[tuple[str, ...], ...] | None


def contest(
    names: tuple[str, ...],
    counts: Counts,
    kind: IntervalKind,
    level: float,
    design: ClassDesign | None,
    adjustment: Adjustment = "holm",
) -> Contest:
    """Compare all pairs of at least two methods; see :class:`Contest`."""
    means = np.asarray(counts.moments().mean, float)
    p = np.asarray(paired_p(all_differences(counts), kind), float)
    first, second = np.triu_indices(len(names), 1)
    adjusted = adjust(p[first, second], adjustment)
    apart = _matrix(adjusted.apart(level), first, second, len(names))
    few = len(names) <= MOST_LETTERS
    tied_new_classes = None
    if few and design is not None:
        aware = adjust(p_values(design, counts, first, second), adjustment).apart(level)
        tied_new_classes = _tied(names, means, _matrix(aware, first, second, len(names)))
    return Contest(
        methods=names,
        adjustment=adjustment,
        family=adjusted.size,
        best=names[int(np.argsort(-means, kind="stable")[0])],
        tied=_tied(names, means, apart),
        tied_new_classes=tied_new_classes,
        letters=letter_display(means, apart).letters if few else None,
    )


def _matrix(
    apart: NDArray[np.bool_], first: NDArray[np.int64], second: NDArray[np.int64], methods: int
) -> NDArray[np.bool_]:
    half = np.zeros((methods, methods), bool)
    half[first, second] = apart
    return np.asarray(mirrored(half))


def _tied(
    names: tuple[str, ...], means: NDArray[np.float64], apart: NDArray[np.bool_]
) -> tuple[str, ...]:
    tied = tied_with_best(means, apart)
    return tuple(names[i] for i in np.argsort(-means, kind="stable").tolist() if tied[i])
