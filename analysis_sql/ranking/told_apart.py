"""Which of many methods differ, and which cannot be told from the best, adjusted for all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.multiplicity import Adjustment, adjust, conclusive, paired_p
from analysis_sql.comparison.pairs import pair_differences
from analysis_sql.comparison.ties import by_mean, letter_display
from analysis_sql.interval_kinds import BESIDE, Designs
from analysis_sql.intervals.arrays import Bools
from analysis_sql.intervals.counts import Counts
from benchmark_spec.errors import SpecError
from benchmark_spec.suites import IntervalKind

MOST_PAIRED = 100
"""Methods up to which all pairs are compared by every kind of interval, and letters are given."""

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AdjustedPairs:
    """Pairs of M methods with p-values adjusted for all of them, at whatever level."""

    methods: int
    first: Positions
    second: Positions
    """int (P,): positions of the methods of each pair."""
    p: NDArray[np.float64]
    """float (P,): adjusted."""
    family: int
    """For how many pairs it is: all that can be compared, whether they are here or not."""
    by_holm: bool
    """Whether by Holm's procedure; else by Bonferroni's, which finds no more."""

    def matrix(self, level: float) -> Bools:
        """Who is told apart from whom, (M, M): symmetric, False where a pair is not here."""
        told = np.zeros((self.methods, self.methods), np.bool_)
        apart = conclusive(self.p, level)
        told[self.first, self.second] = told[self.second, self.first] = apart
        return told

    def of(self, method: int, level: float) -> Bools:
        """Return who is told apart from a method, (M,)."""
        told = np.zeros(self.methods, np.bool_)
        with_it = (self.first == method) | (self.second == method)
        others = (self.first + self.second - method)[with_it]
        told[others] = conclusive(self.p, level)[with_it]
        return told


def adjusted_pairs(
    counts: Counts, kind: IntervalKind, design: Any = None, *, only: int | None = None
) -> AdjustedPairs:
    """Compare all pairs of M methods that answered the same tasks, adjusted for all of them.

    The design is of the kind, None for the one that the task set carries.  Pairs with the method
    `only` are enough: of more than :data:`MOST_PAIRED` methods no others are compared then, and the
    adjustment is Bonferroni's, which does without.
    """
    methods = len(counts)
    first, second = np.triu_indices(methods, 1)
    by_holm = True
    if only is not None and methods > MOST_PAIRED:
        by_holm = False
        first, second = np.full(methods - 1, only), np.delete(np.arange(methods), only)
    p = pair_p(counts, first, second, kind, design)
    if by_holm:
        adjusted = adjust(p, "holm")
        return AdjustedPairs(methods, first, second, adjusted.p, adjusted.size, by_holm)
    family = methods * (methods - 1) // 2
    return AdjustedPairs(methods, first, second, p * family, family, by_holm)


def pair_p(
    counts: Counts, first: Positions, second: Positions, kind: IntervalKind, design: Any = None
) -> NDArray[np.float64]:
    """Return two-sided p-values (P,) of pairs of methods, over the tasks that both answered.

    `design` is that of the kind, where it stands beside the one that the task set carries.
    """
    if not first.size:
        return np.empty(0)
    if design is not None:
        return np.asarray(BESIDE[kind].p_values(design, counts, first, second))
    return np.asarray(paired_p(pair_differences(counts, first, second), kind))


def p_matrix(
    counts: Counts, wanted: Bools, kind: IntervalKind, design: Any = None
) -> NDArray[np.float64]:
    """Return those of the pairs that are wanted, of F methods with M: (F, M), NaN elsewhere."""
    p = np.full(wanted.shape, np.nan)
    first, second = np.nonzero(wanted)
    p[wanted] = pair_p(counts, first, second, kind, design)
    return p


@dataclass(frozen=True)
class Ties:
    """Ties among M methods on a task set, after an adjustment over all their pairs."""

    methods: tuple[str, ...]
    adjustment: Adjustment
    family: int
    """How many pairs there are."""
    best: str
    """The method with the highest mean."""
    tied: Mapping[IntervalKind, tuple[str, ...]]
    """By kind of interval, methods that cannot be told from it, itself included, from the highest
    mean down; first the kind that the task set carries, then others that are computed."""
    letters: tuple[tuple[str, ...], ...] | None
    """Of each method: two share one if and only if they are not told apart (new images of these
    classes); None for very many methods, or very many such groups."""


@dataclass(frozen=True, eq=False)
class Contest:
    """All pairs of M methods on a task set, whose p-values serve for every level.

    `means` are those of the methods (M,), `pairs` by kind of interval, that which the task set
    carries first.
    """

    methods: tuple[str, ...]
    means: NDArray[np.float64]
    pairs: Mapping[IntervalKind, AdjustedPairs]

    def at(self, level: float) -> Ties:
        """Say who cannot be told from the best at a level."""
        order = by_mean(self.means)
        carried, *_ = self.pairs.values()
        apart = {kind: pairs.of(order[0], level) for kind, pairs in self.pairs.items()}
        few = len(self.methods) <= MOST_PAIRED
        return Ties(
            methods=self.methods,
            adjustment="holm",
            family=carried.family,
            best=self.methods[order[0]],
            tied={
                kind: tuple(self.methods[i] for i in order if not told[i])
                for kind, told in apart.items()
            },
            letters=self._letters(carried.matrix(level)) if few else None,
        )

    def _letters(self, told: Bools) -> tuple[tuple[str, ...], ...] | None:
        with suppress(SpecError):  # too many groups
            return letter_display(self.means, told).letters
        return None


def contest(
    names: tuple[str, ...], counts: Counts, interval_kind: IntervalKind, designs: Designs
) -> Contest:
    """Compare all pairs of at least two methods, by the kind of interval that the task set carries.

    Other kinds are those that it has designs for, unless there are very many methods.
    """
    pairs = {interval_kind: adjusted_pairs(counts, interval_kind)}
    if len(names) <= MOST_PAIRED:
        pairs |= {kind: adjusted_pairs(counts, kind, some) for kind, some in designs.items()}
    return Contest(names, np.asarray(counts.moments().mean, float), pairs)
