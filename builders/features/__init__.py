"""Feature extractors."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from benchmark_spec.errors import UnknownNameError
from builders.features import pixels
from builders.sources.image_set import ImageSet

BACKBONES = (pixels.NAME,)


def extract(backbone: str, images: ImageSet) -> tuple[pa.Table, dict[str, Any]]:
    """Feature table of a data set, and how it was made.

    Raises
    ------
    UnknownNameError
        If there is no such backbone.
    SourceError
        If it cannot take these images.
    """
    if backbone not in BACKBONES:
        raise UnknownNameError("backbone", backbone, BACKBONES)
    return pixels.extract(images)
