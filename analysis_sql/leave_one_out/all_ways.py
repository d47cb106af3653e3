"""Intervals for new images and draws of the support, where tasks have all classes.

A method is run on R draws of the support and answers every test image in each. x_rq is whether
image q is right in draw r (of two methods the difference), π_c the weight of a class, N_c its test
images; with f = S/N, S shots of N training images a class::

    I    = Σ_c π_c² s²_c/N_c
    df   = I² / Σ_c (part of class c)²/(N_c-1)
    V_rq = Σ_c π_c² MS_c/(R N_c)                   which is in I and in D
    D    = s_r²/R + max(s_r² - R V_rq, 0) f/(1-f)
    h²   = t(df)² I + t(R-1)² max(D - V_rq, 0)     at least t(R-1)² D

s_r² is the variance of the draws' means, s²_c the variance of the images' means over draws, MS_c
the interaction mean square of draws and images. Draws from one pool share the fraction f of the
effect of training images, and s_r² has the rest: the second term of D is the variance that the mean
of endless draws would still have. D is unknown for one draw, and 0 for a method without draws.
Classes of one image, which do not estimate s²_c, are pooled as one class.

For new classes, a class is left out of the queries and of the possible answers; an image then gets
the class with the next highest score. θ_c is the mean without class c, θ the mean of these::

    h² = t(C-1)² (C-1)/C Σ_c (θ_c - θ)² + t(R-1)² max(D - V_rq, 0)

The second part is for effects that all classes of a draw share, such as a training seed, which the
jackknife does not see. The interval is at least as wide as that for new images.
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
from analysis_sql.leave_one_out.jackknife import with_unknown

_NEARLY_EQUAL = 1e-6
"""Share of two methods' I + D below which I and D of the difference are computed directly."""

_NUMBERS_AT_ONCE = 2**22

_WHY: Mapping[LeftOut, str] = {
    "classes": "with all classes at once that needs a column `second`, the second-best class",
    "superclasses": "every task has all superclasses",
}


class Variances(NamedTuple):
    """I, its df, D and V_rq of M methods (M,) or of all pairs (M, M)."""

    images: Floats
    df: Floats
    draws: Floats
    """D, 0 of one draw."""
    interaction: Floats
    """V_rq."""
    means: Floats
    """Means of the methods in each draw (M, R)."""


