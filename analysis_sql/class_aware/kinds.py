"""Intervals that count classes, or superclasses too, as a sample: the functions of every kind.

See :mod:`analysis_sql.interval_kinds`.  Each pair of methods is compared over the tasks that both
answered, by the design of these tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware import intervals, superclasses
from analysis_sql.class_aware.design import ROWS
from analysis_sql.comparison.pairs import Pairs, pair_differences
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts, Moments
from benchmark_spec.protocol import IntervalKind

_NUMBERS_AT_ONCE = 1 << 18
"""Coordinates of pairs that are held at once."""


@dataclass(frozen=True)
class AwareKind:
    """A kind of interval by a design that says what tasks share."""

    name: IntervalKind
    halfwidths: Callable[[Any, NDArray[Any], Moments, float], Floats]
    p: Callable[[Any, NDArray[Any], Moments], Floats]
    """Of methods' or pairs' coordinates (P, k) and moments: half-widths at a level, and two-sided
    p-values."""

    def method_halfwidths(self, design: Any, counts: Counts, level: float) -> Floats:
        """Compute half-widths (M,) of the methods' means, each over the tasks that it answered."""
        moments = counts.moments()
        widths = np.full(len(counts), np.nan)
        for prefix, rows in _by_tasks(design, counts.tasks):
            coordinates = prefix.coordinates(counts.correct[rows, : prefix.tasks])
            widths[rows] = self.halfwidths(prefix, coordinates, moments.some(rows), level)
        return widths

    def pairs(self, design: Any, counts: Counts, level: float) -> Pairs:
        """Make what compares the methods of a task set."""
        first = lru_cache(maxsize=None)(
            lambda tasks: _Prefix(self, design.prefix(tasks), counts, level)
        )
        return Pairs(
            self.name,
            counts,
            level,
            lambda tasks, *methods: first(tasks).own(*methods),
            lambda tasks, *pairs: first(tasks).widths(*pairs),
            lambda tasks: int(design.prefix(tasks).disjoint_tasks),
        )

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute two-sided p-values (P,) of pairs of methods, at two lists of positions."""
        p = np.full(len(methods), np.nan)
        differences = pair_differences(counts, methods, versus)
        common = np.minimum(counts.tasks[methods], counts.tasks[versus])
        for prefix, places in _by_tasks(design, common):
            u = prefix.coordinates(counts.correct[:, : prefix.tasks])
            for some, own in _blocks(prefix, counts, u, methods[places], versus[places]):
                rows = places[some]
                p[rows] = self.p(prefix, own, differences.some(rows))
        return p

    def method_p_values(self, design: Any, counts: Counts) -> Floats:
        """Compute two-sided p-values (M,) of means being 0, each over its tasks."""
        moments = counts.moments()
        p = np.full(len(counts), np.nan)
        for prefix, rows in _by_tasks(design, counts.tasks):
            coordinates = prefix.coordinates(counts.correct[rows, : prefix.tasks])
            p[rows] = self.p(prefix, coordinates, moments.some(rows))
        return p


class _Prefix:
    """The first tasks of a set, with the coordinates and own half-widths of all methods."""

    def __init__(self, kind: AwareKind, design: Any, counts: Counts, level: float) -> None:
        self._kind, self._design, self._counts, self._level = kind, design, counts, level
        first = counts.first(design.tasks)
        self._u = design.coordinates(first.correct)
        self._own = kind.halfwidths(design, self._u, first.moments(), level)

    def own(self, rows: Ints, _: Moments) -> Floats:
        """Return half-widths (N,) of methods' means."""
        return np.asarray(self._own[rows])

    def widths(self, methods: Ints, versus: Ints, difference: Moments) -> Floats:
        """Compute half-widths of differences (P,)."""
        widths = np.empty(len(methods))
        for some, u in _blocks(self._design, self._counts, self._u, methods, versus):
            apart = difference.some(some)
            widths[some] = self._kind.halfwidths(self._design, u, apart, self._level)
        return widths


def _blocks(
    design: Any, counts: Counts, u: Floats, methods: Ints, versus: Ints
) -> Iterator[tuple[slice, Floats]]:
    """Yield some pairs at a time, and the coordinates (P, k) of their differences, in their units.

    They are those of the methods, `u` (M, k), less each other; where queries per task differ, of
    the exact differences, since most of two large numbers may cancel there.
    """
    step = max(1, _NUMBERS_AT_ONCE // max(u.shape[1], 1) // ROWS) * ROWS
    for start in range(0, len(methods), step):
        some = slice(start, start + step)
        one, other = methods[some], versus[some]
        coordinates: Floats = u[one] - u[other]
        differ = np.flatnonzero(counts.queries_per_task[one] != counts.queries_per_task[other])
        if differ.size:
            apart = counts.differences(one[differ], other[differ], design.tasks)
            coordinates[differ] = design.coordinates(apart.correct)
        yield some, coordinates


def _by_tasks(design: Any, tasks: Ints) -> Iterator[tuple[Any, Ints]]:
    """Yield the designs of the first T tasks, for each T above 0, and its places in `tasks`."""
    for number in np.unique(tasks[tasks > 0]).tolist():
        yield design.prefix(number), np.flatnonzero(tasks == number)


KIND: IntervalKind = "class-aware"
NEW_CLASSES = AwareKind(KIND, intervals.halfwidths, intervals.p_values)
NEW_SUPERCLASSES = AwareKind("superclass-aware", superclasses.halfwidths, superclasses.p_values)
