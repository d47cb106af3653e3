"""Fashion-MNIST from its Debian package: 70,000 grey images of 28 x 28 pixels, 10 classes."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError, UnknownNameError
from builders.sources.grey import grey_image_set
from builders.sources.image_set import ImageSet, Progress, silent
from builders.sources.packaged import described
from builders.sources.packages import unpacked

NAME = "fashion_mnist"
ABOUT, PACKAGES, EXPECTED = described(NAME)
OPTIONS = ((), ("part",))
DATA = "usr/share/datasets/fashion-mnist"
PIXELS = True
LAYOUT = f"""dataset-fashion-mnist/{DATA}/
  train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-..., t10k-labels-..."""

CLASSES = tuple(EXPECTED)
PARTS = {"train": ("train", 6000), "test": ("t10k", 1000)}
"""The two parts: how their files begin, and images of each class."""


def read(
    folder: Path, *, part: str = "", allow_missing: bool = False, progress: Progress = silent
) -> ImageSet:
    """Read a `part` of Fashion-MNIST, or both, from the folder that ``fetch`` has filled.

    A path of the images table is the row of an idx file (``train-images-idx3-ubyte.gz#3``).
    """
    if part and part not in PARTS:
        raise UnknownNameError("part", part, PARTS, where=f"{NAME}, option part")
    read_parts = [PARTS[part]] if part else list(PARTS.values())
    data = unpacked(PACKAGES[0], folder, NAME) / DATA
    paths: list[str] = []
    labels, pixels = [], []
    for start, _ in read_parts:
        file = f"{start}-images-idx3-ubyte.gz"
        progress(f"{NAME}: {file}")
        images = read_idx(data / file)
        pixels.append(images.reshape(len(images), -1))
        labels.append(read_idx(data / f"{start}-labels-idx1-ubyte.gz"))
        paths += [f"{file}#{row}" for row in range(len(images))]
    return grey_image_set(
        NAME,
        ABOUT,
        folder,
        paths=paths,
        labels=np.concatenate(labels),
        pixels=np.concatenate(pixels),
        white=255,
        expected=dict.fromkeys(CLASSES, PARTS[part][1]) if part else EXPECTED,
        allow_missing=allow_missing,
        provenance={
            "packages": {PACKAGES[0].file: PACKAGES[0].sha256},
            **({"part": part} if part else {}),
        },
        progress=progress,
    )


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes from a gzipped idx file.

    It starts with 0, 0, 8 and the number of dimensions; their sizes follow as big-endian int32.
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
            fix=f"remove {path.parents[4]} and run fslbench-build fetch {NAME} again",
        ) from error
