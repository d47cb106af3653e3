"""Kinds of data sets that coverage is measured on: what classes and images are drawn from.

A class is a centre from N(0, τ²I) in 8 dimensions, and its images lie about it.  Beyond that:

difficulty
    The images of a class lie σ_c from its centre, ln σ_c ~ N(0, difficulty²).
hard_images
    Each image has a distance of its own, by a factor whose logarithm is N(0, hard_images²).
lobes
    A class has two centres, each so far from its middle; an image belongs to one of them.  Support
    images of both lobes are worth more than their sum: interactions of three images.
common
    The share of the variance of centres, and of ln σ_c, that a superclass has in common.
burst
    The share of the variance of images that a group of them has in common.
rare
    The share of classes whose images lie three times as far from their centres.

The methods are the nearest class mean

    0. on all 8 dimensions,
    1. on the first 6: with method 0 an ordinary difference,
    2. on all, the last one shrunk: a small difference,
    3. on all, after the class means have moved towards the queries that they attract: transductive.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal

import numpy as np
from msgspec.structs import replace

from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import (
    DrawnTasks,
    draw_closed,
    draw_open,
    draw_pooled,
    first_image_ids,
    number_of_tasks,
)
from studies.common import Array

DIMENSIONS = 8
WEIGHTS = np.array([[1.0] * 8, [1.0] * 6 + [0.0] * 2, [1.0] * 7 + [0.75]], np.float32)
"""What methods 0, 1, 2 multiply each dimension by; method 3 is as 0."""


@dataclass(frozen=True)
class Classes:
    """Some classes: centres (C, D), σ_c (C,), half the way between a class's lobes (C, D)."""

    centres: Array
    scale: Array
    lobes: Array


@dataclass(frozen=True)
class World:
    """What classes and images are drawn from; see the module."""

    spread: float = 1.0
    difficulty: float = 0.2
    hard_images: float = 0.0
    lobes: float = 0.0
    common: float = 0.0
    burst: float = 0.0
    rare: float = 0.0

    def classes(
        self, rng: np.random.Generator, many: int, superclass: Array | None = None
    ) -> Classes:
        """Draw classes; `superclass` (C,) names the superclass of each."""
        own, shared = np.sqrt(1 - self.common), np.sqrt(self.common)
        centres = own * rng.standard_normal((many, DIMENSIONS))
        logs = own * rng.standard_normal(many)
        if superclass is not None:
            groups = int(superclass.max()) + 1
            centres += shared * rng.standard_normal((groups, DIMENSIONS))[superclass]
            logs += shared * rng.standard_normal(groups)[superclass]
        scale = np.exp(self.difficulty * logs)
        if self.rare:
            scale = np.where(rng.random(many) < self.rare, 3.0, 1.0) * scale
        way = rng.standard_normal((many, DIMENSIONS))
        way *= self.lobes / np.linalg.norm(way, axis=1, keepdims=True)
        return Classes(*(np.asarray(x, np.float32) for x in (self.spread * centres, scale, way)))

    def images(
        self, rng: np.random.Generator, classes: Classes, which: Array, group: Array | None = None
    ) -> Array:
        """Draw images, float32 (..., D), of classes `which` (...).

        `group` (...) numbers the groups of images, over all classes, from 0.
        """
        shape = (*which.shape, DIMENSIONS)
        noise = rng.standard_normal(shape, dtype=np.float32)
        if self.burst and group is not None:
            of_group = rng.standard_normal((int(group.max()) + 1, DIMENSIONS), dtype=np.float32)
            noise *= np.float32(np.sqrt(1 - self.burst))
            noise += np.float32(np.sqrt(self.burst)) * of_group[group]
        noise *= classes.scale[which][..., None]
        if self.hard_images:
            size = self.hard_images * rng.standard_normal(which.shape, dtype=np.float32)
            noise *= np.exp(size)[..., None]
        if self.lobes:
            side = np.where(rng.random(which.shape) < 0.5, np.float32(-1), np.float32(1))
            noise += side[..., None] * classes.lobes[which]
        noise += classes.centres[which]
        return noise


