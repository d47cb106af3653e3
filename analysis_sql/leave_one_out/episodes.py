"""The jackknife over units where tasks differ in their numbers of classes and images.

Task b has K_b of C classes and m_bc images of class c. An image or class u is in it with
probability p_bu = m_bc/N_c (in tasks that have its class) or K_b/C, by which tasks are weighted::

    x_bu = (1[u in b] - p_bu)/(1 - p_bu)
    V    = (n-1)/n Σ_u [ (Σ_b x r)² - Σ_b x² r² ] / (B(B-1))          over pairs of different tasks
    tot  = (n-1)/n Σ_u (Σ_b x r)² / B²

with n = N_c or C. For images r are residuals of accuracies on the classes of a task, each 1/K_b, if
tasks are many (:data:`.design.FITTED`), and on its shape (K, 1/K, mean images a class, inverse);
for classes on its shape alone. Where a task has all images of a class none can be left out: x = 0
there, and the effect of the class's images is scaled up to all its tasks. Tasks with all classes do
not count for classes. Where all tasks have equally many classes and images, V differs from that of
:mod:`.jackknife` in its denominators alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.leave_one_out.design import (
    FITTED,
    LeftOut,
    few_appearances,
    few_uses,
    few_without,
    variance_factor,
)
from analysis_sql.leave_one_out.episode_queries import EpisodeQueries, loadings
from analysis_sql.leave_one_out.jackknife import Jackknife

ABSENT = -1
"""Fills the places of classes and images that a task does not have."""


def padded(values: AnyInts, lengths: Ints) -> NDArray[np.int32]:
    """Return the values, row by row, as rows of these lengths with :data:`ABSENT` after each."""
    rows = np.full((len(lengths), max(int(lengths.max()), 1)), ABSENT, np.int32)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = values
    return rows


class EpisodeJackknife(Jackknife, frozen=True, kw_only=True, eq=False):
    """A jackknife whose loadings are sparse but for a part that all units of a class share."""

    of_class: csr_array
    """(B, C): what is subtracted from the loadings of every unit of a class."""
    class_of_unit: Ints
    """int64 (R,): the class of each unit."""

    def coordinates(self, values: Floats) -> Floats:
        """Compute a (M, R) of values (M, B)."""
        a = np.asarray((self.loadings.T @ values.T).T)
        a -= np.asarray((self.of_class.T @ values.T).T)[:, self.class_of_unit]
        return np.ascontiguousarray(a)


class EpisodeDesign(Struct, frozen=True, eq=False, dict=True):
    """The tasks of a set that differ in shape, a design as :class:`.design.TaskDesign`."""

    classes: Ints
    """int64 (B, K): classes of each task, 0..C-1, :data:`ABSENT` where it has fewer."""
    images: NDArray[np.int32]
    """int32 (B, K, m): images of each class, 0..n-1, :data:`ABSENT` where it has fewer."""
    class_of_image: Ints
    """int64 (n,): the class of every image that may be drawn."""
    labels: tuple[str, ...]
    """Names of the classes, for sentences."""
    why: Mapping[LeftOut, str]
    bounded: Mapping[LeftOut, str]
    shots: Ints | None = None
    """(B, K): the number of support images, the first of each class; None if unknown."""
    unit: str = "images"
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        class_ids: AnyInts,
        images: AnyInts,
        class_of_image: AnyInts,
        class_labels: Sequence[str] | None = None,
        shots: Ints | None = None,
    ) -> EpisodeDesign:
        """Make a design of tasks; arrays are those of the attributes."""
        owner = np.asarray(class_of_image, np.int64)
        labels = tuple(class_labels or map(str, range(int(owner.max()) + 1)))
        ids, drawn = np.asarray(class_ids, np.int64), np.asarray(images, np.int32)
        return cls(ids, drawn, owner, labels, {}, {}, shots)._with_reasons()

    def _with_reasons(self) -> EpisodeDesign:
        why: dict[LeftOut, str] = {}
        bounded: dict[LeftOut, str] = {}
        uses = np.bincount(self.classes[self.classes >= 0], minlength=len(self.labels))
        rare = few_uses(self.labels, uses)
        appearances = float((self.images >= 0).sum() / len(self.class_of_image))
        if reason := rare or few_appearances("images", appearances):
            bounded["images"] = reason
        without_all = self.ways < len(self.labels)
        ids = self.classes[without_all]
        without = without_all.sum() - np.bincount(ids[ids >= 0], minlength=len(self.labels))
        if not without_all.any():
            why["classes"] = f"every task has all {len(self.labels)} classes"
        elif reason := rare or few_without(self.labels, without):
            bounded["classes"] = reason
        why["superclasses"] = "superclasses want tasks of as many classes each"
        if np.isinf(self.bound("images")) and "images" in bounded:
            why = dict.fromkeys(("images", "classes", "superclasses"), bounded.pop("images"))
            bounded = {}
        return replace(self, why=why, bounded=bounded)

    @property
    def tasks(self) -> int:
        """B, the number of tasks."""
        return len(self.classes)

    def prefix(self, tasks: int) -> EpisodeDesign:
        """Return the design of the first tasks."""
        if tasks == self.tasks:
            return self
        shots = None if self.shots is None else self.shots[:tasks]
        cut = replace(self, classes=self.classes[:tasks], images=self.images[:tasks], shots=shots)
        return cut._with_reasons()

    @property
    def takes_queries(self) -> bool:
        """Whether intervals for new images can use which queries were right."""
        return self.shots is not None and "images" in self.jackknives

    @cached_property
    def queries(self) -> EpisodeQueries | None:
        """The design by roles of images; None where only whole tasks can be used."""
        if self.shots is None or not self.takes_queries:
            return None
        return EpisodeQueries.of(
            self.classes, self.images, self.shots, self.class_of_image, self.sizes
        )

    @cached_property
    def ways(self) -> Ints:
        """K_b (B,)."""
        return np.asarray((self.classes >= 0).sum(axis=1))

    @cached_property
    def sizes(self) -> Ints:
        """N_c (C,)."""
        return np.bincount(self.class_of_image, minlength=len(self.labels))

    @cached_property
    def _shares(self) -> Floats:
        """p_bu of the images of each class of a task (B, K), 0 where there is no class."""
        return np.where(self.classes >= 0, self._image_counts / self.sizes[self.classes], 0.0)

    @cached_property
    def _image_counts(self) -> Ints:
        """m_bc (B, K)."""
        return np.asarray((self.images >= 0).sum(axis=2))

    def bound(self, name: LeftOut) -> float:
        """Return Hoeffding's bound of the variance of the mean over v_mc.

        The share ρ is the largest mean over the tasks of p_bu.
        """
        if name == "images":
            present = self.classes >= 0
            shares = np.bincount(self.classes[present], self._shares[present], len(self.labels))
            return variance_factor(self.tasks, float((shares / self.tasks).max()))
        return variance_factor(self.tasks, float(self.ways.mean()) / len(self.labels))

    def bound_freedom(self, name: LeftOut) -> float:
        """Return the degrees of freedom of the bound: B - 1, for new classes at most C - 1."""
        return (self.tasks if name == "images" else min(self.tasks, len(self.labels))) - 1.0

    def disjoint_tasks(self, name: LeftOut) -> int:
        """Return how many tasks without a common unit the pool would make, at most B."""
        images = int(len(self.class_of_image) // self._image_counts.sum(axis=1).max())
        most = images if name == "images" else min(images, len(self.labels) // self.ways.max())
        return int(min(most, self.tasks))

    @cached_property
    def jackknives(self) -> Mapping[LeftOut, Jackknife]:
        """The jackknives that can be taken."""
        jackknives: dict[LeftOut, Jackknife] = {}
        without = {*self.why, *self.bounded}
        if "images" not in without:
            jackknives["images"] = self._leave_out_images()
        if "classes" not in without:
            jackknives["classes"] = self._leave_out_classes()
        return jackknives

    def _leave_out_images(self) -> Jackknife:
        tasks, sizes = self.tasks, self.sizes.astype(np.float64)
        present = self.classes >= 0
        partial = present & (self._shares < 1.0)  # not all images of the class are in the task
        odds = np.where(partial, self._shares / np.where(partial, 1.0 - self._shares, 1.0), 0.0)
        units, of_class, x_squares = loadings(
            np.nonzero(partial)[0],
            self.classes[partial],
            odds[partial],
            self._image_counts[partial],
            self.images[(self.images >= 0) & partial[:, :, None]],
            self.class_of_image,
            tasks,
        )
        # a class of which some tasks have all images is scaled up from its other tasks, by the
        # effect of one image on a task's mean: p/(K m) = 1/(K N)
        effect = np.repeat(1.0 / self.ways[:, None], self.classes.shape[1], axis=1)
        of_all, of_partial = (
            np.bincount(self.classes[places], effect[places], sizes.size)
            for places in (present, partial)
        )
        scale = np.divide(of_all, of_partial, out=np.zeros_like(of_all), where=of_partial > 0) ** 2
        factors = scale * (sizes - 1.0) / sizes
        factor = factors[self.class_of_image]
        counts = self._image_counts
        others = np.where(partial, sizes[self.classes] - counts, 0.0)
        squares = np.where(partial, factors[self.classes] * (counts + others * odds**2), 0.0)
        q = factor * x_squares
        effective = float(q.sum() ** 2 / (q**2).sum()) if q.any() else 1.0
        pairs = tasks * max(tasks - 1, 1)
        return EpisodeJackknife(
            units,
            factor / pairs,
            factor / tasks**2,
            -squares.sum(axis=1) / pairs,
            float(np.sqrt(2.0 / (effective * (1.0 - 1.0 / sizes.mean())))),
            len(self.class_of_image),
            of_class=of_class,
            class_of_unit=self.class_of_image,
        )

    def _leave_out_classes(self) -> Jackknife:
        tasks, classes = self.tasks, len(self.labels)
        partial = self.ways < classes
        odds = np.where(partial, self.ways / np.maximum(classes - self.ways, 1), 0.0)
        rows, places = np.nonzero((self.classes >= 0) & partial[:, None])
        present = self.classes[rows, places]
        units = csr_array(((1.0 + odds)[rows], (rows, present)), (tasks, classes))
        shared = (odds, (np.arange(tasks), np.zeros(tasks, np.int64)))
        number, factor = max(int(partial.sum()), 2), (classes - 1) / classes
        squares = np.where(partial, self.ways + (classes - self.ways) * odds**2, 0.0)
        return EpisodeJackknife(
            units,
            np.full(classes, factor / (number * (number - 1))),
            np.full(classes, factor / number**2),
            -factor * squares / (number * (number - 1)),
            float(np.sqrt(2.0 / (classes - 1))),
            classes,
            of_noise=True,
            tails=True,
            of_class=csr_array(shared, (tasks, 1)),
            class_of_unit=np.zeros(classes, np.int64),
        )

    @cached_property
    def _shape(self) -> Floats:
        """The shapes of tasks (B, 5): 1, K, 1/K, mean images a class, its inverse."""
        ways, images = self.ways.astype(float), self._image_counts.sum(axis=1) / self.ways
        return np.stack([np.ones_like(ways), ways, 1.0 / ways, images, 1.0 / images], axis=1)

    def residuals(self, values: Floats, name: LeftOut = "images") -> Floats:
        """Subtract from values (M, B) their least-squares fit by classes and shape, or by shape."""
        left, size, _ = np.linalg.svd(self._shape, full_matrices=False)
        shape = left[:, size > 1e-9 * size[0]]
        rest = values - (values @ shape) @ shape.T
        if name == "classes" or len(self.labels) > FITTED * self.tasks:
            return np.asarray(rest)
        rows, places = np.nonzero(self.classes >= 0)
        entries = (1.0 / self.ways[rows], (rows, self.classes[rows, places]))
        columns = csr_array(entries, (self.tasks, len(self.labels)))
        cross = np.asarray(columns.T @ shape)
        products = np.asarray((columns.T @ columns).toarray()) - cross @ cross.T
        fit = np.linalg.pinv(products, rcond=1e-9, hermitian=True) @ np.asarray(columns.T @ rest.T)
        explained = np.asarray(columns @ fit) - shape @ (cross.T @ fit)
        return np.asarray(rest - explained.T)
