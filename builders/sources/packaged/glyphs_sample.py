"""A few characters of many scripts in few fonts: `glyphs` in small, from 10 MB of packages."""

from __future__ import annotations

from pathlib import Path

from builders.sources.glyphs.collection import SAMPLE, SAMPLE_DRAWINGS, collection
from builders.sources.glyphs.faces import STYLES
from builders.sources.glyphs.glyph_set import ABOUT, LAYOUT, glyph_set
from builders.sources.image_set import ImageSet, Progress, silent

NAME = "glyphs_sample"
PACKAGES = collection().small_packages
PIXELS = True
ATTRIBUTES = STYLES

__all__ = ["ABOUT", "ATTRIBUTES", "LAYOUT", "NAME", "PACKAGES", "PIXELS", "read"]


def read(folder: Path, *, allow_missing: bool = False, progress: Progress = silent) -> ImageSet:
    """Draw the sample's characters; otherwise as :func:`builders.sources.packaged.glyphs.read`."""
    shown = collection().scripts(SAMPLE)
    return glyph_set(NAME, folder, PACKAGES, shown, shown, SAMPLE_DRAWINGS, progress)
