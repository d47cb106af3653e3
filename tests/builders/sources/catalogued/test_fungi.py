"""FGVCx Fungi from a small raw folder: two files in the form of COCO."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import CatalogueError, SourceError
from builders.sources.catalogued import fungi

Draw = Callable[..., str]
LABELS = {int(label[:4]): label[5:] for label in lookup("fungi").class_names}
CATEGORIES = [{"id": i, "name": LABELS.get(i, f"fungus {i}")} for i in reversed(range(1394))]
EXPECTED = {"0008.Agaricus campestris": 3, "0482.Hygrophorus hypothejus f. hypothejus ": 1}


def _write(path: Path, images: dict[int, int], categories: Any = CATEGORIES) -> None:
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
    _write(tmp_path / "train.json", train)
    _write(tmp_path / "val.json", val)
    for image, category in {**train, **val}.items():
        draw(tmp_path / f"images/{category}/{image}.jpg")
    return tmp_path


def test_table(mushrooms: Path) -> None:
    found = fungi.read(mushrooms, expected=EXPECTED)
    assert found.class_names == tuple(EXPECTED)
    assert found.images.column("path").to_pylist() == [
        "images/8/7.jpg",  # in the order of train.json, then of val.json
        "images/8/2.jpg",
        "images/8/1.jpg",
        "images/482/3.jpg",
    ]
    assert found.images.column("creator")[0].as_py() == "person 7"
    assert found.superclasses == tuple(name[5:].split()[0] for name in EXPECTED)
    assert set(found.provenance["lists"]) == {"train.json", "val.json"}


def test_lists_that_disagree_or_are_damaged(mushrooms: Path) -> None:
    with pytest.raises(CatalogueError, match="198 of 200 classes are missing"):
        fungi.read(mushrooms)
    val = mushrooms / "val.json"
    _write(val, {7: 8})
    with pytest.raises(SourceError, match="image 7 has two annotations"):
        fungi.read(mushrooms)
    _write(val, {1: 8}, [*CATEGORIES[:-1], {"id": 0, "name": "else"}])
    with pytest.raises(SourceError, match=r"other categories: 0000\.else, 0000\.fungus 0"):
        fungi.read(mushrooms)
    _write(val, {1: 8}, CATEGORIES[:-1])
    _write(mushrooms / "train.json", {}, CATEGORIES[:-1])
    with pytest.raises(CatalogueError, match="1393 classes are listed"):
        fungi.read(mushrooms)
    content = {"images": [{"id": 4, "file_name": "x.jpg"}], "annotations": []}
    val.write_text(json.dumps({**content, "categories": CATEGORIES}))
    _write(mushrooms / "train.json", {})
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
    val.unlink()
    with pytest.raises(SourceError, match=r"there is no val.json"):
        fungi.read(mushrooms)
