"""Pictures and labels."""

from __future__ import annotations

import io
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tiny_features import write_pictures

from builders.sources import hub_dataset, image_folder
from builders.sources.image_set import About
from fslbench_data.files.pictures import ORIENTATION, decode
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt

ABOUT = About("t", "https://example.org", "CC0", "@misc{x}")
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"


def _file(array: Any, form: str = "PNG", **options: Any) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(array).save(file, form, **options)
    return file.getvalue()


@attempt("an EPS file called `a.png`, for which Pillow would start Ghostscript")
def _(world: World) -> str:
    path = world.folder / "a.png"
    path.write_bytes(EPS)
    with patch.object(subprocess.Popen, "__init__", side_effect=AssertionError("it starts")):
        return str(decode(path, "a.png").size)


@attempt("a PNG file of some bytes that declares 13,300 x 13,300 pixels")
def _(world: World) -> str:
    header = struct.pack(">IIBBBBB", 13_300, 13_300, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n"
    for kind, content in ((b"IHDR", header), (b"IDAT", b""), (b"IEND", b"")):
        check = zlib.crc32(kind + content)
        data += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
    return str(decode(data, "a.png").size)


@attempt("grey of 16 bits, the level 30,000 of 65,535")
def _(world: World) -> str:
    low, high = decode(_file(np.full((4, 4), 30_000, np.uint16))).getextrema()[0]
    return f"read as {low} of 255" if low == high else "read as several levels"


@attempt("floats of which one is 1.01")
def _(world: World) -> str:
    values = np.linspace(0, 1.01, 16, dtype=np.float32).reshape(4, 4)
    return str(decode(_file(values, "TIFF"), "a.tif").size)


@attempt("a photo of 8 x 6 pixels that its EXIF turns by a quarter")
def _(world: World) -> str:
    from PIL import Image

    exif = Image.Exif()
    exif[ORIENTATION] = 6
    width, height = decode(_file(np.zeros((6, 8, 3), np.uint8), exif=exif)).size
    return f"read upright, {width} x {height}"


def _folder(world: World, *names: str) -> Path:
    """Six pictures of three classes, and others by their names."""
    raw = write_pictures(world.folder / "raw", 2, classes=3)
    first = (raw / "class_0/0000.png").read_bytes()
    for number, name in enumerate(names):
        path = raw / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(EPS if name.endswith("heic") else first + bytes([number]))
    return raw


def _read(folder: Path) -> str:
    found = image_folder.read(folder, name="tiny", about=ABOUT)
    return f"{len(found.images)} images of {len(found.class_names)} classes"


@attempt("pictures called `a.jfif`, `a.JPE`, `a.part` and `a`, beside six others")
def _(world: World) -> str:
    return _read(
        _folder(world, *(f"class_0/{name}" for name in ("a.jfif", "a.JPE", "a.part", "a")))
    )


@attempt("two pictures that end in `.heic`")
def _(world: World) -> str:
    return _read(_folder(world, "class_0/a.heic", "class_1/a.heic"))


@attempt("a picture beside the folders of classes")
def _(world: World) -> str:
    return _read(_folder(world, "a.jpg"))


@attempt("a folder of `train` and `test`, each with folders of classes")
def _(world: World) -> str:
    write_pictures(world.folder / "raw/train", 2, classes=3)
    write_pictures(world.folder / "raw/test", 2, classes=3)
    return _read(world.folder / "raw")


@attempt("a folder called `nan` among those of classes")
def _(world: World) -> str:
    return _read(_folder(world, "nan/a.png"))


@attempt("labels `a`, null, `b`, `-1`, blank and `<NA>` in a data set of the Hub's form", slow=True)
def _(world: World) -> str:
    datasets: Any = pytest.importorskip("datasets")
    labels = ["a", None, "b", "-1", " ", "<NA>"]
    images = [{"bytes": _file(np.full((2, 3), i, np.uint8)), "path": None} for i in range(6)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("string")})
    table = datasets.Dataset.from_dict({"image": images, "label": labels}, features=features)
    (world.folder / "repo").mkdir()
    table.to_parquet(world.folder / "repo/train.parquet")
    with patch("datasets.config.HF_DATASETS_CACHE", world.folder / "cache"):
        found = hub_dataset.read(world.folder / "repo", name="tiny", about=ABOUT, split="train")
    return f"{found.class_names}"
