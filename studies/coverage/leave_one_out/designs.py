"""Which lines are run: the main ones, and variants."""

from __future__ import annotations

from fnmatch import fnmatchcase

from benchmark_spec.protocol import Protocol
from studies.coverage.leave_one_out import real
from studies.coverage.leave_one_out.lines import VARIANT, Kind, Line
from studies.coverage.leave_one_out.worlds import World

SIZES = ((7, 120), (15, 40), (15, 100), (30, 25), (30, 60), (43, 200), (200, 60))
PROTOCOLS = ((1, 1), (5, 5), (10, 7))
VARIED = ((15, 100), (30, 60), (200, 60))
UNEQUAL = (0.3, 0.6, 1.0, 1.45, 1.65)
"""Sizes of classes in parts of N, again and again."""


def _sizes(classes: int, images: int) -> tuple[int, ...]:
    return (images,) * classes


def _main() -> list[Line]:
    lines = []
    for classes, images in SIZES:
        for shot, query in PROTOCOLS:
            more = (classes, images) in VARIED and shot == 5
            lines.append(
                Line(
                    "",
                    World(),
                    _sizes(classes, images),
                    Protocol(5, shot, query),
                    methods=4 if more else 2,
                    levels=(0.95, 0.90, 0.99) if more else (0.95,),
                )
            )
    return lines


def _variants() -> list[Line]:
    five = Protocol(5, 5, 5)
    lines = []
    for classes, images in VARIED:
        same = _sizes(classes, images)
        unequal = tuple(round(images * UNEQUAL[c % len(UNEQUAL)]) for c in range(classes))
        burst = World(burst=0.6)
        lines += [
            Line("unequal", World(), unequal, five, data_sets=VARIANT),
            Line("bursts closed", burst, same, five, groups="closed", data_sets=VARIANT),
            Line("bursts pooled", burst, same, five, groups="pooled", data_sets=VARIANT),
            Line("98 %", World(spread=2.1), same, five, data_sets=VARIANT),
        ]
    lines += [
        Line("ways", World(spread=1.3), _sizes(c, 60), Protocol(way, 5, 5), data_sets=VARIANT)
        for c, way in ((30, 10), (200, 10), (200, 20))
    ]
    for classes, images in VARIED[:2]:
        same = _sizes(classes, images)
        lines += [
            Line("two lobes", World(lobes=2.0, spread=1.5), same, five, data_sets=VARIANT),
            Line("hard images", World(hard_images=0.7), same, five, data_sets=VARIANT),
            Line(
                "rare classes",
                World(rare=0.05, spread=1.5),
                same,
                five,
                data_sets=VARIANT,
                limited=False,
            ),
        ]
    return lines


def _superclasses() -> list[Line]:
    world = World(common=0.5, difficulty=0.4)
    kinds: tuple[Kind, ...] = ("superclasses",)
    designs = {
        "8 of 40": (5,) * 8,
        "8 of 160": (20,) * 8,
        "6 of 30": (5,) * 6,
        "20 of 60": (3,) * 20,
        "20 of 60, half single": (1,) * 10 + (5,) * 10,
    }
    return [
        Line(
            f"superclasses {words}",
            world,
            _sizes(sum(members), 40),
            Protocol(5, 5, 5),
            kinds=kinds,
            superclasses=members,
            data_sets=VARIANT,
        )
        for words, members in designs.items()
    ]


LINES = (*_main(), *_variants(), *_superclasses(), *real.LINES)


def chosen(patterns: list[str]) -> list[Line]:
    """Lines whose names fit any of some patterns of the shell; all without a pattern."""
    fits = patterns or ["*"]
    return [line for line in LINES if any(fnmatchcase(line.name, pattern) for pattern in fits)]
