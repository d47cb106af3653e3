"""The plainest features: grey levels, for images so small that they are their own features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError
from builders.sources.image_set import ImageSet

NAME = "pixels"


def pixel_features(pixels: NDArray[Any], white: int) -> tuple[NDArray[Any], dict[str, Any]]:
    """Make exact float16 features of images (N, D) with grey levels 0..`white`, and provenance."""
    values = (pixels.astype(np.float64) / white).astype(np.float16)
    provenance = {"backbone": NAME, "preprocessing": f"grey level / {white}", "dtype": "float16"}
    return values, provenance


def extract(images: ImageSet) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    """Make the features of a data set whose images are small grey pixels, and provenance."""
    if images.pixels is None:
        raise SourceError(
            f"{images.name} has no small grey pixels to use as features",
            fix="leave the backbone `pixels` out",
        )
    values, provenance = pixel_features(images.pixels, images.white)
    return [values], provenance
