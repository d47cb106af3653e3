"""Exact integer moments of per-task counts: all that the intervals need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = int | NDArray[np.int64]

EXACT = isqrt(2**63 - 1)
"""T·unit up to which moments are exact."""


def subtract(
    x: NDArray[Any], unit: Integers, y: NDArray[Any], versus: Integers
) -> tuple[NDArray[Any], Integers]:
    """x/unit - y/versus, as numbers in the least common multiple of both units, and that unit.

    Exact while T times the common unit is at most :data:`EXACT`.

    Parameters
    ----------
    x, y : int64 (..., T)
        In units of their own; shapes are broadcast.
    unit, versus : int or int64 (...)
        One unit for all, or one for each row.
    """
    common = np.lcm(unit, versus)
    a, b = (np.asarray(common // own)[..., None] for own in (unit, versus))
    return (x - y if (a == 1).all() and (b == 1).all() else a * x - b * y), common


@dataclass(frozen=True)
class Moments:
    """Sum and sum of squares of integers x_1..x_T, where x_t / `unit` is a fraction of queries.

    Counts are integers, so that equality, and a standard deviation of 0, are exact; division
    comes last.  For one method x is the number of correct queries, for a paired difference the
    difference of two such numbers; `unit` is K·Q (times runs, where there are several).

    Every attribute may be an array, for many methods or pairs at once; everything is elementwise.
    T·unit is at most :data:`EXACT`, so that T Σx² and (Σx)² fit into 63 bits.

    Attributes
    ----------
    tasks, total, squares
        T, Σx and Σx².
    unit
        Queries in a task.
    """

    tasks: Integers
    total: Integers
    squares: Integers
    unit: Integers

    @classmethod
    def of(cls, counts: NDArray[np.integer[Any]], unit: Integers) -> Moments:
        """Moments of integer counts (T,)."""
        x = counts.astype(np.int64)
        return cls(x.size, int(x.sum()), int((x * x).sum()), unit)

    @cached_property
    def mean(self) -> Any:
        """Mean of x / unit, in percentage points."""
        return np.true_divide(100.0 * self.total, self.tasks * self.unit)

    @property
    def deviation(self) -> Any:
        """Sample standard deviation (T - 1) of x / unit, in percentage points; 0 where T < 2."""
        freedom = np.maximum(np.subtract(self.tasks, 1), 1)
        return 100.0 * np.sqrt(self.scatter / (self.tasks * freedom)) / self.unit

    @property
    def constant(self) -> Any:
        """Whether all x are equal."""
        return self.scatter == 0

    @property
    def all_zero(self) -> Any:
        """Whether all x are 0."""
        return np.equal(self.squares, 0)

    @cached_property
    def scatter(self) -> Any:
        """T Σx² - (Σx)², exact: T times the sum of squares about the mean."""
        return self.tasks * self.squares - self.total * self.total
