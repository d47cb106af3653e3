"""Who is in which task: classes, and the units of which another experiment would draw new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from benchmark_spec.errors import SpecError


@dataclass(frozen=True, eq=False)
class Membership:
    """B tasks of K classes with m images each, by positions.

    A *unit* is an image, or a group of images of one class where images have groups.  Only classes
    with at least m images can be drawn; these C classes are numbered in the order of their ids.
    """

    classes: Ints
    """int64 (B, K): classes of each task, 0..C-1."""
    units: Ints
    """int64 (B, K, m): unit of each image that a task uses, 0..U-1."""
    class_of_unit: Ints
    """int64 (U,): of every unit of the C classes."""
    images_of_unit: Ints
    """int64 (U,): s, its number of images; 1 where units are images."""
    class_names: Ints
    """int64 (C,): the id of each class."""
    grouped: bool
    """Whether units are groups."""
    spanning: bool
    """Whether a group has images of several classes, which then depend on one another."""
    labels: tuple[str, ...]
    """Names that sentences give to classes (C,), by position; the ids where none are given."""

    @classmethod
    def of(
        cls,
        class_ids: AnyInts,
        images: AnyInts,
        class_of_image: AnyInts,
        group_of_image: AnyInts | None,
        labels: Sequence[str] | None = None,
    ) -> Membership:
        """Check tasks against the images that may be drawn; see :class:`TaskDesign`."""
        ids, drawn, owner = map(np.asarray, (class_ids, images, class_of_image))
        _check_shapes(ids, drawn, owner)
        _check_tasks(ids, drawn, owner)
        sizes = np.bincount(owner[owner >= 0])
        eligible = np.flatnonzero(sizes >= drawn.shape[2])
        number = np.full(sizes.size, -1)
        number[eligible] = np.arange(eligible.size)
        usable = (owner >= 0) & (number[owner] >= 0)
        unit, spanning = np.full(owner.size, -1), False
        grouped = group_of_image is not None and bool((np.asarray(group_of_image) >= 0).any())
        if group_of_image is None or not grouped:
            unit[usable] = np.arange(int(usable.sum()))
            first = np.flatnonzero(usable)
        else:
            groups = np.asarray(group_of_image)
            if groups.shape != owner.shape:
                raise SpecError(
                    f"groups of {groups.size} images, and classes of {owner.size}",
                    expected="a group for every image, -1 where it stands for itself",
                )
            alone = groups < 0
            names = np.where(alone, np.arange(owner.size) + groups.max() + 1, groups)
            pairs = np.stack([owner, names], axis=1)[usable]
            _, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
            unit[usable] = which.reshape(-1)
            first = np.flatnonzero(usable)[first]
            spanning = np.unique(names[usable]).size < first.size
        return cls(
            number[ids],
            unit[drawn],
            number[owner[first]],
            np.bincount(unit[usable], minlength=first.size),
            eligible,
            grouped,
            spanning,
            tuple(str(i) if labels is None else labels[i] for i in eligible.tolist()),
        )

    def prefix(self, tasks: int) -> Membership:
        """Return who is in the first tasks."""
        return replace(self, classes=self.classes[:tasks], units=self.units[:tasks])

    @property
    def tasks(self) -> int:
        """B, the number of tasks."""
        return len(self.classes)

    @property
    def way(self) -> int:
        """K, classes in a task."""
        return int(self.classes.shape[1])

    @property
    def per_class(self) -> int:
        """m, images that a task uses of each of its classes."""
        return int(self.units.shape[2])

    @cached_property
    def images_of_class(self) -> Ints:
        """N_c (C,), images."""
        return np.bincount(self.class_of_unit, self.images_of_unit, self.class_names.size).astype(
            np.int64
        )

    @cached_property
    def units_of_class(self) -> Ints:
        """Units of each class (C,)."""
        return np.bincount(self.class_of_unit, minlength=self.class_names.size)

    @cached_property
    def tasks_of_class(self) -> Ints:
        """Count the tasks that have each class, J_c (C,)."""
        return np.bincount(self.classes.reshape(-1), minlength=self.class_names.size)

    @cached_property
    def tasks_of_unit(self) -> Ints:
        """Count the tasks that have each unit, n (U,)."""
        return np.bincount(self.uses.indices, minlength=self.class_of_unit.size)

    @cached_property
    def has_class(self) -> csr_array:
        """Z (B, C): 1 where a task has the class."""
        return _incidence(self.classes, self.class_names.size)

    @cached_property
    def uses(self) -> csr_array:
        """Count the images of each unit that a task has, k (B, U)."""
        return _incidence(self.units.reshape(self.tasks, -1), self.class_of_unit.size)

    @cached_property
    def one_each(self) -> bool:
        """Whether no task has two images of a unit: as drawn, or since units are images."""
        return bool(self.uses.data.max(initial=1.0) <= 1.0)


def _incidence(members: NDArray[Any], columns: int) -> csr_array:
    """Count in each row which columns its members name, (rows, columns)."""
    rows, width = members.shape
    matrix = csr_array(
        (np.ones(members.size), members.reshape(-1), np.arange(0, members.size + 1, width)),
        shape=(rows, columns),
    )
    matrix.sum_duplicates()
    return matrix


def has_superclass(tasks: Membership, superclass_of_class: Ints) -> csr_array:
    """Return (B, G): 1 where a task has a class of the superclass."""
    rows = np.repeat(np.arange(tasks.tasks), tasks.way)
    columns = superclass_of_class[tasks.classes.reshape(-1)]
    shape = (tasks.tasks, int(superclass_of_class.max()) + 1)
    has = csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
    has.sum_duplicates()
    has.data[:] = 1.0
    return has


def _check_shapes(ids: NDArray[Any], images: NDArray[Any], owner: NDArray[Any]) -> None:
    whole = all(array.dtype.kind in "iu" for array in (ids, images, owner))
    if not (whole and ids.ndim == 2 and images.ndim == 3 and owner.ndim == 1 and ids.size):
        raise SpecError(
            f"arrays {ids.shape} of {ids.dtype}, {images.shape} of {images.dtype} and "
            f"{owner.shape} of {owner.dtype} are not tasks and images",
            expected="integers: classes (B, K), images (B, K, m) and the class of each image (N,)",
        )
    if images.shape[:2] != ids.shape or not images.shape[2]:
        raise SpecError(
            f"classes {ids.shape} and images {images.shape} do not fit together",
            expected="classes (B, K) and images (B, K, m)",
        )
    if images.min() < 0 or images.max() >= owner.size:
        raise SpecError(
            f"image ids reach from {images.min()} to {images.max()}, of {owner.size} images",
            expected="ids from 0 that class_of_image has an entry for",
        )


def _check_tasks(ids: NDArray[Any], images: NDArray[Any], owner: NDArray[Any]) -> None:
    foreign = np.argwhere((owner[images] != ids[:, :, None]) | (owner[images] < 0))
    if foreign.size:
        task, position, place = foreign[0].tolist()
        image = images[task, position, place]
        raise SpecError(
            f"task {task} uses image {image} for class {ids[task, position]}, but it is of class "
            f"{owner[image]}",
            expected="images in the order of class_ids",
        )
    for what, rows in (("class", ids), ("image", images.reshape(len(ids), -1))):
        ordered = np.sort(rows, axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if twice.size:
            raise SpecError(
                f"task {twice[0]} has {'an image' if what == 'image' else 'a class'} twice",
                expected=f"no {what} twice in a task",
            )


def per_unit(membership: Membership, of_class: NDArray[Any]) -> Floats:
    """Give each unit (U,) what its class has (C,)."""
    return np.asarray(of_class, np.float64)[membership.class_of_unit]
