"""Tables of random attributes, and the sizes of the classes that they are of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from builders.attributes.table import attributes_table


def random_attributes(
    seed: int, classes: int = 6, images: int = 40, share: float = 0.3
) -> tuple[pa.Table, list[int]]:
    """A dozen attributes, each of them had by a `share` of the images."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(images // 2, images + 1, classes).tolist()
    rows = [[f"a{i:02}" for i in np.flatnonzero(rng.random(12) < share)] for _ in range(sum(sizes))]
    return attributes_table(rows), sizes