def views(images: Array, methods: int) -> list[Array]:
    """Give each method's features of images (..., D); method 3 has those of method 0."""
    return [images if j in (0, 3) else images * WEIGHTS[j] for j in range(methods)]


def answers(support: list[Array], query: list[Array]) -> Array:
    """Return accuracies (M, T) of methods on tasks; see :func:`right_queries`."""
    return np.asarray(right_queries(support, query).mean(axis=2))


def right_queries(support: list[Array], query: list[Array]) -> Array:
    """Return which queries methods answer rightly (M, T, K·Q); the fourth method is transductive.

    Parameters
    ----------
    support, query
        For each method its features (T, K, S, D) and (T, K, Q, D).
    """
    parts = []
    for j, (shown, asked) in enumerate(zip(support, query, strict=True)):
        tasks, way, many, dimensions = asked.shape
        flat = asked.reshape(tasks, way * many, dimensions)
        mean = shown.mean(axis=2)
        scores = _scores(flat, mean)
        if j == 3:
            shot = np.float32(shown.shape[2])
            weight = np.exp(scores - scores.max(axis=2, keepdims=True))
            weight /= weight.sum(axis=2, keepdims=True)
            turned = weight.transpose(0, 2, 1)
            drawn = shot * mean + turned @ flat
            scores = _scores(flat, drawn / (shot + turned.sum(axis=2))[..., None])
        own = np.repeat(np.arange(way), many)
        parts.append(scores.argmax(axis=2) == own)
    return np.array(parts)


def _scores(asked: Array, mean: Array) -> Array:
    """Return half the squared distances to the origin less those to class means (T, n, K)."""
    return np.asarray(
        asked @ mean.transpose(0, 2, 1) - np.square(mean).sum(axis=2)[:, None, :] / np.float32(2)
    )


Kind = Literal["images", "classes", "superclasses"]
OF = ("one method", "difference", "small difference", "transductive")
FEW = 600
"""Tasks of the sets that are in use; the larger number is that of the package."""

CLASS_DRAWS = 20
MANY, VARIANT = 2000, 1000
"""Data sets of a line."""

