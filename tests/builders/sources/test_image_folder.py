"""Any folder of images with one folder a class, the lists in it, its pictures, and their export."""

import hashlib
import io
import os
import sys

import numpy as np
import pytest
from commands import build as called
from specs import HEAD

from benchmark_spec.errors import OutputError, SourceError, SpecError
from builders.release.spec_file import first_spec
from builders.sources.export import check_folder, write_pictures
from builders.sources.image_set import About
from builders.sources.pictures import check_bytes, check_file, file_of, open_picture
from builders.sources.source import read_source
from fslbench_data.pictures import ORIENTATION, decode
from fslbench_data.release.pictures import MARK, picture_name

pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

OPTIONS = {"title": "Pets", "homepage": "h", "licence": "CC0", "citation": "@misc{pets}"}
ABOUT = About(**OPTIONS)


def _read(folder, **how):
    name, allow = how.pop("name", "pets"), how.pop("allow_missing", False)
    options = OPTIONS | how
    return read_source("image_folder", folder, name=name, options=options, allow_missing=allow)


def _refused(folder, said, **how):
    with pytest.raises(SourceError, match=said):
        _read(folder, **how)


def _left_out(folder, said):
    _refused(folder, said)
    return _read(folder, allow_missing=True).provenance["left_out"]


def test_table(tmp_path, draw_all):
    shown = ("dog/z.JPG", "cat/b.png", "cat/a/9.webp", "cat/img#12.png")  # which is no fragment
    hidden = (".hidden/a.png", "cat/.thumbnail.png", "cat/.old/b.png")
    draw_all(tmp_path, *shown, *hidden, "cat/__MACOSX/b.png", "__MACOSX/cat/b.png")
    (tmp_path / "cat/notes.txt").write_text("none")
    found = _read(tmp_path)
    assert (found.name, found.about) == ("pets", ABOUT)
    assert found.class_names == ("cat", "dog")
    paths = ["cat/a/9.webp", "cat/b.png", "cat/img#12.png", "dog/z.JPG"]
    assert found.images.column("path").to_pylist() == paths
    assert [np.asarray(found.open(i))[0, 0, 2] for i in range(4)] == [3, 2, 4, 1]


def test_folders_that_will_not_do(tmp_path, draw):
    _refused(tmp_path, "has no folders of classes")
    _refused(tmp_path / "none", "there is no folder")
    (tmp_path / "bird").mkdir()
    draw(tmp_path / "dog/z.jpg")
    (tmp_path / "dog/a.jpg").write_bytes(b"GIF89a")
    left_out = {"classes": ["bird"], "images": ["dog/a.jpg"]}
    assert _left_out(tmp_path, "no images of bird") == left_out
    (tmp_path / "bird").rmdir()
    _refused(tmp_path, r"1 file .* dog/a.jpg is damaged")


def test_no_picture_is_passed_over(tmp_path, draw):
    endings = ("jfif", "jpe", "avif", "JPG", "dib", "pnm", "apng", "jpg~", "part", "txt")
    for mark, ending in enumerate(endings):
        draw(tmp_path / f"cat/deep/er/{mark}.{ending}", mark=mark)
    draw(tmp_path / "cat/without", mark=99)
    for name in ("notes.txt", "Thumbs.db", ".DS_Store", "list.csv", "page.pdf", "numbers.npy"):
        (tmp_path / "cat" / name).write_text("P1 is BM, not a picture")
    found = _read(tmp_path)
    paths = sorted([f"cat/deep/er/{n}.{ending}" for n, ending in enumerate(endings)])
    assert found.images.column("path").to_pylist() == [*paths, "cat/without"]


@pytest.mark.parametrize("ending", ["heic", "svg", "psd", "eps", "PS", "tga", "jxl", "CR2", "ico"])
def test_pictures_of_formats_that_are_not_read(tmp_path, draw, ending):
    draw(tmp_path / "cat/a.png")
    for number in range(2):
        (tmp_path / f"cat/{number}.{ending}").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n")
    left_out = _left_out(tmp_path, rf"2 files .* cat/0\.{ending} is (.|\n)*BMP, GIF, JPEG")
    assert left_out == {"images": [f"cat/0.{ending}", f"cat/1.{ending}"]}


