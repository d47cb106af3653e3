"""Means over a whole test set, of few draws of the support: intervals for new images and draws.

With all classes in one task, a method is run on R draws of the support and answers every test
image in each. x_rq is whether image q is right in draw r (of two methods the difference), π_c the
weight of a class, N_c its test images; with f = S/N, S shots of N training images a class::

    T    = D + Σ_c π_c² s²_c/N_c - V_rq            at least the larger of its two parts
    D    = s_r²/R + max(s_r² - R V_rq, 0) f/(1-f)
    V_rq = Σ_c π_c² MS_c/(R N_c)                   which is counted in both
    df   = T² / [ D²/(R-1) + Σ_c (part of class c)²/(N_c-1) ]
    h    = t(df) √T

s_r² is the variance of the draws' means, s²_c that of the images' means over draws, MS_c the
interaction mean square of draws and images. Draws of one pool have in common f of what training
images change, and s_r² has the rest: by the second term of D the mean of endless draws would still
change with new ones. Of one draw D is unknown, and of a method without draws it is 0. Classes of
one image, which say nothing of s²_c, are taken for one class.

For new classes, with all that comes with them, a class is left out of the queries and of what may
be answered; an image then gets the class with the next highest score. θ_c is the mean without class
c, θ the mean of these::

    V_classes = (C-1)/C Σ_c (θ_c - θ)² + D            df by Satterthwaite, C-1 and R-1

The jackknife does not see what all classes of a draw share, such as a seed of training: therefore
the second part, which also counts the support images once more. New classes come with new images:
the interval is at least as wide as for these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analysis_sql.intervals.arrays import Bools, Floats, Ints


class Variances(NamedTuple):
    """T of M methods (M,) or of all pairs (M, M), and what belongs to it."""

    whole: Floats
    df: Floats
    draws: Floats
    """The part of T that is of new draws, 0 of one draw."""
    means: Floats
    """Means of the methods' draws (M, R)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Which draw answers which test image, and how classes are weighted.

    Attributes
    ----------
    there
        bool (R, n): False where an image is in the draw's support.
    class_of_image
        int64 (n,), 0..C-1, each class at least once.
    alike
        Weight all answers alike, as papers print it, or else all classes.
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
    def _shown(self) -> Ints:
        return np.asarray(np.maximum(self.there.sum(axis=0), 1))

    @cached_property
    def _answers(self) -> Floats:
        """Answers of each class in each draw (R, C), at least 1."""
        return np.maximum(self._by_class(self.there), 1.0)

    @cached_property
    def _weights(self) -> Floats:
        number = self._answers.sum(axis=0)
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
        cells = self._by_class(self._shown)[0]
        freedom = np.maximum(cells - len(self.there) - self._size + 1.0, 1.0)
        share = self._by_class(1.0 / self._shown)[0] / self._size  # 1/R
        return np.asarray(self._weights**2 / freedom * share / self._size)

    def _of_lone_images(
        self, image: Floats, apart: Floats, squares: Callable[[Floats], Floats]
    ) -> tuple[Floats, float]:
        """Compute what classes of one image count in T, and its degrees of freedom.

        Such a class does not say how its images differ.  Several are taken for one class, which
        counts how classes differ too (collapsed strata: Cochran, Sampling Techniques, 5A.12); a
        single one has the variance within the others.
        """
        lone, weights = self._size == 1, self._weights
        number, rest = int(lone.sum()), int((self._size - 1).sum())
        if number > 1:
            own = image[:, lone[self.class_of_image]]
            factor = weights[lone].sum() ** 2 / (number * (number - 1.0))
            return factor * squares(own - own.mean(axis=1, keepdims=True)), number - 1.0
        return float(weights[lone].sum()) ** 2 * squares(apart) / max(rest, 1), max(rest, 1.0)

    def means_without(self, x: Floats, regained: Ints) -> Floats:
        """Compute the mean without each class, as a query and as an answer (C,).

        `x` is (R, n), 1 or 0, and `regained` (R, n) the class without which an image is right that
        is not now, -1 where there is none.
        """
        number, weights, owner = len(self.there), self._weights, self.class_of_image
        of_class = (self._by_class(np.where(self.there, x, 0.0)) / self._answers).mean(axis=0)
        draw, image = np.nonzero(self.there & (regained >= 0))
        gain = weights[owner[image]] / self._answers[draw, owner[image]] / number
        more = np.bincount(regained[draw, image], gain, minlength=weights.size)
        return np.asarray((weights @ of_class - weights * of_class + more) / (1.0 - weights))

    def variances(self, draws: Sequence[Floats], squares: Callable[[Floats], Floats]) -> Variances:
        """Compute T and df, where `squares` is :func:`of_each` method or :func:`of_pairs`.

        `draws` are R arrays x (M, n); what is not there counts for nothing. Squares of differences
        come from products of methods: where two hardly differ, rounding leaves nothing of T.
        """
        number, size, owner = len(self.there), self._size, self.class_of_image
        into = csr_array((np.ones(owner.size), (owner, np.arange(owner.size))))
        there = [np.where(here, x, 0.0) for here, x in zip(self.there, draws, strict=True)]
        image = np.sum(there, axis=0) / self._shown
        apart = image - ((into @ image.T).T / size)[:, owner]
        images = below = both = np.zeros(())
        by_class = np.split(np.argsort(owner, kind="stable"), np.cumsum(size)[:-1])
        for own, factor, freedom in zip(by_class, self._of_images, size - 1.0, strict=True):
            part = factor * squares(apart[:, own])
            images, below = images + part, below + part**2 / max(freedom, 1.0)
        if (size == 1).any():
            part, freedom = self._of_lone_images(image, apart, squares)
            images, below = images + part, below + part**2 / freedom
        means, roots = [], np.sqrt(self._of_both)[owner]
        for here, x, answers in zip(self.there, there, self._answers, strict=True):
            of_class = (into @ x.T).T / answers
            means.append(of_class @ self._weights)
            if number > 1:
                rest = np.where(here, roots * (x - apart - of_class[:, owner]), 0.0)
                both = both + squares(rest)
        of_methods = np.transpose(means)
        centred = of_methods - of_methods.mean(axis=1, keepdims=True)
        variance, odds = squares(centred) / max(number - 1, 1), self.overlap / (1.0 - self.overlap)
        shared = odds * np.maximum(variance - number * both, 0.0)
        of_draws = variance / number + shared
        whole = np.maximum(of_draws + images - both, np.maximum(of_draws, images))
        below = below + of_draws**2 / max(number - 1, 1)
        df = np.divide(whole**2, below, out=np.full_like(whole, np.inf), where=whole > 0)
        return Variances(whole, df, of_draws, of_methods)


def of_each(x: Floats) -> Floats:
    """Compute the sums of squares of rows (M,)."""
    return np.asarray(np.einsum("ij,ij->i", x, x))


def of_pairs(x: Floats) -> Floats:
    """Compute the sums of squares of the differences of rows (M, M), at least 0."""
    products = x @ x.T
    own = np.diag(products)
    return np.asarray(np.maximum(own[:, None] + own - 2.0 * products, 0.0))