BURSTS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Line:
    """A kind of data set.

    Attributes
    ----------
    about
        What is special about it; empty for the main lines.
    sizes
        Images of each class.
    kinds
        What is drawn anew for every data set: images of fixed classes, classes, superclasses.
    methods
        How many of :data:`OF` are judged.
    groups
        `closed`: images have groups of 1 to 5, and tasks are drawn without regard to them;
        `pooled`: one image of each of m groups.  Empty without groups.
    superclasses
        Classes of each superclass.
    limited
        Whether limits were set for it.
    population
        The name of a population of real images, instead of `world`.
    """

    about: str
    world: World
    sizes: tuple[int, ...]
    protocol: Protocol
    kinds: tuple[Kind, ...] = ("images", "classes")
    methods: int = 2
    levels: tuple[float, ...] = (0.95,)
    groups: str = ""
    superclasses: tuple[int, ...] = ()
    data_sets: int = MANY
    limited: bool = True
    population: str = ""

    @property
    def classes(self) -> int:
        """C."""
        return len(self.sizes)

    @property
    def size(self) -> str:
        """C and N."""
        return f"{self.classes}, {round(sum(self.sizes) / self.classes)}"

    @property
    def name(self) -> str:
        """How options and files call it."""
        p = self.protocol
        about = f" {self.about}" if self.about else ""
        return f"{self.size.replace(' ', '')} {p.way}w{p.shot}s{p.query}q{about}"

    @cached_property
    def class_of_image(self) -> Array:
        """The class of every image (N,)."""
        return np.repeat(np.arange(self.classes), self.sizes)

    @cached_property
    def group_of_image(self) -> Array | None:
        """The group of every image (N,), None without groups: sizes 1 to 5 again and again."""
        if not self.groups:
            return None
        parts, before = [], 0
        for size in self.sizes:
            of_class = np.repeat(np.arange(size), np.resize(BURSTS, size))[:size]
            parts.append(of_class + before)
            before += int(of_class[-1]) + 1
        return np.concatenate(parts)

    @cached_property
    def units(self) -> Array:
        """Groups of each class, or images (C,)."""
        if self.group_of_image is None:
            return np.array(self.sizes, np.int64)
        _, first = np.unique(self.group_of_image, return_index=True)
        return np.bincount(self.class_of_image[first], minlength=self.classes)

    @cached_property
    def superclass_of_class(self) -> Array | None:
        """The superclass of every class (C,)."""
        if not self.superclasses:
            return None
        return np.repeat(np.arange(len(self.superclasses)), self.superclasses)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tasks are judged: 600, and what the package draws."""
        return tuple(sorted({min(FEW, self.most), self.most}))

    @property
    def most(self) -> int:
        """The larger number of tasks."""
        return number_of_tasks(self.units, self.protocol)

    def draws(self, kind: Kind) -> int:
        """Say of how many draws of classes data sets are, one after another."""
        return CLASS_DRAWS if kind == "images" and not self.population else 1

    @property
    def enough(self) -> bool:
        """Whether that is B0 or more, not cut to the most that a set has."""
        n, m = int(self.units.sum()), self.protocol.per_class
        b0 = 40 * float(np.mean(((self.units - 1) / (self.units - m)) ** 2)) * np.sqrt(2 * n)
        return self.most >= float(b0)

    def appearances(self, tasks: int) -> float:
        """Return how many tasks a unit is in on average."""
        return tasks * self.protocol.way * self.protocol.per_class / float(self.units.sum())

    def draw(self, key: str, seed: int, tasks: int) -> DrawnTasks:
        """Draw tasks with the package's samplers."""
        if self.groups == "closed":
            return draw_closed(self.sizes, self.protocol, dataset=key, seed=seed, tasks=tasks)
        groups = self.group_of_image
        return draw_pooled(
            self.sizes, self.protocol, dataset=key, seed=seed, tasks=tasks, groups=groups
        )[0]

    def draw_open(self, key: str, seed: int) -> DrawnTasks:
        """Draw an open set of the same images; of groups, of the first image of each."""
        drawn = draw_open(self.units.tolist(), self.protocol, dataset=key, seed=seed)
        if self.group_of_image is None:
            return drawn
        _, first = np.unique(self.group_of_image, return_index=True)
        place = first - first_image_ids(self.sizes)[self.class_of_image[first]]
        begin = (np.cumsum(self.units) - self.units)[drawn.class_ids][..., None]
        return replace(
            drawn, support=place[begin + drawn.support], query=place[begin + drawn.query]
        )

    def ids(self, drawn: DrawnTasks) -> tuple[Array, Array]:
        """Return image ids of support (B, K, S) and query (B, K, Q)."""
        first = first_image_ids(self.sizes)[drawn.class_ids][..., None]
        return drawn.support + first, drawn.query + first


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


def _line(name: str, kind: Kind, classes: int, images: int, shot: int, query: int) -> Line:
    return Line(
        name,
        World(),
        (images,) * classes,
        Protocol(5, shot, query),
        kinds=(kind,),
        population=name,
        data_sets=VARIANT,
    )


REAL = (
    *(_line("hangul", "classes", c, n, 5, 5) for c, n in ((7, 40), (15, 40), (43, 40), (200, 20))),
    _line("hangul", "classes", 43, 40, 1, 1),
    *(_line("fashion_mnist", "images", 10, 60, s, q) for s, q in ((1, 1), (5, 5), (10, 7))),
    _line("fashion_mnist", "images", 10, 40, 5, 5),
)


LINES = (*_main(), *_variants(), *_superclasses(), *REAL)


def chosen(patterns: list[str]) -> list[Line]:
    """Return lines whose names fit any of some patterns of the shell; all without a pattern."""
    fits = patterns or ["*"]
    return [line for line in LINES if any(fnmatchcase(line.name, pattern) for pattern in fits)]