class Cells(Struct, frozen=True, eq=False, dict=True):
    """The test images that are queries of each draw, and the weights of classes."""

    is_query: Bools
    """bool (R, n): False where an image is in the draw's support."""
    class_of_image: Ints
    """int64 (n,), 0..C-1, each class at least once."""
    alike: bool = True
    """Whether all queries are weighted equally, as papers do, or else all classes."""
    overlap: float = 0.0
    """S/N, the share of a class's training images that a draw takes; 0 where they are many."""

    @cached_property
    def _size(self) -> Ints:
        return np.bincount(self.class_of_image)

    @cached_property
    def _draws_of_image(self) -> Ints:
        return np.asarray(np.maximum(self.is_query.sum(axis=0), 1))

    @cached_property
    def _queries_of_class(self) -> Floats:
        """Queries of each class in each draw (R, C), at least 1."""
        return np.maximum(self._by_class(self.is_query), 1.0)

    @cached_property
    def _weights(self) -> Floats:
        number = self._queries_of_class.sum(axis=0)
        return number / number.sum() if self.alike else np.full(number.size, 1.0 / number.size)

    def _by_class(self, values: NDArray[Any]) -> Floats:
        return np.stack([np.bincount(self.class_of_image, row) for row in np.atleast_2d(values)])

    @cached_property
    def _image_factors(self) -> Floats:
        """The factor of each class's sum of squares of image means in I (C,)."""
        weights, size = self._weights, self._size
        return np.asarray(weights**2 / (np.maximum(size - 1.0, 1.0) * size))

    @cached_property
    def _interaction_factors(self) -> Floats:
        """The factor of each class's sum of squares of the interaction in V_rq (C,)."""
        cells = self._by_class(self._draws_of_image)[0]
        freedom = np.maximum(cells - len(self.is_query) - self._size + 1.0, 1.0)
        share = self._by_class(1.0 / self._draws_of_image)[0] / self._size  # 1/R
        return np.asarray(self._weights**2 / freedom * share / self._size)

    def _of_lone_images(
        self, image_means: Floats, deviations: Floats, squares: Callable[[Floats], Floats]
    ) -> tuple[Floats, float]:
        """Compute the part in I of classes of one image, and its degrees of freedom.

        Several such classes are pooled as one, whose variance counts the differences of classes too
        (collapsed strata: Cochran, Sampling Techniques, 5A.12); a single one has the variance
        within the other classes.
        """
        lone, weights = self._size == 1, self._weights
        number, rest = int(lone.sum()), int((self._size - 1).sum())
        if number > 1:
            means = image_means[:, lone[self.class_of_image]]
            factor = weights[lone].sum() ** 2 / (number * (number - 1.0))
            return factor * squares(means - means.mean(axis=1, keepdims=True)), number - 1.0
        return float(weights[lone].sum()) ** 2 * squares(deviations) / max(rest, 1), max(rest, 1.0)

    def means_without(self, x: Floats, regained: Ints) -> Floats:
        """Compute the mean without each class among queries and predictions (C,).

        `x` is (R, n), 1 or 0, and `regained` (R, n) the class without which a wrong image would be
        right, -1 where there is none.
        """
        weights, owner = self._weights, self.class_of_image
        right = self._by_class(np.where(self.is_query, x, 0.0))
        accuracy = (right / self._queries_of_class).mean(axis=0)
        draw, image = np.nonzero(self.is_query & (regained >= 0))
        query_weight = weights[owner[image]] / self._queries_of_class[draw, owner[image]]
        gain = np.bincount(
            regained[draw, image], query_weight / len(self.is_query), minlength=weights.size
        )
        return np.asarray((weights @ accuracy - weights * accuracy + gain) / (1.0 - weights))

    def variances(self, draws: Sequence[Floats], squares: Callable[[Floats], Floats]) -> Variances:
        """Compute I, D and V_rq of methods or pairs.

        `squares` is :func:`squares_of_methods` or :func:`squares_of_pairs`. `draws` are R arrays x
        (M, n); values of images that are no queries do not count. Squares of differences come from
        products of methods, so that for two methods that hardly differ they are rounding errors.
        """
        number, size, owner = len(self.is_query), self._size, self.class_of_image
        to_classes = csr_array((np.ones(owner.size), (owner, np.arange(owner.size))))
        values = [np.where(query, x, 0.0) for query, x in zip(self.is_query, draws, strict=True)]
        image_means = np.sum(values, axis=0) / self._draws_of_image
        deviations = image_means - ((to_classes @ image_means.T).T / size)[:, owner]
        images = denominator = interaction = np.zeros(())
        by_class = np.split(np.argsort(owner, kind="stable"), np.cumsum(size)[:-1])
        for rows, factor, freedom in zip(by_class, self._image_factors, size - 1.0, strict=True):
            part = factor * squares(deviations[:, rows])
            images, denominator = images + part, denominator + part**2 / max(freedom, 1.0)
        if (size == 1).any():
            part, freedom = self._of_lone_images(image_means, deviations, squares)
            images, denominator = images + part, denominator + part**2 / freedom
        df = np.divide(images**2, denominator, out=np.full_like(images, np.inf), where=images > 0)
        draw_means, roots = [], np.sqrt(self._interaction_factors)[owner]
        for query, x, queries in zip(self.is_query, values, self._queries_of_class, strict=True):
            accuracy = (to_classes @ x.T).T / queries
            draw_means.append(accuracy @ self._weights)
            if number > 1:
                rest = np.where(query, roots * (x - deviations - accuracy[:, owner]), 0.0)
                interaction = interaction + squares(rest)
        means = np.transpose(draw_means)
        variance = squares(means - means.mean(axis=1, keepdims=True)) / max(number - 1, 1)
        odds = self.overlap / (1.0 - self.overlap)
        shared = odds * np.maximum(variance - number * interaction, 0.0)
        interaction = np.broadcast_to(interaction, images.shape)
        return Variances(images, df, variance / number + shared, interaction, means)


def squares_of_methods(x: Floats) -> Floats:
    """Compute the sums of squares of rows (M,)."""
    return np.asarray(np.einsum("ij,ij->i", x, x))


def squares_of_pairs(x: Floats) -> Floats:
    """Compute the sums of squares of the differences of rows (M, M), at least 0."""
    products = x @ x.T
    own = np.diag(products)
    return np.asarray(np.maximum(own[:, None] + own - 2.0 * products, 0.0))


class AllWayDesign(Struct, frozen=True, eq=False, dict=True):
    """The draws of a set whose tasks have all classes, a design as :class:`.design.TaskDesign`."""

    queries_of: Ints
    """int64 (R, M): the images that are queries of each draw, class by class, 0..n-1; then -1."""
    class_of_image: Ints
    """int64 (n,): the class of every image that is a query of some draw."""
    overlap: float
    """Share of a class's training images that a draw takes for support."""
    unit: str = "images"
    second: bool = False
    """Whether some method's predictions without each class are known."""
    alike: bool = True
    """See :class:`Cells`."""

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
        present, position = queries >= 0, np.full(queries.shape, -1)
        used, position[present] = np.unique(queries[present], return_inverse=True)
        owner = np.unique(np.asarray(class_of_image)[used], return_inverse=True)[1]
        return cls(position, owner, overlap, unit)

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
        is_query = np.zeros((self.tasks, self.class_of_image.size + 1), bool)
        np.put_along_axis(is_query, self.queries_of, True, axis=1)
        return Cells(is_query[:, :-1], self.class_of_image, self.alike, self.overlap)