def test_pictures_beside_the_folders_of_classes(tmp_path, draw_all):
    draw_all(tmp_path, "cat/a.png", "dog/a.png", "b.jfif", "a.jpg")
    _refused(tmp_path, r"2 pictures lie beside .*: a\.jpg, b\.jfif", allow_missing=True)
    with pytest.raises(SourceError, match="2 pictures lie beside"):  # nor is it a start
        first_spec(tmp_path)


@pytest.mark.parametrize(
    "parts", [("train", "test"), ("base", "novel", "val"), ("Train2017", "test_set"), ("valid",)]
)
def test_parts_are_no_classes(tmp_path, draw_all, parts):
    draw_all(tmp_path, *(f"{part}/{label}/a.png" for part in parts for label in ("cat", "dog")))
    said = rf"no classes, but parts(.|\n)*name the folder of one part, such as {tmp_path}"
    _refused(tmp_path, said)
    assert _read(tmp_path / parts[0]).class_names == ("cat", "dog")


def test_parts_beside_folders_and_classes_named_as_parts(tmp_path, draw_all):
    draw_all(tmp_path / "one", "train/cat/a.png", "test/cat/b.png", "figures/c.png")
    _refused(tmp_path / "one", r"test, train in .*: no classes, but parts")
    draw_all(tmp_path / "two", "train/freight/a.png", "car/b.png", "test tube/b.png")
    assert _read(tmp_path / "two", name="vehicles").class_names == ("car", "test tube", "train")


@pytest.mark.parametrize("label", ["-1", "nan", "null", "None", " "])
def test_folders_that_stand_for_no_label(tmp_path, draw_all, label):
    draw_all(tmp_path, "cat/a.png", f"{label}/b.png", f"{label}/c.png")
    _refused(tmp_path, rf"1 of 2 folders .* no class: '{label}' \(2 images\)")


def test_images_that_repeat(tmp_path, draw):
    """The dog's second picture is left out; the one that is of both classes, in both."""
    for path, mark in zip("abcdef", (1, 2, 2, 3, 3, 3), strict=True):
        draw(tmp_path / ("cat" if path in "ab" else "dog") / f"{path}.png", mark=mark)
    said = r"3 images .* cat/b.png = dog/c.png, dog/d.png = dog/e.png, dog/d.png = dog/f.png"
    out = ["cat/b.png", "dog/c.png", "dog/e.png", "dog/f.png"]
    assert _left_out(tmp_path, said) == {"doubles": out}
    (tmp_path / "cat/a.png").unlink()
    assert _left_out(tmp_path, said) == {"doubles": out, "classes": ["cat"]}


def test_links(tmp_path, draw):
    """Links are followed; those that lead nowhere are missing, those that lead back refused."""
    raw = tmp_path / "raw"
    draw(raw / "dog/a.png", mark=1)
    draw(tmp_path / "elsewhere/b.png", mark=2)
    (raw / "dog/more").symlink_to(tmp_path / "elsewhere")
    assert _read(raw).images.column("path").to_pylist() == ["dog/a.png", "dog/more/b.png"]
    (raw / "dog/z.png").symlink_to(raw / "nothing.png")
    assert _left_out(raw, r"dog/z.png is missing") == {"images": ["dog/z.png"]}
    (raw / "dog/z.png").unlink()
    (raw / "bird").symlink_to(tmp_path / "nothing")
    _refused(raw, "no images of bird")
    (raw / "bird").unlink()
    (tmp_path / "elsewhere/back").symlink_to(raw / "dog")
    _refused(raw, "back is a link to a folder that holds it")


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
@pytest.mark.parametrize("path", [b"dog/caf\xe9.png", b"caf\xe9/a.png"])
def test_names_that_are_no_text(tmp_path, draw, path):
    draw(tmp_path / "dog/a.png")
    (tmp_path / os.fsdecode(path)).parent.mkdir(exist_ok=True)
    (tmp_path / os.fsdecode(path)).write_bytes(b"")
    _refused(tmp_path, r"no valid UTF-8: .*caf\\xe9(.|\n)*rename it")


