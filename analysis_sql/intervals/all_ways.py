"""Means over a whole test set, of few draws of the support: intervals for new images and draws.

With all classes in one task, a method is run on R draws of the support and answers every test
image in each. x_rq is whether image q is right in draw r (of two methods the difference), π_c the
weight of a class, N_c its test images; with S shots of N training images a class::

    T    = s_r²/(R (1-S/N)) + Σ_c π_c² s²_c/N_c - V_rq        at least the larger of its two parts
    V_rq = Σ_c π_c² MS_c/(R N_c)                                  which is counted in both
    df   = T² / [ (first part)²/(R-1) + Σ_c (part of class c)²/(N_c-1) ]
    h    = t(df) √T

s_r² is the variance of the draws' means, s²_c that of the images' means over draws, MS_c the
interaction mean square of draws and images. Of one draw the first part is unknown, and of a method
without draws it is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from analysis_sql.intervals.arrays import Floats, Ints


@dataclass(frozen=True)
class Spread:
    """A mean over draws and test images, with its interval; fractions."""

    mean: float
    halfwidth: float
    df: float
    draws: float
    """Share of the variance that new draws add; NaN of one draw."""
    p: float
    """Two-sided, of a mean of 0."""


def spread(
    right: NDArray[Any],
    class_of_image: Ints,
    weights: Floats,
    level: float,
    *,
    shots: int = 0,
    pool: int = 0,
) -> Spread:
    """Compute the interval of one method, or of a difference.

    Parameters
    ----------
    right
        x (R, n), 0 or 1, or a difference of two; NaN where an image is in the draw's support.
    class_of_image
        int64 (n,), 0..C-1.
    weights
        π (C,), which sum to 1.
    shots, pool
        S, and the N training images of a class that draws are taken from; 0 where they are many.
    """
    x = np.asarray(right, np.float64)
    number = len(x)
    there = ~np.isnan(x)
    shown = np.maximum(there.sum(axis=0), 1)
    image = np.where(there, x, 0.0).sum(axis=0) / shown
    size = np.bincount(class_of_image, minlength=weights.size).astype(np.float64)
    of_class = np.bincount(class_of_image, image, weights.size) / size
    mean = float(weights @ of_class)
    within = np.bincount(class_of_image, (image - of_class[class_of_image]) ** 2, weights.size)
    parts = weights**2 * within / (np.maximum(size - 1.0, 1.0) * size)
    images, draws, both = float(parts.sum()), 0.0, 0.0
    if number > 1:
        by_class = np.stack([np.bincount(class_of_image, np.where(k, v, 0.0), weights.size)
                             / np.maximum(np.bincount(class_of_image, k, weights.size), 1.0)
                             for v, k in zip(x, there, strict=True)])  # fmt: skip
        means = by_class @ weights
        draws = float(means.var(ddof=1)) / (number * (1.0 - shots / pool if pool else 1.0))
        rest = x - image - by_class[:, class_of_image] + of_class[class_of_image]
        squares = np.bincount(class_of_image, np.where(there, rest**2, 0.0).sum(0), weights.size)
        cells = np.bincount(class_of_image, there.sum(axis=0), weights.size)
        freedom = np.maximum(cells - number - size + 1.0, 1.0)
        share = np.bincount(class_of_image, 1.0 / shown, weights.size) / size  # 1/R
        both = float((weights**2 * squares / freedom * share / size).sum())
    whole = max(draws + images - both, draws, images)
    below = draws**2 / max(number - 1, 1) + float((parts**2 / np.maximum(size - 1.0, 1.0)).sum())
    if whole <= 0.0:
        return Spread(mean, 0.0 if mean == 0.0 else float("nan"), np.inf, float("nan"), 1.0)
    df = whole**2 / below
    tail = (1.0 - level) / 2.0
    error = float(np.sqrt(whole))
    return Spread(
        mean,
        float(-stdtrit(df, tail)) * error,
        float(df),
        draws / whole if number > 1 else float("nan"),
        float(min(2.0 * stdtr(df, -abs(mean) / error), 1.0)),
    )
