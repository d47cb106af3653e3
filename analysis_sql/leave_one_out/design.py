"""The design of tasks that reuse images: which units can be left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from math import inf
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.leave_one_out.jackknife import (
    Jackknife,
    Membership,
    has_superclass,
    leave_out_columns,
    leave_out_groups,
    leave_out_images,
)
from analysis_sql.leave_one_out.queries import QueryDesign, takes_queries

LeftOut = Literal["images", "classes", "superclasses"]
LEFT_OUT: tuple[LeftOut, ...] = ("images", "classes", "superclasses")

LEAST_APPEARANCES = 0.2
"""Mean number of tasks of a unit below which the jackknife has not been tested."""

LEAST_TASKS = 30
"""With fewer tasks without a class (superclass), the mean without it is hardly known."""

LEAST_USES = 3
"""With fewer tasks with a class, the effects of its images, or of the class, are hardly known."""

LEAST_SUPERCLASSES = 6

FITTED = 0.1
"""Classes per task above which the fit of tasks by their classes would remove too much of the
effects of images: V is too small by the square of 1 less this share, 19 % at the limit and 7 % with
20 classes in 600 tasks."""

_FEW_LEFT = 3.0
"""(N_c-1)/(N_c-m) of a class above which tasks use nearly all of its images."""


class TaskDesign(Struct, frozen=True, eq=False, dict=True):
    """The tasks of a set that reuses images, for all methods."""

    membership: Membership
    """Which classes and units are in which task."""
    superclass_of_class: Ints | None
    """int64 (C,) or None: of the classes that may be drawn, 0..G-1."""
    why: Mapping[LeftOut, str]
    """For each of `images`, `classes`, `superclasses` that has no interval, the reason."""
    bounded: Mapping[LeftOut, str]
    """For each that has an interval by a bound alone (:meth:`bound`), the reason."""
    shots: int = 0
    """S, the support images of a class, which come first; 0 where roles are unknown."""

    @classmethod
    def of(
        cls,
        class_ids: AnyInts,
        images: AnyInts,
        class_of_image: AnyInts,
        group_of_image: AnyInts | None = None,
        superclass_of_class: AnyInts | None = None,
        class_labels: Sequence[str] | None = None,
        shots: int = 0,
    ) -> TaskDesign:
        """Make a design of B tasks, drawn uniformly: K of C classes, then m images of each.

        `class_ids` (B, K) and `images` (B, K, m) are of each task, support before query.
        `class_of_image` (N,) is -1 for images that could not be drawn, `group_of_image` (N,) -1 for
        images without a group, `superclass_of_class` (C,), by class id, -1 for classes without one.
        """
        tasks = Membership.of(class_ids, images, class_of_image, group_of_image, class_labels)
        return cls._of(tasks, _superclasses(tasks, superclass_of_class), shots)

    @classmethod
    def _of(cls, tasks: Membership, superclasses: Ints | None, shots: int) -> TaskDesign:
        design = cls(tasks, superclasses, {}, {}, shots)
        why: dict[LeftOut, str] = {}
        bounded: dict[LeftOut, str] = {}
        if tasks.spanning:
            reason = "groups have images of several classes, which then depend on one another"
            why = dict.fromkeys(LEFT_OUT, reason)
        elif tasks.tasks < 2:
            why = dict.fromkeys(LEFT_OUT, "there are fewer than two tasks")
        else:
            if reason := _no_images(tasks):
                bounded["images"] = reason
            classes = tasks.class_names.size
            if classes <= tasks.way:
                why["classes"] = f"every task has all {classes} classes"
            elif reason := few_uses(tasks.labels, tasks.tasks_of_class) or few_without(
                tasks.labels, tasks.tasks - tasks.tasks_of_class
            ):
                bounded["classes"] = reason
            if reason := why.get("classes") or _no_superclasses(tasks, superclasses):
                why["superclasses"] = reason
            if np.isinf(design.bound("images")) and "images" in bounded:
                why = dict.fromkeys(LEFT_OUT, bounded.pop("images"))
                bounded = {}
        return replace(design, why=why, bounded=bounded)

    def bound(self, name: LeftOut) -> float:
        """Return Hoeffding's bound of the variance of the mean over v_mc.

        For images the share ρ is K m/(C N_c), N_c of the class with the fewest images, or (Σs)²/Σs²
        where images are in groups of s; for classes it is K/C.
        """
        tasks = self.membership
        share = tasks.way / tasks.class_names.size
        if name == "images":
            images = tasks.images_of_unit.astype(np.float64)
            sizes = np.bincount(tasks.class_of_unit, images)
            squares = np.bincount(tasks.class_of_unit, images**2)
            share *= tasks.per_class / float((sizes**2 / squares).min())
        return variance_factor(self.tasks, share)

    def bound_freedom(self, name: LeftOut) -> float:
        """Return the degrees of freedom of the bound: B - 1, for new classes at most C - 1."""
        classes = self.membership.class_names.size
        return (self.tasks if name == "images" else min(self.tasks, classes)) - 1.0

    @property
    def tasks(self) -> int:
        """B, the number of tasks."""
        return self.membership.tasks

    def prefix(self, tasks: int) -> TaskDesign:
        """Return the design of the first tasks."""
        if tasks == self.tasks:
            return self
        return self._of(self.membership.prefix(tasks), self.superclass_of_class, self.shots)

    @property
    def unit(self) -> Literal["images", "groups"]:
        """What is left out for new images."""
        return "groups" if self.membership.grouped else "images"

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what weakens the intervals."""
        sizes, m = self.membership.units_of_class, self.membership.per_class
        if {"images"} & {*self.why, *self.bounded} or not self.membership.one_each:
            return ()
        ratio = (sizes - 1) / np.maximum(sizes - m, 1)
        few = np.flatnonzero(ratio > _FEW_LEFT)
        if not few.size:
            return ()
        smallest = few[np.argmax(ratio[few])]
        return (
            f"a task uses {m} of the {sizes[smallest]} {self.unit} of class "
            f"{self.membership.labels[smallest]}"
            + (f", nearly as much of {few.size - 1} others" if few.size > 1 else "")
            + ": intervals are wider for it",
        )

    def disjoint_tasks(self, name: LeftOut) -> int:
        """Return how many tasks without a common unit the pool would make, at most B."""
        tasks = self.membership
        by_unit = {
            "images": tasks.class_of_unit.size // (tasks.way * tasks.per_class),
            "classes": tasks.class_names.size // tasks.way,
        }
        if self.superclass_of_class is not None:
            by_unit["superclasses"] = (int(self.superclass_of_class.max()) + 1) // tasks.way
        units = LEFT_OUT[: LEFT_OUT.index(name) + 1]
        return min(self.tasks, *(by_unit.get(unit, 0) for unit in units))

    @cached_property
    def jackknives(self) -> Mapping[LeftOut, Jackknife]:
        """The jackknives that can be taken, in the order of :data:`LEFT_OUT`."""
        jackknives: dict[LeftOut, Jackknife] = {}
        tasks, without = self.membership, {*self.why, *self.bounded}
        if "images" not in without:
            jackknives["images"] = (leave_out_images if tasks.one_each else leave_out_groups)(tasks)
        if "classes" not in without:
            jackknives["classes"] = leave_out_columns(tasks.has_class, tails=True)
        if "superclasses" not in without and self.superclass_of_class is not None:
            has = has_superclass(tasks, self.superclass_of_class)
            jackknives["superclasses"] = leave_out_columns(has, tails=False)
        return jackknives

    @property
    def takes_queries(self) -> bool:
        """Whether intervals for new images can use which queries were right."""
        has_jackknife = "images" not in self.why and "images" not in self.bounded
        return has_jackknife and takes_queries(self.membership, self.shots)

    @cached_property
    def queries(self) -> QueryDesign | None:
        """The design by roles of images; None where only whole tasks can be used."""
        return QueryDesign.of(self.membership, self.shots) if self.takes_queries else None

    def residuals(self, values: Floats, name: LeftOut = "images") -> Floats:
        """Subtract from values (M, B) their least-squares fit by tasks' classes, or their mean.

        For images it is the fit, which reduces noise, unless tasks are too few (:data:`FITTED`);
        for classes and superclasses, whose effects the fit would remove, it is the mean.
        """
        if name != "images" or self.membership.class_names.size > FITTED * self.tasks:
            return np.asarray(values - values.mean(axis=1, keepdims=True))
        has = self.membership.has_class
        return np.asarray(values - (has @ (self._inverse @ (has.T @ values.T))).T)

    @cached_property
    def _inverse(self) -> Floats:
        """The inverse of Z'Z, or its pseudoinverse where classes are always together."""
        has = self.membership.has_class
        products = (has.T @ has).toarray()
        with suppress(np.linalg.LinAlgError):
            sizes = np.diag(np.linalg.cholesky(products))
            if sizes.min() > 1e-6 * sizes.max():
                return np.linalg.inv(products)  # with many classes a pseudoinverse takes long
        return np.linalg.pinv(products, hermitian=True)


