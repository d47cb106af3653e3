"""Read image files by their content, upright, as RGB of 8 bits on white.

Only the first frame or page is read.  The file's orientation (EXIF or XMP) is applied, as
``datasets`` does.  Grey levels of 16 bits become their high byte, as Pillow reads colours of 16
bits; floats are scaled from 0 to 1.  Contrast is not stretched.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_spec.errors import RefusedPictureError, SourceError
from benchmark_spec.extras import require

Picture = Any
"""A ``PIL.Image.Image``, of mode RGB by default."""

_FEATURE_OF = {
    "AVIF": "avif", "BMP": "", "GIF": "", "JPEG": "jpg", "JPEG2000": "jpg_2000", "PNG": "zlib",
    "PPM": "", "TIFF": "", "WEBP": "webp",
}  # fmt: skip
"""The formats that are read, for which Pillow starts no other program, and the feature of Pillow
that each needs; AVIF comes with Pillow 11.3."""

MOST_PIXELS = 175_000_000
"""Larger pictures are refused before they are decoded; Pillow's own limit is slightly higher."""

ORIENTATION = 0x0112
"""The EXIF tag of a picture's orientation; 1 or missing if it is upright."""

_EIGHT_BITS = frozenset(
    {"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"}
)
_PREMULTIPLIED = {"La": "LA", "RGBa": "RGBA"}


def decode(
    image: Path | bytes, name: str = "", *, longest: int | None = None, extra: str = "builders"
) -> Picture:
    """Read an image file as RGB, upright, on white where it is transparent.

    Parameters
    ----------
    image
        The file or its content.
    name
        Its name in errors; by default they have none.
    longest
        The longest side in pixels; larger pictures are scaled down.
    extra
        The extra of this package that installs Pillow.

    Raises
    ------
    RefusedPictureError
        If it has more than :data:`MOST_PIXELS` pixels, or no known white (:func:`rgb`).
    SourceError
        If it is no image of a known format, or damaged.
    MissingPackageError
        Without Pillow.
    """
    with opened(image, name, extra=extra) as file:
        picture = rgb(loaded(file, longest and 2 * longest))
        if longest:
            picture.thumbnail((longest, longest), require("PIL.Image").Resampling.LANCZOS)
    return picture


@cache
def formats() -> tuple[str, ...]:
    """List the formats that are read with the installed Pillow."""
    has = require("PIL.features").check
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an old Pillow warns of features that it does not know
        return tuple(form for form, needs in _FEATURE_OF.items() if not needs or has(needs))


@contextmanager
def opened(image: Path | bytes, name: str = "", *, extra: str = "builders") -> Iterator[Picture]:
    """Open an image file as a picture of any mode; only its header is read.

    Parameters and errors are those of :func:`decode`; Pillow's errors inside become these, too.
    """
    pil = require("PIL.Image", extra)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = BytesIO(image) if isinstance(image, bytes) else image
            with pil.open(content, formats=formats()) as file:
                _check_size(*file.size)
                yield file
    except RefusedPictureError as error:
        raise RefusedPictureError(_problem_text(name, error.what), fix=error.fix) from None
    except pil.DecompressionBombError as error:
        raise RefusedPictureError(_problem_text(name, str(error))) from None
    except pil.UnidentifiedImageError:  # its message is an address in memory
        raise SourceError(
            _problem_text(name, "no image of a known format"),
            expected=f"one of {', '.join(formats())}",
        ) from None
    except Exception as error:  # Pillow raises many kinds about damaged files
        problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise SourceError(_problem_text(name, problem), expected="a whole image") from None


def _check_size(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise RefusedPictureError(f"{width} x {height} pixels, more than {MOST_PIXELS:,}")


def _problem_text(name: str, problem: str) -> str:
    return f"{name} cannot be read as a picture: {problem}" if name else problem


def loaded(file: Picture, draft: int | None = None) -> Picture:
    """Decode a file that :func:`opened` yields: upright, 8 bits a channel, with transparency.

    With `draft`, a format that decodes faster at lower resolution may reduce the sides to as many
    pixels.
    """
    if draft:
        file.draft(None, (draft, draft))
    file.load()
    if file.getexif().get(ORIENTATION, 1) != 1:
        file = require("PIL.ImageOps").exif_transpose(file)
    return _of_eight_bits(file)


def rgb(picture: Picture) -> Picture:
    """Convert a picture of any mode to RGB, on white where it is transparent.

    Modes I;16 and I hold 16 bits, of which the high byte is kept; floats of mode F are scaled from
    0 to 1.  Raises a RefusedPictureError if values are out of range, or the mode is unknown.
    """
    picture = _of_eight_bits(picture)
    if picture.mode == "P" or "transparency" in picture.info or "A" in picture.getbands():
        picture = picture.convert("RGBA")
        white = require("PIL.Image").new("RGBA", picture.size, "white")
        picture = require("PIL.Image").alpha_composite(white, picture)
    return picture.convert("RGB")


def _of_eight_bits(picture: Picture) -> Picture:
    """Convert modes of more than 8 bits to grey levels, by the range of their type."""
    mode = picture.mode
    if mode in _EIGHT_BITS:
        return picture
    if mode in _PREMULTIPLIED:
        return picture.convert(_PREMULTIPLIED[mode])
    if mode not in ("F", "I") and not mode.startswith("I;16"):
        raise RefusedPictureError(f"Pillow's mode {mode}, whose white is unknown", fix=_FIX)
    values, white = np.asarray(picture), 1 if mode == "F" else 65535
    if not ((values >= 0) & (values <= white)).all():
        raise RefusedPictureError(f"values of mode {mode} outside 0 to {white}", fix=_FIX)
    levels = np.rint(values * np.float32(255)) if mode == "F" else values >> 8
    grey = require("PIL.Image").fromarray(levels.astype(np.uint8))
    if "transparency" in picture.info:
        opaque = values != picture.info["transparency"]
        grey.putalpha(require("PIL.Image").fromarray(opaque.astype(np.uint8) * np.uint8(255)))
    return grey


_FIX = "decide which value is white, and save it anew with 8 or 16 bits a channel"