def test_groups_of_a_list(tmp_path, draw_all):
    draw_all(tmp_path, "cat/a.png", "cat/b.png", "dog/c.png", "dog/x, y.png")
    options = {**OPTIONS, "groups": "groups.csv"}
    listed = tmp_path / "groups.csv"
    listed.write_text('path,group\n"dog/x, y.png",7\n\ncat/b.png,burst\ncat/a.png,7\n', "utf-8-sig")
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


def test_what_may_be_redistributed(tmp_path, draw):
    draw(tmp_path / "cat/a.png")
    for more, found in (({}, "tables"), ({"redistribution": "features"}, "features")):
        images = read_source("image_folder", tmp_path, name="pets", options=OPTIONS | more)
        assert images.about.redistribution == found
    options = OPTIONS | {"redistribution": "all"}
    with pytest.raises(SpecError, match=r"redistribution is 'all'(.|\n)*pets"):
        read_source("image_folder", tmp_path, name="pets", options=options)


def test_lists_as_other_systems_write_them(tmp_path, draw_all):
    """Accents of their own, as macOS has them in names of files, and semicolons."""
    draw_all(tmp_path / "pets/café", "a.png", "b.png")
    listed = tmp_path / "pets/groups.csv"
    listed.write_text("path,group\ncafe\u0301/a.png,1\ncafe\u0301/b.png,1\n", encoding="utf-8")
    found = _read(tmp_path / "pets", groups="groups.csv")
    assert found.images.column("group").to_pylist() == [0, 0]
    listed.write_text("path;group\ncafé/a.png;1\n", encoding="utf-8")
    _refused(tmp_path / "pets", "commas in place of semicolons", groups="groups.csv")
    _refused(tmp_path / "pets/pets", "name the folder above")


def test_superclasses_of_a_list(tmp_path, draw_all):
    draw_all(tmp_path, "cat/1.png", "dog/1.png", "oak/1.png")
    named = {"superclasses": "kinds.csv"}
    listed = tmp_path / "kinds.csv"
    listed.write_text('class,superclass\noak,"plant, tall"\n\ndog, animal \ncat,animal\n')
    found = _read(tmp_path, **named)
    assert found.superclasses == ("animal", "animal", "plant, tall")
    assert len(found.provenance["superclasses"]["kinds.csv"]) == 64
    for lines, said in (
        ("cat,\n", "line 2 gives cat no superclass .a class like no other is"),
        ("cow,animal\n", "1 of 1 names are no classes of the data set: cow"),
        ("cat,animal\n", "2 of 3 classes are not listed: dog, oak"),
        ("", "3 of 3 classes are not listed: cat, dog, oak"),
    ):
        listed.write_text(f"class,superclass\n{lines}")
        _refused(tmp_path, said, **named)
    (tmp_path / "dog/1.png").write_bytes(b"no picture")
    listed.write_text("class,superclass\ncat,animal\ndog,guard\noak,plant\n")
    found = _read(tmp_path, **named, allow_missing=True)
    assert (found.class_names, found.superclasses) == (("cat", "oak"), ("animal", "plant"))


# ---- pictures: transparency, parts, damage -------------------------------------------------------
def _encoded(picture, kind="PNG", **options):
    data = io.BytesIO()
    picture.save(data, kind, **options)
    return data.getvalue()


def test_only_what_has_the_form_of_a_fragment_is_one():
    for fragment in ("b.jpg#xywh=1,2,3,4", "angel.npy#12", "font.ttf#0,U+0041"):
        assert file_of(f"a/{fragment}") == "a/" + fragment.partition("#")[0]
    for path in ("a/img#12.jpg", "a/img#12.jpg#xywh=1,2,3,4"):
        assert file_of(path) == "a/img#12.jpg"


def test_a_transparent_colour_of_a_palette_becomes_white():
    palette = pil.new("P", (2, 1), 0)
    palette.putpalette([1, 2, 3, 4, 5, 6])
    palette.putpixel((1, 0), 1)
    shown = decode(_encoded(palette, transparency=0))
    assert np.asarray(shown).tolist() == [[[255] * 3, [4, 5, 6]]]


