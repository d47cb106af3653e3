"""Draws of the support of all classes at once, each with the whole test set for queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from analysis_sql.intervals.all_ways import Cells, Coordinates
from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import LeftOut

_HARDLY = 1e-6
"""Share of two methods' own T below which that of their difference is computed directly."""

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
        shape = len(rows), 1 if columns is None else len(columns)
        whole, df = np.full(shape, np.nan), np.full(shape, np.inf)
        known = np.array([own is not None for own in right])
        if columns is None:
            for i in np.flatnonzero(known[rows]).tolist():
                whole[i, 0], df[i, 0], _ = self.cells.variance(self._coordinates(right[rows[i]]))
            return whole, df
        used = np.unique(np.concatenate([rows, columns]))
        used = used[known[used]]
        answers = [*(right[i] for i in used.tolist()), None]  # the last has nothing right
        pairs = self.cells.variances_of_pairs(
            [self._of_draw(answers, draw) for draw in range(self.tasks)]
        )
        of_row, of_column = np.nonzero(known[rows][:, None] & known[columns])
        first, second = (np.searchsorted(used, some) for some in (rows[of_row], columns[of_column]))
        own = pairs[0][-1]
        hardly = ~(pairs[0][first, second] > _HARDLY * (own[first] + own[second]))
        second[first == second] = len(used)
        whole[of_row, of_column], df[of_row, of_column] = (
            values[first, second] for values in pairs
        )
        for k in np.flatnonzero(hardly & (second < len(used))).tolist():
            i, j = of_row[k], of_column[k]
            of_both = (self._coordinates(right[m]) for m in (rows[i], columns[j]))
            apart = Coordinates(*(a - b for a, b in zip(*of_both, strict=True)))
            whole[i, j], df[i, j], _ = self.cells.variance(apart)
        return whole, df

    def _coordinates(self, right: RightQueries | None) -> Coordinates:
        x = [self._of_draw([right], draw)[0] for draw in range(self.tasks)]
        return self.cells.coordinates(np.array(x))

    def _of_draw(self, right: Sequence[RightQueries | None], draw: int) -> Floats:
        """Return the share of runs that are right (M, n), 0 where a draw does not ask an image."""
        x = np.zeros((len(right), self.class_of_image.size))
        for row, own in zip(x, right, strict=True):
            if own is not None:
                row[self.queries_of[draw]] = own.counts[draw] / own.runs
        return x
