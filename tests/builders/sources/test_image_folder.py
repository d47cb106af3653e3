"""Any folder of images with one folder a class, and the lists in it."""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark_spec.errors import SourceError, SpecError
from builders.release.spec_file import first_spec
from builders.sources import image_folder
from builders.sources.image_set import About
from builders.sources.read import read_source

Draw = Callable[..., str]
DrawAll = Callable[..., None]
OPTIONS = {"title": "Pets", "homepage": "h", "licence": "CC0", "citation": "@misc{pets}"}
ABOUT = About(**OPTIONS)


def _left_out(folder: Path, said: str) -> dict[str, Any]:
    """What is refused in these words, and left out where that is allowed."""
    with pytest.raises(SourceError, match=said):
        image_folder.read(folder, name="pets", about=ABOUT)
    found = image_folder.read(folder, name="pets", about=ABOUT, allow_missing=True)
    left_out: dict[str, Any] = found.provenance["left_out"]
    return left_out


def test_table(tmp_path: Path, draw_all: DrawAll) -> None:
    shown = ("dog/z.JPG", "cat/b.png", "cat/a/9.webp", "cat/img#12.png")  # which is no fragment
    hidden = (".hidden/a.png", "cat/.thumbnail.png", "cat/.old/b.png")
    draw_all(tmp_path, *shown, *hidden, "cat/__MACOSX/b.png", "__MACOSX/cat/b.png")
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
    left_out = {"classes": ["bird"], "images": ["dog/a.jpg"]}
    assert _left_out(tmp_path, "no images of bird") == left_out
    (tmp_path / "bird").rmdir()
    with pytest.raises(SourceError, match=r"1 file .* dog/a.jpg is damaged"):
        image_folder.read(tmp_path, name="pets", about=ABOUT)


def test_no_picture_is_passed_over(tmp_path: Path, draw: Draw) -> None:
    """Whatever its ending; what is no picture is, as are hidden files."""
    endings = ("jfif", "jpe", "avif", "JPG", "dib", "pnm", "apng", "jpg~", "part", "txt")
    for mark, ending in enumerate(endings):
        draw(tmp_path / f"cat/deep/er/{mark}.{ending}", mark=mark)
    draw(tmp_path / "cat/without", mark=99)
    for name in ("notes.txt", "Thumbs.db", ".DS_Store", "list.csv", "page.pdf", "numbers.npy"):
        (tmp_path / "cat" / name).write_text("P1 is BM, not a picture")
    found = image_folder.read(tmp_path, name="pets", about=ABOUT)
    paths = sorted([f"cat/deep/er/{n}.{ending}" for n, ending in enumerate(endings)])
    assert found.images.column("path").to_pylist() == [*paths, "cat/without"]


@pytest.mark.parametrize("ending", ["heic", "svg", "psd", "eps", "PS", "tga", "jxl", "CR2", "ico"])
def test_pictures_of_a_format_that_is_not_read_are_refused(
    tmp_path: Path, draw: Draw, ending: str
) -> None:
    draw(tmp_path / "cat/a.png")
    for number in range(2):
        (tmp_path / f"cat/{number}.{ending}").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n")
    left_out = _left_out(tmp_path, rf"2 files .* cat/0\.{ending} is (.|\n)*BMP, GIF, JPEG")
    assert left_out == {"images": [f"cat/0.{ending}", f"cat/1.{ending}"]}


def test_pictures_beside_the_folders_of_classes(tmp_path: Path, draw_all: DrawAll) -> None:
    draw_all(tmp_path, "cat/a.png", "dog/a.png", "b.jfif", "a.jpg")
    with pytest.raises(SourceError, match=r"2 pictures lie beside .*: a\.jpg, b\.jfif"):
        image_folder.read(tmp_path, name="pets", about=ABOUT, allow_missing=True)
    with pytest.raises(SourceError, match="2 pictures lie beside"):  # nor is it a start
        first_spec(tmp_path)


@pytest.mark.parametrize(
    "parts", [("train", "test"), ("base", "novel", "val"), ("Train2017", "test_set"), ("valid",)]
)
def test_parts_are_no_classes(tmp_path: Path, draw_all: DrawAll, parts: tuple[str, ...]) -> None:
    draw_all(tmp_path, *(f"{part}/{label}/a.png" for part in parts for label in ("cat", "dog")))
    said = rf"no classes, but parts(.|\n)*name the folder of one part, such as {tmp_path}"
    with pytest.raises(SourceError, match=said):
        image_folder.read(tmp_path, name="pets", about=ABOUT)
    found = image_folder.read(tmp_path / parts[0], name="pets", about=ABOUT)
    assert found.class_names == ("cat", "dog")


