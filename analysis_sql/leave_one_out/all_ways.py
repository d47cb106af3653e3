"""Means over a whole test set, of few draws of the support: intervals for new images and draws.

With all classes in one task, a method is run on R draws of the support and answers every test
image in each. x_rq is whether image q is right in draw r (of two methods the difference), π_c the
weight of a class, N_c its test images; with f = S/N, S shots of N training images a class::

    I    = Σ_c π_c² s²_c/N_c
    df   = I² / Σ_c (part of class c)²/(N_c-1)
    V_rq = Σ_c π_c² MS_c/(R N_c)                   which is in I and in D
    D    = s_r²/R + max(s_r² - R V_rq, 0) f/(1-f)
    h²   = t(df)² I + t(R-1)² max(D - V_rq, 0)     at least t(R-1)² D

s_r² is the variance of the draws' means, s²_c that of the images' means over draws, MS_c the
interaction mean square of draws and images. Draws of one pool have in common f of what training
images change, and s_r² has the rest: by the second term of D the mean of endless draws would still
change with new ones. Of one draw D is unknown, and of a method without draws it is 0. Classes of
one image, which do not estimate s²_c, are taken for one class.

For new classes, with all that comes with them, a class is left out of the queries and of what may
be answered; an image then gets the class with the next highest score. θ_c is the mean without class
c, θ the mean of these::

    h² = t(C-1)² (C-1)/C Σ_c (θ_c - θ)² + t(R-1)² max(D - V_rq, 0)

The jackknife does not see what all classes of a draw share, such as a seed of training: therefore
the second part. New classes come with new images: the interval is at least as wide as for these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analysis_sql.intervals.arrays import AnyInts, Bools, Floats, Ints
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import LeftOut
from analysis_sql.leave_one_out.jackknife import or_unknown

_NEARLY_EQUAL = 1e-6
"""Share of two methods' own I + D below which that of their difference is computed directly."""

_NUMBERS_AT_ONCE = 2**22

_WHY: Mapping[LeftOut, str] = {
    "classes": "every task has all classes; of new ones only the scores of all classes say "
    "something",
    "superclasses": "every task has all superclasses",
}


class Variances(NamedTuple):
    """I of M methods (M,) or of all pairs (M, M), and what belongs to it."""

    images: Floats
    df: Floats
    draws: Floats
    """D, 0 of one draw."""
    both: Floats
    """V_rq."""
    means: Floats
    """Means of the methods' draws (M, R)."""


