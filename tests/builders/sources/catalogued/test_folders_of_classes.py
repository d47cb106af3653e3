"""Sources that keep the images of a class in a folder, and the split that all are drawn from."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark_spec import schemas
from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import CatalogueError, SourceError
from builders.sources.catalogued import (
    aircraft,
    cub,
    dtd,
    fungi,
    mscoco,
    omniglot,
    quickdraw,
    traffic_signs,
    vgg_flower,
)

Draw = Callable[..., str]


def test_dtd_table(tmp_path: Path, draw: Draw, class_lists: dict[str, list[str]]) -> None:
    for texture in class_lists["dtd"]:
        (tmp_path / "images" / texture).mkdir(parents=True)
    draw(tmp_path / "images/waffled/waffled_0001.jpg")  # a class of the training split
    (tmp_path / "images/woven/.directory").write_text("left over")
    (tmp_path / "images/woven/readme.txt").write_text("no image")
    second = draw(tmp_path / "images/woven/woven_0002.jpg", mark=2)
    first = draw(tmp_path / "images/woven/woven_0001.jpg", mark=1)
    bumpy = draw(tmp_path / "images/bumpy/bumpy_0100.jpg", mark=3)
    found = dtd.read(tmp_path, expected={"bumpy": 1, "woven": 2})
    assert found.name == "dtd"
    assert found.class_names == ("bumpy", "woven")
    assert found.class_sizes == (1, 2)
    schemas.check(found.images, schemas.IMAGES, "dtd")
    assert found.images.to_pydict() == {
        "image_id": [0, 1, 2],
        "class_id": [0, 1, 1],
        "class_name": ["bumpy", "woven", "woven"],
        "path": [
            "images/bumpy/bumpy_0100.jpg",
            "images/woven/woven_0001.jpg",
            "images/woven/woven_0002.jpg",
        ],
        "sha256": [bumpy, first, second],
        "group": [None] * 3,
        "creator": [None] * 3,
        "licence": [None] * 3,
    }
    assert found.open(2).mode == "RGB"
    assert np.asarray(found.open(2))[2, 3].tolist() == [30, 20, 2]
    assert found.provenance["split"]["seed"] == 22
    assert "left_out" not in found.provenance


def test_the_catalogue_is_what_is_expected(tmp_path: Path, draw: Draw) -> None:
    for texture in lookup("dtd").class_names:
        draw(tmp_path / "images" / texture / "a.jpg")
    with pytest.raises(CatalogueError, match="banded has 1 images, not 120"):
        dtd.read(tmp_path)
    found = dtd.read(tmp_path, allow_missing=True)
    assert found.class_sizes == (1,) * 7
    assert found.provenance["left_out"]["counts"][0] == "banded has 1 images, not 120"


def test_another_folder_is_refused(tmp_path: Path) -> None:
    for source, missing in (
        (aircraft, "no data/images, data/variants.txt"),
        (cub, "no classes.txt, images"),
        (dtd, "no images"),
        (fungi, "no train.json, val.json"),
        (mscoco, "no train2017, annotations/instances_train2017.json"),
        (omniglot, "no images_evaluation"),
        (quickdraw, "no <class>.npy"),
        (traffic_signs, "no Final_Training/Images"),
        (vgg_flower, "no imagelabels.mat, jpg"),
    ):
        with pytest.raises(SourceError, match=rf"not the raw folder of .*{missing}"):
            source.read(tmp_path)


def test_truncated_images_are_named_or_recorded(tmp_path: Path, draw: Draw) -> None:
    for name in ("bumpy/only", "woven/a", "woven/b", "waffled/a"):  # the last is of training
        draw(tmp_path / f"images/{name}.jpg")
    for name in ("bumpy/only", "woven/b"):
        path = tmp_path / f"images/{name}.jpg"
        path.write_bytes(path.read_bytes()[:50])
    expected = {"bumpy": 1, "woven": 2}
    with pytest.raises(SourceError, match=r"2 files .* images/bumpy/only.jpg is damaged"):
        dtd.read(tmp_path, expected=expected)
    found = dtd.read(tmp_path, expected=expected, allow_missing=True)
    assert found.images.column("path").to_pylist() == ["images/woven/a.jpg"]
    assert found.provenance["left_out"] == {
        "images": ["images/bumpy/only.jpg", "images/woven/b.jpg"],
        "classes": ["bumpy"],
    }


@pytest.fixture
def birds(tmp_path: Path, draw: Draw) -> Path:
    """CUB's list of 200 classes with images of the first and the last test class."""
    known = {int(label[:3]): label for label in lookup("cub").class_names}
    labels = [known.get(i, f"{i:03d}.Bird_{i}") for i in range(1, 201)]
    lines = "".join(f"{i} {label}\n" for i, label in enumerate(labels, 1))
    (tmp_path / "classes.txt").write_text(lines)
    draw(tmp_path / "images/194.Cactus_Wren/b_9.jpg", mark=1)
    draw(tmp_path / "images/194.Cactus_Wren/a_10.jpg", mark=2)
    draw(tmp_path / "images/008.Rhinoceros_Auklet/c.jpg")
    draw(tmp_path / "images/001.Bird_1/c.jpg")
    return tmp_path


