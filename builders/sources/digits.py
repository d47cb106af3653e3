"""scikit-learn's copy of the UCI handwritten digits: 1797 images of 8 x 8 pixels, 10 classes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import SourceError
from builders.extras import require

NAME = "digits"
PIXELS_SHA256 = "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"
"""Of the images as uint8 (1797, 8, 8), in the source's order."""

ABOUT = {
    "title": "Optical Recognition of Handwritten Digits (UCI; scikit-learn's copy)",
    "homepage": "https://archive.ics.uci.edu/dataset/80",
    "licence": "CC BY 4.0",
    "citation": """@misc{alpaydin1998digits,
  title = {Optical Recognition of Handwritten Digits},
  author = {Alpaydin, E. and Kaynak, C.},
  year = {1998},
  howpublished = {UCI Machine Learning Repository},
  doi = {10.24432/C50P49}
}""",
    "note": "8 x 8 pixels with 17 grey levels; the test part of the UCI set.",
}


@dataclass(frozen=True, eq=False)
class Digits:
    """The data set in class order, then source order.

    Attributes
    ----------
    images : pyarrow.Table
        Of the schema IMAGES; `path` is the row of scikit-learn's digits.csv.gz, from 0.
    pixels : uint8 (1797, 64)
        Grey levels 0..16; row i is image id i.
    """

    class_names: tuple[str, ...]
    class_sizes: tuple[int, ...]
    images: pa.Table
    pixels: NDArray[np.uint8]
    provenance: dict[str, Any]


def load() -> Digits:
    """Read the digits from scikit-learn.

    Raises
    ------
    SourceError
        If scikit-learn's images are not the ones that the release was made of.
    """
    raw = require("sklearn.datasets").load_digits()
    pixels = raw.images.astype(np.uint8).reshape(-1, 64)
    found = hashlib.sha256(pixels.tobytes()).hexdigest()
    if found != PIXELS_SHA256:
        raise SourceError(
            "scikit-learn's digits are not the expected images",
            expected=f"SHA-256 {PIXELS_SHA256}, found {found}",
            fix="install a scikit-learn that ships the UCI digits unchanged",
        )
    order = np.argsort(raw.target, kind="stable")
    target, pixels = raw.target[order], pixels[order]
    n = len(order)
    columns: dict[str, Any] = {
        "image_id": np.arange(n),
        "class_id": target,
        "class_name": [str(label) for label in target],
        "path": [f"digits.csv.gz#{row}" for row in order],
        "sha256": [hashlib.sha256(image.tobytes()).hexdigest() for image in pixels],
        "group": [None] * n,
        "creator": [None] * n,
        "licence": ["CC BY 4.0"] * n,
    }
    images = pa.table(
        {field.name: pa.array(columns[field.name], field.type) for field in schemas.IMAGES}
    )
    return Digits(
        class_names=tuple(str(label) for label in range(10)),
        class_sizes=tuple(np.bincount(target).tolist()),
        images=images,
        pixels=pixels,
        provenance={"source": "sklearn.datasets.load_digits", "pixels_sha256": found},
    )