class Cells(Struct, frozen=True, eq=False, dict=True):
    """The test images that are queries of each draw, and how classes are weighted.

    Attributes
    ----------
    there
        bool (R, n): False where an image is in the draw's support.
    class_of_image
        int64 (n,), 0..C-1, each class at least once.
    alike
        Weight all queries alike, as papers print it, or else all classes.
    overlap
        S/N, the share of a class's training images that a draw takes; 0 where they are many.
    """

    there: Bools
    class_of_image: Ints
    alike: bool = True
    overlap: float = 0.0

    @cached_property
    def _size(self) -> Ints:
        return np.bincount(self.class_of_image)

    @cached_property
    def _draws_of_image(self) -> Ints:
        return np.asarray(np.maximum(self.there.sum(axis=0), 1))

    @cached_property
    def _queries_of_class(self) -> Floats:
        """Queries of each class in each draw (R, C), at least 1."""
        return np.maximum(self._by_class(self.there), 1.0)

    @cached_property
    def _weights(self) -> Floats:
        number = self._queries_of_class.sum(axis=0)
        return number / number.sum() if self.alike else np.full(number.size, 1.0 / number.size)

    def _by_class(self, values: NDArray[Any]) -> Floats:
        return np.stack([np.bincount(self.class_of_image, row) for row in np.atleast_2d(values)])

    @cached_property
    def _of_images(self) -> Floats:
        """What a class's mean square of image means counts in T (C,)."""
        weights, size = self._weights, self._size
        return np.asarray(weights**2 / (np.maximum(size - 1.0, 1.0) * size))

    @cached_property
    def _of_both(self) -> Floats:
        """What a class's sum of squares of the interaction counts in V_rq (C,)."""
        cells = self._by_class(self._draws_of_image)[0]
        freedom = np.maximum(cells - len(self.there) - self._size + 1.0, 1.0)
        share = self._by_class(1.0 / self._draws_of_image)[0] / self._size  # 1/R
        return np.asarray(self._weights**2 / freedom * share / self._size)

    def _of_lone_images(
        self, image: Floats, deviations: Floats, squares: Callable[[Floats], Floats]
    ) -> tuple[Floats, float]:
        """Compute what classes of one image count in T, and its degrees of freedom.

        Such a class has no variance of images of its own.  Several are taken for one class, which
        counts how classes differ too (collapsed strata: Cochran, Sampling Techniques, 5A.12); a
        single one has the variance within the others.
        """
        lone, weights = self._size == 1, self._weights
        number, rest = int(lone.sum()), int((self._size - 1).sum())
        if number > 1:
            own = image[:, lone[self.class_of_image]]
            factor = weights[lone].sum() ** 2 / (number * (number - 1.0))
            return factor * squares(own - own.mean(axis=1, keepdims=True)), number - 1.0
        return float(weights[lone].sum()) ** 2 * squares(deviations) / max(rest, 1), max(rest, 1.0)

    def means_without(self, x: Floats, regained: Ints) -> Floats:
        """Compute the mean without each class among queries and predictions (C,).

        `x` is (R, n), 1 or 0, and `regained` (R, n) the class without which an image is right that
        is not now, -1 where there is none.
        """
        number, weights, owner = len(self.there), self._weights, self.class_of_image
        of_class = (self._by_class(np.where(self.there, x, 0.0)) / self._queries_of_class).mean(
            axis=0
        )
        draw, image = np.nonzero(self.there & (regained >= 0))
        gain = weights[owner[image]] / self._queries_of_class[draw, owner[image]] / number
        more = np.bincount(regained[draw, image], gain, minlength=weights.size)
        return np.asarray((weights @ of_class - weights * of_class + more) / (1.0 - weights))

    def variances(self, draws: Sequence[Floats], squares: Callable[[Floats], Floats]) -> Variances:
        """Compute I, D and V_rq, where `squares` is :func:`of_each` method or :func:`of_pairs`.

        `draws` are R arrays x (M, n), of which images that are no queries are left out. Squares of
        differences come from products of methods: those of two that hardly differ are rounding.
        """
        number, size, owner = len(self.there), self._size, self.class_of_image
        into = csr_array((np.ones(owner.size), (owner, np.arange(owner.size))))
        there = [np.where(here, x, 0.0) for here, x in zip(self.there, draws, strict=True)]
        image = np.sum(there, axis=0) / self._draws_of_image
        deviations = image - ((into @ image.T).T / size)[:, owner]
        images = below = both = np.zeros(())
        by_class = np.split(np.argsort(owner, kind="stable"), np.cumsum(size)[:-1])
        for own, factor, freedom in zip(by_class, self._of_images, size - 1.0, strict=True):
            part = factor * squares(deviations[:, own])
            images, below = images + part, below + part**2 / max(freedom, 1.0)
        if (size == 1).any():
            part, freedom = self._of_lone_images(image, deviations, squares)
            images, below = images + part, below + part**2 / freedom
        df = np.divide(images**2, below, out=np.full_like(images, np.inf), where=images > 0)
        means, roots = [], np.sqrt(self._of_both)[owner]
        for here, x, queries in zip(self.there, there, self._queries_of_class, strict=True):
            of_class = (into @ x.T).T / queries
            means.append(of_class @ self._weights)
            if number > 1:
                rest = np.where(here, roots * (x - deviations - of_class[:, owner]), 0.0)
                both = both + squares(rest)
        of_methods = np.transpose(means)
        centred = of_methods - of_methods.mean(axis=1, keepdims=True)
        variance, odds = squares(centred) / max(number - 1, 1), self.overlap / (1.0 - self.overlap)
        shared = odds * np.maximum(variance - number * both, 0.0)
        both = np.broadcast_to(both, images.shape)
        return Variances(images, df, variance / number + shared, both, of_methods)


