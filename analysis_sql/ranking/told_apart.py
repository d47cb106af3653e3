"""Which of many methods one kind of interval tells apart, when all of their pairs count as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.multiplicity import adjust, conclusive, paired_p
from analysis_sql.comparison.pairs import pair_differences
from analysis_sql.interval_kinds import BESIDE
from analysis_sql.intervals.arrays import Bools
from analysis_sql.intervals.counts import Counts
from benchmark_spec.suites import IntervalKind

MOST_PAIRED = 100
"""Methods up to which all pairs are compared by every kind of interval, and letters are given."""

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AdjustedPairs:
    """Pairs of M methods with p-values adjusted for all of them, at whatever level.

    Attributes
    ----------
    first, second : int (P,)
        Positions of the methods of each pair.
    p : float (P,)
        Adjusted.
    family
        For how many pairs it is: all that can be compared, whether they are here or not.
    by_holm
        Whether by Holm's procedure; else by Bonferroni's, which finds no more.
    """

    methods: int
    first: Positions
    second: Positions
    p: NDArray[np.float64]
    family: int
    by_holm: bool

    def at(self, level: float) -> ToldApart:
        """Tell apart those whose adjusted p-value is low enough."""
        return ToldApart(**vars(self), apart=conclusive(self.p, level))


@dataclass(frozen=True, eq=False)
class ToldApart(AdjustedPairs):
    """The same at a level: `apart`, bool (P,), says which of them are told apart."""

    apart: Bools

    @property
    def matrix(self) -> Bools:
        """Who is told apart from whom, (M, M): symmetric, False where a pair is not here."""
        told = np.zeros((self.methods, self.methods), np.bool_)
        told[self.first, self.second] = told[self.second, self.first] = self.apart
        return told

    def of(self, method: int) -> Bools:
        """Return who is told apart from a method, (M,)."""
        told = np.zeros(self.methods, np.bool_)
        with_it = (self.first == method) | (self.second == method)
        told[(self.first + self.second - method)[with_it]] = self.apart[with_it]
        return told


def adjusted_pairs(
    counts: Counts, kind: IntervalKind, design: Any = None, *, only: int | None = None
) -> AdjustedPairs:
    """Compare all pairs of M methods that answered the same tasks, adjusted for all of them.

    Parameters
    ----------
    design
        Of the kind, where it stands beside the one that the task set carries; else None.
    only
        A method: pairs with it are enough.  Of more than :data:`MOST_PAIRED` methods no others
        are compared then, and the adjustment is Bonferroni's, which does without.
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


def told_apart(
    counts: Counts,
    kind: IntervalKind,
    level: float,
    design: Any = None,
    *,
    only: int | None = None,
) -> ToldApart:
    """Tell pairs apart at one level: :func:`adjusted_pairs`, and :meth:`AdjustedPairs.at`."""
    return adjusted_pairs(counts, kind, design, only=only).at(level)


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
