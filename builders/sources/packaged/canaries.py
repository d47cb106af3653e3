"""The reference images (canaries): 32 pictures with features in every feature set.

16 are cut out of the two photographs that scikit-learn ships.  16 are drawn with whole numbers
only, with hard edges and fine detail, which show mistakes of resizing.  Eight families of four are
the classes, so that a nearest centroid can be computed too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import BackboneError
from benchmark_spec.extras import require
from builders.sources.checking import Found
from builders.sources.image_set import Item, Progress, sha256_of_bytes
from builders.sources.source import Source

Pixels = NDArray[np.uint8]
"""RGB, (H, W, 3)."""

PHOTOGRAPHS = {
    "china": "china.jpg by danielbuechele, CC BY 2.0, in scikit-learn",
    "flower": "flower.jpg by vultilion, CC BY 2.0, in scikit-learn",
}
DRAWN = "drawn by fslbench, Apache-2.0"


@dataclass(frozen=True)
class CanaryImage:
    """A reference image ``family-i``; the family is its class.

    `sha256` is that of the text ``height x width:`` and then of its RGB values, row by row.
    """

    name: str
    family: str
    height: int
    width: int
    credit: str
    sha256: str
    make: Callable[[], Pixels] = field(repr=False)


def digest(pixels: Pixels) -> str:
    """Compute the SHA-256 of a picture's size and pixels."""
    height, width, _ = pixels.shape
    return sha256_of_bytes(f"{height}x{width}:".encode() + pixels.tobytes())


_Box = tuple[int, int, int, int]

_CUT: dict[str, tuple[str, tuple[_Box, ...]]] = {
    "palace": (
        "china",
        ((60, 20, 300, 300), (95, 140, 240, 120), (60, 230, 96, 190), (0, 0, 640, 427)),
    ),
    "trees": (
        "china",
        ((330, 270, 310, 157), (0, 290, 290, 137), (540, 130, 100, 297), (20, 335, 64, 64)),
    ),
    "dahlia": (
        "flower",
        ((170, 85, 280, 275), (250, 160, 90, 110), (0, 0, 640, 427), (170, 200, 277, 75)),
    ),
    "leaves": (
        "flower",
        ((0, 0, 180, 340), (450, 0, 190, 190), (0, 330, 170, 97), (420, 40, 220, 340)),
    ),
}
"""The photograph of each family, and (x, y, width, height) of the parts that are cut out."""


