"""Tiny fonts: every glyph a polygon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

SQUARE = ((100, 0), (100, 600), (700, 600), (700, 0))
TRIANGLE = ((100, 0), (400, 700), (700, 0))
BAR = ((300, 0), (300, 700), (400, 700), (400, 0))
WIDE = ((0, 0), (0, 200), (4000, 200), (4000, 0))
BOX = ((50, 0), (50, 900), (550, 900), (550, 0))
"""The missing glyph."""

Polygon = Sequence[tuple[int, int]]


def make_font(
    path: Path,
    family: str,
    glyphs: Mapping[str, Polygon],
    *,
    weight: int = 400,
    width: int = 5,
    italic: bool = False,
    fixed: bool = False,
    panose: tuple[int, ...] = (2, 11),
    family_class: int = 0,
) -> None:
    """Write a font: its family, the polygon of each character, and what its tables state."""
    builder = pytest.importorskip("fontTools.fontBuilder", reason="needs fontTools, of `builders`")
    pens = pytest.importorskip("fontTools.pens.ttGlyphPen")

    def outline(polygon: Polygon) -> Any:
        pen = pens.TTGlyphPen(None)
        if polygon:
            pen.moveTo(polygon[0])
            for point in polygon[1:]:
                pen.lineTo(point)
            pen.closePath()
        return pen.glyph()

    names = {character: f"u{ord(character):04X}" for character in glyphs}
    font = builder.FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder([".notdef", *names.values()])
    font.setupCharacterMap({ord(character): name for character, name in names.items()})
    outlines = {names[character]: outline(polygon) for character, polygon in glyphs.items()}
    font.setupGlyf({".notdef": outline(BOX), **outlines})
    font.setupHorizontalMetrics(dict.fromkeys((".notdef", *names.values()), (800, 0)))
    font.setupHorizontalHeader(ascent=900, descent=-100)
    font.setupNameTable({"familyName": family, "styleName": "Regular"})
    font.setupOS2(
        usWeightClass=weight,
        usWidthClass=width,
        fsSelection=int(italic),
        sFamilyClass=family_class << 8,
    )
    for digit, value in zip(("bFamilyType", "bSerifStyle", "bProportion"), panose, strict=False):
        setattr(font.font["OS/2"].panose, digit, value)
    font.setupPost(isFixedPitch=int(fixed), italicAngle=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    font.save(path)
