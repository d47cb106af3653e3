"""Planned widths, detectable differences and ranges are those of whole simulated results.

Twenty-four plans of a pilot whose components are known, each against 3000 simulated results on the
same three sequences of classes; and the ranges of 500 simulated pilots of each of six worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import sqrt
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixtures_of, relative_halfwidths
from analysis_sql.planning import planning, variance_budget
from analysis_sql.planning.planning import Planned, designs, plan
from analysis_sql.planning.query_size import estimate_set
from analysis_sql.planning.variance_budget import (
    Components,
    LikelyComponents,
    components_of,
    detectable_in_deviations,
)

Floats = NDArray[np.float64]

EFFECTS = (0.0, 2e-4, 1e-3, 4e-3)
"""Class components σ_b²."""

CLASSES = ((7, 120), (10, 178), (15, 100), (30, 60), (43, 900), (200, 60))
"""Numbers of classes, and their images."""

PILOTS = 500


def results(
    parts: Components, design: ClassDesign, query: int, sets: int, rng: np.random.Generator
) -> Floats:
    """Simulate whole results (sets, T), class effects and all."""
    effects = rng.normal(0, sqrt(parts.classes), (sets, design.classes))
    noise = rng.normal(0, sqrt(parts.within(query)), (sets, design.tasks))
    return np.asarray(effects[:, design.members].sum(axis=2) + noise)


def widths_of(design: ClassDesign, y: Floats, level: float = 0.95) -> Floats:
    """Compute the class-aware half-widths (sets,) of results (sets, T)."""
    norm2 = ((y - y.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.asarray(
        relative_halfwidths(mixtures_of(design, design.coordinates(y), norm2), level)
        * np.sqrt(norm2)
    )


def simulated(
    effect: float, number: int, size: int, sets: int, seeds: int
) -> tuple[Planned, float, float]:
    """Give a plan, and of simulated results the mean half-width in points and the power."""
    parts, sizes = Components(effect, 8e-4, 0.017), [size] * number
    (row,) = plan(parts, sizes, way=5, shot=5, queries=[5], seeds=seeds)
    assert row.detectable_class_aware is not None
    rng = np.random.default_rng(number)
    widths, powers = [], []
    for design in designs(sizes, way=5, shot=5, query=5, seeds=seeds):
        y = results(parts, design, 5, sets, rng)
        h = widths_of(design, y)
        widths.append(h.mean())
        powers.append((np.abs(y.mean(axis=1) + row.detectable_class_aware / 100) > h).mean())
    return row, 100 * float(np.mean(widths)), float(np.mean(powers))


def of_binomials(effect: float, luck: float) -> Components:
    """Return what :func:`pilots` has: standard deviations of a class's effect, and of luck."""
    return Components((effect / 5) ** 2, luck**2, (0.25 - effect**2 - luck**2) / 5)


def pilots(
    parts: Components, design: ClassDesign, query: int, number: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Simulate counts (T, K) of pilots with such components, each of other classes and images.

    A class's own effect is five times σ_b, and so is luck: each is a fifth of a task.
    """
    for _ in range(number):
        effect = rng.normal(0, 5 * sqrt(parts.classes), design.classes)[design.members]
        luck = rng.normal(0, sqrt(parts.images), (design.tasks, 1))
        yield rng.binomial(query, np.clip(0.5 + effect + luck, 0.0, 1.0))


def in_ranges(
    parts: Components, sizes: list[int], query: int, number: int, seed: int
) -> tuple[float, float]:
    """Count how often the ranges of pilots hold the true detectable differences."""
    (design, *_) = designs(sizes, way=5, shot=5, query=query, seeds=1)

    def planned(of: Components, likely: LikelyComponents | None = None) -> Planned:
        (row,) = plan(of, sizes, way=5, shot=5, queries=[query], seeds=1, likely=likely)
        return row

    true = planned(parts)
    assert true.detectable_open is not None
    assert true.detectable_class_aware is not None
    held = []
    # the classes of the tasks are the same in all, and so is what depends on them alone
    with (
        patch.object(planning, "designs", return_value=[design]),
        patch.object(variance_budget, "detectable_in_deviations", cache(detectable_in_deviations)),
    ):
        for x in pilots(parts, design, query, number, np.random.default_rng(seed)):
            estimate = estimate_set(x, query)
            row = planned(
                components_of(design, x, estimate), LikelyComponents.of(design, x, estimate)
            )
            assert row.range_open is not None
            assert row.range_class_aware is not None
            low, high = row.range_open
            aware_low, aware_high = row.range_class_aware
            held.append(
                [
                    low <= true.detectable_open <= high,
                    aware_low <= true.detectable_class_aware <= aware_high,
                ]
            )
    opened, aware = np.mean(held, axis=0).tolist()
    return opened, aware


def main() -> None:
    """Print plans beside what was simulated: widths within 3 %, power within 2 points of 80 %."""
    print("classes x images, σ_b²: planned half-width, simulated; power at the planned difference")
    for number, size in CLASSES:
        for effect in EFFECTS:
            row, width, power = simulated(effect, number, size, 3000, 3)
            assert row.class_aware is not None
            print(f"{number} x {size}, {effect:g}: {row.class_aware:.3f}, {width:.3f}; {power:.3f}")
            assert abs(row.class_aware / width - 1) <= 0.03
            assert abs(power - 0.8) < 0.02
    print(f"\n95 % ranges that hold the true detectable difference, of {PILOTS} pilots")
    print("classes x images, effect, luck: for new images (92 % and more), new classes (86 %)")
    for number, size in ((10, 178), (43, 200)):
        for effect, luck in ((0.0, 0.0), (0.05, 0.06), (0.15, 0.06)):
            parts = of_binomials(effect, luck)
            opened, aware = in_ranges(parts, [size] * number, 5, PILOTS, number)
            print(f"{number} x {size}, {effect:g}, {luck:g}: {opened:.3f}, {aware:.3f}")
            assert opened > 0.92
            assert aware > 0.86