def _stripes(height: int, width: int, period: int) -> Pixels:
    """Draw slanting stripes of four colours."""
    y, x = np.mgrid[:height, :width]
    colours = np.array(
        [[230, 40, 30], [250, 240, 210], [20, 60, 160], [10, 10, 10]], dtype=np.uint8
    )
    pixels: Pixels = colours[(2 * x + 3 * y) // period % 4]
    return pixels


def _checks(height: int, width: int, period: int) -> Pixels:
    """Draw a chessboard under a slow change of colour."""
    y, x = np.mgrid[:height, :width]
    check = (x // period + y // period) % 2
    planes = (255 * check, 255 * x // (width - 1), 255 - 255 * y // (height - 1))
    return np.stack(planes, axis=2).astype(np.uint8)


def _discs(height: int, width: int, start: int) -> Pixels:
    """Draw twelve discs over each other, with hard edges."""
    y, x = np.mgrid[:height, :width]
    pixels = np.full((height, width, 3), 240, dtype=np.uint8)
    numbers = _mixed(np.arange(72, dtype=np.uint64) + np.uint64(1000 * start)).astype(np.int64)
    for across, down, size, *colour in (numbers % 1000).reshape(12, 6).tolist():
        radius = min(height, width) * (50 + size // 4) // 1000
        inside = (x - across * width // 1000) ** 2 + (y - down * height // 1000) ** 2 < radius**2
        pixels[inside] = [level * 255 // 999 for level in colour]
    return pixels


def _grain(height: int, width: int, start: int) -> Pixels:
    """Draw noise of blocks of 64, 16, 4 and 1 pixels, the large ones strongest."""
    y, x, plane = np.mgrid[:height, :width, :3].astype(np.uint64)
    total = np.zeros((height, width, 3), dtype=np.uint64)
    for weight, size in ((8, 64), (4, 16), (2, 4), (1, 1)):
        block = np.uint64(size)
        key = ((y // block * np.uint64(1024) + x // block) * np.uint64(4) + plane) * np.uint64(128)
        level = _mixed(key + np.uint64(size) + np.uint64(2**40 * start)) >> np.uint64(56)
        total += np.uint64(weight) * level
    return (total // np.uint64(15)).astype(np.uint8)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Make random numbers below 2^63, one for each number (the finaliser of SplitMix64)."""
    values = (values + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_DRAWN: dict[str, tuple[Callable[[int, int, int], Pixels], tuple[tuple[int, int, int], ...]]] = {
    "stripes": (_stripes, ((224, 224, 3), (300, 411, 17), (97, 130, 5), (512, 256, 29))),
    "checks": (_checks, ((224, 224, 2), (411, 300, 13), (130, 97, 7), (160, 640, 41))),
    "discs": (_discs, ((256, 256, 1), (333, 251, 2), (80, 120, 3), (600, 400, 4))),
    "grain": (_grain, ((256, 256, 5), (251, 333, 6), (120, 80, 7), (400, 600, 8))),
}
"""The function of each family, and (height, width, period or start of the random numbers)."""


@cache
def _photograph(name: str) -> Pixels:
    photograph: Pixels = require("sklearn.datasets").load_sample_image(f"{name}.jpg")
    return photograph


def _cut_out(photograph: str, x: int, y: int, width: int, height: int) -> Pixels:
    return _photograph(photograph)[y : y + height, x : x + width].copy()


FAMILIES = (*_CUT, *_DRAWN)
OF_EACH = 4


def _canary_images() -> Iterator[CanaryImage]:
    digests = iter(json.loads(Path(__file__).with_suffix(".json").read_text(encoding="ascii")))
    for family, (photograph, boxes) in _CUT.items():
        for number, box in enumerate(boxes):
            name, make = f"{family}-{number}", partial(_cut_out, photograph, *box)
            size, credit = (box[3], box[2]), PHOTOGRAPHS[photograph]
            yield CanaryImage(name, family, *size, credit, next(digests), make)
    for family, (draw, numbers) in _DRAWN.items():
        for number, (height, width, start) in enumerate(numbers):
            name, make = f"{family}-{number}", partial(draw, height, width, start)
            yield CanaryImage(name, family, height, width, DRAWN, next(digests), make)


CANARY_IMAGES = tuple(_canary_images())
"""All 32, in the order of their features."""


def pictures(images: Sequence[CanaryImage] = CANARY_IMAGES) -> list[Pixels]:
    """Make the pixels of reference images; BackboneError if one has changed."""
    made = []
    for image in images:
        pixels = image.make()
        if digest(pixels) != image.sha256:
            raise BackboneError(
                f"the canary {image.name} is not what it was: this machine decodes "
                f"{image.credit} to other pixels",
                expected=f"SHA-256 {image.sha256}, found {digest(pixels)}",
                fix="use Pillow's own wheels (pip install pillow), which bring libjpeg-turbo",
            )
        made.append(pixels)
    return made


NAME = "canaries"


def find(source: Source, folder: Path, progress: Progress) -> Found:
    """Make the reference images; no folder is needed.

    A path of the images table is the image's name.
    """
    progress(NAME)
    pixels = dict(zip((image.name for image in CANARY_IMAGES), pictures(), strict=True))
    digests = "".join(image.sha256 for image in CANARY_IMAGES)
    classes: dict[str, list[Item]] = {family: [] for family in FAMILIES}
    for image in CANARY_IMAGES:
        # a credit is ``WHAT by CREATOR, LICENCE``, perhaps in a package
        creator, licence, *_ = image.credit.partition(" by ")[2].split(", ")
        classes[image.family].append(Item(image.name, creator=creator, licence=licence))
    return Found(
        classes,
        folder,
        expected=source.expected,
        provenance={"pixels_sha256": sha256_of_bytes(digests.encode())},
        check=None,
        picture=lambda path: require("PIL.Image").fromarray(pixels[path]),
    )
