"""scikit-learn's copy of the UCI handwritten digits: 1797 images of 8 x 8 pixels, 10 classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require
from builders.sources.grey import grey_image_set
from builders.sources.image_set import ImageSet, Progress, sha256_of_bytes, silent
from builders.sources.packaged import described

NAME = "digits"
ABOUT, PACKAGES, EXPECTED = described(NAME)
PIXELS = True
LAYOUT = "Nothing to fetch: the images come with scikit-learn."

WHITE = 16
PIXELS_SHA256 = "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"
"""Of the images as uint8 (1797, 8, 8), in the source's order."""


def read(
    folder: Path | None = None, *, allow_missing: bool = False, progress: Progress = silent
) -> ImageSet:
    """Read the digits from scikit-learn, if they are those the release was made of.

    A path of the images table is the row of scikit-learn's digits.csv.gz, from 0.
    """
    raw = require("sklearn.datasets").load_digits()
    pixels = raw.images.astype(np.uint8).reshape(-1, 64)
    digest = sha256_of_bytes(pixels.tobytes())
    if digest != PIXELS_SHA256:
        raise SourceError(
            "scikit-learn's digits are not the expected images",
            expected=f"SHA-256 {PIXELS_SHA256}, found {digest}",
            fix="install a scikit-learn that ships the UCI digits unchanged",
        )
    return grey_image_set(
        NAME,
        ABOUT,
        folder or Path(),
        paths=[f"digits.csv.gz#{row}" for row in range(len(pixels))],
        labels=raw.target,
        pixels=pixels,
        white=WHITE,
        expected=EXPECTED,
        allow_missing=allow_missing,
        provenance={"source": "sklearn.datasets.load_digits", "pixels_sha256": digest},
        progress=progress,
    )