def test_parts_beside_other_folders_and_classes_called_like_parts(
    tmp_path: Path, draw_all: DrawAll
) -> None:
    draw_all(tmp_path / "one", "train/cat/a.png", "test/cat/b.png", "figures/c.png")
    with pytest.raises(SourceError, match=r"test, train in .*: no classes, but parts"):
        image_folder.read(tmp_path / "one", name="pets", about=ABOUT)
    draw_all(tmp_path / "two", "train/freight/a.png", "car/b.png", "test tube/b.png")
    found = image_folder.read(tmp_path / "two", name="vehicles", about=ABOUT)
    assert found.class_names == ("car", "test tube", "train")


@pytest.mark.parametrize("label", ["-1", "nan", "null", "None", " "])
def test_folders_that_stand_for_missing_labels(
    tmp_path: Path, draw_all: DrawAll, label: str
) -> None:
    draw_all(tmp_path, "cat/a.png", f"{label}/b.png", f"{label}/c.png")
    with pytest.raises(SourceError, match=rf"1 of 2 folders .* no class: '{label}' \(2 images\)"):
        image_folder.read(tmp_path, name="pets", about=ABOUT)


def test_images_that_repeat(tmp_path: Path, draw: Draw) -> None:
    """The dog's second picture is left out; the one that is of both classes, in both."""
    for path, mark in {
        "cat/a.png": 1, "cat/b.png": 2, "dog/c.png": 2, "dog/d.png": 3, "dog/e.png": 3,
        "dog/f.png": 3,
    }.items():  # fmt: skip
        draw(tmp_path / path, mark=mark)
    said = r"3 images .* cat/b.png = dog/c.png, dog/d.png = dog/e.png, dog/d.png = dog/f.png"
    out = ["cat/b.png", "dog/c.png", "dog/e.png", "dog/f.png"]
    assert _left_out(tmp_path, said) == {"doubles": out}
    (tmp_path / "cat/a.png").unlink()
    assert _left_out(tmp_path, said) == {"doubles": out, "classes": ["cat"]}


def test_links(tmp_path: Path, draw: Draw) -> None:
    """Links are followed; those that lead nowhere are missing, those that lead back refused."""
    raw = tmp_path / "raw"
    draw(raw / "dog/a.png", mark=1)
    draw(tmp_path / "elsewhere/b.png", mark=2)
    (raw / "dog/more").symlink_to(tmp_path / "elsewhere")
    found = image_folder.read(raw, name="pets", about=ABOUT)
    assert found.images.column("path").to_pylist() == ["dog/a.png", "dog/more/b.png"]
    (raw / "dog/z.png").symlink_to(raw / "nothing.png")
    assert _left_out(raw, r"dog/z.png is missing") == {"images": ["dog/z.png"]}
    (raw / "dog/z.png").unlink()
    (raw / "bird").symlink_to(tmp_path / "nothing")
    with pytest.raises(SourceError, match="no images of bird"):
        image_folder.read(raw, name="pets", about=ABOUT)
    (raw / "bird").unlink()
    (tmp_path / "elsewhere/back").symlink_to(raw / "dog")
    with pytest.raises(SourceError, match="back is a link to a folder that holds it"):
        image_folder.read(raw, name="pets", about=ABOUT)


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
@pytest.mark.parametrize("path", [b"dog/caf\xe9.png", b"caf\xe9/a.png"])
def test_names_that_are_no_text(tmp_path: Path, draw: Draw, path: bytes) -> None:
    draw(tmp_path / "dog/a.png")
    (tmp_path / os.fsdecode(path)).parent.mkdir(exist_ok=True)
    (tmp_path / os.fsdecode(path)).write_bytes(b"")
    with pytest.raises(SourceError, match=r"no valid UTF-8: .*caf\\xe9(.|\n)*rename it"):
        image_folder.read(tmp_path, name="pets", about=ABOUT)


