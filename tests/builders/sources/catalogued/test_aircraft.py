"""FGVC-Aircraft from a small raw folder: boxes, variants with '/', damaged lists."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark_spec.errors import CatalogueError, SourceError
from builders.sources.catalogued import aircraft

Draw = Callable[..., str]
EXPECTED = {"737-400": 2, "Spitfire": 1}


@pytest.fixture
def planes(tmp_path: Path, draw: Draw, class_lists: dict[str, list[str]]) -> Path:
    """All 100 variants, in another order than sorted, with four images, one of training."""
    data = tmp_path / "data"
    draw(data / "images/0000002.jpg", (12, 9), 2)
    draw(data / "images/0000001.jpg", (12, 9), 1)
    draw(data / "images/0000003.jpg", (12, 9), 3)
    draw(data / "images/0000004.jpg", (12, 9), 4)
    (data / "variants.txt").write_text("\n".join(reversed(class_lists["aircraft"])))
    (data / "images_variant_trainval.txt").write_text("0000002 737-400\n0000004 F-16A/B\n")
    (data / "images_variant_test.txt").write_text("0000001 737-400\n0000003 Spitfire\n")
    (data / "images_box.txt").write_text(
        "0000001 1 1 12 9\n0000002 2 1 7 6\n0000003 3 4 5 8\n0000004 1 1 2 2\n"
    )
    return tmp_path


def test_table_and_crops(planes: Path) -> None:
    found = aircraft.read(planes, expected=EXPECTED)
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
    assert set(found.provenance["lists"]) == {
        "data/variants.txt",
        "data/images_box.txt",
        "data/images_variant_trainval.txt",
        "data/images_variant_test.txt",
    }


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
def test_damaged_lists(planes: Path, file: str, text: str, message: str) -> None:
    (planes / "data" / file).write_text(text)
    with pytest.raises(SourceError, match=message):
        aircraft.read(planes, expected=EXPECTED)


def test_wrong_folders_and_counts(planes: Path, tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="13 of 15 classes are missing"):
        aircraft.read(planes)
    with pytest.raises(SourceError, match=r"there is no data/images, data/variants.txt"):
        aircraft.read(tmp_path / "data")
    (planes / "data/variants.txt").write_text("737-400\nSpitfire\nF-16A/B\n")
    with pytest.raises(CatalogueError, match="3 classes are listed"):
        aircraft.read(planes)