def test_cub_table(birds: Path) -> None:
    found = cub.read(birds, expected={"008.Rhinoceros_Auklet": 1, "194.Cactus_Wren": 2})
    assert found.class_names == ("008.Rhinoceros_Auklet", "194.Cactus_Wren")
    assert found.images.column("path").to_pylist() == [
        "images/008.Rhinoceros_Auklet/c.jpg",
        "images/194.Cactus_Wren/a_10.jpg",
        "images/194.Cactus_Wren/b_9.jpg",
    ]
    assert len(found.provenance["lists"]["classes.txt"]) == 64


def test_cub_with_a_truncated_list(birds: Path) -> None:
    listed = birds / "classes.txt"
    listed.write_text("\n".join(listed.read_text().splitlines()[:150]))
    with pytest.raises(CatalogueError, match="150 classes are listed"):
        cub.read(birds)
    listed.write_text("1 001.a\n2\n")
    with pytest.raises(SourceError, match=r"classes.txt: line 2 has 1 fields, not 2"):
        cub.read(birds)


def test_omniglot_is_inverted(tmp_path: Path, draw: Draw) -> None:
    pil = pytest.importorskip("PIL.Image")
    evaluation = tmp_path / "images_evaluation"
    path = evaluation / "Tengwar/character02/1234_01.png"
    path.parent.mkdir(parents=True)
    drawing = pil.new("1", (3, 3), 1)
    drawing.putpixel((1, 0), 0)  # a black stroke on white, one bit a pixel
    drawing.save(path)
    draw(evaluation / "Tengwar/character01/1.png")
    draw(evaluation / "Angelic/character03/1.png")
    draw(tmp_path / "images_background/Latin/character01/1.png")
    expected = {"Angelic-character03": 1, "Tengwar-character01": 1, "Tengwar-character02": 1}
    found = omniglot.read(tmp_path, expected=expected)
    assert found.images.column("class_name").to_pylist() == list(expected)
    assert found.images.column("path")[2].as_py() == str(path.relative_to(tmp_path).as_posix())
    shown = np.asarray(found.open(2))
    assert found.superclasses == ("Angelic", "Tengwar", "Tengwar")
    assert shown.shape == (3, 3, 3)
    assert shown[0, 1].tolist() == [255] * 3
    assert shown.sum() == 3 * 255
    assert np.asarray(found.open(1))[1, 2].tolist() == [255 - 20, 255 - 10, 255]


def test_omniglot_of_other_characters(tmp_path: Path, draw: Draw) -> None:
    draw(tmp_path / "images_evaluation/Klingon/character01/1.png")
    with pytest.raises(CatalogueError, match=r"unexpected classes: Klingon-character01"):
        omniglot.read(tmp_path, allow_missing=True)


def test_traffic_signs_in_tracks(tmp_path: Path, draw: Draw) -> None:
    images = tmp_path / "Final_Training/Images"
    frames = ("00001/00007_00001", "00001/00000_00000", "00001/00000_00029", "00000/00000_00000")
    for frame in frames:
        draw(images / f"{frame}.ppm")
    (images / "00001/GT-00001.csv").write_text("Filename;Width\n")
    expected = {"Speed limit (20km/h)": 1, "Speed limit (30km/h)": 3}
    found = traffic_signs.read(tmp_path, expected=expected)
    assert found.class_names == tuple(expected)
    assert found.superclasses == ("speed limit", "speed limit")
    assert found.images.column("path").to_pylist() == [
        "Final_Training/Images/00000/00000_00000.ppm",
        "Final_Training/Images/00001/00000_00000.ppm",
        "Final_Training/Images/00001/00000_00029.ppm",
        "Final_Training/Images/00001/00007_00001.ppm",
    ]
    # track 00000 of class 1 is another one than track 00000 of class 0
    assert found.images.column("group").to_pylist() == [0, 1, 1, 2]


BY_NAME = {source.name: source.drawn for source in (aircraft, dtd, mscoco, quickdraw)}
# name: split, digits of the number that a class name begins with, number of the first class
BY_NUMBER = {
    "cub": (cub.drawn, 3, 1),
    "fungi": (fungi.drawn, 4, 0),
    "vgg_flower": (vgg_flower.drawn, 3, 1),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_of_the_names_of_all_classes(name: str, class_lists: dict[str, list[str]]) -> None:
    held_out = BY_NAME[name].held_out(class_lists[name], Path("list"))
    assert held_out == list(lookup(name).class_names)


@pytest.mark.parametrize("name", BY_NUMBER)
def test_of_the_numbers_of_all_classes(name: str) -> None:
    split, digits, first = BY_NUMBER[name]
    numbers = [int(label[:digits]) for label in lookup(name).class_names]
    assert [first + position for position in split.test_positions()] == numbers
