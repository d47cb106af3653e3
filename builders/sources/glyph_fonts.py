"""Read the faces of font packages, their stated style, and draw their characters."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.extras import require
from builders.sources.packages import Package, unpacked

_ENDINGS = {".ttf", ".otf", ".ttc", ".otc"}
_COLLECTIONS = {".ttc", ".otc"}
_OUTLINES = {"glyf", "CFF ", "CFF2"}
_NOT_PLAIN = {"CBDT", "COLR", "SVG ", "sbix", "fvar"}
_STATED = {"OS/2", "head", "name", "post"}
_BY_CLASS = {
    **dict.fromkeys((1, 2, 3, 4, 5, 7), "serif"),
    8: "sans",
    **dict.fromkeys((9, 10), "neither"),
}
"""Serifs by the class of OS/2's sFamilyClass; unknown for other classes."""


@dataclass(frozen=True)
class Face:
    """One font of a font file: the `index`-th of the file at `path`, from 0.

    `style` has attributes, sorted; `says_serifs` is whether its tables or the collection declare
    its serifs; `characters` are those of the requested code points that it has.
    """

    path: str
    index: int
    package: str
    family: str
    style: tuple[str, ...]
    says_serifs: bool
    characters: frozenset[int]


def read_faces(
    folder: Path,
    packages: Sequence[Package],
    characters: Collection[int],
    serifs: Mapping[str, str],
    source: str,
) -> Iterator[Face]:
    """Read the faces of unpacked packages: package by package, in the order of paths.

    Links, faces without outlines or style tables, coloured and variable faces, and faces without
    any of the code points `characters` are passed over.  `serifs` has ``serif``, ``sans`` or
    ``neither`` by family, for tables that do not say.
    """
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # dates and padding of old files
    wanted = frozenset(characters)
    for package in packages:
        root = unpacked(package, folder, source)
        files = (path for path in root.rglob("*") if path.suffix.lower() in _ENDINGS)
        for file in sorted(path for path in files if path.is_file() and not path.is_symlink()):
            for index, font in enumerate(fonts_of(file)):
                drawn = wanted.intersection(font.getBestCmap() or ()) if _plain(font) else ()
                if drawn:
                    name = font["name"]
                    family = name.getDebugName(16) or name.getDebugName(1) or file.stem
                    stated = _serifs(font["OS/2"]) or serifs.get(family)
                    yield Face(
                        file.relative_to(folder).as_posix(),
                        index,
                        package.name,
                        family,
                        style_of(font, stated),
                        stated is not None,
                        frozenset(drawn),
                    )


def fonts_of(file: Path) -> Iterator[Any]:
    """Open the fonts of a file, in order."""
    tools = require("fontTools.ttLib")
    if file.suffix.lower() in _COLLECTIONS:
        yield from tools.TTCollection(str(file), lazy=True)
    else:
        yield tools.TTFont(str(file), lazy=True)


def _plain(font: Any) -> bool:
    """Return whether a font has outlines of one colour and one style, and states its style."""
    tables = {*font.keys()}
    return bool(tables & _OUTLINES) and not tables & _NOT_PLAIN and tables >= _STATED


def style_of(font: Any, serifs: str | None) -> tuple[str, ...]:
    """Return the style that a font's tables state: attributes, sorted.

    OS/2 has weight and width, OS/2 (PANOSE) or post whether advances are fixed, and OS/2, head or
    post whether letters slant; `serifs` is ``serif``, ``sans`` or anything else.
    """
    os2, post, head = font["OS/2"], font["post"], font["head"]
    panose = getattr(os2, "panose", None)
    fixed = panose and panose.bFamilyType == 2 and panose.bProportion == 9
    stated = {
        "bold": os2.usWeightClass >= 600,
        "condensed": os2.usWidthClass <= 4,
        "italic": bool(os2.fsSelection & 1 or head.macStyle & 2 or post.italicAngle),
        "light": os2.usWeightClass <= 300,
        "monospaced": bool(post.isFixedPitch or fixed),
        "sans": serifs == "sans",
        "serif": serifs == "serif",
    }
    return tuple(attribute for attribute, is_stated in stated.items() if is_stated)


def _serifs(os2: Any) -> str | None:
    """Return ``serif``, ``sans`` or ``neither`` by PANOSE or the family class; None if unknown."""
    if panose := getattr(os2, "panose", None):
        if panose.bFamilyType == 2 and panose.bSerifStyle >= 2:
            return "sans" if panose.bSerifStyle in range(11, 16) else "serif"
        if panose.bFamilyType in (3, 4):  # written by hand, decorative
            return "neither"
    return _BY_CLASS.get(os2.sFamilyClass >> 8)


SIDE, SMALL = 84, 28
EM, ROOM = 60, 80
"""Pixels of the em, and of the longest side of ink; larger ink is drawn smaller."""

NOWHERE = "\U0010fffe"
"""A noncharacter, for which a font draws its missing glyph."""


class Renderer:
    """Draws characters with one face, by Pillow's FreeType."""

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
    """Draw a character, cut to the box of its ink, which may be empty."""
    mask = font.getmask(character, "L")
    drawn = np.asarray(mask, np.uint8).reshape(mask.size[::-1])
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    if not rows.size:
        return np.zeros((0, 0), np.uint8)
    return drawn[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


renderer = lru_cache(256)(Renderer)
"""Opens a face; the last few stay open."""


def small(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Shrink drawings (..., 84, 84) to means of 3 x 3 pixels, rounded: (..., 28, 28)."""
    step = SIDE // SMALL
    blocks = levels.reshape(*levels.shape[:-2], SMALL, step, SMALL, step)
    sums = blocks.sum(axis=(-3, -1), dtype=np.uint16)
    means: NDArray[np.uint8] = ((sums + step * step // 2) // (step * step)).astype(np.uint8)
    return means


def library_version() -> str:
    """Name the versions of Pillow and FreeType, which draw."""
    pillow, features = require("PIL"), require("PIL.features")
    return f"Pillow {pillow.__version__}, FreeType {features.version('freetype2')}"
