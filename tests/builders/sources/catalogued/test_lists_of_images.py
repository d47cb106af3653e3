"""Sources whose images a list of their authors names: FGVC-Aircraft, FGVCx Fungi and VGG Flower."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import CatalogueError, SourceError
from builders.sources.catalogued import aircraft, fungi, vgg_flower

Draw = Callable[..., str]
PLANES = {"737-400": 2, "Spitfire": 1}


@pytest.fixture
def planes(tmp_path: Path, draw: Draw, class_lists: dict[str, list[str]]) -> Path:
    """All 100 variants, in another order than sorted, with four images, one of training."""
    data = tmp_path / "data"
    for number in (2, 1, 3, 4):
        draw(data / f"images/000000{number}.jpg", (12, 9), number)
    (data / "variants.txt").write_text("\n".join(reversed(class_lists["aircraft"])))
    (data / "images_variant_trainval.txt").write_text("0000002 737-400\n0000004 F-16A/B\n")
    (data / "images_variant_test.txt").write_text("0000001 737-400\n0000003 Spitfire\n")
    (data / "images_box.txt").write_text(
        "0000001 1 1 12 9\n0000002 2 1 7 6\n0000003 3 4 5 8\n0000004 1 1 2 2\n"
    )
    return tmp_path


def test_aircraft_and_crops(planes: Path) -> None:
    found = aircraft.read(planes, expected=PLANES)
    assert found.images.column("class_name").to_pylist() == ["737-400", "737-400", "Spitfire"]
    assert found.images.column("path").to_pylist() == [
        "data/images/0000001.jpg#xywh=1,1,11,8",
        "data/images/0000002.jpg#xywh=2,1,5,5",
        "data/images/0000003.jpg#xywh=3,4,2,4",
    ]
    assert found.images.column("group").null_count == 3
    crop = np.asarray(found.open(1))
    assert crop.shape == (5, 5, 3)
    assert crop[0, 0].tolist() == [20, 10, 2]
    assert crop[-1, -1].tolist() == [60, 50, 2]
    lists = ("variants", "images_box", "images_variant_trainval", "images_variant_test")
    assert set(found.provenance["lists"]) == {f"data/{name}.txt" for name in lists}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("images_box.txt", "0000001 1 1 12 9\n", "no box of 0000002, 0000003"),
        ("images_box.txt", "0000001 1 1 12\n", "line 1 has 4 fields, not 5"),
        ("images_box.txt", "0000001 5 1 2 9\n", "line 1 has no box: 5 1 2 9"),
        ("images_box.txt", "0000001 a 1 2 9\n", "line 1 invalid literal"),
        ("images_variant_test.txt", "0000001 Zeppelin\n", "is of 'Zeppelin'"),
        ("images_variant_test.txt", "1 Spitfire\n1 Spitfire\n", "line 2 names 1 again"),
    ],
)
def test_damaged_lists_of_aircraft(planes: Path, file: str, text: str, message: str) -> None:
    (planes / "data" / file).write_text(text)
    with pytest.raises(SourceError, match=message):
        aircraft.read(planes, expected=PLANES)


SPECIES = {int(label[:4]): label[5:] for label in lookup("fungi").class_names}
CATEGORIES = [{"id": i, "name": SPECIES.get(i, f"fungus {i}")} for i in reversed(range(1394))]
FUNGI = {"0008.Agaricus campestris": 3, "0482.Hygrophorus hypothejus f. hypothejus ": 1}


def _write_fungi(path: Path, images: dict[int, int], categories: Any = CATEGORIES) -> None:
    """A list of images by id with their categories."""
    content = {
        "images": [
            {"id": i, "file_name": f"images/{c}/{i}.jpg", "rights_holder": f"person {i}"}
            for i, c in images.items()
        ],
        "annotations": [{"image_id": i, "category_id": c} for i, c in images.items()],
        "categories": categories,
    }
    path.write_text(json.dumps(content))


@pytest.fixture
def mushrooms(tmp_path: Path, draw: Draw) -> Path:
    train, val = {7: 8, 3: 482, 5: 0, 2: 8}, {1: 8}
    _write_fungi(tmp_path / "train.json", train)
    _write_fungi(tmp_path / "val.json", val)
    for image, category in {**train, **val}.items():
        draw(tmp_path / f"images/{category}/{image}.jpg")
    return tmp_path


def test_fungi(mushrooms: Path) -> None:
    found = fungi.read(mushrooms, expected=FUNGI)
    assert found.class_names == tuple(FUNGI)
    assert found.images.column("path").to_pylist() == [
        "images/8/7.jpg",  # in the order of train.json, then of val.json
        "images/8/2.jpg",
        "images/8/1.jpg",
        "images/482/3.jpg",
    ]
    assert found.images.column("creator")[0].as_py() == "person 7"
    assert found.superclasses == tuple(name[5:].split()[0] for name in FUNGI)
    assert set(found.provenance["lists"]) == {"train.json", "val.json"}


def test_lists_of_fungi_that_disagree_or_are_damaged(mushrooms: Path) -> None:
    val = mushrooms / "val.json"
    _write_fungi(val, {7: 8})
    with pytest.raises(SourceError, match="image 7 has two annotations"):
        fungi.read(mushrooms)
    _write_fungi(val, {1: 8}, [*CATEGORIES[:-1], {"id": 0, "name": "else"}])
    with pytest.raises(SourceError, match=r"other categories: 0000\.else, 0000\.fungus 0"):
        fungi.read(mushrooms)
    content = {"images": [{"id": 4, "file_name": "x.jpg"}], "annotations": []}
    val.write_text(json.dumps({**content, "categories": CATEGORIES}))
    _write_fungi(mushrooms / "train.json", {})
    with pytest.raises(SourceError, match=r"image x.jpg has no annotation"):
        fungi.read(mushrooms)
    val.write_text(json.dumps(content))
    with pytest.raises(SourceError, match=r"val.json has no list of categories"):
        fungi.read(mushrooms)
    val.write_text(json.dumps({**content, "categories": [{"id": 0}]}))
    with pytest.raises(SourceError, match="an entry lacks 'name'"):
        fungi.read(mushrooms)
    val.write_text('{"images": [')
    with pytest.raises(SourceError, match=r"val.json is no JSON file"):
        fungi.read(mushrooms)


FLOWERS = {"005.english marigold": 2, "098.mexican petunia": 1}


def _labels(folder: Path, labels: Any, name: str = "labels") -> None:
    savemat(folder / "imagelabels.mat", {name: np.array([labels], np.uint8)})


@pytest.fixture
def flowers(tmp_path: Path, draw: Draw) -> Path:
    _labels(tmp_path, [98, 5, 1, 5])
    for number in range(1, 5):
        draw(tmp_path / f"jpg/image_{number:05d}.jpg", mark=number)
    return tmp_path


def test_flowers(flowers: Path) -> None:
    found = vgg_flower.read(flowers, expected=FLOWERS)
    assert found.class_names == tuple(FLOWERS)
    assert found.images.column("path").to_pylist() == [
        "jpg/image_00002.jpg",
        "jpg/image_00004.jpg",
        "jpg/image_00001.jpg",
    ]
    assert [np.asarray(found.open(i))[0, 0, 2] for i in range(3)] == [2, 4, 1]
    assert len(found.provenance["lists"]["imagelabels.mat"]) == 64


def test_damaged_labels_of_flowers(flowers: Path) -> None:
    _labels(flowers, [5, 103])
    with pytest.raises(CatalogueError, match="categories 5 to 103"):
        vgg_flower.read(flowers)
    _labels(flowers, [5], name="names")
    with pytest.raises(SourceError, match="no variable 'labels'"):
        vgg_flower.read(flowers)
    (flowers / "imagelabels.mat").write_bytes(b"not MATLAB")
    with pytest.raises(SourceError, match=r"imagelabels.mat cannot be read"):
        vgg_flower.read(flowers)
