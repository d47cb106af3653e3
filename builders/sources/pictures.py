"""Reading pictures: whole ones, parts of them, and finding out that a file is damaged."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from builders.extras import require

Picture = Any
"""A ``PIL.Image.Image`` of mode RGB."""

MAX_PIXELS = 100_000_000
"""Larger pictures are refused before they are decoded."""

_PART = re.compile(r"(.+)#(xywh=(\d+),(\d+),(\d+),(\d+)|\d+)")


def file_of(path: str) -> str:
    """The file of an images table's path, without the fragment that names a part of it."""
    part = _PART.fullmatch(path)
    return part[1] if part else path


def open_picture(
    folder: Path, path: str, finish: Callable[[Picture], Picture] | None = None
) -> Picture:
    """The picture at a path of an images table, RGB; transparent parts become white.

    A fragment ``#xywh=x,y,w,h`` crops it to that box.
    """
    picture = decode((folder / file_of(path)).read_bytes())
    part = _PART.fullmatch(path)
    if part and part[3]:
        x, y, w, h = (int(number) for number in part.groups()[2:])
        picture = picture.crop((x, y, x + w, y + h))
    return finish(picture) if finish else picture


def decode(data: bytes) -> Picture:
    """An image file's content as an RGB picture, on white where it is transparent.

    Raises
    ------
    ValueError
        If it is no image, is truncated, or has more than :data:`MAX_PIXELS` pixels.
    """
    picture = _opened(data)
    if picture.mode == "P" or "transparency" in picture.info or "A" in picture.getbands():
        picture = picture.convert("RGBA")
        white = require("PIL.Image").new("RGBA", picture.size, "white")
        picture = require("PIL.Image").alpha_composite(white, picture)
    return picture.convert("RGB")


def check_file(path: Path) -> tuple[str, str]:
    """SHA-256 (hex) of an image file, and what is wrong with it ('' if nothing)."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return "", "is missing"
    except OSError as error:
        return "", f"cannot be opened: {error.strerror}"
    return check_bytes(data)


def check_bytes(data: bytes) -> tuple[str, str]:
    """SHA-256 (hex) of an image file's content, and what is wrong with it ('' if nothing)."""
    try:
        _opened(data, draft=True)
    except ValueError as error:
        return "", f"is damaged: {error}"
    return hashlib.sha256(data).hexdigest(), ""


def _opened(data: bytes, *, draft: bool = False) -> Picture:
    """Decode the whole file; as a `draft` at an eighth of the size where the format allows."""
    pil = require("PIL.Image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = pil.open(io.BytesIO(data))
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise ValueError(f"{width} x {height} pixels, more than {MAX_PIXELS:,}")
            if draft:
                picture.draft(None, (max(1, width // 8), max(1, height // 8)))
            picture.load()
    except pil.UnidentifiedImageError:  # whose message is an address in memory
        raise ValueError("no image of a known format") from None
    except (OSError, SyntaxError, pil.DecompressionBombError) as error:
        raise ValueError(str(error)) from None
    return picture