def test_what_is_wrong_in_a_file(tmp_path, monkeypatch):
    """A whole one may be refused, and not as damaged: nobody can say which value is white."""
    noise = np.random.Generator(np.random.PCG64(0)).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    data = _encoded(pil.fromarray(noise), "JPEG")
    digest, problem = check_bytes(data[: len(data) // 2])
    assert digest == ""
    assert problem.startswith("is damaged: image file is truncated")
    os.mkfifo(tmp_path / "fifo.png")  # which would be read for ever
    for path in (tmp_path, tmp_path / "fifo.png"):
        assert check_file(path)[1].startswith("cannot be opened")
    unclear = _encoded(pil.fromarray(np.full((4, 4), 7, np.float32)), "TIFF")
    assert check_bytes(unclear) == ("", "is refused: values of mode F outside 0 to 1")
    whole = _encoded(pil.fromarray(np.full((4, 4), 700, np.uint16)))
    assert check_bytes(whole) == (hashlib.sha256(whole).hexdigest(), "")
    monkeypatch.setattr("fslbench_data.pictures.MOST_PIXELS", 1599)
    assert check_bytes(data) == ("", "is refused: 40 x 40 pixels, more than 1,599")


def test_a_box_is_of_the_upright_picture(tmp_path):
    """Stored as 4 x 2 pixels, shown as 2 x 4: the last column becomes the last row."""
    exif = pil.Exif()
    exif[ORIENTATION] = 6
    pil.fromarray(np.arange(8, dtype=np.uint8).reshape(2, 4)).save(tmp_path / "a.png", exif=exif)
    shown = np.asarray(open_picture(tmp_path, "a.png"))[..., 0]
    assert shown.tolist() == [[4, 0], [5, 1], [6, 2], [7, 3]]
    box = np.asarray(open_picture(tmp_path, "a.png#xywh=0,2,2,2"))[..., 0]
    assert box.tolist() == [[6, 2], [7, 3]]


# ---- export: as the source shows them; resumed; refused ------------------------------------------
SPEC = f"""{HEAD}[[dataset]]
name = "pets"
source = "image_folder"
suites = ["open"]
options = {{ title = "Pets", homepage = "h", licence = "CC0", citation = "c" }}
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["published"]
"""


def _pixels(path):
    with pil.open(path) as picture:
        assert (picture.format, picture.mode) == ("PNG", "RGB")
        return np.asarray(picture)


@pytest.fixture
def pets(tmp_path, draw, monkeypatch):
    monkeypatch.setattr("builders.sources.image_set.AT_ONCE", 5)
    for mark in range(12):
        size = (3, 2) if mark < 10 else (4, 2)
        draw(tmp_path / f"raw/{'cat' if mark < 8 else 'dog'}/{mark:03d}.png", size, mark)
    return _read(tmp_path / "raw")


def test_every_image_and_no_more_and_it_goes_on(pets, tmp_path):
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


def test_folders_that_are_not_exported_into(pets, tmp_path):
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
    fewer = _read(raw)
    with pytest.raises(OutputError, match="pictures of other images than those of pets"):
        write_pictures(fewer, out)
    (out / MARK).unlink()
    with pytest.raises(OutputError, match="does not say of which images"):
        write_pictures(pets, out)
    with pytest.raises(SourceError, match=r"image 0 cannot be shown(.|\n)*cat/000\.png"):
        write_pictures(pets, tmp_path / "gone")


def test_the_export_command(pets, tmp_path):
    (tmp_path / "mine.toml").write_text(SPEC)
    spec, out = ["--spec", str(tmp_path / "mine.toml")], str(tmp_path / "out")
    call = ["source", "pets", str(tmp_path / "raw"), "--pictures", out]
    for written in ("wrote 12 pictures to", "wrote 0 pictures to"):
        result = called(0, *call, *spec)
        assert "pets: 2 classes of 4 to 8 images, 12 images" in result.output
        assert written in result.output
    assert "kept 12" in result.output
    for arguments, said in (
        (["source", "image_folder", out], "--spec"),
        (["source", "dogs", *spec], "unknown data set 'dogs'"),
        (["source", "cub", *spec], "only the counts of the catalogue"),
        (["source", "pets", out, "--pictures", f"{out}/more", *spec], "is in the raw folder"),
    ):
        assert said in called(2, *arguments).output
