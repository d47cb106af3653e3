"""Many methods on one task set: who cannot be told from the best, with a stated family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.multiplicity import Adjustment, adjust, paired_p
from analysis_sql.comparison.pairs import all_differences
from analysis_sql.comparison.ties import letter_display, mirrored, tied_with_best
from analysis_sql.interval_kinds import BESIDE, Designs
from analysis_sql.intervals.counts import Counts
from benchmark_spec.protocol import IntervalKind

MOST_LETTERS = 100
"""Methods up to which letters are given, and ties are told for new classes too."""


@dataclass(frozen=True)
class Ties:
    """Ties among M methods on a task set, after an adjustment over all their pairs.

    Attributes
    ----------
    family
        How many pairs there are.
    best
        The method with the highest mean.
    tied
        By kind of interval, methods that cannot be told from it, itself included, from the highest
        mean down; first the kind that the task set carries, then others that are computed.
    letters
        Of each method: two share one if and only if they are not told apart (new images of these
        classes); None for very many methods.
    """

    methods: tuple[str, ...]
    adjustment: Adjustment
    family: int
    best: str
    tied: Mapping[IntervalKind, tuple[str, ...]]
    letters: tuple[tuple[str, ...], ...] | None


def ties_with_best(
    names: tuple[str, ...],
    counts: Counts,
    interval_kind: IntervalKind,
    level: float,
    designs: Designs,
    adjustment: Adjustment = "holm",
) -> Ties:
    """Compare all pairs of at least two methods, by the kind of interval that the task set carries.

    Other kinds are those that it has designs for.
    """
    means = np.asarray(counts.moments().mean, float)
    order = np.argsort(-means, kind="stable").tolist()
    first, second = np.triu_indices(len(names), 1)
    few = len(names) <= MOST_LETTERS
    p = np.asarray(paired_p(all_differences(counts), interval_kind), float)
    by_kind = {interval_kind: adjust(p[first, second], adjustment)}
    if few:
        for kind, design in designs.items():
            p_of_kind = BESIDE[kind].p_values(design, counts, first, second)
            by_kind[kind] = adjust(p_of_kind, adjustment)
    apart = {
        kind: _matrix(some.apart(level), first, second, len(names))
        for kind, some in by_kind.items()
    }
    tied = {kind: tied_with_best(means, matrix) for kind, matrix in apart.items()}
    return Ties(
        methods=names,
        adjustment=adjustment,
        family=by_kind[interval_kind].size,
        best=names[order[0]],
        tied={kind: tuple(names[i] for i in order if some[i]) for kind, some in tied.items()},
        letters=letter_display(means, apart[interval_kind]).letters if few else None,
    )


def _matrix(
    apart: NDArray[np.bool_], first: NDArray[np.int64], second: NDArray[np.int64], methods: int
) -> NDArray[np.bool_]:
    half = np.zeros((methods, methods), bool)
    half[first, second] = apart
    return np.asarray(mirrored(half))
