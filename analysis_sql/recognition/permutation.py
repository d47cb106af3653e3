"""Permutation tests within blocks of consecutive tasks.

A statistic of the accuracies is compared with its values after the accuracies have been dealt
out anew among the tasks, B times.  They are only dealt out within blocks of consecutive tasks: in
an open set large classes outlast small ones, so that the tasks drift along the set, and accuracies
on *any* tasks of the same data drift with them.  Free permutations would destroy that drift and
take it for a sign of these very tasks.  A block has 20 tasks, but no more than a fifth of those
that are left: near its end a set drifts fast.  (With blocks of 20 to the end, the tasks of another
seed pass at p <= .01 up to 15 % of the time for vgg_flower's 22 tasks of 5 shots.)

With b of the B permuted statistics at least as large as the observed one::

    p = (1 + b) / (1 + B)

which is a valid p-value for any B (Phipson and Smyth, "Permutation p-values should never be
zero", 2010), since the observed statistic counts among those that it is compared with.  Another
seed would move it by about sqrt(p(1-p)/B): at p = .001 and B = 9,999 by .0003.

**Common permutations.**  In permutation b task number t has the same random word in every task set
and for every method, and a block is ordered by its tasks' words.  Whatever ties results together at
the same places of the task order so stays tied: methods on the same tasks, and task sets that
happen to run alike.  The permuted values of any function of all statistics, such as their sum, are
then values that it takes under the null hypothesis, however dependent its parts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from analysis_sql.intervals.arrays import Floats
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
        """Orders of the tasks of a set, (B + 1, T); the first is that in which they stand."""
        if tasks not in self._last:
            if len(self._last) >= _KEPT:
                del self._last[next(iter(self._last))]
            self._last[tasks] = self._order(tasks)
        return self._last[tasks]

    def _order(self, tasks: int) -> NDArray[np.int32]:
        orders = np.empty((self.count + 1, tasks), np.int32)
        orders[0] = np.arange(tasks)
        for block in blocks(tasks):
            words = np.stack([self._words(task) for task in range(block.start, block.stop)], axis=1)
            orders[1:, block] = block.start + words.argsort(axis=1, kind="stable")
        return orders

    def _words(self, task: int) -> NDArray[np.uint64]:
        """The words (B,) of a task; two of a block are equal once in 10^17 times."""
        return Stream("block-permutation", self.seed, task).words(self.count)


def is_constant(statistic: Floats) -> bool:
    """Whether no permutation changes a statistic (B + 1,), so that it tests nothing."""
    return bool(np.ptp(statistic) <= _CONSTANT * np.abs(statistic).max())


def standardised(statistic: Floats) -> Floats:
    """Return a statistic (B + 1,) less its mean over all permutations, in standard deviations.

    The observed order counts as one of the permutations, so that none is favoured.  Rounded, so
    that values that only the order of additions sets apart are equal.
    """
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
    """A statistic that is large where any of several is (B + 1,): minus their least tail.

    Its own p-value allows for the number of them and for their dependence (Tippett's combination
    on permutations; Westfall and Young, "Resampling-Based Multiple Testing", 1993).
    """
    return np.asarray(-np.min([tails(statistic) for statistic in statistics], axis=0))


def log_orders(values: NDArray[Any]) -> float:
    """Compute ln of the number of sequences that permutation within blocks makes of (T,)."""
    total = 0.0
    for block in blocks(len(values)):
        _, repeats = np.unique(values[block], return_counts=True)
        total += float(gammaln(repeats.sum() + 1.0) - gammaln(repeats + 1.0).sum())
    return total
