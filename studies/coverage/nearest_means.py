"""Methods that overlap: what they see is in part the same, and they answer by nearest means."""

from __future__ import annotations

import numpy as np

from studies.common import Array

DIMENSIONS = 8
OF_IMAGES, OF_CLASSES = 0.5, 0.3
"""Share of the variance, of images and of centres of classes, that is each method's own."""


def in_part_own(rng: np.random.Generator, methods: int, count: int, share: float) -> Array:
    """Draw vectors that methods share in part (methods, count, DIMENSIONS)."""
    common = rng.standard_normal((count, DIMENSIONS))
    own = rng.standard_normal((methods, count, DIMENSIONS))
    return np.asarray(np.sqrt(1 - share) * common + np.sqrt(share) * own)


def correct(seen: Array, support: Array, query: Array) -> Array:
    """Count right answers (T,) of the nearest class mean.

    Parameters
    ----------
    seen : float64 (N, DIMENSIONS)
    support, query : int (T, K, S), (T, K, Q)
        Positions in `seen`.
    """
    tasks, way, queries = query.shape
    means = seen[support].mean(axis=2)
    asked = seen[query].reshape(tasks, -1, DIMENSIONS)
    near = (means**2).sum(-1)[:, None] - 2 * asked @ means.swapaxes(1, 2)
    return np.asarray((near.argmin(axis=2) == np.repeat(np.arange(way), queries)).sum(axis=1))
