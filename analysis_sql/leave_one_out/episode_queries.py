"""Leaving out one image where tasks differ in size, and it is known which queries were right.

In task b of J queries, s of the N images of a class are support. With u the residuals of tasks
(:mod:`.episodes`), e whether a query is right less the mean of its class, and Σe its sum over the
queries of the class in b, an image i of the class has::

    v_bi = (1[i is support] - s/N)/(1 - s/N) u_b + w (1[i is query] e_bi - Σe/N)
    w    = N²/((N-s)(N-1) J)
    V    = Σ_i (N-1)/N [ (Σ_b v)² - Σ_b v² ] / (B(B-1))

Σ_b v/B estimates by how much the mean over all tasks falls if i is left out: as support, which it
is with the chance s/N, and as one of the N - s images that queries are drawn from. Interactions of
images change it by a share of 1/N. With tasks of one size it is V of :mod:`.queries`, by chances in
place of numbers of pairs.
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
    """The places (P,) of classes in tasks, task by task, and the queries (J,) of each in turn."""

    task: Ints
    label: Ints
    queries: Ints
    """Of each place its task, class, and number of queries (P,)."""
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
    """Of each image (R,) f Σ_b x² and f Σ_b w² of its queries: what u² and e² are in its noise."""

    @classmethod
    def of(
        cls,
        classes: Ints,
        images: NDArray[np.int32],
        shots: Ints,
        class_of_image: Ints,
        sizes: Ints,
    ) -> EpisodeQueries:
        """Make it of classes (B, K), images (B, K, m), support first, and shots (B, K).

        Places that a task does not have are negative.
        """
        tasks, every = len(classes), sizes.astype(np.float64)
        task, place = np.nonzero(classes >= 0)
        label, shot = classes[task, place], shots[task, place]
        drawn = images[task, place]
        at = np.arange(drawn.shape[1])
        is_query = (drawn >= 0) & (at >= shot[:, None])
        number = is_query.sum(axis=1)
        n = every[label]
        left = n - shot
        odds = shot / left
        support = drawn[at < shot[:, None]]
        of_image, of_class, own = loadings(task, label, odds, shot, support, class_of_image, tasks)
        weight = n * n / (left * (n - 1.0) * np.bincount(task, number)[task])
        factor = (n - 1.0) / n
        cross = -factor * shot * (1.0 + odds) * weight / n
        squares = np.asarray(np.bincount(task, factor * (shot + left * odds**2), tasks), np.float64)
        queries = drawn[is_query]
        other = np.bincount(queries, np.repeat(weight**2, number), own.size)
        share = ((every - 1.0) / every)[class_of_image]
        return cls(
            task,
            label,
            number,
            queries,
            of_image,
            of_class,
            weight,
            cross,
            squares,
            class_of_image,
            every,
            (share * own, share * other),
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
    """Return by how much leaving out images changes tasks, of places (P,), each with some images.

    x is 1 where an image is present, and -odds where its class is, without it: the excess over the
    latter (B, R), odds (B, C), and Σ_b x² (R,). `present` has the images place by place.
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
    """V and τ of methods, and of differences, where tasks differ in size.

    Which queries were right are arrays (B, most queries of a task), of each task those that it has.
    """

    def _sums(self, products: Products) -> tuple[Floats, Floats]:
        made: EpisodeQueries = self._design
        u = np.ascontiguousarray(self._u.T)
        tasks, factor = len(u), (made.sizes - 1.0) / made.sizes
        a = made.support.T @ u
        of_class = -(made.odds.T @ u)
        variance = -products(u, u, made.squares)
        of_e, weights = np.zeros_like(variance), 0.0
        centre = self._means()
        for places, queries, x in self._parts():
            label, number = made.label[places], made.queries[places]
            e = x - np.repeat(centre[label], number, axis=0)
            weight, own = made.weight[places], factor[label]
            total, images = _sums_of_parts(e, number), made.image_of_query[queries]
            of_image = np.repeat(weight, number), (images, np.arange(images.size))
            a += csr_array(of_image, (len(a), images.size)) @ e
            shared = weight / made.sizes[label], (label, np.arange(label.size))
            of_class -= csr_array(shared, (len(of_class), label.size)) @ total
            of_each = np.repeat(own * weight**2, number)
            of_e, weights = of_e + products(e, e, of_each), weights + of_each.sum()
            variance = variance + products(total, total, own * weight**2 / made.sizes[label])
            variance = variance - 2.0 * products(u[made.task[places]], total, made.cross[places])
        a += of_class[made.class_of_image]
        whole = products(a, a, factor[made.class_of_image])
        variance = (variance - of_e + whole) / (tasks * max(tasks - 1, 1))
        share = self._share(products(u, u) / tasks, of_e / weights)
        return variance, share * np.maximum(whole, 0.0) / tasks**2

    def _share(self, of_u: Floats, of_e: Floats) -> Floats:
        """Return what τ is in parts of V before noise is removed, of mean squares of u and e.

        √(2/n), n the effective number of images by the noise that each has.
        """
        x, y = self._design.noise
        whole = of_u * x.sum() + of_e * y.sum()
        squares = of_u**2 * (x @ x) + 2.0 * of_u * of_e * (x @ y) + of_e**2 * (y @ y)
        squares = squares / (1.0 - 1.0 / self._design.sizes.mean())
        found = np.divide(squares, whole**2, out=np.zeros_like(squares), where=whole > 0)
        return np.asarray(np.sqrt(2.0 * found))

    def _means(self) -> Floats:
        """Compute the share of right queries of each class (C, M)."""
        made = self._design
        sums, number = np.zeros((made.sizes.size, len(self._u))), np.zeros(made.sizes.size)
        for places, _, x in self._parts():
            label = np.repeat(made.label[places], made.queries[places])
            of_class = np.ones(label.size), (label, np.arange(label.size))
            sums += csr_array(of_class, (len(sums), label.size)) @ x
            number += np.bincount(label, minlength=number.size)
        return np.asarray(sums / np.maximum(number, 1.0)[:, None])

    def _parts(self) -> Iterator[tuple[slice, slice, Floats]]:
        """Give places of some tasks, their queries, and whether these were right (J, M)."""
        made = self._design
        of_task = np.bincount(made.task, made.queries).astype(np.int64)
        places = np.append(0, np.bincount(made.task).cumsum())
        ends = np.append(0, of_task.cumsum())
        step = max(1, _NUMBERS_AT_ONCE // (int(of_task.max()) * len(self._u)))
        for start in range(0, len(of_task), step):
            stop = min(start + step, len(of_task))
            size = of_task[start:stop]
            there = np.arange(int(size.max())) < size[:, None]
            x = np.empty((int(size.sum()), len(self._u)))
            for column, own in enumerate(self._right):
                x[:, column] = own.counts[start:stop, : there.shape[1]][there] / own.runs
            yield slice(places[start], places[stop]), slice(ends[start], ends[stop]), x


def _sums_of_parts(values: Floats, sizes: Ints) -> Floats:
    """Return the sums of successive rows of values (J, M), so many at a time."""
    every = np.arange(len(values))
    of_part = csr_array(
        (np.ones(len(values)), every, np.append(0, sizes.cumsum())), (sizes.size, len(values))
    )
    return np.asarray(of_part @ values)
