"""Arrays of small grey images, whose pixels can be features: digits and Fashion-MNIST."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require
from builders.sources.checking import Found
from builders.sources.image_set import Item, Progress, sha256_of_bytes
from builders.sources.packages import unpacked
from builders.sources.source import Source
from fslbench_data.pictures import Picture

DIGITS_SHA256 = "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"
"""The SHA-256 of the digits as uint8 (1797, 8, 8), in the source's order."""
FASHION = "usr/share/datasets/fashion-mnist"
FILES = {"train": ("train", 6000), "test": ("t10k", 1000)}
"""The start of the files' names, and images of each class, of Fashion-MNIST's parts."""


def find(source: Source, folder: Path, progress: Progress, part: str = "") -> Found:
    """Find the images of the digits or of Fashion-MNIST.

    A path of the images table is the row, from 0, of scikit-learn's digits.csv.gz or of an idx file
    (``train-images-idx3-ubyte.gz#3``).
    """
    if source.name == "digits":
        return _digits(source, folder)
    expected = dict.fromkeys(source.expected, FILES[part][1]) if part else source.expected
    paths: list[str] = []
    labels, pixels = [], []
    (package,) = source.packages
    data = unpacked(package, folder, source.name) / FASHION
    for start, _ in [FILES[part]] if part else FILES.values():
        file = f"{start}-images-idx3-ubyte.gz"
        progress(f"{source.name}: {file}")
        images = read_idx(data / file)
        pixels.append(images.reshape(len(images), -1))
        labels.append(read_idx(data / f"{start}-labels-idx1-ubyte.gz"))
        paths += [f"{file}#{row}" for row in range(len(images))]
    provenance = {"packages": {package.file: package.sha256}, **({"part": part} if part else {})}
    arrays = np.concatenate(labels), np.concatenate(pixels)
    return grey_images(source, folder, paths, *arrays, 255, expected, provenance)


def _digits(source: Source, folder: Path) -> Found:
    """Take the digits from scikit-learn; SourceError if they are not the pinned ones."""
    raw = require("sklearn.datasets").load_digits()
    pixels = raw.images.astype(np.uint8).reshape(-1, 64)
    digest = sha256_of_bytes(pixels.tobytes())
    if digest != DIGITS_SHA256:
        raise SourceError(
            "scikit-learn's digits are not the expected images",
            expected=f"SHA-256 {DIGITS_SHA256}, found {digest}",
            fix="install a scikit-learn that ships the UCI digits unchanged",
        )
    paths = [f"digits.csv.gz#{row}" for row in range(len(pixels))]
    provenance = {"source": "sklearn.datasets.load_digits", "pixels_sha256": digest}
    return grey_images(source, folder, paths, raw.target, pixels, 16, source.expected, provenance)


def grey_images(
    source: Source,
    folder: Path,
    paths: Sequence[str],
    labels: NDArray[Any],
    pixels: NDArray[np.uint8],
    white: int,
    expected: Mapping[str, int],
    provenance: Mapping[str, Any],
) -> Found:
    """Return square images of an array by class, then in the source's order.

    `labels` (N,) are positions in `expected`, by class name; `pixels`, uint8 (N, D), are grey
    levels 0..`white`, and their SHA-256 is an image's.
    """
    rows = {name: np.flatnonzero(labels == label).tolist() for label, name in enumerate(expected)}
    row_of = {path: row for row, path in enumerate(paths)}
    side = round(pixels.shape[1] ** 0.5)

    def item(row: int) -> Item:
        digest = sha256_of_bytes(pixels[row].tobytes())
        return Item(paths[row], licence=source.licence, sha256=digest)

    def picture(path: str) -> Picture:
        levels = pixels[row_of[path]].reshape(side, side).astype(np.uint16)
        grey = ((levels * 255 + white // 2) // white).astype(np.uint8)
        return require("PIL.Image").fromarray(grey).convert("RGB")

    return Found(
        {name: [item(row) for row in class_rows] for name, class_rows in rows.items()},
        folder,
        expected=expected,
        provenance=provenance,
        picture=picture,
        pixels=pixels[list(chain.from_iterable(rows.values()))],
        white=white,
    )


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes from a gzipped idx file.

    The file starts with 0, 0, 8 and the number of dimensions; their sizes follow as big-endian
    int32.
    """
    try:
        data = gzip.decompress(path.read_bytes())
        sizes = np.frombuffer(data, ">i4", count=data[3], offset=4)
        values = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])
        return values.reshape(sizes.tolist())  # fails if the values are no bytes
    except (OSError, EOFError, ValueError, IndexError) as error:
        raise SourceError(
            f"{path.name} cannot be read: {error}",
            where=str(path),
            expected="a gzipped idx file",
            fix=f"remove {path.parents[4]} and run fslbench-build fetch fashion_mnist again",
        ) from error
