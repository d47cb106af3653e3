"""Seventeen attributes that are computed from the pixels of a drawing, in whole numbers.

The picture (RGB on white) is cut into squares of k x k pixels, with the least k that leaves at most
:data:`CELLS` of them along the longer side; a cell is the mean of its pixels, rounded half up.
*Background* are white cells (red, green and blue 230 or more) that such cells connect to the
border, *drawing* the others, *ink* those of the drawing that are not white.  A *colour* is an
attribute where a fifth of the drawing has it; *monochrome*: red to brown are less than a twentieth;
*line art*: ink is at most half of the box around the drawing, and less than a quarter of it is left
without a rim as thick as a 64th of the longer side; *filled*: ink is two thirds of that box; *wide*
and *tall*: one side of it is one and a half times the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from builders.sources.image_set import ImageSet, Progress, in_threads, silent

NAMES = (
    *("red", "orange", "yellow", "green", "turquoise", "blue", "purple", "pink", "brown"),
    *("black", "grey", "white"),
    *("monochrome", "line art", "filled", "wide", "tall"),
)
COLOURS = NAMES[:12]
CELLS = 256
DEPENDS_ON = {"definitions": 1, "cells": CELLS}
"""What the attributes depend on: the version of their definitions, and the cells."""
WHITE, DARK = 230, 64
GREY = 18
"""Of 100: chroma over value below which a colour is grey."""
_RED, _ORANGE, _YELLOW, _GREEN, _TURQUOISE, _BLUE, _PURPLE, _PINK, _BROWN = range(9)
_BLACK, _GREY, _WHITE = 9, 10, 11
_HUES = (
    *((15, _RED), (45, _ORANGE), (70, _YELLOW), (160, _GREEN), (195, _TURQUOISE)),
    *((255, _BLUE), (295, _PURPLE), (345, _PINK), (360, _RED)),
)
"""Where the range of a hue ends, and its colour."""


def pixel_attributes(images: ImageSet, progress: Progress = silent) -> list[list[str]]:
    """Return the attributes of each of N images, sorted."""

    def of_image(image_id: int) -> list[str]:
        return attributes_of_picture(np.asarray(images.open(image_id)))

    total = len(images.images)
    text = f"attributes of pixels: {{:,}} of {total:,} images"
    return list(in_threads(of_image, range(total), progress, text))


def attributes_of_picture(picture: NDArray[np.uint8]) -> list[str]:
    """Return the attributes of an RGB picture, uint8 (H, W, 3), sorted."""
    cells = block_means(picture)
    drawing, ink, colour = classified(cells)
    count = int(drawing.sum())
    if not count:
        return []
    of_colour = np.bincount(colour[drawing], minlength=len(COLOURS))
    rows, columns = (np.flatnonzero(drawing.any(axis=axis)) for axis in (1, 0))
    tall, wide = (int(where[-1] - where[0] + 1) for where in (rows, columns))
    covered = int(ink.sum())
    holds = [
        *(5 * int(number) >= count for number in of_colour),
        20 * int(of_colour[:_BLACK].sum()) < count,
        2 * covered <= tall * wide and 4 * _inside(ink, max(tall, wide)) < covered,
        3 * covered >= 2 * tall * wide,
        2 * wide >= 3 * tall,
        2 * tall >= 3 * wide,
    ]
    return sorted(name for name, has in zip(NAMES, holds, strict=True) if has)


def block_means(picture: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the cells (h, w, 3) of a picture (H, W, 3)."""
    height, width = picture.shape[:2]
    size = -(-max(height, width) // CELLS)
    tops, lefts = np.arange(0, height, size), np.arange(0, width, size)
    sums = np.stack(
        [
            np.add.reduceat(picture[top : top + size].sum(axis=0, dtype=np.int64), lefts, axis=0)
            for top in tops
        ]
    )
    tall, wide = np.minimum(size, height - tops), np.minimum(size, width - lefts)
    pixels = (tall[:, None] * wide)[..., None]
    means: NDArray[np.int64] = (2 * sums + pixels) // (2 * pixels)
    return means


def classified(
    cells: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """Return which cells (h, w) are the drawing, which are ink, and the colour of each, 0 to 11."""
    from scipy import ndimage

    largest, smallest = cells.max(axis=2), cells.min(axis=2)
    chroma, white = largest - smallest, smallest >= WHITE
    regions, _ = ndimage.label(white)
    border = np.concatenate([regions[0], regions[-1], regions[:, 0], regions[:, -1]])
    drawing = ~(white & np.isin(regions, border[border > 0]))
    hue = _hue(cells, largest, chroma)
    colour = np.array([c for _, c in _HUES])[np.searchsorted([e for e, _ in _HUES], hue, "right")]
    light_red = (colour == _RED) & (largest >= 200) & (2 * chroma < largest)
    brown = (hue >= 15) & (hue < 50) & (largest < 170)
    for where, what in (
        (light_red, _PINK),
        (brown, _BROWN),
        (100 * chroma < GREY * largest, _GREY),
        (largest < DARK, _BLACK),
        (white, _WHITE),
    ):
        colour[where] = what
    return drawing, drawing & ~white, colour


def _inside(ink: NDArray[np.bool_], side: int) -> int:
    """Count the cells of ink that are left when a rim is taken off."""
    from scipy import ndimage

    return int(ndimage.binary_erosion(ink, iterations=max(1, side // 64)).sum())


def _hue(
    cells: NDArray[np.int64], largest: NDArray[np.int64], chroma: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the hue in whole degrees, 0 to 359, rounded down; 0 where there is none."""
    red, green, blue = (cells[..., i] for i in range(3))
    some = np.maximum(chroma, 1)
    sixths = [60 * (green - blue), 60 * (blue - red) + 120 * some, 60 * (red - green) + 240 * some]
    hue: NDArray[np.int64] = np.select(
        [largest == red, largest == green], sixths[:2], default=sixths[2]
    )
    return np.where(chroma == 0, 0, hue // some % 360)
