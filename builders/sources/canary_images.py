"""32 pictures whose features are part of every feature set, so that anybody can check their own.

Whoever extracts features with another program, version or machine extracts these too and compares.
All are made here, with no download: 16 are cut out of the two photographs that scikit-learn ships,
16 are drawn with whole numbers only.  They are of many sizes and shapes, larger and smaller than
what networks take, since most mistakes are mistakes of resizing; the drawn ones have hard edges
and fine detail, which show a missing antialiasing or a wrong kernel at once.  Eight families of
four stand for classes, so that a nearest centroid can be asked too.

The photographs are JPEG files, and another decoder may decode them a little differently: the
SHA-256 of every picture is pinned, and :func:`pictures` refuses to give others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import BackboneError
from benchmark_spec.extras import require

Pixels = NDArray[np.uint8]
"""RGB, (H, W, 3)."""

CHINA = "china.jpg by danielbuechele, CC BY 2.0, in scikit-learn"
FLOWER = "flower.jpg by vultilion, CC BY 2.0, in scikit-learn"
DRAWN = "drawn by fslbench, Apache-2.0"


@dataclass(frozen=True)
class Canary:
    """One picture.

    Attributes
    ----------
    name
        ``family-i``.
    family
        What stands for its class.
    height, width
        In pixels.
    credit
        Whose it is, and its licence.
    sha256
        Of its pixels: ``height x width:`` as text, then RGB row by row.
    """

    name: str
    family: str
    height: int
    width: int
    credit: str
    sha256: str


def digest(pixels: Pixels) -> str:
    """SHA-256 of a picture's size and pixels."""
    height, width, _ = pixels.shape
    return hashlib.sha256(f"{height}x{width}:".encode() + pixels.tobytes()).hexdigest()


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
"""Of each family the photograph, and (x, y, width, height) of what is cut out of it."""

_DRAWN: dict[str, tuple[tuple[int, int, int], ...]] = {
    "stripes": ((224, 224, 3), (300, 411, 17), (97, 130, 5), (512, 256, 29)),
    "checks": ((224, 224, 2), (411, 300, 13), (130, 97, 7), (160, 640, 41)),
    "discs": ((256, 256, 1), (333, 251, 2), (80, 120, 3), (600, 400, 4)),
    "grain": ((256, 256, 5), (251, 333, 6), (120, 80, 7), (400, 600, 8)),
}
"""Of each family heights, widths, and the period in pixels or what the random numbers start at."""


