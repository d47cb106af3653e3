"""VGG Flower from a small raw folder: labels are in a MATLAB file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from benchmark_spec.errors import CatalogueError, SourceError
from builders.sources.catalogued import vgg_flower

Draw = Callable[..., str]
EXPECTED = {"005.english marigold": 2, "098.mexican petunia": 1}


def _labels(folder: Path, labels: Any, name: str = "labels") -> None:
    savemat(folder / "imagelabels.mat", {name: np.array([labels], np.uint8)})


@pytest.fixture
def flowers(tmp_path: Path, draw: Draw) -> Path:
    _labels(tmp_path, [98, 5, 1, 5])
    for number in range(1, 5):
        draw(tmp_path / f"jpg/image_{number:05d}.jpg", mark=number)
    return tmp_path


def test_table(flowers: Path) -> None:
    found = vgg_flower.read(flowers, expected=EXPECTED)
    assert found.class_names == tuple(EXPECTED)
    assert found.images.column("path").to_pylist() == [
        "jpg/image_00002.jpg",
        "jpg/image_00004.jpg",
        "jpg/image_00001.jpg",
    ]
    assert [np.asarray(found.open(i))[0, 0, 2] for i in range(3)] == [2, 4, 1]
    assert len(found.provenance["lists"]["imagelabels.mat"]) == 64


def test_damaged_labels(flowers: Path) -> None:
    _labels(flowers, [5, 103])
    with pytest.raises(CatalogueError, match="categories 5 to 103"):
        vgg_flower.read(flowers)
    _labels(flowers, [5], name="names")
    with pytest.raises(SourceError, match="no variable 'labels'"):
        vgg_flower.read(flowers)
    (flowers / "imagelabels.mat").write_bytes(b"not MATLAB")
    with pytest.raises(SourceError, match=r"imagelabels.mat cannot be read"):
        vgg_flower.read(flowers)


def test_missing_files_classes_and_folders(flowers: Path) -> None:
    with pytest.raises(CatalogueError, match="14 of 16 classes are missing"):
        vgg_flower.read(flowers)
    (flowers / "jpg/image_00004.jpg").unlink()
    with pytest.raises(SourceError, match=r"jpg/image_00004.jpg is missing"):
        vgg_flower.read(flowers, expected=EXPECTED)
    found = vgg_flower.read(flowers, expected=EXPECTED, allow_missing=True)
    assert found.class_sizes == (1, 1)
    with pytest.raises(SourceError, match=r"no imagelabels.mat, jpg"):
        vgg_flower.read(flowers / "jpg")
