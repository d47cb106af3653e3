"""A folder of numbered pictures: one PNG file an image id, and whose they are."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow as pa

MARK = "pictures.json"
"""The file that says of which images the pictures are; folders made by hand may lack it."""


def picture_name(image_id: int) -> str:
    """The name of an image's file, such as 00000017.png."""
    return f"{image_id:08d}.png"


def mark_of(images: pa.Table) -> str:
    """What :data:`MARK` holds for an images table: their number, and a digest of what they are."""
    columns = (images.column(name).to_pylist() for name in ("path", "sha256"))
    digest = hashlib.sha256(json.dumps(list(zip(*columns, strict=True))).encode("utf-8"))
    return json.dumps({"images": len(images), "sha256": digest.hexdigest()}) + "\n"


def is_numbered(folder: Path) -> bool:
    """Whether it is such a folder, perhaps one that is not finished."""
    return (folder / MARK).is_file() or (folder / picture_name(0)).is_file()


def has_other_mark(folder: Path, images: pa.Table) -> bool:
    """Whether the folder says that its pictures are of other images."""
    mark = folder / MARK
    return mark.is_file() and mark.read_bytes() != mark_of(images).encode("utf-8")
