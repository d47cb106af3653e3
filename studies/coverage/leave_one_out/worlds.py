"""Classes and images with features, so that accuracies are those of real few-shot classifiers.

A class is a centre from N(0, τ²I) in 8 dimensions, and its images lie about it.  Beyond that:

difficulty
    The images of a class lie σ_c from its centre, ln σ_c ~ N(0, difficulty²).
hard_images
    Each image has a distance of its own, by a factor whose logarithm is N(0, hard_images²).
lobes
    A class has two centres, each so far from its middle; an image belongs to one of them.  Support
    images of both lobes are worth more than their sum: interactions of three images.
common
    The share of the variance of centres, and of ln σ_c, that a superclass has in common.
burst
    The share of the variance of images that a group of them has in common.
rare
    The share of classes whose images lie three times as far from their centres.

The methods are the nearest class mean

    0. on all 8 dimensions,
    1. on the first 6: with method 0 an ordinary difference,
    2. on all, the last one shrunk: a small difference,
    3. on all, after the class means have moved towards the queries that they attract: transductive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

DIMENSIONS = 8
WEIGHTS = np.array([[1.0] * 8, [1.0] * 6 + [0.0] * 2, [1.0] * 7 + [0.75]], np.float32)
"""What methods 0, 1, 2 multiply each dimension by; method 3 is as 0."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Classes:
    """Some classes: centres (C, D), σ_c (C,), half the way between a class's lobes (C, D)."""

    centres: Array
    scale: Array
    lobes: Array


@dataclass(frozen=True)
class World:
    """What classes and images are drawn from; see the module."""

    spread: float = 1.0
    difficulty: float = 0.2
    hard_images: float = 0.0
    lobes: float = 0.0
    common: float = 0.0
    burst: float = 0.0
    rare: float = 0.0

    def classes(
        self, rng: np.random.Generator, many: int, superclass: Array | None = None
    ) -> Classes:
        """Draw classes; `superclass` (C,) names the superclass of each."""
        own, shared = np.sqrt(1 - self.common), np.sqrt(self.common)
        centres = own * rng.standard_normal((many, DIMENSIONS))
        logs = own * rng.standard_normal(many)
        if superclass is not None:
            groups = int(superclass.max()) + 1
            centres += shared * rng.standard_normal((groups, DIMENSIONS))[superclass]
            logs += shared * rng.standard_normal(groups)[superclass]
        scale = np.exp(self.difficulty * logs)
        if self.rare:
            scale = np.where(rng.random(many) < self.rare, 3.0, 1.0) * scale
        way = rng.standard_normal((many, DIMENSIONS))
        way *= self.lobes / np.linalg.norm(way, axis=1, keepdims=True)
        return Classes(*(np.asarray(x, np.float32) for x in (self.spread * centres, scale, way)))

    def images(
        self, rng: np.random.Generator, classes: Classes, which: Array, group: Array | None = None
    ) -> Array:
        """Draw images, float32 (..., D), of classes `which` (...).

        `group` (...) numbers the groups of images, over all classes, from 0.
        """
        shape = (*which.shape, DIMENSIONS)
        noise = rng.standard_normal(shape, dtype=np.float32)
        if self.burst and group is not None:
            of_group = rng.standard_normal((int(group.max()) + 1, DIMENSIONS), dtype=np.float32)
            noise *= np.float32(np.sqrt(1 - self.burst))
            noise += np.float32(np.sqrt(self.burst)) * of_group[group]
        noise *= classes.scale[which][..., None]
        if self.hard_images:
            size = self.hard_images * rng.standard_normal(which.shape, dtype=np.float32)
            noise *= np.exp(size)[..., None]
        if self.lobes:
            side = np.where(rng.random(which.shape) < 0.5, np.float32(-1), np.float32(1))
            noise += side[..., None] * classes.lobes[which]
        noise += classes.centres[which]
        return noise


def views(images: Array, methods: int) -> list[Array]:
    """Give each method's features of images (..., D); method 3 has those of method 0."""
    return [images if j in (0, 3) else images * WEIGHTS[j] for j in range(methods)]


def answers(support: list[Array], query: list[Array]) -> Array:
    """Accuracies (M, T) of methods on tasks; the fourth one is transductive.

    Parameters
    ----------
    support, query
        For each method its features (T, K, S, D) and (T, K, Q, D).
    """
    parts = []
    for j, (shown, asked) in enumerate(zip(support, query, strict=True)):
        tasks, way, many, dimensions = asked.shape
        flat = asked.reshape(tasks, way * many, dimensions)
        mean = shown.mean(axis=2)
        scores = _scores(flat, mean)
        if j == 3:
            shot = np.float32(shown.shape[2])
            weight = np.exp(scores - scores.max(axis=2, keepdims=True))
            weight /= weight.sum(axis=2, keepdims=True)
            turned = weight.transpose(0, 2, 1)
            drawn = shot * mean + turned @ flat
            scores = _scores(flat, drawn / (shot + turned.sum(axis=2))[..., None])
        own = np.repeat(np.arange(way), many)
        parts.append((scores.argmax(axis=2) == own).mean(axis=1))
    return np.array(parts)


def _scores(asked: Array, mean: Array) -> Array:
    """Half the squared distances to the origin less those to class means (T, n, K)."""
    return np.asarray(
        asked @ mean.transpose(0, 2, 1) - np.square(mean).sum(axis=2)[:, None, :] / np.float32(2)
    )
