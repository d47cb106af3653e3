"""Features of images: those of a network, or the pixels of small grey images."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_spec.errors import SourceError, UnknownNameError
from builders.features.backbones import BACKBONES, FAMILIES
from builders.features.block_job import Settings, computed
from builders.features.extraction import Network
from builders.features.shards import Pieces
from builders.sources.image_set import ImageSet, silent
from fslbench_data.evaluation.progress import Progress

__all__ = ["PIXELS", "Settings", "check_backbone", "features_of", "is_network", "pixel_features"]

PIXELS = "pixels"
"""The name of the features of small images that are their own grey levels."""

WORK = ".extracting"
"""The folder of unfinished work, next to the result."""


def is_network(backbone: str) -> bool:
    """Return whether a backbone is a network, not ``pixels``."""
    return backbone != PIXELS


def check_backbone(name: str, where: str = "") -> None:
    """Refuse a name that no backbone can have, without looking for weights."""
    named = (PIXELS, *BACKBONES)
    families = [usage.partition(":")[0] for usage in FAMILIES]
    if name not in named and name.partition(":")[0] not in families:
        raise UnknownNameError("backbone", name, (*named, *FAMILIES), where=where)


def features_of(
    backbone: str,
    images: ImageSet,
    folder: Path,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> AbstractContextManager[tuple[Pieces, dict[str, Any]]]:
    """Extract the features of a data set by a backbone or ``pixels``; a context manager.

    It yields pieces, to be read within the context, and their provenance.  Unfinished work lies in
    `folder` and is continued; errors are those of :func:`builders.features.block_job.computed`.
    """
    check_backbone(backbone)
    if not is_network(backbone):
        return nullcontext(pixel_features(images))
    settings = settings or Settings()
    return computed(Network.of(backbone, settings), images, folder / WORK, settings, progress)


def pixel_features(images: ImageSet) -> tuple[Pieces, dict[str, Any]]:
    """Return the pixels of a data set of small grey images, in float16, and their provenance."""
    if images.pixels is None:
        raise SourceError(
            f"{images.name} has no small grey pixels to use as features",
            fix="leave the backbone `pixels` out",
        )
    values = (images.pixels.astype(np.float64) / images.white).astype(np.float16)
    how = f"grey level / {images.white}"
    return [values], {"backbone": PIXELS, "preprocessing": how, "dtype": "float16"}
