"""Many methods on one task set: who cannot be told from the best, with a stated family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis_sql.comparison.multiplicity import Adjustment
from analysis_sql.comparison.ties import by_mean, letter_display
from analysis_sql.interval_kinds import Designs
from analysis_sql.intervals.counts import Counts
from analysis_sql.ranking.told_apart import MOST_PAIRED, told_apart
from benchmark_spec.protocol import IntervalKind


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
) -> Ties:
    """Compare all pairs of at least two methods, by the kind of interval that the task set carries.

    Other kinds are those that it has designs for.
    """
    means = np.asarray(counts.moments().mean, float)
    order = by_mean(means)
    few = len(names) <= MOST_PAIRED
    told = {interval_kind: told_apart(counts, interval_kind, level)}
    if few:
        told |= {kind: told_apart(counts, kind, level, some) for kind, some in designs.items()}
    apart = {kind: of_kind.of(order[0]) for kind, of_kind in told.items()}
    carried = told[interval_kind]
    return Ties(
        methods=names,
        adjustment="holm",
        family=carried.family,
        best=names[order[0]],
        tied={kind: tuple(names[i] for i in order if not some[i]) for kind, some in apart.items()},
        letters=letter_display(means, carried.matrix).letters if few else None,
    )
