"""Drawings of single characters: grey, 84 x 84, and 28 x 28 as means of 3 x 3 of their pixels."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.extras import require

SIDE, SMALL = 84, 28
EM, ROOM = 60, 80
"""Pixels of the em, and of the longest side that ink may have; larger ink is drawn smaller."""

NOWHERE = "\U0010fffe"
"""No character: a font draws its missing glyph for it."""


class Renderer:
    """Draws characters with one face, by FreeType as Pillow has it."""

    def __init__(self, file: Path, index: int) -> None:
        self._file, self._index = str(file), index
        self._font = self._sized(EM)
        self.missing = self.levels(NOWHERE)

    def levels(self, character: str) -> NDArray[np.uint8] | None:
        """Draw ink 255 on paper 0, the ink's box in the middle: uint8 (84, 84); None if blank.

        OSError if the font is damaged.
        """
        ink = _ink(self._font, character)
        if max(ink.shape) > ROOM:
            ink = _ink(self._sized(max(1, EM * ROOM // max(ink.shape))), character)[:ROOM, :ROOM]
        if not ink.size:
            return None
        levels = np.zeros((SIDE, SIDE), np.uint8)
        top, left = (SIDE - ink.shape[0]) // 2, (SIDE - ink.shape[1]) // 2
        levels[top : top + ink.shape[0], left : left + ink.shape[1]] = ink
        return levels

    def _sized(self, size: int) -> Any:
        fonts = require("PIL.ImageFont")
        return fonts.truetype(self._file, size, self._index, layout_engine=fonts.Layout.BASIC)


def _ink(font: Any, character: str) -> NDArray[np.uint8]:
    """Draw a character, cut to the box of its ink; of no pixels if there is no ink."""
    mask = font.getmask(character, "L")
    drawn = np.asarray(mask, np.uint8).reshape(mask.size[::-1])
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    if not rows.size:
        return np.zeros((0, 0), np.uint8)
    return drawn[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


@lru_cache(256)
def renderer(file: Path, index: int) -> Renderer:
    """Open a face; the last few stay open."""
    return Renderer(file, index)


def small(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Shrink drawings (..., 84, 84) to means of 3 x 3 pixels, rounded: (..., 28, 28)."""
    step = SIDE // SMALL
    blocks = levels.reshape(*levels.shape[:-2], SMALL, step, SMALL, step)
    sums = blocks.sum(axis=(-3, -1), dtype=np.uint16)
    means: NDArray[np.uint8] = ((sums + step * step // 2) // (step * step)).astype(np.uint8)
    return means


def library_version() -> str:
    """Name what draws: Pillow and FreeType with their versions."""
    pillow, features = require("PIL"), require("PIL.features")
    return f"Pillow {pillow.__version__}, FreeType {features.version('freetype2')}"
