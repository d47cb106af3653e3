"""Comparing two methods where tasks share classes, and what the class-aware intervals conclude."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import halfwidths, pair_coordinates
from analysis_sql.class_aware.shared_design import SharedDesign
from analysis_sql.comparison.verdicts import (
    VERDICTS,
    PairInterval,
    direct_verdicts,
    paired_verdicts,
)
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import intervals
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

    def compare(self, method: int, versus: NDArray[np.int64]) -> list[PairInterval]:
        """Compare a method with others (P,), by their positions in `counts`."""
        pairs: dict[int, PairInterval] = {}
        for places, arrays in self._by_tasks(method, versus):
            pairs |= zip(
                places.tolist(), _pair_intervals(arrays, self._kind.name, self._level), strict=True
            )
        return [pairs[place] for place in range(len(versus))]

    def arrays(
        self, method: int, versus: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.int8]]:
        """The same as arrays (P,): half-widths of the differences, and both kinds of verdict."""
        width = np.full(len(versus), np.nan)
        verdict, direct = (np.zeros(len(versus), np.int8) for _ in range(2))
        for places, arrays in self._by_tasks(method, versus):
            width[places] = arrays.paired
            verdict[places], direct[places] = arrays.verdict, arrays.direct
        return width, verdict, direct

    def _by_tasks(
        self, method: int, versus: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], _Arrays]]:
        """Which of the others have T tasks in common with the method, and what is found of them."""
        common = np.minimum(self._counts.tasks[method], self._counts.tasks[versus])
        for tasks in np.unique(common).tolist():
            if tasks not in self._prefixes:
                self._prefixes[tasks] = _Prefix(
                    self._kind, self._design.prefix(tasks), self._counts, self._level
                )
            places = np.flatnonzero(common == tasks)
            rows = np.concatenate([[method], versus[places]])
            yield places, self._prefixes[tasks].compare(rows)


class ForNewClasses(AwarePairs[ClassDesign]):
    """Compares methods of a task set for new classes."""

    def __init__(self, design: ClassDesign, counts: Counts, level: float) -> None:
        super().__init__(AwareKind(KIND, halfwidths), design, counts, level)


@dataclass(frozen=True, eq=False)
class _Arrays:
    """A method and P others: own moments and half-widths (1 + P,), and of the P differences."""

    own: Moments
    width: NDArray[np.float64]
    difference: Moments
    paired: NDArray[np.float64]
    verdict: NDArray[np.int8]
    direct: NDArray[np.int8]


def _pair_intervals(arrays: _Arrays, kind: IntervalKind, level: float) -> list[PairInterval]:
    means = intervals(arrays.own, kind, level, arrays.width)
    differences = intervals(arrays.difference, kind, level, arrays.paired)
    return [
        PairInterval(means[0], mean, difference, VERDICTS[verdict], VERDICTS[direct])
        for mean, difference, verdict, direct in zip(
            means[1:], differences, arrays.verdict.tolist(), arrays.direct.tolist(), strict=True
        )
    ]


class _Prefix(Generic[D]):
    """The same over the first T tasks."""

    def __init__(self, kind: AwareKind[D], design: D, counts: Counts, level: float) -> None:
        self._kind, self._design, self._counts, self._level = kind, design, counts, level
        self._u: dict[int, NDArray[Any]] = {}
        self._width: dict[int, float] = {}

    def compare(self, rows: NDArray[np.int64]) -> _Arrays:
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
        direct = direct_verdicts(own.mean[0], width[0], own.mean[1:], width[1:])
        # many tasks take long to be told apart, and it matters rarely
        independent = design.disjoint_tasks if np.any(difference.constant) else None
        verdicts = paired_verdicts(difference, paired, self._kind.name, level, independent)
        return _Arrays(own, width, difference, paired, verdicts, direct)

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
