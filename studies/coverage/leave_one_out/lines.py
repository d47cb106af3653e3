"""A kind of data sets that coverage is measured on: a line of the tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from benchmark_spec.protocol import Protocol
from fslbench_data.tasks.drawn import DrawnTasks, first_image_ids
from fslbench_data.tasks.pooled import draw_pooled, number_of_tasks
from fslbench_data.tasks.uniform import draw_closed, draw_open
from studies.coverage.leave_one_out.worlds import World

Kind = Literal["images", "classes", "superclasses"]
OF = ("one method", "difference", "small difference", "transductive")
FEW = 600
"""Tasks of the sets that are in use; the larger number is that of the package."""

CLASS_DRAWS = 20
MANY, VARIANT = 2000, 1000
"""Data sets of a line."""

BURSTS = (1, 2, 3, 4, 5)

Array = np.ndarray[Any, Any]


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
        """Of how many draws of classes data sets are, one after another."""
        return CLASS_DRAWS if kind == "images" and not self.population else 1

    @property
    def enough(self) -> bool:
        """Whether that is B0 or more, not cut to the most that a set has."""
        n, m = int(self.units.sum()), self.protocol.per_class
        b0 = 40 * float(np.mean(((self.units - 1) / (self.units - m)) ** 2)) * np.sqrt(2 * n)
        return self.most >= float(b0)

    def appearances(self, tasks: int) -> float:
        """How many tasks a unit is in on average."""
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
        """Image ids of support (B, K, S) and query (B, K, Q)."""
        first = first_image_ids(self.sizes)[drawn.class_ids][..., None]
        return drawn.support + first, drawn.query + first