def _stripes(height: int, width: int, period: int) -> Pixels:
    """Oblique stripes of four colours."""
    y, x = np.mgrid[:height, :width]
    colours = np.array(
        [[230, 40, 30], [250, 240, 210], [20, 60, 160], [10, 10, 10]], dtype=np.uint8
    )
    pixels: Pixels = colours[(2 * x + 3 * y) // period % 4]
    return pixels


def _checks(height: int, width: int, period: int) -> Pixels:
    """A chessboard under a slow change of colour."""
    y, x = np.mgrid[:height, :width]
    check = (x // period + y // period) % 2
    planes = (255 * check, 255 * x // (width - 1), 255 - 255 * y // (height - 1))
    return np.stack(planes, axis=2).astype(np.uint8)


def _discs(height: int, width: int, start: int) -> Pixels:
    """Twelve discs over each other, with hard edges."""
    y, x = np.mgrid[:height, :width]
    pixels = np.full((height, width, 3), 240, dtype=np.uint8)
    numbers = _mixed(np.arange(72, dtype=np.uint64) + np.uint64(1000 * start)).astype(np.int64)
    for number in (numbers % 1000).reshape(12, 6).tolist():
        across, down, size, *colour = number
        radius = min(height, width) * (50 + size // 4) // 1000
        inside = (x - across * width // 1000) ** 2 + (y - down * height // 1000) ** 2 < radius**2
        pixels[inside] = [level * 255 // 999 for level in colour]
    return pixels


def _grain(height: int, width: int, start: int) -> Pixels:
    """Noise of blocks of 64, 16, 4 and 1 pixels, the large ones strongest."""
    y, x, plane = np.mgrid[:height, :width, :3].astype(np.uint64)
    total = np.zeros((height, width, 3), dtype=np.uint64)
    for weight, size in ((8, 64), (4, 16), (2, 4), (1, 1)):
        block = np.uint64(size)
        key = ((y // block * np.uint64(1024) + x // block) * np.uint64(4) + plane) * np.uint64(128)
        level = _mixed(key + np.uint64(size) + np.uint64(2**40 * start)) >> np.uint64(56)
        total += np.uint64(weight) * level
    return (total // np.uint64(15)).astype(np.uint8)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Random numbers below 2^63, one for each number (the finaliser of SplitMix64)."""
    values = (values + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_DRAW: dict[str, Callable[[int, int, int], Pixels]] = {
    "stripes": _stripes,
    "checks": _checks,
    "discs": _discs,
    "grain": _grain,
}


@cache
def _photograph(name: str) -> Pixels:
    found: Pixels = require("sklearn.datasets").load_sample_image(f"{name}.jpg")
    return found


def _picture(family: str, number: int) -> Pixels:
    if family in _CUT:
        photograph, boxes = _CUT[family]
        x, y, width, height = boxes[number]
        return _photograph(photograph)[y : y + height, x : x + width].copy()
    return _DRAW[family](*_DRAWN[family][number])


FAMILIES = (*_CUT, *_DRAWN)
OF_EACH = 4

_SHA256 = (
    "64f859dbd47d04e42e01fb399ef4c072331e70c152964601805319dc24cec358",
    "33ae437862ffb813c48f5bb9cd0a84bba48162f66b0d8db021718aad520e047e",
    "36c5d7d61947e8174efa60dee67d622f484f76fada09f131acac740d2856154f",
    "cad4b018c7e1fef69f1689d56e49764eb9c9df9b84a9c8b2275e4e15e0b6499c",
    "b1fc200955f9321e2a8bd2030617158406b62d4f9cc735b46254dc23157f983b",
    "ac1473b4d88fa9fb56e3ff781c6e0499aec8fc0404322dd3b42d79268a5b96f3",
    "f1d47de62c6b42c22f68e7be73be06c8a0b282f277819588527ce5bbe8809e65",
    "88ec062f6f1e3403bc5f69d8cc4db372480ec5e7a21e3e9f91393c1429f37707",
    "90892fe95da7ae7d78b99e639dbf1d768f0082db7550f55aaba3e5fe72e98d0c",
    "846152f029552523db9254ec1b7e332b1e60539e840ffcbefd2edc71d2be21a7",
    "e6ea6331c9e6e67656b9185eb0692a869fcd2becc72146ba68935f7398ab52f2",
    "cdc57387e1fecb39220440e875f401fd6f7f0733867b178e3c22c2d84d084474",
    "2b3f5465fbb20a6496599be0d72df2aa98c466a713cacb01d4c19576f727d5d1",
    "d39a8143c0c1d344d1926bbfa215e37f4c81f2b90b6dede74e8b42ad5160a9cb",
    "d550b61f21101036dc5cd69cafadb82bc07e0ce274c32d393fa17480027960e2",
    "5d13875594bf4c58fd649e6975094592bd99bbb77c6e11f91b373a183f34a115",
    "c4b5be28457d1904b4c9fd39b3dfc50d4d97dc41890f7fe49312091225d2e23b",
    "acebc5fb5ed8954f81c3941b3c6444670fd1ac899e08f7218df8ce145cfbe08b",
    "a735a4ed5216ee718a169473a0ad17ea34aac4fa884c889a9e68a37f9a158d90",
    "8a04aac49706396144387422059009b1964ea64ef33a8b87cb85112593b9d78c",
    "af0ec36bbbb7e538beb25173661aa9e4ccfbbb4eb1209a7b868663d47a4f55bb",
    "798a004b06e65924b344eeba96e508e63831213019786c62634e51e5d27c682c",
    "bb7b0aa01028a604bc2fc5f625ae218c42ab286772bd737dc1bb741d08c6c375",
    "f95cfe0e0ce6c5906cd0ceedff81fd6c1d59ad87c32389305fd2b4fb9a989939",
    "e7020678023abc04b7b6bfe526c5b0dd45cd66305db2dd3d75c512273a9309af",
    "2e0e0e9d413788d803cb1ebf409b08b9eae2068b8fb56f1d06585bf1e4d44979",
    "a80fd6888672801dfabc56224840ee19a9d759430e2b81dde2b48cee2fa33d24",
    "4bae6586dd1344c49a2052eb28d76a542ba1f923f5947bd5471b1e45c36608c9",
    "5d3fbc7516e8ac4d54f64cf696259e3e293cb13d6319a085fa5866a0973d6c3a",
    "bb9c1688472a8f3ce4c7a41733287cf21355ae80b3699668ab61eeb7ef3c4f1a",
    "0146d2d260f8ae01c4917522eb4d477ad5cb732482a3f83cc8a9a5f1da8835a2",
    "d3ca2adfcd202372db1cedc042d1306bad1f379dd52bfa62dafde445274cc2f7",
)
"""Of each, in order."""


def _canaries() -> tuple[Canary, ...]:
    digests = iter(_SHA256)
    found = []
    for family in FAMILIES:
        for number in range(OF_EACH):
            if family in _CUT:
                photograph, boxes = _CUT[family]
                *_, width, height = boxes[number]
                credit = CHINA if photograph == "china" else FLOWER
            else:
                height, width, _ = _DRAWN[family][number]
                credit = DRAWN
            name = f"{family}-{number}"
            found.append(Canary(name, family, height, width, credit, next(digests)))
    return tuple(found)


CANARIES = _canaries()
"""All 32, in the order of their features."""


def pictures(canaries: Sequence[Canary] = CANARIES) -> list[Pixels]:
    """The pixels of canaries.

    Raises
    ------
    BackboneError
        If one is not what it was, which a strange decoder of JPEG files may cause.
    MissingPackageError
        If scikit-learn or Pillow is not installed.
    """
    found = []
    for canary in canaries:
        pixels = _picture(canary.family, int(canary.name.rpartition("-")[2]))
        if digest(pixels) != canary.sha256:
            raise BackboneError(
                f"the canary {canary.name} is not what it was: this machine decodes "
                f"{canary.credit} to other pixels",
                expected=f"SHA-256 {canary.sha256}, found {digest(pixels)}",
                fix="use Pillow's own wheels (pip install pillow), which bring libjpeg-turbo",
            )
        found.append(pixels)
    return found