def of_each(x: Floats) -> Floats:
    """Compute the sums of squares of rows (M,)."""
    return np.asarray(np.einsum("ij,ij->i", x, x))


def of_pairs(x: Floats) -> Floats:
    """Compute the sums of squares of the differences of rows (M, M), at least 0."""
    products = x @ x.T
    own = np.diag(products)
    return np.asarray(np.maximum(own[:, None] + own - 2.0 * products, 0.0))


class AllWayDesign(Struct, frozen=True, eq=False, dict=True):
    """The draws of a set whose tasks have all classes; made by :meth:`of`.

    It is to :mod:`.leave_one_out` what :class:`analysis_sql.leave_one_out.design.TaskDesign` is.
    """

    queries_of: Ints
    """int64 (R, M): the images that are queries of each draw, class by class, 0..n-1; then -1."""
    class_of_image: Ints
    """int64 (n,): of every image that is a query of some draw."""
    overlap: float
    """Share of a class's training images that a draw takes for support."""
    unit: str = "images"
    second: bool = False
    """Whether some method's predictions without each class are known."""
    alike: bool = True
    """As of :class:`Cells`."""

    bounded: ClassVar[Mapping[LeftOut, str]] = {}
    jackknives: ClassVar[Mapping[LeftOut, Any]] = {}
    takes_queries: ClassVar[bool] = False
    queries: ClassVar[None] = None
    warnings: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(
        cls, queries: AnyInts, class_of_image: AnyInts, overlap: float, unit: str = "images"
    ) -> AllWayDesign:
        """Make a design of queries (R, M), by the class of every image of the data set."""
        there, place = queries >= 0, np.full(queries.shape, -1)
        used, place[there] = np.unique(queries[there], return_inverse=True)
        owner = np.unique(np.asarray(class_of_image)[used], return_inverse=True)[1]
        return cls(place, owner, overlap, unit)

    @property
    def why(self) -> Mapping[LeftOut, str]:
        """Return the reasons for missing kinds of interval."""
        return {kind: why for kind, why in _WHY.items() if not (self.second and kind == "classes")}

    @property
    def tasks(self) -> int:
        """R, the number of draws."""
        return len(self.queries_of)

    def prefix(self, tasks: int) -> AllWayDesign:
        """Return the design of the first draws."""
        if tasks == self.tasks:
            return self
        first = self.of(self.queries_of[:tasks], self.class_of_image, self.overlap, self.unit)
        return replace(first, second=self.second, alike=self.alike)

    def disjoint_tasks(self, name: LeftOut) -> int:
        """Return 0: a difference that is the same in all draws is no special case."""
        return 0

    @cached_property
    def cells(self) -> Cells:
        """The images that are queries of each draw."""
        there = np.zeros((self.tasks, self.class_of_image.size + 1), bool)
        np.put_along_axis(there, self.queries_of, True, axis=1)
        return Cells(there[:, :-1], self.class_of_image, self.alike, self.overlap)


