"""Intervals that count classes, or superclasses too, as a sample: the functions of every kind.

See :mod:`analysis_sql.interval_kinds`.  Each pair of methods is compared over the tasks that both
answered, by the design of these tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np
from msgspec import Struct

from analysis_sql.class_aware import intervals, superclasses
from analysis_sql.class_aware.design import ROWS
from analysis_sql.class_aware.intervals import Mixtures, mixtures_of
from analysis_sql.comparison.pairs import Pairs, pair_differences
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts, Moments
from benchmark_spec.protocol import IntervalKind

_NUMBERS_AT_ONCE = 1 << 18
"""Coordinates of pairs that are held at once."""
_MOST_KEPT = 2048
"""Pairs up to which mixtures are kept, for other levels and p-values of the same pairs."""


class AwareKind(Struct, frozen=True):
    """A kind of interval by a design of what tasks share."""

    name: IntervalKind
    halfwidths: Callable[[Mixtures, Moments, float], Floats]
    p: Callable[[Mixtures, Moments], Floats]
    """Of methods' or pairs' mixtures and moments: half-widths (P,) at a level, and two-sided
    p-values (P,)."""
    least: AwareKind | None = None
    """The kind of the design's classes alone: a lower bound of half-widths and p-values."""

    def method_halfwidths(self, design: Any, counts: Counts, level: float) -> Floats:
        """Compute half-widths (M,) of the methods' means, each over the tasks that it answered."""
        widths = self._by_method(design, counts, lambda own, of: self.halfwidths(own, of, level))
        if self.least is not None:
            least = self.least.method_halfwidths(design.classes, counts, level)
            widths = np.maximum(widths, least)
        return widths

    def method_p_values(self, design: Any, counts: Counts) -> Floats:
        """Compute two-sided p-values (M,) of means being 0, each over its tasks."""
        p = self._by_method(design, counts, self.p)
        if self.least is not None:
            p = np.maximum(p, self.least.method_p_values(design.classes, counts))
        return p

    @staticmethod
    def _by_method(
        design: Any, counts: Counts, compute: Callable[[Mixtures, Moments], Floats]
    ) -> Floats:
        moments = counts.moments()
        values = np.full(len(counts), np.nan)
        for prefix, rows in _by_tasks(design, counts.tasks):
            some = moments.some(rows)
            mixtures = Mixtures(prefix, some.norm2, ())
            if not prefix.disjoint:
                coordinates = prefix.coordinates(counts.correct[rows, : prefix.tasks])
                mixtures = mixtures_of(prefix, coordinates, some.norm2)
            values[rows] = compute(mixtures, some)
        return values

    def pairs(self, design: Any, counts: Counts, level: float) -> Pairs:
        """Return the comparisons of a set's methods."""

        @cache
        def own(tasks: int) -> Floats:
            return self.method_halfwidths(design.prefix(tasks), counts.first(tasks), level)

        return Pairs(
            self.name,
            counts,
            level,
            lambda tasks, rows, _: own(tasks)[rows],
            lambda tasks, *pairs: self._widths(design.prefix(tasks), counts, level, *pairs),
            lambda tasks: int(design.prefix(tasks).disjoint_tasks),
        )

    def _widths(self, design: Any, counts: Counts, level: float, *pairs: Any) -> Floats:
        widths = _by_pair(design, counts, lambda own, of: self.halfwidths(own, of, level), *pairs)
        if self.least is not None:
            widths = np.maximum(widths, self.least._widths(design.classes, counts, level, *pairs))
        return widths

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute two-sided p-values (P,) of pairs of methods, at two lists of positions.

        They are kept, since other kinds and rankings use the same.
        """
        pairs = (np.asarray(at, np.int64).tobytes() for at in (methods, versus))
        return _p_values(self, design, counts, *pairs).copy()


@lru_cache(maxsize=8)
def _p_values(
    kind: AwareKind, design: Any, counts: Counts, methods: bytes, versus: bytes
) -> Floats:
    first, second = (np.frombuffer(at, np.int64) for at in (methods, versus))
    p = np.full(len(first), np.nan)
    differences = pair_differences(counts, first, second)
    common = np.minimum(counts.tasks[first], counts.tasks[second])
    for prefix, at in _by_tasks(design, common):
        p[at] = _by_pair(prefix, counts, kind.p, first[at], second[at], differences.some(at))
    if kind.least is not None:
        p = np.maximum(p, kind.least.p_values(design.classes, counts, first, second))
    return p


def _by_pair(
    design: Any,
    counts: Counts,
    compute: Callable[[Mixtures, Moments], Floats],
    methods: Ints,
    versus: Ints,
    difference: Moments,
) -> Floats:
    """Compute values (P,) of pairs from their mixtures, which are kept if pairs are few."""
    arguments = design, counts, methods, versus, difference.norm2
    if len(methods) > _MOST_KEPT:
        blocks = _blocks(*arguments)
    else:
        kept = _kept(design, counts, *(array.tobytes() for array in arguments[2:]))
        kept[:] = kept or [*_blocks(*arguments)]
        blocks = iter(kept)
    values = np.empty(len(methods))
    for some, mixtures in blocks:
        values[some] = compute(mixtures, difference.some(some))
    return values


@lru_cache(maxsize=8)
def _kept(design: Any, counts: Counts, *pairs: bytes) -> list[tuple[slice, Mixtures]]:
    """Return the list in which the blocks of some pairs are kept."""
    return []


@lru_cache(maxsize=8)
def _coordinates(design: Any, counts: Counts) -> Floats:
    """Return the coordinates (M, k) of the methods, kept for all pairs of a design."""
    return np.asarray(design.coordinates(counts.correct[:, : design.tasks]))


def _blocks(
    design: Any, counts: Counts, methods: Ints, versus: Ints, norm2: Floats
) -> Iterator[tuple[slice, Mixtures]]:
    """Yield some pairs at a time, and the mixtures of their differences.

    Their coordinates (P, k) are differences of the methods' own; where queries per task
    differ, of the exact differences, since large numbers may cancel there.
    """
    if design.disjoint:  # nothing is shared, and tasks are independent
        yield slice(None), Mixtures(design, norm2, ())
        return
    u = _coordinates(design, counts)
    step = max(1, _NUMBERS_AT_ONCE // max(u.shape[1], 1) // ROWS) * ROWS
    for start in range(0, len(methods), step):
        some = slice(start, start + step)
        one, other = methods[some], versus[some]
        coordinates: Floats = u[one] - u[other]
        differ = np.flatnonzero(counts.queries_per_task[one] != counts.queries_per_task[other])
        if differ.size:
            exact = counts.differences(one[differ], other[differ], design.tasks)
            coordinates[differ] = design.coordinates(exact.correct)
        yield some, mixtures_of(design, coordinates, norm2[some])


def _by_tasks(design: Any, tasks: Ints) -> Iterator[tuple[Any, Ints]]:
    """Yield the designs of the first T tasks, for each T above 0, and its places in `tasks`."""
    for number in np.unique(tasks[tasks > 0]).tolist():
        yield design.prefix(number), np.flatnonzero(tasks == number)


CLASS_AWARE: IntervalKind = "class-aware"
NEW_CLASSES = AwareKind(CLASS_AWARE, intervals.halfwidths, intervals.p_values)
NEW_SUPERCLASSES = AwareKind(
    "superclass-aware", superclasses.halfwidths, superclasses.p_values, least=NEW_CLASSES
)
