"""Leaving out one image where tasks differ in size and right queries are known.

In task b of J queries, s of the N images of a class are support. With u the residuals of tasks
(:mod:`.episodes`), e whether a query is right less the mean of its class, and Σe its sum over the
queries of the class in b, an image i of the class has::

    v_bi = (1[i is support] - s/N)/(1 - s/N) u_b + w (1[i is query] e_bi - Σe/N)
    w    = N²/((N-s)(N-1) J)
    V    = Σ_i (N-1)/N [ (Σ_b v)² - Σ_b v² ] / (B(B-1))

Σ_b v/B estimates the fall of the mean over all tasks if i is left out: as support, which it is with
probability s/N, and as one of the N - s images that queries are drawn from. Interactions of images
change it by a share of 1/N. With tasks of one size V is that of :mod:`.queries`, with probabilities
in place of numbers of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.queries import Products, ProductSums

_NUMBERS_AT_ONCE = 1 << 23


class EpisodeQueries(Struct, frozen=True, eq=False):
    """The places of classes in tasks (P,), task by task, and their queries (J,) in that order."""

    task: Ints
    label: Ints
    queries: Ints
    """The task, class, and number of queries of each place (P,)."""
    image_of_query: AnyInts
    """The image of each query (J,)."""
    support: csr_array
    """(B, R): 1/(1 - s/N) where an image is support."""
    odds: csr_array
    """(B, C): s/N/(1 - s/N) of each class of a task."""
    weight: Floats
    """w (P,)."""
    cross: Floats
    """(P,): f Σ_i x_i z_i by u and Σe, with x and z the two parts of v and f = (N-1)/N."""
    squares: Floats
    """(B,): Σ_i f x²."""
    class_of_image: Ints
    sizes: Floats
    """N (C,)."""
    noise: tuple[Floats, Floats]
    """f Σ_b x² of each image and f Σ_b w² of its queries (R,): the factors of u² and e² in its
    noise."""

    @classmethod
    def of(
        cls,
        classes: Ints,
        images: NDArray[np.int32],
        shots: Ints,
        class_of_image: Ints,
        sizes: Ints,
    ) -> EpisodeQueries:
        """Make a design from classes (B, K), images (B, K, m), support first, and shots (B, K).

        Places that a task does not have are negative.
        """
        tasks, class_size = len(classes), sizes.astype(np.float64)
        task, place = np.nonzero(classes >= 0)
        label, shot = classes[task, place], shots[task, place]
        drawn = images[task, place]
        position = np.arange(drawn.shape[1])
        is_query = (drawn >= 0) & (position >= shot[:, None])
        number = is_query.sum(axis=1)
        n = class_size[label]
        left = n - shot
        odds = shot / left
        support = drawn[position < shot[:, None]]
        of_image, of_class, x2 = loadings(task, label, odds, shot, support, class_of_image, tasks)
        weight = n * n / (left * (n - 1.0) * np.bincount(task, number)[task])
        factor = (n - 1.0) / n
        squares = np.asarray(np.bincount(task, factor * (shot + left * odds**2), tasks), np.float64)
        queries = drawn[is_query]
        w2 = np.bincount(queries, np.repeat(weight**2, number), x2.size)
        image_factor = ((class_size - 1.0) / class_size)[class_of_image]
        return cls(
            task=task,
            label=label,
            queries=number,
            image_of_query=queries,
            support=of_image,
            odds=of_class,
            weight=weight,
            cross=-factor * shot * (1.0 + odds) * weight / n,
            squares=squares,
            class_of_image=class_of_image,
            sizes=class_size,
            noise=(image_factor * x2, image_factor * w2),
        )

    def sums(self, u: Floats, right: Sequence[RightQueries | None]) -> EpisodeQuerySums:
        """Return the sums for V and τ, of residuals (M, B) and which queries were right."""
        return EpisodeQuerySums(self, u, right)


def loadings(
    task: Ints,
    label: Ints,
    odds: Floats,
    number: Ints,
    present: AnyInts,
    class_of_image: Ints,
    tasks: int,
) -> tuple[csr_array, csr_array, Floats]:
    """Return the loadings x of images in tasks: 1 where present, -odds where only the class is.

    They come as x + odds where present (B, R), odds (B, C), and Σ_b x² (R,).  Places (P,) of
    classes in tasks have a task, label, odds and number of images; `present` are these images.
    """
    units, classes = len(class_of_image), int(class_of_image.max()) + 1
    of_present = np.repeat(odds, number)
    squares = np.asarray(np.bincount(label, odds**2, classes)[class_of_image], np.float64)
    squares += np.bincount(present, 1.0 - of_present**2, units)
    return (
        csr_array((1.0 + of_present, (np.repeat(task, number), present)), (tasks, units)),
        csr_array((odds, (task, label)), (tasks, classes)),
        squares,
    )


class EpisodeQuerySums(ProductSums):
    """V and τ of tasks that differ in size.

    Right queries are arrays (B, most queries of a task), filled at the front of each row.
    """

    def _sums(self, products: Products) -> tuple[Floats, Floats]:
        design: EpisodeQueries = self._design
        u = np.ascontiguousarray(self._u.T)
        tasks, factor = len(u), (design.sizes - 1.0) / design.sizes
        a = design.support.T @ u
        of_class = -(design.odds.T @ u)
        variance = -products(u, u, design.squares)
        e2, weights = np.zeros_like(variance), 0.0
        class_means = self._class_means()
        for places, queries, x in self._blocks():
            label, number = design.label[places], design.queries[places]
            e = x - np.repeat(class_means[label], number, axis=0)
            weight, f = design.weight[places], factor[label]
            images = design.image_of_query[queries]
            ends = np.append(0, number.cumsum())
            of_place = csr_array((np.ones(len(e)), np.arange(len(e)), ends), (number.size, len(e)))
            total = np.asarray(of_place @ e)
            of_image = np.repeat(weight, number), (images, np.arange(images.size))
            a += csr_array(of_image, (len(a), images.size)) @ e
            shared = weight / design.sizes[label], (label, np.arange(label.size))
            of_class -= csr_array(shared, (len(of_class), label.size)) @ total
            query_weights = np.repeat(f * weight**2, number)
            e2, weights = e2 + products(e, e, query_weights), weights + query_weights.sum()
            variance = variance + products(total, total, f * weight**2 / design.sizes[label])
            cross = products(u[design.task[places]], total, design.cross[places])
            variance = variance - 2.0 * cross
        a += of_class[design.class_of_image]
        of_images = products(a, a, factor[design.class_of_image])
        variance = (variance - e2 + of_images) / (tasks * max(tasks - 1, 1))
        scale = self._scale(products(u, u) / tasks, e2 / weights)
        return variance, scale * np.maximum(of_images, 0.0) / tasks**2

    def _scale(self, u2: Floats, e2: Floats) -> Floats:
        """Return τ over V before noise is removed, from mean squares of u and e.

        It is √(2/n), n the effective number of images by the noise of each.
        """
        x, y = self._design.noise
        total = u2 * x.sum() + e2 * y.sum()
        squares = u2**2 * (x @ x) + 2.0 * u2 * e2 * (x @ y) + e2**2 * (y @ y)
        squares = squares / (1.0 - 1.0 / self._design.sizes.mean())
        inverse = np.divide(squares, total**2, out=np.zeros_like(squares), where=total > 0)
        return np.asarray(np.sqrt(2.0 * inverse))

    def _class_means(self) -> Floats:
        """Compute the share of right queries of each class (C, M)."""
        design = self._design
        sums, number = np.zeros((design.sizes.size, len(self._u))), np.zeros(design.sizes.size)
        for places, _, x in self._blocks():
            label = np.repeat(design.label[places], design.queries[places])
            of_class = np.ones(label.size), (label, np.arange(label.size))
            sums += csr_array(of_class, (len(sums), label.size)) @ x
            number += np.bincount(label, minlength=number.size)
        return np.asarray(sums / np.maximum(number, 1.0)[:, None])

    def _blocks(self) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield the places of a block of tasks, their queries, and shares of right runs (J, M)."""
        design = self._design
        sizes = np.bincount(design.task, design.queries).astype(np.int64)
        places = np.append(0, np.bincount(design.task).cumsum())
        ends = np.append(0, sizes.cumsum())
        step = max(1, _NUMBERS_AT_ONCE // (int(sizes.max()) * len(self._u)))
        for start in range(0, len(sizes), step):
            stop = min(start + step, len(sizes))
            size = sizes[start:stop]
            present = np.arange(int(size.max())) < size[:, None]
            x = np.empty((int(size.sum()), len(self._u)))
            for column, right in enumerate(self._right):
                x[:, column] = right.counts[start:stop, : present.shape[1]][present] / right.runs
            yield slice(places[start], places[stop]), slice(ends[start], ends[stop]), x