class AllWaySums:
    """The sums for intervals of methods and of pairs; NaN where predictions are unknown.

    They are I, its df, D and V_rq, and where it is known the jackknife's variance of classes. It is
    to draws of all classes what :class:`.queries.QuerySums` is to tasks.
    """

    def __init__(self, design: AllWayDesign, right: Sequence[RightQueries | None]) -> None:
        self._design, self._right = design, [own for own in right if own is not None]
        known = np.array([own is not None for own in right])
        self._place = np.where(known, np.cumsum(known) - 1, -1)

    @property
    def means(self) -> Floats:
        """Mean of each method in each draw (M, R), whose predictions are all known."""
        return self._design.cells.variances(self._draws(self._right), of_each).means

    @cached_property
    def own(self) -> Floats:
        """The numbers of each method (4 or 5, M)."""
        step = max(1, _NUMBERS_AT_ONCE // self._design.queries_of.size)
        parts = [np.full((5 if self._design.second else 4, 0), np.nan)]
        for start in range(0, len(self._right), step):
            some = self._right[start : start + step]
            parts.append(self._found(self._draws(some), self._without(some), of_each))
        return or_unknown(np.concatenate(parts, axis=1))[:, self._place]

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """Return the numbers (4 or 5, R, S) of differences; of methods on the diagonal."""
        row, column = self._place[rows], self._place[columns]
        found, own = self._of_pairs[:, row[:, None], column], self.own[0] + self.own[2]
        same = rows[:, None] == columns
        found = np.where(same, self.own[:, rows, None], found)
        apart = found[0] + found[2] > _NEARLY_EQUAL * (own[rows, None] + own[columns])
        known = (row[:, None] >= 0) & (column >= 0)
        for i, j in np.argwhere(known & ~same & ~apart).tolist():
            both = [self._right[row[i]], self._right[column[j]]]
            draws = [x[:1] - x[1:] for x in self._draws(both)]
            without = self._without(both)
            difference = without if without is None else without[:1] - without[1:]
            found[:, i, j] = self._found(draws, difference, of_each)[:, 0]
        return found

    @cached_property
    def _of_pairs(self) -> Floats:
        """The numbers of the differences of all pairs whose predictions are known; then NaN."""
        every = self._right
        if not every:
            return np.full((5 if self._design.second else 4, 1, 1), np.nan)
        return or_unknown(self._found(self._draws(every), self._without(every), of_pairs))

    def _found(
        self,
        draws: Sequence[Floats],
        without: Floats | None,
        squares: Callable[[Floats], Floats],
    ) -> Floats:
        """Return the numbers, from what is right in each draw and the means without each class."""
        found = self._design.cells.variances(draws, squares)[:4]
        if without is None:
            return np.stack(found)
        number = without.shape[1]
        variance = squares(without - without.mean(axis=1, keepdims=True)) * (number - 1) / number
        return np.stack([*found, variance])

    def _draws(self, methods: Sequence[RightQueries]) -> list[Floats]:
        """Return the share of right runs by draw and image (M, n), 0 where it is no query."""
        shares, draws = [own.shares for own in methods], range(self._design.tasks)
        return [self._on_images([own[r] for own in shares], r) for r in draws]

    def _without(self, methods: Sequence[RightQueries]) -> Floats | None:
        """Return the methods' means without each class (M, C), NaN of those without second-bests.

        None if no method has them.
        """
        if not self._design.second:
            return None
        x, cells = np.stack(self._draws(methods)), self._design.cells
        made = np.full((len(methods), int(self._design.class_of_image.max()) + 1), np.nan)
        for k, method in enumerate(methods):
            if method.regained is None:
                continue
            runs = [
                np.stack([self._on_images([one], r, -1)[0] for r, one in enumerate(own)]).astype(
                    int
                )
                for own in method.regained
            ]
            made[k] = np.mean([cells.means_without(x[:, k], regained) for regained in runs], axis=0)
        return made

    def _on_images(self, values: Sequence[Any], draw: int, nothing: int = 0) -> Floats:
        """Return values of a draw's queries by image (M, n)."""
        x = np.full((len(values), self._design.class_of_image.size + 1), float(nothing))
        x[:, self._design.queries_of[draw]] = values
        return x[:, :-1]  # the last is of places without an image
