"""A few characters of many scripts in few fonts: `glyphs` in small, from 10 MB of packages."""

from __future__ import annotations

from pathlib import Path

from builders.sources.glyph_fonts import STYLES
from builders.sources.image_set import ImageSet, Progress, silent
from builders.sources.packaged.glyphs import (
    ABOUT,
    LAYOUT,
    SAMPLE,
    SAMPLE_DRAWINGS,
    collection,
    glyph_set,
)

NAME = "glyphs_sample"
PACKAGES = collection().small_packages
PIXELS = True
ATTRIBUTES = STYLES

__all__ = ["ABOUT", "LAYOUT", "read"]


def read(folder: Path, *, allow_missing: bool = False, progress: Progress = silent) -> ImageSet:
    """Draw the sample's characters; otherwise as :func:`builders.sources.packaged.glyphs.read`."""
    scripts = collection().scripts(SAMPLE)
    return glyph_set(NAME, folder, PACKAGES, scripts, scripts, SAMPLE_DRAWINGS, progress)
