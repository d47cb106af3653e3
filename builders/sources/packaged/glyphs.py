"""Characters of many scripts as free fonts draw them, from Debian packages: 84 x 84, grey.

A class is a character, its superclass the script, an image the character in one face of one font.
The rule of which drawings count is that of :mod:`builders.sources.glyphs.selection`, that of which
characters there are that of :mod:`builders.sources.glyphs.survey`.

A group holds the drawings of a character in one design: the weights and widths of a family, and
of families that are copies of each other.  Attributes are what the font's own tables state:
bold, condensed, italic, light, monospaced, sans, serif.

The option `part` takes a split: `base` to train on, `val` to choose with, `novel` to test on.  Of
some scripts each part has its own characters, of others all are in one part.  The option `most`
takes a number, of characters of a script at most, so that no script outweighs the others.
"""

from __future__ import annotations

from pathlib import Path

from benchmark_spec.errors import SourceError, UnknownNameError
from builders.sources.glyphs.collection import FEW_DRAWINGS, PARTS, collection
from builders.sources.glyphs.faces import STYLES
from builders.sources.glyphs.glyph_set import ABOUT, LAYOUT, glyph_set
from builders.sources.image_set import ImageSet, Progress, silent

NAME = "glyphs"
PACKAGES = collection().packages
OPTIONS = ((), ("part", "most"))
PIXELS = True
ATTRIBUTES = STYLES

__all__ = ["ABOUT", "ATTRIBUTES", "LAYOUT", "NAME", "OPTIONS", "PACKAGES", "PIXELS", "read"]


def read(
    folder: Path,
    *,
    part: str = "",
    most: str = "",
    allow_missing: bool = False,
    progress: Progress = silent,
) -> ImageSet:
    """Draw the characters of a part, or of all parts, with the fonts that were fetched.

    A path of the images table is a font file, which font of it and the character
    (``.../DejaVuSans.ttf#0,U+0041``), and a sha256 that of the drawing's 84 x 84 grey levels.  All
    are needed, so that nothing may be missing: `allow_missing` changes nothing.
    """
    if part and part not in PARTS:
        raise UnknownNameError("part", part, PARTS, where=f"{NAME}, option part")
    if most and not (most.isascii() and most.isdigit() and int(most) > 0):
        raise SourceError(
            f"option most is {most!r}", where=NAME, expected="a number of characters, such as '16'"
        )
    parts = [part] if part else PARTS
    shown = collection().scripts(*parts, most=int(most) if most else None)
    every = collection().scripts(*PARTS)
    return glyph_set(NAME, folder, PACKAGES, every, shown, FEW_DRAWINGS, progress)
