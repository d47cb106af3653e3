"""Tasks that reuse images, drawn at random: for tests of what leaves one out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def uniform_tasks(
    sizes: list[int], tasks: int, way: int, per_class: int, seed: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Draw classes (B, K) and images (B, K, m) uniformly; gives the class of each image, too."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    first = np.cumsum(sizes) - sizes
    ids = np.argsort(rng.random((tasks, len(sizes))), axis=1)[:, :way]
    images = [
        [first[c] + rng.permutation(sizes[c])[:per_class] for c in chosen]
        for chosen in ids.tolist()
    ]
    return ids, np.array(images), owner


def values_on(ids: NDArray[Any], images: NDArray[Any], methods: int, seed: int) -> NDArray[Any]:
    """Values (M, B) with effects of classes, images and tasks, partly shared by methods."""
    rng = np.random.default_rng(seed)
    classes, pictures = int(ids.max()) + 1, int(images.max()) + 1
    of_class = rng.normal(size=classes) + 0.3 * rng.normal(size=(methods, classes))
    of_image = rng.normal(size=pictures) + 0.5 * rng.normal(size=(methods, pictures))
    y = of_class[:, ids].mean(2) + of_image[:, images].mean((2, 3))
    return 0.7 + 0.05 * (y + 0.3 * rng.normal(size=y.shape))
