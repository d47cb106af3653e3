"""MS COCO from a small raw folder: scaled boxes, one a pair or all, crowds, groups."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SourceError
from builders.sources.catalogued import crop, mscoco, mscoco_boxes

Draw = Callable[..., str]
PHOTOS = {"000000000003.jpg": 3, "000000000009.jpg": 9}
ANNOTATIONS = [
    # photo, category, box x y w h, crowd
    (9, "bicycle", (5, 4, 5, 5), 0),
    (3, "bicycle", (2, 2, 3, 2), 0),
    (9, "bicycle", (0, 0, 20, 15), 1),  # the largest, but a crowd
    (9, "bicycle", (1, 1, 5, 5), 0),  # as large as the first
    (9, "bicycle", (2, 2, 4, 4), 0),
    (9, "person", (1, 1, 2, 2), 0),  # of the validation split
    (9, "cup", (3, 3, 10, 5), 1),  # a crowd alone
    (9, "cup", (40, 3, 5, 5), 0),  # outside of the photograph
]
PAIRS = {"bicycle": 2, "cup": 1}
BOXES = {"bicycle": 5, "cup": 1}


def _write(folder: Path, place: str, content: Any) -> None:
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text(json.dumps(content))


@pytest.fixture
def content(class_lists: dict[str, list[str]]) -> dict[str, Any]:
    """What the annotation file holds; category ids have gaps, as COCO's."""
    ids = {label: 2 * i + 1 for i, label in enumerate(class_lists["mscoco"])}
    return {
        "licenses": [{"id": 1, "name": "Attribution License"}],
        "categories": [{"id": i, "name": label} for label, i in ids.items()],
        "images": [
            {"id": i, "file_name": name, "width": 20, "height": 15, "license": 1}
            for name, i in PHOTOS.items()
        ],
        "annotations": [
            {"id": i, "image_id": photo, "category_id": ids[label], "bbox": box, "iscrowd": crowd}
            for i, (photo, label, box, crowd) in enumerate(ANNOTATIONS)
        ],
    }


@pytest.fixture
def photos(tmp_path: Path, draw: Draw, content: dict[str, Any]) -> Path:
    for name, mark in PHOTOS.items():
        draw(tmp_path / "train2017" / name, (20, 15), mark)
    _write(tmp_path, "annotations/instances_train2017.json", content)
    return tmp_path


def test_crops_by_hand() -> None:
    # 10 x 10 at (20, 30), by 1.2: x from 19 to 31, y from 29 to 41; less half a pixel and rounded
    # to the even: columns 18 (18.5) to 30 (30.5), which end at 31
    assert crop((20.0, 30.0, 10.0, 10.0), 100, 100) == "18,28,13,13"
    assert crop((0.0, 0.0, 10.0, 10.0), 8, 100) == "0,0,8,11"  # cut at the edges
    assert crop((3.0, 3.0, 0.0, 0.0), 9, 9) == "2,2,1,1"  # a box of no size is one pixel
    assert crop((50.0, 3.0, 5.0, 5.0), 9, 9) == ""


def test_one_crop_of_each_pair(photos: Path, draw: Draw) -> None:
    found = mscoco.read(photos, expected=PAIRS)
    assert found.class_names == ("bicycle", "cup")
    assert found.images.column("path").to_pylist() == [
        # x 1.7 to 5.3, y 1.8 to 4.2; less half: 1.2 to 4.8, 1.3 to 3.7
        "train2017/000000000003.jpg#xywh=1,1,5,4",
        # of the two largest that are no crowd the first: 4.5 to 10.5, 3.5 to 9.5; less half
        "train2017/000000000009.jpg#xywh=4,3,7,7",
        "train2017/000000000009.jpg#xywh=2,2,13,7",
    ]
    assert found.images.column("group").to_pylist() == [0, 1, 1]
    assert set(found.images.column("licence").to_pylist()) == {"Attribution License"}
    sha = draw(photos / "train2017/000000000009.jpg", (20, 15), 9)
    assert found.images.column("sha256").to_pylist()[1:] == [sha, sha]
    shown = np.asarray(found.open(1))
    assert shown.shape == (7, 7, 3)
    assert shown[0, 0].tolist() == [40, 30, 9]
    assert found.provenance["split"]["classes"] == {"train": 0, "valid": 40, "test": 40}


def test_a_crop_of_every_annotation(photos: Path, content: dict[str, Any]) -> None:
    (photos / "annotations/instances_train2017.json").unlink()
    _write(photos, "instances_train2017.json", content)  # where Meta-Dataset has it
    found = mscoco_boxes.read(photos, expected=BOXES)
    assert found.class_sizes == (5, 1)
    assert [path.partition("xywh=")[2] for path in found.images.column("path").to_pylist()] == [
        "1,1,5,4",
        "4,3,7,7",
        "0,0,20,15",
        "0,0,7,7",
        "1,1,6,6",
        "2,2,13,7",
    ]
    assert found.images.column("group").to_pylist() == [0, 1, 1, 1, 1, 1]
    assert set(found.provenance["lists"]) == {"instances_train2017.json"}


def test_expected_counts() -> None:
    assert sum(mscoco.counts.values()) == 151_545
    assert sum(mscoco_boxes.counts.values()) == 346_980
    assert list(mscoco_boxes.counts) == list(lookup("mscoco").class_names)
    assert all(mscoco_boxes.counts[label] >= n for label, n in mscoco.counts.items())
    assert "346,980" in mscoco_boxes.ABOUT.note


def test_a_missing_photograph_is_named_or_recorded(photos: Path) -> None:
    (photos / "train2017/000000000009.jpg").unlink()
    with pytest.raises(SourceError, match=r"1 file .* train2017/000000000009.jpg is missing"):
        mscoco_boxes.read(photos, expected=BOXES)
    found = mscoco_boxes.read(photos, expected=BOXES, allow_missing=True)
    assert found.class_sizes == (1,)
    left_out = {"images": ["train2017/000000000009.jpg"], "classes": ["cup"]}
    assert found.provenance["left_out"] == left_out


def test_annotations_that_will_not_do(photos: Path, content: dict[str, Any]) -> None:
    place = "annotations/instances_train2017.json"
    first, *others = content["annotations"]
    _write(photos, place, {**content, "annotations": [{**first, "image_id": 4}, *others]})
    with pytest.raises(SourceError, match="annotation 0 is of image 4"):
        mscoco.read(photos)
    _write(photos, place, {**content, "annotations": [{**first, "bbox": [1, 2, 3]}]})
    with pytest.raises(SourceError, match="an entry is malformed"):
        mscoco.read(photos)
    (photos / place).write_text("{}")
    with pytest.raises(SourceError, match="no list of images, annotations, categories"):
        mscoco.read(photos)
