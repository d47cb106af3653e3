"""Pictures as the source shows them: cropped, inverted, from a table's cell; resumed; refused."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmark_spec.errors import OutputError, SourceError
from builders.cli import main
from builders.sources import image_folder
from builders.sources.export import check_folder, write_pictures
from builders.sources.image_set import About, ImageSet
from fslbench_data.release.pictures import MARK, picture_name

Draw = Callable[..., str]
ABOUT = About("Pets", "https://example.org", "CC0", "@misc{pets}")
SPEC = """
name = "mine"
version = "1.0.0"
description = "Pets."
[[dataset]]
name = "pets"
source = "image_folder"
suites = ["open"]
options = { title = "Pets", homepage = "h", licence = "CC0", citation = "c" }
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["published"]
"""


def _pixels(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    pil = pytest.importorskip("PIL.Image")
    with pil.open(path) as picture:
        assert (picture.format, picture.mode) == ("PNG", "RGB")
        return np.asarray(picture)


@pytest.fixture
def pets(tmp_path: Path, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> ImageSet:
    monkeypatch.setattr("builders.sources.export.BATCH", 5)
    for mark in range(12):
        size = (3, 2) if mark < 10 else (4, 2)
        draw(tmp_path / f"raw/{'cat' if mark < 8 else 'dog'}/{mark:03d}.png", size, mark)
    return image_folder.read(tmp_path / "raw", name="pets", about=ABOUT)


def test_every_image_and_no_more_and_it_goes_on(pets: ImageSet, tmp_path: Path) -> None:
    out = tmp_path / "new/out"
    umask = os.umask(0o027)
    try:
        assert write_pictures(pets, out) == 12
    finally:
        kept = os.umask(umask)
    assert kept == 0o027
    assert sorted(p.name for p in out.iterdir()) == [*map(picture_name, range(12)), MARK]
    assert {(out / picture_name(i)).stat().st_mode & 0o777 for i in range(12)} == {0o640}
    for i in (0, 7, 8, 11):
        assert np.array_equal(_pixels(out / picture_name(i)), np.asarray(pets.open(i)))
    (out / picture_name(3)).unlink()
    (out / picture_name(5)).write_bytes(b"kept")
    check_folder(out, tmp_path / "raw")
    assert write_pictures(pets, out) == 1
    assert (out / picture_name(5)).read_bytes() == b"kept"
    assert _pixels(out / picture_name(3))[0, 0].tolist() == [0, 0, 3]


def test_folders_that_will_not_do(pets: ImageSet, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    for folder in (raw, raw / "cat", raw / "new"):
        with pytest.raises(OutputError, match="is in the raw folder"):
            check_folder(folder, raw)
    (tmp_path / "other").mkdir()
    check_folder(tmp_path / "other", raw)
    (tmp_path / "other/notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds other files: notes\.txt"):
        check_folder(tmp_path / "other", raw)
    with pytest.raises(OutputError, match="no folder"):
        check_folder(tmp_path / "other/notes.txt", raw)
    out = tmp_path / "out"
    write_pictures(pets, out)
    (raw / "cat/000.png").unlink()
    fewer = image_folder.read(raw, name="pets", about=ABOUT)
    with pytest.raises(OutputError, match="pictures of other images than those of pets"):
        write_pictures(fewer, out)
    (out / MARK).unlink()
    with pytest.raises(OutputError, match="does not say of which images"):
        write_pictures(pets, out)
    with pytest.raises(SourceError, match=r"image 0 cannot be shown(.|\n)*cat/000\.png"):
        write_pictures(pets, tmp_path / "gone")


def test_command(pets: ImageSet, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SPEC)
    spec, out = ["--spec", str(tmp_path / "mine.toml")], str(tmp_path / "out")
    call = ["source", "pets", str(tmp_path / "raw"), "--pictures", out]
    for written in ("wrote 12 pictures to", "wrote 0 pictures to"):
        result = CliRunner().invoke(main, [*call, *spec])
        assert result.exit_code == 0, result.output
        assert "pets: 2 classes of 4 to 8 images, 12 images" in result.output
        assert written in result.output
    assert "kept 12" in result.output
    for arguments, said in (
        (["source", "image_folder", out], "--spec"),
        (["source", "dogs", *spec], "unknown data set 'dogs'"),
        (["source", "cub", *spec], "only the counts of the catalogue"),
        (["source", "pets", out, "--pictures", f"{out}/more", *spec], "is in the raw folder"),
    ):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2
        assert said in result.output