class AllWaySums:
    """I, its df, D and V_rq of methods and of pairs; NaN where predictions are unknown.

    Where it is known, the jackknife's variance of classes is the fifth.
    """

    def __init__(self, design: AllWayDesign, right: Sequence[RightQueries | None]) -> None:
        self._design, self._right = design, [queries for queries in right if queries is not None]
        known = np.array([queries is not None for queries in right])
        self._position = np.where(known, np.cumsum(known) - 1, -1)

    @property
    def means(self) -> Floats:
        """Mean of each method in each draw (M, R), where predictions of all are known."""
        return self._design.cells.variances(self._draws(self._right), squares_of_methods).means

    @cached_property
    def own(self) -> Floats:
        """The sums of each method (4 or 5, M)."""
        step = max(1, _NUMBERS_AT_ONCE // self._design.queries_of.size)
        parts = [np.full((5 if self._design.second else 4, 0), np.nan)]
        for start in range(0, len(self._right), step):
            methods = self._right[start : start + step]
            draws, without = self._draws(methods), self._means_without(methods)
            parts.append(self._sums(draws, without, squares_of_methods))
        return with_unknown(np.concatenate(parts, axis=1))[:, self._position]

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """Return the sums (4 or 5, R, S) of differences; of methods on the diagonal."""
        row, column = self._position[rows], self._position[columns]
        sums, own = self._of_pairs[:, row[:, None], column], self.own[0] + self.own[2]
        same = rows[:, None] == columns
        sums = np.where(same, self.own[:, rows, None], sums)
        exact = sums[0] + sums[2] > _NEARLY_EQUAL * (own[rows, None] + own[columns])
        known = (row[:, None] >= 0) & (column >= 0)
        for i, j in np.argwhere(known & ~same & ~exact).tolist():
            pair = [self._right[row[i]], self._right[column[j]]]
            draws = [x[:1] - x[1:] for x in self._draws(pair)]
            without = self._means_without(pair)
            difference = without if without is None else without[:1] - without[1:]
            sums[:, i, j] = self._sums(draws, difference, squares_of_methods)[:, 0]
        return sums

    @cached_property
    def _of_pairs(self) -> Floats:
        """The sums of differences of all methods with known predictions, then NaN."""
        if not self._right:
            return np.full((5 if self._design.second else 4, 1, 1), np.nan)
        draws, without = self._draws(self._right), self._means_without(self._right)
        return with_unknown(self._sums(draws, without, squares_of_pairs))

    def _sums(
        self, draws: Sequence[Floats], without: Floats | None, squares: Callable[[Floats], Floats]
    ) -> Floats:
        """Compute the sums from the values in each draw and the means without each class."""
        sums = self._design.cells.variances(draws, squares)[:4]
        if without is None:
            return np.stack(sums)
        classes = without.shape[1]
        variance = squares(without - without.mean(axis=1, keepdims=True)) * (classes - 1) / classes
        return np.stack([*sums, variance])

    def _draws(self, methods: Sequence[RightQueries]) -> list[Floats]:
        """Return for each draw the share of right runs by image (M, n), 0 where it is no query."""
        shares = [method.shares for method in methods]
        draws = range(self._design.tasks)
        return [self._on_images([share[draw] for share in shares], draw) for draw in draws]

    def _means_without(self, methods: Sequence[RightQueries]) -> Floats | None:
        """Return the methods' means without each class (M, C), NaN where they are unknown.

        None if no method's are known.
        """
        if not self._design.second:
            return None
        x, cells = np.stack(self._draws(methods)), self._design.cells
        means = np.full((len(methods), int(self._design.class_of_image.max()) + 1), np.nan)
        for i, method in enumerate(methods):
            if method.regained is None:
                continue
            of_runs = []
            for of_draws in method.regained:
                by_image = [self._on_images([row], r, -1)[0] for r, row in enumerate(of_draws)]
                of_runs.append(cells.means_without(x[:, i], np.stack(by_image).astype(int)))
            means[i] = np.mean(of_runs, axis=0)
        return means

    def _on_images(self, values: Sequence[Any], draw: int, absent: int = 0) -> Floats:
        """Return values of a draw's queries by image (M, n), `absent` where it is no query."""
        x = np.full((len(values), self._design.class_of_image.size + 1), float(absent))
        x[:, self._design.queries_of[draw]] = values
        return x[:, :-1]  # the last column is of places without an image
