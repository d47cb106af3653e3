"""Read the pictures of a raw folder, and find damaged files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from benchmark_spec.errors import RefusedPictureError, SourceError
from benchmark_spec.extras import require
from builders.sources.image_set import sha256_of_bytes
from fslbench_data.files import open_regular
from fslbench_data.pictures import Picture, decode, loaded, opened, rgb

_PART = re.compile(r"(.+)#(xywh=(\d+),(\d+),(\d+),(\d+)|\d+(?:,U\+[0-9A-F]{4,6})?)")


def file_of(path: str) -> str:
    """Return the file of an images table's path, without the fragment."""
    part = _PART.fullmatch(path)
    return part[1] if part else path


def fragment_of(path: str) -> str:
    """Return the fragment of an images table's path, which names a part of its file, or ''."""
    return path.removeprefix(file_of(path))


def open_picture(
    folder: Path, path: str, finish: Callable[[Picture], Picture] | None = None
) -> Picture:
    """Decode the picture at a path of an images table; a fragment ``#xywh`` crops it."""
    picture = decode(folder / file_of(path))
    part = _PART.fullmatch(path)
    if part and part[3]:
        x, y, w, h = (int(number) for number in part.groups()[2:])
        picture = picture.crop((x, y, x + w, y + h))
    return finish(picture) if finish else picture


def check_file(path: Path, *, svg: bool = False) -> tuple[str, str]:
    """Return the SHA-256 (hex) of an image file and its problem; one of both is ''.

    With `svg`, a file named ``*.svg`` may be a drawing: XML with that root.
    """
    try:
        with open_regular(path) as file:
            data = file.read()
    except FileNotFoundError:
        return "", "is missing"
    except OSError as error:
        return "", f"cannot be opened: {error.strerror}"
    if not svg or path.suffix != ".svg":
        return check_bytes(data)
    try:
        tag = ElementTree.fromstring(data).tag  # noqa: S314 - expat reads no external entities
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # of an unknown encoding
        return "", f"is damaged: no XML: {error}"
    if tag != "{http://www.w3.org/2000/svg}svg":
        return "", f"is damaged: no SVG drawing, but {tag.rpartition('}')[2]!r}"
    return sha256_of_bytes(data), ""


def check_bytes(data: bytes) -> tuple[str, str]:
    """Return the SHA-256 (hex) of an image file's content and its problem; one of both is ''.

    The whole picture is decoded, at an eighth of its size where the format allows.
    """
    try:
        with opened(data) as file:
            rgb(loaded(file, draft=1))
    except RefusedPictureError as error:
        return "", f"is refused: {error.what}"
    except SourceError as error:
        return "", f"is damaged: {error.what}"
    return sha256_of_bytes(data), ""


@dataclass(frozen=True)
class Look:
    """What a picture shows, whatever its file: for finding doubles and empty pictures.

    `sha256` is that of the file; `pixels` is that of width, height and RGB values on white, None
    for a picture with too many to decode; `blank` is whether every pixel is white.
    """

    sha256: str
    pixels: str | None
    blank: bool = False


def look(path: Path) -> Look:
    """Look at a picture of a lossless format (PNG, 8 bits), with the same result on any machine.

    A value c over white at opacity a is (c·a + 255·(255 - a) + 127) // 255.
    """
    data = path.read_bytes()
    digest = sha256_of_bytes(data)
    try:
        with opened(data) as file:
            picture = loaded(file)
    except RefusedPictureError:
        return Look(digest, None)
    width, height = picture.size
    pixels = hashlib.sha256(f"{width}x{height}:".encode("ascii"))
    blank = True
    rows = max(1, 2**20 // width)
    for top in range(0, height, rows):
        band = picture.crop((0, top, width, min(top + rows, height))).convert("RGBA")
        values = np.asarray(band).astype(np.uint16)
        opacity = values[..., 3:]
        on_white = (values[..., :3] * opacity + 255 * (255 - opacity) + 127) // 255
        blank = blank and bool((on_white == 255).all())
        pixels.update(on_white.astype(np.uint8).tobytes())
    return Look(digest, pixels.hexdigest(), blank)


def crop_to_drawing(picture: Picture) -> Picture:
    """Return the part of a picture that is not white; the whole picture if it is all white."""
    box = require("PIL.ImageChops").invert(picture).getbbox()
    return picture.crop(box) if box else picture
