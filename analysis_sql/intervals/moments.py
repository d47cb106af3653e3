"""Moments of per-task counts, exact where they are integers: all that the intervals need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.training_runs import p_for_new_runs

Integers = int | NDArray[np.int64]

EXACT = isqrt(2**63 - 1)
"""T times the queries of a task, up to which moments are exact."""

_ROUNDING = 1e-7
"""Floats x that differ by less are equal: the square root of what rounding makes of x²."""


def subtract(
    x: NDArray[Any], queries: Integers, y: NDArray[Any], versus_queries: Integers
) -> tuple[NDArray[Any], Integers]:
    """Subtract counts x - y (..., T), in the least common multiple of both numbers of queries.

    Returns the differences and that multiple.  Exact while T times it is at most :data:`EXACT`.
    """
    common = np.lcm(queries, versus_queries)
    a, b = (np.asarray(common // own)[..., None] for own in (queries, versus_queries))
    return (x - y if (a == 1).all() and (b == 1).all() else a * x - b * y), common


@dataclass(frozen=True)
class Moments:
    """Sum and sum of squares of integers x_1..x_T, where x / `queries_per_task` is a share.

    Counts are integers, so that equality, and a standard deviation of 0, are exact; division
    comes last.  For one method x is the number of correct queries, for a paired difference the
    difference of two such numbers.  Where only accuracies are known x are these, as floats, and
    `queries_per_task` is 1; what differs by rounding alone is then equal.

    Every attribute may be an array, for many methods or pairs at once; everything is elementwise.
    T·`queries_per_task` is at most :data:`EXACT`, so that T Σx² and (Σx)² fit into 63 bits.
    """

    tasks: Integers
    total: Integers
    squares: Integers
    """T, Σx and Σx²."""
    queries_per_task: Integers
    """What x counts of: K·Q, times the runs where there are several; Q where x is of one class."""
    run_variance: float | NDArray[np.float64] = 0.0
    run_square: float | NDArray[np.float64] = 0.0
    """What training anew adds: :func:`analysis_sql.intervals.training_runs.run_terms`."""

    @classmethod
    def of(cls, counts: NDArray[Any], queries_per_task: Integers, *terms: float) -> Moments:
        """Compute the moments of counts (T,); `terms` are those of the runs, if any."""
        x = counts.astype(np.result_type(counts, np.int64))
        return cls(x.size, x.sum().item(), (x * x).sum().item(), queries_per_task, *terms)

    @classmethod
    def join(cls, parts: Iterable[Moments]) -> Moments:
        """Join the moments of several arrays of methods or pairs, at least one."""
        columns = zip(*(part._columns() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def some(self, rows: Any) -> Moments:
        """Return the moments of some methods or pairs, by positions (of every axis) or a mask."""
        return Moments(*(column[rows] for column in self._columns()))

    def _columns(self) -> list[NDArray[Any]]:
        """Return the attributes in order, each of the shape of all."""
        return list(np.broadcast_arrays(*(getattr(self, field.name) for field in fields(self))))

    def __neg__(self) -> Moments:
        return replace(self, total=-self.total)

    @cached_property
    def mean(self) -> Any:
        """Mean share, in percentage points."""
        return np.true_divide(100.0 * self.total, self.tasks * self.queries_per_task)

    @property
    def deviation(self) -> Any:
        """Sample standard deviation (T - 1) of the shares, in percentage points; 0 where T < 2."""
        freedom = np.maximum(np.subtract(self.tasks, 1), 1)
        return 100.0 * np.sqrt(self.scatter / (self.tasks * freedom)) / self.queries_per_task

    @property
    def run_terms(self) -> tuple[Any, Any]:
        """What training anew adds: `run_variance` and `run_square`."""
        return self.run_variance, self.run_square

    def p_for_new_runs(self, p: Any, widths: Callable[[], Any]) -> Any:
        """Raise two-sided p-values by what training anew adds, elementwise.

        `widths` computes half-widths without the runs at
        :data:`analysis_sql.intervals.training_runs.REFERENCE`, percentage points, and is called
        where there are runs alone.  Where all x are equal the half-width is 0.
        """
        if not np.any(self.run_variance):
            return p
        return p_for_new_runs(p, self.mean, np.where(self.constant, 0.0, widths()), self.run_terms)

    @property
    def constant(self) -> Any:
        """Whether all x are equal."""
        return self.scatter == 0

    @property
    def all_zero(self) -> Any:
        """Whether all x are 0."""
        return np.less_equal(self.squares, _ROUNDING**2 * self.tasks if self._floats else 0)

    @cached_property
    def scatter(self) -> Any:
        """T Σx² - (Σx)², exact of integers: T times the sum of squares about the mean."""
        scatter = self.tasks * self.squares - self.total * self.total
        if not self._floats:
            return scatter
        return np.where(scatter > _ROUNDING**2 * np.square(self.tasks), scatter, 0.0)

    @property
    def _floats(self) -> bool:
        return np.asarray(self.squares).dtype.kind == "f"
