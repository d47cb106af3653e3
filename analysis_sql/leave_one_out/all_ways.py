"""Draws of the support of all classes at once, each with the whole test set for queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from analysis_sql.intervals.all_ways import Cells, of_each, of_pairs
from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import LeftOut

_HARDLY = 1e-6
"""Share of two methods' own T below which that of their difference is computed directly."""

_NUMBERS_AT_ONCE = 2**22

_WHY: Mapping[LeftOut, str] = MappingProxyType(
    {
        "classes": "every task has all classes; of new ones only the scores of all classes say "
        "something",
        "superclasses": "every task has all superclasses",
    }
)


@dataclass(frozen=True, eq=False)
class AllWayDesign:
    """The draws of a set whose tasks have all classes; made by :meth:`of`.

    It is to :mod:`.leave_one_out` what :class:`analysis_sql.leave_one_out.design.TaskDesign` is.
    """

    queries_of: Ints
    """int64 (R, M): the images that are queries of each draw, class by class, 0..n-1."""
    class_of_image: Ints
    """int64 (n,): of every image that is a query of some draw."""
    overlap: float
    """Share of a class's training images that a draw takes for support."""
    unit: str = "images"

    why: ClassVar[Mapping[LeftOut, str]] = _WHY
    bounded: ClassVar[Mapping[LeftOut, str]] = MappingProxyType({})
    jackknives: ClassVar[Mapping[LeftOut, Any]] = MappingProxyType({})
    takes_queries: ClassVar[bool] = False
    queries: ClassVar[None] = None
    warnings: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(
        cls, queries: AnyInts, class_of_image: AnyInts, overlap: float, unit: str = "images"
    ) -> AllWayDesign:
        """Make a design of queries (R, M), by the class of every image of the data set."""
        used, place = np.unique(queries, return_inverse=True)
        owner = np.unique(np.asarray(class_of_image)[used], return_inverse=True)[1]
        return cls(place.reshape(queries.shape), owner, overlap, unit)

    @property
    def tasks(self) -> int:
        """R, the number of draws."""
        return len(self.queries_of)

    def prefix(self, tasks: int) -> AllWayDesign:
        """Return the design of the first draws."""
        if tasks == self.tasks:
            return self
        return self.of(self.queries_of[:tasks], self.class_of_image, self.overlap, self.unit)

    def disjoint_tasks(self, name: LeftOut) -> int:
        """Return 0: a difference that is the same in all draws is no special case."""
        return 0

    @cached_property
    def cells(self) -> Cells:
        """Which draw answers which image; all answers alike."""
        there = np.zeros((self.tasks, self.class_of_image.size), bool)
        np.put_along_axis(there, self.queries_of, True, axis=1)
        return Cells(there, self.class_of_image, overlap=self.overlap)


class AllWaySums:
    """T and its degrees of freedom of methods and of pairs; NaN where answers are unknown.

    It is to draws of all classes what :class:`.queries.QuerySums` is to tasks.
    """

    def __init__(self, design: AllWayDesign, right: Sequence[RightQueries | None]) -> None:
        self._design, self._right = design, right
        self._known = np.array([own is not None for own in right])
        self._used: Ints = np.zeros(0, np.int64)
        self._pairs = np.zeros((1, 1)), np.zeros((1, 1))

    @cached_property
    def own(self) -> tuple[Floats, Floats]:
        """T and df of each method (M,)."""
        whole, df = np.full(len(self._right), np.nan), np.full(len(self._right), np.inf)
        known = np.flatnonzero(self._known)
        step = max(1, _NUMBERS_AT_ONCE // self._design.queries_of.size)
        for start in range(0, known.size, step):
            some = known[start : start + step]
            draws = [self._of_draw(some, r) for r in self._draws]
            found = self._design.cells.variances(draws, of_each)
            whole[some], df[some] = found.whole, found.df
        return whole, df

    def block(self, rows: Ints, columns: Ints) -> tuple[Floats, Floats]:
        """Return T and df (R, S) of differences; on the diagonal those of the methods."""
        shape = len(rows), len(columns)
        whole, df = np.full(shape, np.nan), np.full(shape, np.inf)
        self._compute(np.unique(np.concatenate([rows, columns])))
        of_row, of_column = np.nonzero(self._known[rows][:, None] & self._known[columns])
        first, second = (
            np.searchsorted(self._used, some) for some in (rows[of_row], columns[of_column])
        )
        pairs, _ = self._pairs
        own = pairs[-1]
        hardly = ~(pairs[first, second] > _HARDLY * (own[first] + own[second]))
        second[first == second] = len(self._used)
        whole[of_row, of_column], df[of_row, of_column] = (
            values[first, second] for values in self._pairs
        )
        for k in np.flatnonzero(hardly & (second < len(self._used))).tolist():
            both = [rows[of_row[k]], columns[of_column[k]]]
            draws = [x[:1] - x[1:] for x in (self._of_draw(both, r) for r in self._draws)]
            found = self._design.cells.variances(draws, of_each)
            whole[of_row[k], of_column[k]], df[of_row[k], of_column[k]] = (
                found.whole[0],
                found.df[0],
            )
        return whole, df

    def _compute(self, wanted: Ints) -> None:
        """Compute all pairs of some methods, once; the last row is of nothing, for them alone."""
        wanted = wanted[self._known[wanted]]
        if np.isin(wanted, self._used).all() and self._used.size:
            return
        self._used = wanted
        nothing = np.zeros((1, self._design.class_of_image.size))
        draws = [np.concatenate([self._of_draw(wanted, r), nothing]) for r in self._draws]
        found = self._design.cells.variances(draws, of_pairs)
        self._pairs = found.whole, found.df

    @property
    def _draws(self) -> range:
        return range(self._design.tasks)

    def _of_draw(self, methods: Ints | list[int], draw: int) -> Floats:
        """Return the share of runs that are right (M, n), 0 where a draw does not ask an image."""
        x = np.zeros((len(methods), self._design.class_of_image.size))
        asked = self._design.queries_of[draw]
        for row, i in zip(x, methods, strict=True):
            if (own := self._right[i]) is not None:
                row[asked] = own.counts[draw] / own.runs
        return x