def _superclasses(tasks: Membership, superclass_of_class: AnyInts | None) -> Ints | None:
    """Return the superclasses 0..G-1 of classes that may be drawn; None where a class has none."""
    if superclass_of_class is None:
        return None
    ids = np.asarray(superclass_of_class)[tasks.class_names]
    return None if (ids < 0).any() else np.unique(ids, return_inverse=True)[1].astype(np.int64)


def _no_images(tasks: Membership) -> str:
    """Return why images cannot be left out; empty where they can."""
    unit, m = "groups" if tasks.grouped else "images", tasks.per_class
    sizes = tasks.units_of_class
    least = m if tasks.one_each else 1
    if (sizes <= least).any():
        small = int(np.argmin(sizes))
        return (
            f"class {tasks.labels[small]} has {sizes[small]} {unit}, of which a task uses {m}"
            if tasks.one_each
            else f"class {tasks.labels[small]} has a single group"
        )
    if reason := few_uses(tasks.labels, tasks.tasks_of_class) or few_appearances(
        unit, float(tasks.tasks_of_unit.mean())
    ):
        return reason
    reused = np.bincount(tasks.class_of_unit, tasks.tasks_of_unit >= 2, sizes.size)
    if (reused < 1).any():
        name = tasks.labels[int(np.argmin(reused))]
        return f"no image of class {name} is in two tasks"
    return ""


