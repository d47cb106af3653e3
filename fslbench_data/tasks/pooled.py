"""The suite ``pooled``: many tasks of the same images, for intervals by leaving one out.

A *unit* is what an interval about new images leaves out: an image, or, where images have groups
(a burst of photos, one drawing in several styles), a group of them; an image without a group is a
unit of its own.  Every task is drawn alike and independently: K of the classes that have more than
m = S+Q units, uniformly; of each of them m distinct units, uniformly; of each unit one image,
uniformly.  So classes weigh equally whatever their sizes, and groups equally whatever theirs.

What tasks are drawn from is the *pool*: all units of a data set of at most :data:`LARGE` units;
of a larger one, :data:`KEPT` units of each class that has more, drawn once for all protocols.

Classes, units, images and the pool come from streams of their own, and tasks take their words one
after another: the first m tasks of a set are themselves a set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol
from fslbench_data.tasks.drawn import (
    DrawnTasks,
    Groups,
    checked_sizes,
    classes_of_images,
    first_image_ids,
    split_support,
)

Ints = NDArray[np.int64]

LARGE = 10_000
"""Units of a data set that are all drawn from.  4,000 tasks of ``5w1s1q`` show each of so many four
times on average, and half of these tasks twice: the fewest with which intervals are known to hold.
"""

KEPT = 100
"""Units of a class in the pool of a data set that has more than :data:`LARGE`."""

MOST_TASKS = 4000
"""Tasks of a set whose number is not asked for."""


@dataclass(frozen=True)
class Pool:
    """The units that tasks are drawn from, class by class in the order of their first images.

    Attributes
    ----------
    sizes : int64 (C,)
        Units of each class: the class sizes N_c of the design.
    images : int64 (n,)
        Ids of the images of all units, unit by unit.
    first, counts : int64 (U,)
        Where the images of each unit begin in `images`, and how many they are.
    grouped : bool
        Whether units are groups.
    cut : bool
        Whether it is a sample of the data set's units.
    """

    sizes: Ints
    images: Ints
    first: Ints
    counts: Ints
    grouped: bool
    cut: bool

    @classmethod
    def of(
        cls, class_sizes: Sequence[int], *, dataset: str, seed: int, groups: Groups | None = None
    ) -> Pool:
        """Find the pool of a data set; where it is a sample, data set and seed decide which.

        Raises a SamplingError if there is not one group for each image, or a group has images of
        two classes: it could be left out of neither.
        """
        sizes = np.asarray(class_sizes, np.int64)
        class_of = classes_of_images(sizes, dataset)
        start = _first_of_unit(class_of, groups, dataset)
        firsts, unit = np.unique(start, return_inverse=True)
        units = np.bincount(class_of[firsts], minlength=sizes.size).astype(np.int64)
        cut = firsts.size > LARGE and bool((units > KEPT).any())
        if cut:
            kept = _sample(units, Stream("pooled", dataset, seed, "pool"))
            units = np.minimum(units, KEPT)
        else:
            kept = np.ones(firsts.size, np.bool_)
        images = np.argsort(unit, kind="stable")
        images = images[kept[unit[images]]]
        counts = np.bincount(unit, minlength=firsts.size).astype(np.int64)[kept]
        grouped = groups is not None and bool((groups >= 0).any())
        return cls(units, images, np.cumsum(counts) - counts, counts, grouped, cut)

    @property
    def unit(self) -> str:
        """What a unit is called."""
        return "group" if self.grouped else "image"

    def eligible(self, protocol: Protocol, dataset: str) -> Ints:
        """Find the classes that tasks of a protocol are drawn from: those with more than S+Q units.

        With just S+Q of them a class's tasks would all have the same units, and none could be left
        out.  Raises a SamplingError if there are fewer than K.
        """
        classes = np.flatnonzero(self.sizes > protocol.per_class)
        if classes.size < protocol.way:
            of_pool = f", of which so large a data set keeps {KEPT} of a class" if self.cut else ""
            raise SamplingError(
                f"no {protocol} task of a pooled set can be drawn: {classes.size} of "
                f"{self.sizes.size} classes have more than {protocol.per_class} {self.unit}s "
                f"(shot + query){of_pool}",
                where=dataset,
                expected=f"at least {protocol.way} such classes: with just as many {self.unit}s as "
                "a task uses, none could be left out",
                fix="ask for fewer ways, shots or queries",
            )
        return classes


def draw_pooled(
    class_sizes: Sequence[int],
    protocol: Protocol,
    *,
    dataset: str,
    seed: int,
    tasks: int | None = None,
    groups: Groups | None = None,
) -> tuple[DrawnTasks, Pool]:
    """Draw `tasks` tasks, or as many as :func:`number_of_tasks` says; gives also their pool."""
    checked_sizes(class_sizes, protocol, dataset)
    pool = Pool.of(class_sizes, dataset=dataset, seed=seed, groups=groups)
    classes = pool.eligible(protocol, dataset)
    if tasks is None:
        tasks = number_of_tasks(pool.sizes[classes], protocol)
    if tasks < 1:
        raise SamplingError(f"cannot draw {tasks} tasks", where=dataset, expected="at least 1")
    key = ("pooled", dataset, str(protocol), seed)
    count = np.full(tasks, classes.size, np.int64)
    class_ids = classes[Stream(*key, "classes").subsets(count, protocol.way)]
    of_class = Stream(*key, f"{pool.unit}s").subsets(
        pool.sizes[class_ids].reshape(-1), protocol.per_class
    )
    before = np.cumsum(pool.sizes) - pool.sizes
    unit = before[class_ids][..., None] + of_class.reshape(tasks, protocol.way, -1)
    image = pool.first[unit]
    if pool.grouped:
        image = image + Stream(*key, "images").integers(pool.counts[unit])
    position = pool.images[image] - first_image_ids(class_sizes)[class_ids][..., None]
    return split_support(protocol, class_ids, position), pool


def number_of_tasks(units: Ints, protocol: Protocol) -> int:
    """Compute how many tasks a set has: B = min(max(B0, B1), 4000), rounded up.

    With C classes of N_c `units`, n in all, m = S+Q and F_c = (N_c-1)/(N_c-m)::

        B0 = 40 · mean(F_c²) · √(2n)        B1 = 80 · n / (K·m)

    Where that comes from: let σ² be the variance of a task's accuracy, of which the units one by
    one make a share r.  A task uses K·m of n units, so new units move the mean of all possible
    tasks by the variance V = r·σ²·K·m/n.  A mean over B tasks has the Monte Carlo variance σ²/B
    more, of V the part n/(r·K·m·B): at B1 it is 1/(80·r).  And V is estimated from squared means of
    the n_i = B·K·m/(C·N_c) tasks that show a unit, in which noise is (K·m/B)·mean(F_c²)·σ²; taken
    out, it leaves an error of √(2/n) times itself, of V the part mean(F_c²)·√(2n)/(r·B): at B0 it
    is 1/(40·r).  So a share r of an eighth makes Monte Carlo a tenth of the variance, and the
    estimate's error due to noise a fifth of it.

    Neither is needed for intervals to hold; fewer tasks make them wider.  Computed in whole
    numbers, so that it is the same on every platform.
    """
    return min(max(enough_tasks(units, protocol)), MOST_TASKS)


def enough_tasks(units: Ints, protocol: Protocol) -> tuple[int, int]:
    """Compute B0 and B1 of :func:`number_of_tasks`, rounded up: noise and Monte Carlo harmless."""
    n, m = int(units.sum()), protocol.per_class
    sizes, classes = (values.tolist() for values in np.unique(units, return_counts=True))
    squares = [
        c * Fraction(size - 1, size - m) ** 2 for size, c in zip(sizes, classes, strict=True)
    ]
    b0_squared = ceil(3200 * n * (sum(squares) / units.size) ** 2)
    b0 = isqrt(b0_squared - 1) + 1
    return b0, ceil(Fraction(80 * n, protocol.way * m))


def _first_of_unit(class_of: Ints, groups: Groups | None, dataset: str) -> Ints:
    """Find the first image of each image's unit, int64 (N,)."""
    images = np.arange(class_of.size)
    if groups is None:
        return images
    if groups.shape != class_of.shape:
        raise SamplingError(
            f"{groups.size} groups for {class_of.size} images", where=dataset, expected="one each"
        )
    grouped = np.flatnonzero(groups >= 0)
    _, first, group = np.unique(groups[grouped], return_index=True, return_inverse=True)
    images[grouped] = grouped[first[group]]
    spanning = groups[class_of[images] != class_of]
    if spanning.size:
        raise SamplingError(
            f"group {spanning[0]} has images of two classes",
            where=f"{dataset}: column `group` of its images",
            expected="groups within a class, since a pooled set is about the groups of its classes",
            fix="draw the suite `grouped`, in which a group may span classes",
        )
    return images


def _sample(units: Ints, stream: Stream) -> NDArray[np.bool_]:
    """Draw which units (U,) of classes with so many `units` are kept: of each class up to KEPT."""
    kept = np.ones(int(units.sum()), np.bool_)
    large = np.flatnonzero(units > KEPT)
    start = (np.cumsum(units) - units)[large]
    for begin, size in zip(start.tolist(), units[large].tolist(), strict=True):
        kept[begin : begin + size] = False
    kept[start[:, None] + stream.subsets(units[large], KEPT)] = True
    return kept
