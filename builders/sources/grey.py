"""Sources that are arrays of small grey images: their pixels are features of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.extras import require
from builders.sources.checking import check_and_number
from builders.sources.image_set import About, ImageSet, Item, Progress, sha256_of_bytes, silent
from fslbench_data.files.pictures import Picture


def grey_image_set(
    name: str,
    about: About,
    folder: Path,
    *,
    paths: Sequence[str],
    labels: NDArray[Any],
    pixels: NDArray[np.uint8],
    white: int,
    expected: Mapping[str, int],
    allow_missing: bool = False,
    provenance: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> ImageSet:
    """Return the image set of square images given as an array, in class order, then source order.

    `labels` (N,) are positions in `expected`, by class name; `pixels`, uint8 (N, D), are grey
    levels 0..`white`, and their SHA-256 is an image's.
    """
    classes: dict[str, list[Item]] = {}
    rows: list[int] = []
    for label, class_name in enumerate(expected):
        of_class = np.flatnonzero(labels == label).tolist()
        rows += of_class
        classes[class_name] = [
            Item(paths[row], licence=about.licence, sha256=sha256_of_bytes(pixels[row].tobytes()))
            for row in of_class
        ]
    row_of = {path: row for row, path in enumerate(paths)}
    side = round(pixels.shape[1] ** 0.5)

    def picture(path: str) -> Picture:
        levels = pixels[row_of[path]].reshape(side, side).astype(np.uint16)
        grey = ((levels * 255 + white // 2) // white).astype(np.uint8)
        return require("PIL.Image").fromarray(grey).convert("RGB")

    images = check_and_number(
        name,
        about,
        folder,
        classes,
        expected=expected,
        allow_missing=allow_missing,
        provenance=provenance,
        picture=picture,
        progress=progress,
    )
    return replace(images, pixels=pixels[rows], white=white)
