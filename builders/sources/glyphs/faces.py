"""Faces of font packages: their family, the style that their own tables state, their characters."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_spec.extras import require
from builders.sources.packages import Package, unpacked

STYLES = ("bold", "condensed", "italic", "light", "monospaced", "sans", "serif")
"""Attributes of faces, sorted."""

_ENDINGS = {".ttf", ".otf", ".ttc", ".otc"}
_COLLECTIONS = {".ttc", ".otc"}
_OUTLINES = ("glyf", "CFF ", "CFF2")
_NOT_PLAIN = ("CBDT", "COLR", "SVG ", "sbix", "fvar")
_STATED = {"OS/2", "head", "name", "post"}
_BY_CLASS = {
    **dict.fromkeys((1, 2, 3, 4, 5, 7), "serif"),
    8: "sans",
    **dict.fromkeys((9, 10), "neither"),
}
"""What families of OS/2's sFamilyClass have; others say nothing."""


@dataclass(frozen=True)
class Face:
    """One font of a font file.

    Attributes
    ----------
    path, index
        Of its file, relative to the raw folder, and which font of the file it is, from 0.
    package
        Name of its package.
    family
        Typographic family by its name table (16, else 1).
    style
        Attributes, sorted, of :data:`STYLES`.
    says_serifs
        Whether its tables, or the collection, say whether it has serifs.
    characters
        Code points asked for that it draws, by its character map.
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

    Faces without outlines or style tables, coloured and variable ones are passed over, and links.

    Parameters
    ----------
    characters
        Code points that matter; faces without any of them are passed over.
    serifs
        ``serif``, ``sans`` or ``neither`` by family, where tables say nothing.
    source
        Named in the error where a package is not unpacked.
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
    """Open the fonts of a file, in their order."""
    tools = require("fontTools.ttLib")
    if file.suffix.lower() in _COLLECTIONS:
        yield from tools.TTCollection(str(file), lazy=True)
    else:
        yield tools.TTFont(str(file), lazy=True)


def _plain(font: Any) -> bool:
    """Whether a font has outlines of one colour and one style, and states what style it is."""
    outlines = any(table in font for table in _OUTLINES)
    return (
        outlines and not any(table in font for table in _NOT_PLAIN) and set(font.keys()) >= _STATED
    )


def style_of(font: Any, serifs: str | None) -> tuple[str, ...]:
    """Tell the style that a font's tables state: attributes, sorted.

    OS/2 says weight (light up to 300, bold from 600) and width (condensed up to 4), OS/2 (PANOSE)
    or post whether advances are fixed, and OS/2, head or post whether letters slant; `serifs` is
    ``serif``, ``sans`` or anything else.
    """
    os2, post, head = font["OS/2"], font["post"], font["head"]
    has = {
        "bold": os2.usWeightClass >= 600,
        "condensed": os2.usWidthClass <= 4,
        "italic": bool(os2.fsSelection & 1 or head.macStyle & 2 or post.italicAngle),
        "light": os2.usWeightClass <= 300,
        "monospaced": bool(post.isFixedPitch or _fixed(os2)),
        "sans": serifs == "sans",
        "serif": serifs == "serif",
    }
    return tuple(name for name in STYLES if has[name])


def _fixed(os2: Any) -> bool:
    """Whether PANOSE says that advances are fixed."""
    panose = getattr(os2, "panose", None)
    return panose is not None and panose.bFamilyType == 2 and panose.bProportion == 9


def _serifs(os2: Any) -> str | None:
    """Tell ``serif``, ``sans`` or ``neither`` by PANOSE, else the family class; None if unsaid."""
    panose = getattr(os2, "panose", None)
    if panose is not None and panose.bFamilyType == 2 and panose.bSerifStyle >= 2:
        return "sans" if panose.bSerifStyle in range(11, 16) else "serif"
    if panose is not None and panose.bFamilyType in (3, 4):  # written by hand, decorative
        return "neither"
    return _BY_CLASS.get(os2.sFamilyClass >> 8)
