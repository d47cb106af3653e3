"""Intervals that count classes, or superclasses too, as a sample: the functions of every kind.

See :mod:`analysis_sql.interval_kinds`.  Each pair of methods is compared over the tasks that both
answered, by the design of these tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from analysis_sql.class_aware.design import ROWS
from analysis_sql.class_aware.intervals import Mixtures, mixtures_of
from analysis_sql.comparison.pairs import Kind, Laws, Places
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts, Moments
from benchmark_spec.protocol import IntervalKind

_NUMBERS_AT_ONCE = 1 << 18
"""Coordinates of pairs that are held at once."""
_MOST_KEPT = 2048
"""Pairs up to which mixtures are kept, for other levels and p-values of the same pairs."""


class AwareKind(Kind, frozen=True):
    """A kind of interval by a design of what tasks share."""

    least: AwareKind | None = None
    """The kind of the design's classes alone: a lower bound of half-widths and p-values."""

    def laws(
        self, design: Any, counts: Counts, tasks: int, pairs: Places | None, moments: Moments
    ) -> Iterator[tuple[Any, Laws]]:
        """Give mixtures, and those of the classes alone; they are kept if pairs are few."""
        first, norm2 = design.prefix(tasks), moments.norm2
        if first.independent:
            yield slice(None), mixtures_of(first, None, norm2)
        elif pairs is None:
            u = first.coordinates(counts.correct[:, :tasks])
            yield slice(None), mixtures_of(first, u, norm2)
        elif len(norm2) > _MOST_KEPT:
            yield from _blocks(first, counts, *pairs, norm2)
        else:
            kept = _kept(first, counts, *(array.tobytes() for array in (*pairs, norm2)))
            kept[:] = kept or [*_blocks(first, counts, *pairs, norm2)]
            yield from kept
        if self.least is not None:
            yield from self.least.laws(design.classes, counts, tasks, pairs, moments)

    def independent(self, design: Any, tasks: int) -> int:
        """Count tasks that share no class, or superclass."""
        return int(design.prefix(tasks).disjoint_tasks)

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute them as any kind, and keep them: rankings use the same."""
        pairs = (np.asarray(at, np.int64).tobytes() for at in (methods, versus))
        return _p_values(self, design, counts, *pairs).copy()


@lru_cache(maxsize=8)
def _p_values(
    kind: AwareKind, design: Any, counts: Counts, methods: bytes, versus: bytes
) -> Floats:
    return Kind.p_values(
        kind, design, counts, *(np.frombuffer(at, np.int64) for at in (methods, versus))
    )


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


CLASS_AWARE: IntervalKind = "class-aware"
NEW_CLASSES = AwareKind(CLASS_AWARE)
NEW_SUPERCLASSES = AwareKind("superclass-aware", least=NEW_CLASSES)
