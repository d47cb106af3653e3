"""The kinds of interval that count classes, or superclasses too, as a sample.

Each pair of methods is compared over the tasks that both answered, by the design of these tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from analysis_sql.class_aware.design import ROWS
from analysis_sql.class_aware.intervals import Mixtures, mixtures_of
from analysis_sql.comparisons import Kind, Laws, Positions
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts, Moments
from benchmark_spec.protocol import IntervalKind

_NUMBERS_AT_ONCE = 1 << 18
"""Coordinates of pairs that are held at once."""
_MOST_CACHED = 2048
"""Pairs up to which mixtures are cached, for other levels and p-values of the same pairs."""


class AwareKind(Kind, frozen=True):
    """A kind of interval by a design of the classes, or superclasses, that tasks share."""

    lower_bound: AwareKind | None = None
    """The kind, by the design's classes alone, that half-widths and p-values are not below."""

    def laws(
        self, design: Any, counts: Counts, tasks: int, pairs: Positions | None, moments: Moments
    ) -> Iterator[tuple[Any, Laws]]:
        """Yield mixtures, then those of the lower bound."""
        design_of_first, norm2 = design.prefix(tasks), moments.norm2
        if design_of_first.independent:
            yield slice(None), mixtures_of(design_of_first, None, norm2)
        elif pairs is None:
            u = design_of_first.coordinates(counts.correct[:, :tasks])
            yield slice(None), mixtures_of(design_of_first, u, norm2)
        elif len(norm2) > _MOST_CACHED:
            yield from _blocks(design_of_first, counts, *pairs, norm2)
        else:
            methods, versus = map(_as_bytes, pairs)
            yield from _cached_blocks(design_of_first, counts, methods, versus, norm2.tobytes())
        if self.lower_bound is not None:
            yield from self.lower_bound.laws(design.classes, counts, tasks, pairs, moments)

    def independent(self, design: Any, tasks: int) -> int:
        """Count disjoint tasks, which share no class, or superclass."""
        return int(design.prefix(tasks).disjoint_tasks)

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute p-values (P,) of pairs, cached, since rankings ask for the same."""
        return _p_values(self, design, counts, _as_bytes(methods), _as_bytes(versus)).copy()


def _as_bytes(positions: Ints) -> bytes:
    """Return positions as a key of a cache."""
    return np.asarray(positions, np.int64).tobytes()


@lru_cache(maxsize=8)
def _p_values(
    kind: AwareKind, design: Any, counts: Counts, methods: bytes, versus: bytes
) -> Floats:
    pairs = np.frombuffer(methods, np.int64), np.frombuffer(versus, np.int64)
    return Kind.p_values(kind, design, counts, *pairs)


@lru_cache(maxsize=8)
def _cached_blocks(
    design: Any, counts: Counts, methods: bytes, versus: bytes, norm2: bytes
) -> list[tuple[slice, Mixtures]]:
    pairs = np.frombuffer(methods, np.int64), np.frombuffer(versus, np.int64)
    return list(_blocks(design, counts, *pairs, np.frombuffer(norm2, np.float64)))


@lru_cache(maxsize=8)
def _coordinates(design: Any, counts: Counts) -> Floats:
    """Return the coordinates (M, k) of the methods, cached for all pairs of a design."""
    return np.asarray(design.coordinates(counts.correct[:, : design.tasks]))


def _blocks(
    design: Any, counts: Counts, methods: Ints, versus: Ints, norm2: Floats
) -> Iterator[tuple[slice, Mixtures]]:
    """Yield blocks of pairs, and the mixtures of their differences.

    The coordinates (P, k) of a difference are the difference of two methods' coordinates; where
    queries per task differ, large numbers may cancel, and they come from the exact differences.
    """
    u = _coordinates(design, counts)
    step = max(1, _NUMBERS_AT_ONCE // max(u.shape[1], 1) // ROWS) * ROWS
    for start in range(0, len(methods), step):
        block = slice(start, start + step)
        method, other = methods[block], versus[block]
        coordinates: Floats = u[method] - u[other]
        unequal = counts.queries_per_task[method] != counts.queries_per_task[other]
        if unequal.any():
            exact = counts.differences(method[unequal], other[unequal], design.tasks)
            coordinates[unequal] = design.coordinates(exact.correct)
        yield block, mixtures_of(design, coordinates, norm2[block])


CLASS_AWARE: IntervalKind = "class-aware"
NEW_CLASSES = AwareKind(CLASS_AWARE)
NEW_SUPERCLASSES = AwareKind("superclass-aware", lower_bound=NEW_CLASSES)
