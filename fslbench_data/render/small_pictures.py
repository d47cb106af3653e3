"""Image files as thumbnails, in text that a page holds."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from fslbench_data.files.pictures import decode

QUALITY = 80
"""Of WebP."""


@dataclass(frozen=True)
class Thumbnail:
    """A small picture as a ``data:`` address of WebP, and its size in pixels."""

    address: str
    width: int
    height: int


def thumbnail(image: Path | bytes, longest: int, name: str) -> Thumbnail:
    """Make the thumbnail of an image file.

    Raises what :func:`fslbench_data.files.pictures.decode` does.
    """
    picture = decode(image, name, longest=longest, extra="report")
    file = BytesIO()
    picture.save(file, format="WEBP", quality=QUALITY)
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return Thumbnail(f"data:image/webp;base64,{text}", picture.width, picture.height)
