"""Draws of the support of all classes at once, each with the whole test set for queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from analysis_sql.intervals.all_ways import Cells, Coordinates
from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import LeftOut

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

    def variances(
        self, right: list[RightQueries | None], rows: Ints, columns: Ints | None
    ) -> tuple[Floats, Floats]:
        """Compute T and df (R, S) of differences of methods, or (R, 1) of methods; NaN if unknown.

        On the diagonal, where both are the same method, they are of the method itself.
        """
        found: list[Coordinates | None] = []
        for own in right:
            x = np.zeros(self.cells.there.shape)
            if own is not None:
                np.put_along_axis(x, self.queries_of, own.shares, axis=1)
            found.append(None if own is None else self.cells.coordinates(x))
        shape = len(rows), 1 if columns is None else len(columns)
        whole, df = np.full(shape, np.nan), np.full(shape, np.inf)
        for i, j in np.ndindex(shape):
            first = found[rows[i]]
            second = first if columns is None else found[columns[j]]
            if first is None or second is None:
                continue
            apart = first
            if first is not second:
                apart = Coordinates(*(a - b for a, b in zip(first, second, strict=True)))
            whole[i, j], df[i, j], _ = self.cells.variance(apart)
        return whole, df
