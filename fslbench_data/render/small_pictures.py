"""Image files made small: as pictures of Pillow, and as text that a page holds."""

from __future__ import annotations

import base64
import struct
import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require

Picture = Any
"""A ``PIL.Image.Image`` of mode RGB."""

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""What is read: formats that no other program is started for."""

MOST_PIXELS = 175_000_000
"""Larger pictures are refused before they are decoded."""

QUALITY = 80
"""Of WebP."""


@dataclass(frozen=True)
class Thumbnail:
    """A small picture as a ``data:`` address of WebP, and its size in pixels."""

    address: str
    width: int
    height: int


def small_picture(image: Path | bytes, longest: int, extra: str, name: str) -> Picture:
    """Read an image file, on white where it is transparent, no side longer than `longest` pixels.

    Parameters
    ----------
    image, name
        The file or its content, and how an error calls it.
    extra
        Of this package, which installs Pillow.

    Raises
    ------
    SourceError
        If it cannot be read.
    MissingPackageError
        Without Pillow.
    """
    pillow = require("PIL.Image", extra)
    try:
        picture = _opened(image, longest)
    except pillow.UnidentifiedImageError:  # whose message is an address in memory
        raise SourceError(f"{name} cannot be read as a picture: no known format") from None
    except (*_DAMAGED, pillow.DecompressionBombError) as error:
        raise SourceError(f"{name} cannot be read as a picture: {error}") from None
    picture.thumbnail((longest, longest), pillow.Resampling.LANCZOS)
    on_white = pillow.new("RGB", picture.size, "white")
    on_white.paste(picture, (0, 0), picture)
    return on_white


_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, LookupError, struct.error)
"""What Pillow raises about files that are damaged."""


def _opened(image: Path | bytes, longest: int) -> Picture:
    """Decode a file as RGBA; where its format allows at not much more than `longest` pixels."""
    content = BytesIO(image) if isinstance(image, bytes) else image
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = require("PIL.Image").open(content, formats=FORMATS)
    with file:
        width, height = file.size
        if width * height > MOST_PIXELS:
            raise ValueError(f"{width} x {height} pixels, more than {MOST_PIXELS:,}")
        file.draft("RGB", (2 * longest, 2 * longest))
        return file.convert("RGBA")


def thumbnail(image: Path | bytes, longest: int, name: str) -> Thumbnail:
    """Make the thumbnail of an image file; raises what :func:`small_picture` does."""
    picture = small_picture(image, longest, "report", name)
    file = BytesIO()
    picture.save(file, format="WEBP", quality=QUALITY)
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return Thumbnail(f"data:image/webp;base64,{text}", picture.width, picture.height)