def few_uses(labels: Sequence[str], uses: Ints) -> str:
    """Return the reason if a class is in too few tasks, else an empty text."""
    rare = int(np.argmin(uses))
    few = f"class {labels[rare]} is in {uses[rare]} tasks, fewer than {LEAST_USES}"
    return few if uses[rare] < LEAST_USES else ""


def few_appearances(unit: str, number: float) -> str:
    """Return the reason if units are in too few tasks on average, else an empty text."""
    few = f"{unit} are in {number:.2g} tasks on average, fewer than {LEAST_APPEARANCES:g}"
    return few if number < LEAST_APPEARANCES else ""


def few_without(labels: Sequence[str], without: Ints) -> str:
    """Return the reason if too few tasks are without a class, else an empty text."""
    often = int(np.argmin(without))
    few = f"{without[often]} tasks are without class {labels[often]}, fewer than {LEAST_TASKS}"
    return few if without[often] < LEAST_TASKS else ""


def _no_superclasses(tasks: Membership, superclasses: Ints | None) -> str:
    if superclasses is None:
        return "classes have no superclasses"
    number = int(superclasses.max()) + 1
    if number < LEAST_SUPERCLASSES:
        return f"{number} superclasses: {LEAST_SUPERCLASSES} are needed"
    without = tasks.tasks - has_superclass(tasks, superclasses).sum(axis=0)
    if (least := int(without.min())) < LEAST_TASKS:
        return f"{least} tasks are without one of the superclasses: {LEAST_TASKS} are needed"
    return ""


def variance_factor(tasks: int, share: float) -> float:
    """Return an upper bound of the variance of the mean over v_mc: 1 + B ρ/(1-ρ).

    The weight of each term of Hoeffding's decomposition (Ann. Math. Statist. 1948) in the mean over
    all tasks is at most the share ρ of its weight in one task; 1-ρ is since tasks of one pool vary
    less than tasks of new pools.  The bound is infinite where every task has the whole pool.
    """
    return 1.0 + tasks * share / (1.0 - share) if share < 1.0 else inf
