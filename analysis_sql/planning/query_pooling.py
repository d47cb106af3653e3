"""Variances estimated from many task sets of the same images, and how sure they then are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis_sql.intervals.arrays import Floats
from analysis_sql.planning.query_size import MIN_TASKS, Estimate, SetEstimate, as_covariance
from benchmark_spec.errors import SpecError


@dataclass(frozen=True)
class PooledEstimate(Estimate):
    """What several task sets of the same images say together.

    Attributes
    ----------
    seeds, sets
        How many of each; a seed has a set for each Q.
    seed_errors
        Monte Carlo standard errors of (alpha, w): what more seeds would change.  None for a
        single seed.  They say nothing of new images; `covariance` does.
    parts
        0 where `covariance` is the bound of :func:`pool`, else how many parts of the images
        :func:`jackknife_images` left out in turn.
    """

    seeds: int
    sets: int
    seed_errors: tuple[float, float] | None
    parts: int = 0


def pool(seeds: Sequence[Sequence[SetEstimate]], shot: int) -> PooledEstimate:
    """Average estimates over the sets of a seed, which differ in Q alone, then over seeds.

    Within a seed a set of T tasks weighs (T-1)/(1 + S/Q)².  That is the inverse of the variance
    that α^ would have if accuracies were normal and w/α were S, which is its order of size (S is
    then the large-sample Q*).  Weights made of the estimates themselves would bias them.  Seeds
    weigh alike.

    The covariance is the same average of the sets' jackknife covariances.  That of an average is
    never larger, and equal to it if the sets share all their luck.  Sets of several seeds and Q do
    share their images: so it is a bound that stays valid, and does not shrink, however many seeds
    are drawn.  The degrees of freedom are the same average, of T-1.  Raises a SpecError if a seed
    has no set, or the sets are of different numbers of classes.
    """
    sets = [estimate for seed in seeds for estimate in seed]
    if not sets or not all(seeds):
        raise SpecError(
            "no variance can be estimated",
            expected=f"for every seed a task set with at least 2 queries and {MIN_TASKS} tasks",
        )
    if len({estimate.way for estimate in sets}) > 1:
        raise SpecError("the task sets have different numbers of classes")
    means = np.array([_weighted(seed, shot) for seed in seeds])  # alpha, w, V, V, V, T-1
    alpha, w, *moments, freedom = means.mean(axis=0).tolist()
    errors = None
    if len(seeds) > 1:
        spread = means[:, :2].std(axis=0, ddof=1) / np.sqrt(len(seeds))
        errors = (float(spread[0]), float(spread[1]))
    return PooledEstimate(
        way=sets[0].way,
        alpha=alpha,
        w=w,
        covariance=((moments[0], moments[1]), (moments[1], moments[2])),
        freedom=freedom,
        seeds=len(seeds),
        sets=len(sets),
        seed_errors=errors,
    )


def jackknife_images(whole: PooledEstimate, without: Sequence[PooledEstimate]) -> PooledEstimate:
    """Give an estimate the covariance of a delete-a-group jackknife over images.

    With the images in G parts, each class spread evenly over them, and estimates θ_g made like the
    whole one without part g, V = (G-1)/G · Σ (θ_g - mean)(θ_g - mean)', with G-1 degrees of
    freedom.  It knows, as the bound of :func:`pool` does not, that many sets use their images
    better than one does.  The seeds' own error comes in about G-1 times, so V is too large if seeds
    are few and falls to its true size, not to 0, as they grow in number.  Raises a SpecError if
    there are fewer than 3 parts.
    """
    number = len(without)
    if number < 3:
        raise SpecError(f"{number} parts of the images are too few", expected="at least 3")
    values = np.array([(part.alpha, part.w) for part in without]).T
    deviations = values - values.mean(axis=1, keepdims=True)
    covariance = as_covariance((number - 1) / number * deviations @ deviations.T)
    return replace(whole, covariance=covariance, freedom=float(number - 1), parts=number)


def _weighted(seed: Sequence[SetEstimate], shot: int) -> Floats:
    """Weighted mean over sets of α, w, the three covariances and T-1."""
    weights = np.array([e.freedom / (1.0 + shot / e.query) ** 2 for e in seed])
    values = [
        (e.alpha, e.w, e.covariance[0][0], e.covariance[0][1], e.covariance[1][1], e.freedom)
        for e in seed
    ]
    mean: Floats = weights @ np.array(values) / weights.sum()
    return mean
