"""Intervals that count classes, or superclasses too, as a sample: the functions of every kind.

See :mod:`analysis_sql.interval_kinds`.  Each pair of methods is compared over the tasks that both
answered, by the design of these tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware import intervals, superclasses
from analysis_sql.comparison.pairs import Pairs, pair_differences
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.moments import Moments
from benchmark_spec.suites import IntervalKind

_ROWS_AT_ONCE = 512
"""Pairs whose coordinates are held at once."""


@dataclass(frozen=True)
class AwareKind:
    """A kind of interval by a design that says what tasks share."""

    name: IntervalKind
    halfwidths: Callable[[Any, NDArray[Any], Moments, float], Floats]
    p: Callable[[Any, NDArray[Any], Moments, int], Floats]
    """Of methods' or pairs' coordinates (P, k) and moments: half-widths at a level, and p-values of
    so many sides."""

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
        prefixes: dict[int, _Prefix] = {}

        def widths(tasks: int, rows: Ints, some: Counts, own: Moments, difference: Moments) -> Any:
            if tasks not in prefixes:
                prefixes[tasks] = _Prefix(self, design.prefix(tasks), level)
            return prefixes[tasks].widths(rows, some, own, difference)

        return Pairs(
            self.name, counts, level, widths, lambda tasks: int(design.prefix(tasks).disjoint_tasks)
        )

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute two-sided p-values (P,) of pairs of methods, at two lists of positions."""
        p = np.full(len(methods), np.nan)
        differences = pair_differences(counts, methods, versus)
        common = np.minimum(counts.tasks[methods], counts.tasks[versus])
        for prefix, places in _by_tasks(design, common):
            whole = prefix.coordinates(counts.correct[:, : prefix.tasks])
            for start in range(0, places.size, _ROWS_AT_ONCE):
                rows = places[start : start + _ROWS_AT_ONCE]
                own = pair_coordinates(prefix, counts, whole, methods[rows], versus[rows])
                p[rows] = self.p(prefix, own, differences.some(rows), 2)
        return p

    def one_sided_p(self, design: Any, ahead: Counts) -> Floats:
        """Compute p-values (P,) of "the leader is better" from by how much it is ahead.

        1 where the mean is not above 0.
        """
        p = np.full(len(ahead), np.nan)
        for prefix, places in _by_tasks(design, ahead.tasks):
            for start in range(0, places.size, _ROWS_AT_ONCE):
                rows = places[start : start + _ROWS_AT_ONCE]
                part = ahead.some(rows).first(prefix.tasks)
                moments = part.moments()
                judged = self.p(prefix, prefix.coordinates(part.correct), moments, 1)
                p[rows] = np.where(np.asarray(moments.total) > 0, judged, 1.0)
        return p


@dataclass(eq=False)
class _Prefix:
    """The first tasks of a set; the coordinates and own half-width of a method are kept."""

    kind: AwareKind
    design: Any
    level: float
    kept: dict[int, tuple[Floats, float]] = field(default_factory=dict)

    def widths(
        self, rows: Ints, some: Counts, own: Moments, difference: Moments
    ) -> tuple[Floats, Floats]:
        """Compute half-widths of methods (1 + P,), and of the first less the others (P,)."""
        design, level = self.design, self.level
        missing = [place for place, row in enumerate(rows.tolist()) if row not in self.kept]
        if missing:
            u = design.coordinates(some.correct[missing])
            widths = self.kind.halfwidths(design, u, own.some(missing), level).tolist()
            self.kept |= zip(rows[missing].tolist(), zip(u, widths, strict=True), strict=True)
        kept = [self.kept[row] for row in rows.tolist()]
        u, width = np.stack([u for u, _ in kept]), np.array([width for _, width in kept])
        others = np.arange(1, len(rows))
        apart = pair_coordinates(design, some, u, np.zeros_like(others), others)
        return width, self.kind.halfwidths(design, apart, difference, level)


def _by_tasks(design: Any, tasks: Ints) -> Iterator[tuple[Any, Ints]]:
    """The designs of the first T tasks, for each T above 0, and where it stands in `tasks`."""
    for number in np.unique(tasks[tasks > 0]).tolist():
        yield design.prefix(number), np.flatnonzero(tasks == number)


def pair_coordinates(
    design: Any, counts: Counts, u: Floats, methods: NDArray[Any], versus: NDArray[Any]
) -> Floats:
    """Compute coordinates (P, k) of the differences of two methods each, in the units of these.

    Those of the methods less each other; where their queries per task differ, of the exact
    differences, since most of two large numbers may cancel there.  `methods` and `versus` (P,) are
    positions in `counts` (M) and `u` (M, k).
    """
    coordinates: Floats = u[methods] - u[versus]
    differ = np.flatnonzero(counts.queries_per_task[methods] != counts.queries_per_task[versus])
    if differ.size:
        apart = counts.differences(methods[differ], versus[differ], design.tasks)
        coordinates[differ] = design.coordinates(apart.correct)
    return coordinates


KIND: IntervalKind = "class-aware"
NEW_CLASSES = AwareKind(KIND, intervals.halfwidths, intervals.p_values)
NEW_SUPERCLASSES = AwareKind("superclass-aware", superclasses.halfwidths, superclasses.p_values)
