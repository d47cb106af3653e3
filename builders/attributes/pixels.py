"""Seventeen attributes that are computed from the pixels of a drawing, in whole numbers.

The picture (RGB on white) is cut into squares of k x k pixels, with the least k that leaves at most
:data:`CELLS` of them along the longer side; a cell is the mean of its pixels, rounded half up.
The *background* is the white cells (red, green and blue 230 or more) that white cells connect to
the border; the *drawing* is the other cells, and its *ink* those that are not white.

A *colour* is an attribute if at least a fifth of the drawing has it; *monochrome*: red to brown are
less than a twentieth; *line art*: ink is at most half of the box around the drawing, and less than
a quarter of the ink is left when a rim of a 64th of the longer side is taken off; *filled*: ink is
at least two thirds of that box; *wide* and *tall*: one side of it is at least 1.5 times the other.
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
"""The provenance of these attributes: the version of their definitions, and the cells."""
WHITE, DARK = 230, 64
GREY = 18
"""The chroma, in per cent of the value, below which a colour is grey."""
_RED, _ORANGE, _YELLOW, _GREEN, _TURQUOISE, _BLUE, _PURPLE, _PINK, _BROWN = range(9)
_BLACK, _GREY, _WHITE = 9, 10, 11
_HUES = (
    *((15, _RED), (45, _ORANGE), (70, _YELLOW), (160, _GREEN), (195, _TURQUOISE)),
    *((255, _BLUE), (295, _PURPLE), (345, _PINK), (360, _RED)),
)
"""The end of each range of hues, and its colour."""


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
    colour_counts = np.bincount(colour[drawing], minlength=len(COLOURS))
    rows, columns = np.flatnonzero(drawing.any(axis=1)), np.flatnonzero(drawing.any(axis=0))
    tall, wide = int(rows[-1] - rows[0] + 1), int(columns[-1] - columns[0] + 1)
    inked = int(ink.sum())
    holds = [
        *(5 * int(number) >= count for number in colour_counts),
        20 * int(colour_counts[:_BLACK].sum()) < count,
        2 * inked <= tall * wide and 4 * _inside(ink, max(tall, wide)) < inked,
        3 * inked >= 2 * tall * wide,
        2 * wide >= 3 * tall,
        2 * tall >= 3 * wide,
    ]
    return sorted(name for name, has in zip(NAMES, holds, strict=True) if has)


def block_means(picture: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the cells (h, w, 3) of a picture (H, W, 3)."""
    height, width = picture.shape[:2]
    size = -(-max(height, width) // CELLS)
    tops, lefts = np.arange(0, height, size), np.arange(0, width, size)
    bands = (picture[top : top + size].sum(axis=0, dtype=np.int64) for top in tops)
    sums = np.stack([np.add.reduceat(band, lefts, axis=0) for band in bands])
    tall, wide = np.minimum(size, height - tops), np.minimum(size, width - lefts)
    pixels = (tall[:, None] * wide)[..., None]
    means: NDArray[np.int64] = (2 * sums + pixels) // (2 * pixels)
    return means


def classified(
    cells: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """Return for each cell (h, w) whether it is drawing, whether ink, and its colour, 0 to 11."""
    from scipy import ndimage

    largest, smallest = cells.max(axis=2), cells.min(axis=2)
    chroma, white = largest - smallest, smallest >= WHITE
    regions, _ = ndimage.label(white)
    border = np.concatenate([regions[0], regions[-1], regions[:, 0], regions[:, -1]])
    drawing = ~(white & np.isin(regions, border[border > 0]))
    hue = _hue(cells, largest, chroma)
    ends, hue_colours = np.array(_HUES).T
    colour = hue_colours[np.searchsorted(ends, hue, "right")]
    light_red = (colour == _RED) & (largest >= 200) & (2 * chroma < largest)
    brown = (hue >= 15) & (hue < 50) & (largest < 170)
    colour[light_red] = _PINK
    colour[brown] = _BROWN
    colour[100 * chroma < GREY * largest] = _GREY
    colour[largest < DARK] = _BLACK
    colour[white] = _WHITE
    return drawing, drawing & ~white, colour


def _inside(ink: NDArray[np.bool_], side: int) -> int:
    """Count the cells of ink that are left when a rim is taken off."""
    from scipy import ndimage

    return int(ndimage.binary_erosion(ink, iterations=max(1, side // 64)).sum())


def _hue(
    cells: NDArray[np.int64], largest: NDArray[np.int64], chroma: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the hue in whole degrees, 0 to 359, rounded down; 0 where there is none."""
    red, green, blue = (cells[..., channel] for channel in range(3))
    divisor = np.maximum(chroma, 1)
    from_red = 60 * (green - blue)
    from_green = 60 * (blue - red) + 120 * divisor
    from_blue = 60 * (red - green) + 240 * divisor
    hue: NDArray[np.int64] = np.select(
        [largest == red, largest == green], [from_red, from_green], default=from_blue
    )
    return np.where(chroma == 0, 0, hue // divisor % 360)
