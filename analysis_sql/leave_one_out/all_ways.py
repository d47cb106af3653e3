"""Draws of the support of all classes at once, each with the whole test set for queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    """int64 (R, M): the images that are queries of each draw, class by class, 0..n-1; then -1."""
    class_of_image: Ints
    """int64 (n,): of every image that is a query of some draw."""
    overlap: float
    """Share of a class's training images that a draw takes for support."""
    unit: str = "images"
    second: bool = False
    """Whether it is known of some method what it would answer without each class."""
    alike: bool = True
    """As of :class:`Cells`."""

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
        there, place = queries >= 0, np.full(queries.shape, -1)
        used, place[there] = np.unique(queries[there], return_inverse=True)
        owner = np.unique(np.asarray(class_of_image)[used], return_inverse=True)[1]
        return cls(place, owner, overlap, unit)

    @property
    def why(self) -> Mapping[LeftOut, str]:
        """Return which kinds of interval there are not."""
        return {kind: why for kind, why in _WHY.items() if not (self.second and kind == "classes")}

    @property
    def tasks(self) -> int:
        """R, the number of draws."""
        return len(self.queries_of)

    def prefix(self, tasks: int) -> AllWayDesign:
        """Return the design of the first draws."""
        if tasks == self.tasks:
            return self
        first = self.of(self.queries_of[:tasks], self.class_of_image, self.overlap, self.unit)
        return replace(first, second=self.second, alike=self.alike)

    def disjoint_tasks(self, name: LeftOut) -> int:
        """Return 0: a difference that is the same in all draws is no special case."""
        return 0

    @cached_property
    def cells(self) -> Cells:
        """Which draw answers which image."""
        there = np.zeros((self.tasks, self.class_of_image.size + 1), bool)
        np.put_along_axis(there, self.queries_of, True, axis=1)
        return Cells(there[:, :-1], self.class_of_image, self.alike, self.overlap)


class AllWaySums:
    """What intervals of methods and of pairs are made of; NaN where answers are unknown.

    It is T and df for new images, the part of T that is of draws, and where it is known the same
    two for new classes. It is to draws of all classes what :class:`.queries.QuerySums` is to tasks.
    """

    def __init__(self, design: AllWayDesign, right: Sequence[RightQueries | None]) -> None:
        self._design, self._right = design, right
        self._known = np.array([own is not None for own in right])
        self._used: Ints = np.zeros(0, np.int64)
        self._pairs: list[Floats] = []

    @property
    def means(self) -> Floats:
        """Mean of each method in each draw (M, R), all of whose answers are known."""
        methods = np.arange(len(self._right))
        return self._design.cells.variances(self._draws(methods), of_each).means

    @cached_property
    def own(self) -> list[Floats]:
        """The numbers of each method (M,)."""
        made = self._nothing((len(self._right),))
        known = np.flatnonzero(self._known)
        step = max(1, _NUMBERS_AT_ONCE // self._design.queries_of.size)
        for start in range(0, known.size, step):
            some = known[start : start + step]
            found = self._found(self._draws(some), self._without(some), of_each)
            for values, own in zip(made, found, strict=True):
                values[some] = own
        return made

    def block(self, rows: Ints, columns: Ints) -> list[Floats]:
        """Return the numbers (R, S) of differences; on the diagonal those of the methods."""
        made = self._nothing((len(rows), len(columns)))
        self._compute(np.unique(np.concatenate([rows, columns])))
        of_row, of_column = np.nonzero(self._known[rows][:, None] & self._known[columns])
        first, second = (
            np.searchsorted(self._used, some) for some in (rows[of_row], columns[of_column])
        )
        pairs = self._pairs[0]
        own = pairs[-1]
        hardly = ~(pairs[first, second] > _HARDLY * (own[first] + own[second]))
        second[first == second] = len(self._used)
        for values, found in zip(made, self._pairs, strict=True):
            values[of_row, of_column] = found[first, second]
        for k in np.flatnonzero(hardly & (second < len(self._used))).tolist():
            both = np.array([rows[of_row[k]], columns[of_column[k]]])
            draws = [x[:1] - x[1:] for x in self._draws(both)]
            without = self._without(both)
            apart = without if without is None else without[:1] - without[1:]
            for values, found in zip(made, self._found(draws, apart, of_each), strict=True):
                values[of_row[k], of_column[k]] = found[0]
        return made

    def _nothing(self, shape: tuple[int, ...]) -> list[Floats]:
        return [np.full(shape, np.nan) for _ in range(5 if self._design.second else 3)]

    def _compute(self, wanted: Ints) -> None:
        """Compute all pairs of some methods, once; the last row is of nothing, for them alone."""
        wanted = wanted[self._known[wanted]]
        if np.isin(wanted, self._used).all() and self._used.size:
            return
        self._used = wanted
        draws = [np.pad(x, ((0, 1), (0, 0))) for x in self._draws(wanted)]
        without = self._without(wanted)
        more = without if without is None else np.pad(without, ((0, 1), (0, 0)))
        self._pairs = self._found(draws, more, of_pairs)

    def _found(
        self,
        draws: Sequence[Floats],
        without: Floats | None,
        squares: Callable[[Floats], Floats],
    ) -> list[Floats]:
        """Return the numbers, from what is right in each draw and the means without each class."""
        found = self._design.cells.variances(draws, squares)
        if without is None:
            return [*found[:3]]
        number = without.shape[1]
        apart = squares(without - without.mean(axis=1, keepdims=True)) * (number - 1) / number
        below = apart**2 / (number - 1) + found.draws**2 / max(self._design.tasks - 1, 1)
        whole = apart + found.draws
        df = np.divide(whole**2, below, out=np.full_like(whole, np.inf), where=whole > 0)
        return [*found[:3], whole, df]

    def _draws(self, methods: Ints) -> list[Floats]:
        """Return the share of runs that are right in each draw (M, n), 0 where it does not ask."""
        told = [own for i in methods if (own := self._right[i]) is not None]
        return [self._on_images([own.counts[r] / own.runs for own in told], r) for r in self._every]

    def _without(self, methods: Ints) -> Floats | None:
        """Return the methods' means without each class (M, C), NaN of those without second-bests.

        None if no method tells them.
        """
        if not self._design.second:
            return None
        x, cells = np.stack(self._draws(methods)), self._design.cells
        made = np.full((len(methods), int(self._design.class_of_image.max()) + 1), np.nan)
        for k, method in enumerate(methods):
            told = self._right[method]
            if told is None or told.regained is None:
                continue
            runs = [
                np.stack([self._on_images([own[r]], r, -1)[0] for r in self._every]).astype(int)
                for own in told.regained
            ]
            made[k] = np.mean([cells.means_without(x[:, k], regained) for regained in runs], axis=0)
        return made

    @property
    def _every(self) -> range:
        return range(self._design.tasks)

    def _on_images(self, values: Sequence[Any], draw: int, nothing: int = 0) -> Floats:
        """Put what is known of a draw's queries where the images are (M, n)."""
        x = np.full((len(values), self._design.class_of_image.size + 1), float(nothing))
        if values:  # else no method says which queries were right
            x[:, self._design.queries_of[draw]] = values
        return x[:, :-1]  # the last is of places without an image
