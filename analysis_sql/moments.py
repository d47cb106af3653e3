"""Exact integer moments of per-task counts: all that the intervals need."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Moments:
    """Sum and sum of squares of integers x_1..x_T, where x_t / `unit` is a fraction of queries.

    Counts are integers, so that equality, and a standard deviation of 0, are exact; division
    comes last.  For one method x is the number of correct queries, for a paired difference the
    difference of two such numbers; `unit` is K·Q.

    Attributes
    ----------
    tasks, total, squares
        T, Σx and Σx².
    unit
        Queries in a task.
    """

    tasks: int
    total: int
    squares: int
    unit: int

    @classmethod
    def of(cls, counts: NDArray[np.integer[Any]], unit: int) -> Moments:
        """Moments of integer counts (T,)."""
        x = counts.astype(np.int64)
        return cls(x.size, int(x.sum()), int((x * x).sum()), unit)

    @property
    def mean(self) -> float:
        """Mean of x / unit, in percentage points."""
        return 100.0 * self.total / (self.tasks * self.unit)

    @property
    def deviation(self) -> float:
        """Sample standard deviation (T - 1) of x / unit, in percentage points; T >= 2."""
        scatter = self.tasks * self.squares - self.total**2  # exact
        return 100.0 * sqrt(scatter / (self.tasks * (self.tasks - 1))) / self.unit

    @property
    def constant(self) -> bool:
        """Whether all x are equal."""
        return self.tasks * self.squares == self.total**2

    @property
    def all_zero(self) -> bool:
        """Whether all x are 0."""
        return self.squares == 0
