"""Any folder of images with one folder a class."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark_spec.errors import SourceError
from builders.sources import image_folder
from builders.sources.image_set import About

Draw = Callable[..., str]
ABOUT = About("Pets", "https://example.org", "CC0", "@misc{pets}")


def test_table(tmp_path: Path, draw: Draw) -> None:
    draw(tmp_path / "dog/z.JPG", mark=1)
    draw(tmp_path / "cat/b.png", mark=2)
    draw(tmp_path / "cat/a/9.webp", mark=3)
    draw(tmp_path / "cat/img#12.png", mark=4)  # no fragment, but a part of the name
    draw(tmp_path / ".hidden/a.png")
    draw(tmp_path / "cat/.thumbnail.png")
    (tmp_path / "cat/notes.txt").write_text("none")
    found = image_folder.read(tmp_path, name="pets", about=ABOUT)
    assert (found.name, found.about) == ("pets", ABOUT)
    assert found.class_names == ("cat", "dog")
    paths = ["cat/a/9.webp", "cat/b.png", "cat/img#12.png", "dog/z.JPG"]
    assert found.images.column("path").to_pylist() == paths
    assert [np.asarray(found.open(i))[0, 0, 2] for i in range(4)] == [3, 2, 4, 1]


def test_folders_that_will_not_do(tmp_path: Path, draw: Draw) -> None:
    with pytest.raises(SourceError, match="has no folders of classes"):
        image_folder.read(tmp_path, name="pets", about=ABOUT)
    with pytest.raises(SourceError, match="there is no folder"):
        image_folder.read(tmp_path / "none", name="pets", about=ABOUT)
    (tmp_path / "bird").mkdir()
    draw(tmp_path / "dog/z.jpg")
    (tmp_path / "dog/a.jpg").write_bytes(b"GIF89a")
    with pytest.raises(SourceError, match="no images of bird"):
        image_folder.read(tmp_path, name="pets", about=ABOUT)
    found = image_folder.read(tmp_path, name="pets", about=ABOUT, allow_missing=True)
    assert found.images.column("path").to_pylist() == ["dog/z.jpg"]
    assert found.provenance["left_out"] == {"classes": ["bird"], "images": ["dog/a.jpg"]}
    (tmp_path / "bird").rmdir()
    with pytest.raises(SourceError, match=r"1 file .* dog/a.jpg is damaged"):
        image_folder.read(tmp_path, name="pets", about=ABOUT)
