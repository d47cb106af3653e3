"""Reading pictures: transparency, parts, damage."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders.sources.pictures import check_bytes, check_file, file_of, open_picture
from fslbench_data.files.pictures import ORIENTATION, decode


@pytest.fixture
def pil() -> Any:
    return pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


def _encoded(picture: Any, kind: str = "PNG", **options: Any) -> bytes:
    data = io.BytesIO()
    picture.save(data, kind, **options)
    return data.getvalue()


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("a/b.jpg#xywh=1,2,3,4", "a/b.jpg"),
        ("angel.npy#12", "angel.npy"),
        ("a/font.ttf#0,U+0041", "a/font.ttf"),
        ("a/img#12.jpg", "a/img#12.jpg"),
        ("a/img#1.jpg#xywh=1,2,3,4", "a/img#1.jpg"),
    ],
)
def test_only_what_has_the_form_of_a_fragment_is_one(path: str, file: str) -> None:
    assert file_of(path) == file


def test_a_transparent_colour_of_a_palette_becomes_white(pil: Any) -> None:
    palette = pil.new("P", (2, 1), 0)
    palette.putpalette([1, 2, 3, 4, 5, 6])
    palette.putpixel((1, 0), 1)
    shown = decode(_encoded(palette, transparency=0))
    assert np.asarray(shown).tolist() == [[[255] * 3, [4, 5, 6]]]


def test_what_is_wrong_with_a_file(
    tmp_path: Path, pil: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = np.random.Generator(np.random.PCG64(0)).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    data = _encoded(pil.fromarray(noise), "JPEG")
    digest, problem = check_bytes(data[: len(data) // 2])
    assert digest == ""
    assert problem.startswith("is damaged: image file is truncated")
    assert check_file(tmp_path)[1].startswith("cannot be opened")
    monkeypatch.setattr("fslbench_data.files.pictures.MOST_PIXELS", 1599)
    assert check_bytes(data) == ("", "is refused: 40 x 40 pixels, more than 1,599")


def test_a_whole_picture_may_be_refused(pil: Any) -> None:
    """Not as damaged: what is wrong is that nobody can say which value is white."""
    data = _encoded(pil.fromarray(np.full((4, 4), 7, np.float32)), "TIFF")
    assert check_bytes(data) == ("", "is refused: values of mode F outside 0 to 1")
    whole = _encoded(pil.fromarray(np.full((4, 4), 700, np.uint16)))
    assert check_bytes(whole) == (hashlib.sha256(whole).hexdigest(), "")


def test_a_box_is_of_the_upright_picture(tmp_path: Path, pil: Any) -> None:
    """Stored as 4 x 2 pixels, shown as 2 x 4: the last column becomes the last row."""
    exif = pil.Exif()
    exif[ORIENTATION] = 6
    stored = pil.fromarray(np.arange(8, dtype=np.uint8).reshape(2, 4))
    stored.save(tmp_path / "a.png", exif=exif)
    shown = np.asarray(open_picture(tmp_path, "a.png"))[..., 0]
    assert shown.tolist() == [[4, 0], [5, 1], [6, 2], [7, 3]]
    box = np.asarray(open_picture(tmp_path, "a.png#xywh=0,2,2,2"))[..., 0]
    assert box.tolist() == [[6, 2], [7, 3]]