def test_groups_of_a_list(tmp_path: Path, draw_all: DrawAll) -> None:
    draw_all(tmp_path, "cat/a.png", "cat/b.png", "dog/c.png", "dog/x, y.png")
    options = {**OPTIONS, "groups": "groups.csv"}
    listed = tmp_path / "groups.csv"
    lines = 'path,group\n"dog/x, y.png",7\n\ncat/b.png,burst\ncat/a.png,7\n'
    listed.write_text(lines, "utf-8-sig")
    found = read_source("image_folder", tmp_path, name="pets", options=options)
    assert found.images.column("group").to_pylist() == [0, 1, None, 0]
    digest = hashlib.sha256(listed.read_bytes()).hexdigest()
    assert found.provenance["groups"] == {"groups.csv": digest}
    for text, said in (
        ("", "the header is ''"),
        ("path;group\n", "the header is 'path;group'"),
        ("path,group\n", "lists no image"),
        ("path,group\ncat/a.png\n", "line 2 has 1 fields, not 2"),
        ("path,group\ncat/a.png,\n", "line 2 gives cat/a.png no group"),
        ("path,group\ncat/a.png,-1\ncat/b.png,1\ndog/c.png,nan\n", "2 of 3 lines(.|\n)*lines 2, 4"),
        ("path,group\ncat/a.png,1\ncat/a.png,2\n", "line 3 names cat/a.png again"),
        ("path,group\ncat/a.png,1\ncat/z.png,2\n", "1 of 2 paths are no images .* cat/z.png"),
        ('path,group\ncat/a.png,"1\n', "cannot be read: unexpected end of data"),
        ("path,group\ncat/\xe9.png,1\n", "cannot be read: 'utf-8' codec"),
    ):
        listed.write_bytes(text.encode("latin-1"))
        with pytest.raises(SourceError, match=said):
            read_source("image_folder", tmp_path, name="pets", options=options)
    listed.unlink()
    with pytest.raises(SourceError, match="cannot be read: No such file") as error:
        read_source("image_folder", tmp_path, name="pets", options=options)
    assert "leave out the option `groups`" in error.value.fix


def test_what_may_be_redistributed(tmp_path: Path, draw: Draw) -> None:
    draw(tmp_path / "cat/a.png")
    found = read_source("image_folder", tmp_path, name="pets", options=OPTIONS)
    assert found.about.redistribution == "tables"
    options = {**OPTIONS, "redistribution": "features"}
    found = read_source("image_folder", tmp_path, name="pets", options=options)
    assert found.about.redistribution == "features"
    options["redistribution"] = "all"
    with pytest.raises(SpecError, match=r"redistribution is 'all'(.|\n)*pets"):
        read_source("image_folder", tmp_path, name="pets", options=options)


def test_lists_as_other_systems_write_them(tmp_path: Path, draw_all: DrawAll) -> None:
    """Accents of their own, as macOS has them in names of files, and semicolons."""
    draw_all(tmp_path / "pets/café", "a.png", "b.png")
    listed = tmp_path / "pets/groups.csv"
    listed.write_text("path,group\ncafe\u0301/a.png,1\ncafe\u0301/b.png,1\n", encoding="utf-8")
    found = image_folder.read(tmp_path / "pets", name="pets", about=ABOUT, groups="groups.csv")
    assert found.images.column("group").to_pylist() == [0, 0]
    listed.write_text("path;group\ncafé/a.png;1\n", encoding="utf-8")
    with pytest.raises(SourceError, match="commas in place of semicolons"):
        image_folder.read(tmp_path / "pets", name="pets", about=ABOUT, groups="groups.csv")
    with pytest.raises(SourceError, match="name the folder above"):
        image_folder.read(tmp_path / "pets/pets", name="pets", about=ABOUT)


def test_superclasses_of_a_list(tmp_path: Path, draw_all: DrawAll) -> None:
    """A class that is left out takes its superclass along."""
    draw_all(tmp_path, "cat/1.png", "dog/1.png", "oak/1.png")
    named: dict[str, Any] = {"name": "pets", "about": ABOUT, "superclasses": "kinds.csv"}
    listed = tmp_path / "kinds.csv"
    listed.write_text('class,superclass\noak,"plant, tall"\n\ndog, animal \ncat,animal\n')
    found = image_folder.read(tmp_path, **named)
    assert found.superclasses == ("animal", "animal", "plant, tall")
    assert len(found.provenance["superclasses"]["kinds.csv"]) == 64
    for lines, said in (
        ("cat,\n", "line 2 gives cat no superclass .a class like no other is"),
        ("cow,animal\n", "1 of 1 names are no classes of the data set: cow"),
        ("cat,animal\n", "2 of 3 classes are not listed: dog, oak"),
        ("", "3 of 3 classes are not listed: cat, dog, oak"),
    ):
        listed.write_text(f"class,superclass\n{lines}")
        with pytest.raises(SourceError, match=said):
            image_folder.read(tmp_path, **named)
    (tmp_path / "dog/1.png").write_bytes(b"no picture")
    listed.write_text("class,superclass\ncat,animal\ndog,guard\noak,plant\n")
    found = image_folder.read(tmp_path, **named, allow_missing=True)
    assert (found.class_names, found.superclasses) == (("cat", "oak"), ("animal", "plant"))
