"""Comparing two methods where tasks share classes, and what the class-aware intervals conclude."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import halfwidths, pair_coordinates
from analysis_sql.class_aware.shared_design import SharedDesign
from analysis_sql.comparison.pairs import pair_columns
from analysis_sql.comparison.verdicts import PairColumns, paired_verdicts
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.moments import Moments
from benchmark_spec.suites import IntervalKind

KIND: IntervalKind = "class-aware"

D = TypeVar("D", bound=SharedDesign)


@dataclass(frozen=True)
class AwareKind(Generic[D]):
    """A kind of interval that counts what tasks share: its name, and its half-widths (P,).

    These are of coordinates (P, k) of counts or differences, and of the moments of the same; see
    :func:`analysis_sql.class_aware.intervals.halfwidths`.
    """

    name: IntervalKind
    halfwidths: Callable[[D, NDArray[Any], Moments, float], NDArray[np.float64]]


class AwarePairs(Generic[D]):
    """Compares methods of a task set by a kind, each pair over the tasks that both answered.

    What belongs to one method, its coordinates and its own interval, is computed once.
    """

    def __init__(self, kind: AwareKind[D], design: D, counts: Counts, level: float) -> None:
        self._kind, self._design, self._counts, self._level = kind, design, counts, level
        self._prefixes: dict[int, _Prefix[D]] = {}

    def columns(self, method: int, versus: NDArray[np.int64]) -> PairColumns:
        """Compare a method with others (P,), by their positions in `counts`."""

        def compare(rows: NDArray[np.int64], tasks: int) -> PairColumns:
            if tasks not in self._prefixes:
                self._prefixes[tasks] = _Prefix(
                    self._kind, self._design.prefix(tasks), self._counts, self._level
                )
            return self._prefixes[tasks].compare(rows)

        return pair_columns(self._counts, method, versus, compare)


class ForNewClasses(AwarePairs[ClassDesign]):
    """Compares methods of a task set for new classes."""

    def __init__(self, design: ClassDesign, counts: Counts, level: float) -> None:
        super().__init__(AwareKind(KIND, halfwidths), design, counts, level)


class _Prefix(Generic[D]):
    """The same over the first T tasks."""

    def __init__(self, kind: AwareKind[D], design: D, counts: Counts, level: float) -> None:
        self._kind, self._design, self._counts, self._level = kind, design, counts, level
        self._u: dict[int, NDArray[Any]] = {}
        self._width: dict[int, float] = {}

    def compare(self, rows: NDArray[np.int64]) -> PairColumns:
        """Compare the first of some methods with the others."""
        design, level = self._design, self._level
        some = self._first_tasks(rows)
        own = some.moments()
        self._prepare(rows)
        u = np.stack([self._u[row] for row in rows.tolist()])
        width = np.array([self._width[row] for row in rows.tolist()])
        others = np.arange(1, len(some))
        difference = some.differences(0, others, design.tasks).moments()
        coordinates = pair_coordinates(design, some, u, np.zeros_like(others), others)
        paired = self._kind.halfwidths(design, coordinates, difference, level)
        # many tasks take long to be told apart, and it matters rarely
        independent = design.disjoint_tasks if np.any(difference.constant) else None
        verdicts = paired_verdicts(difference, paired, self._kind.name, level, independent)
        name = self._kind.name
        return PairColumns.of(name, level, own, width, difference, paired, verdicts)

    def _prepare(self, rows: NDArray[np.int64]) -> None:
        """Coordinates and own half-widths of the methods that have none yet."""
        missing = [row for row in rows.tolist() if row not in self._u]
        if not missing:
            return
        some = self._first_tasks(missing)
        u = self._design.coordinates(some.correct)
        widths = self._kind.halfwidths(self._design, u, some.moments(), self._level)
        self._u.update(zip(missing, u, strict=True))
        self._width.update(zip(missing, widths.tolist(), strict=True))

    def _first_tasks(self, rows: NDArray[np.int64] | list[int]) -> Counts:
        """Counts of some methods on these tasks alone."""
        return self._counts.some(rows).first(self._design.tasks)
