"""Arrays of grey images: order, pixels and pictures."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark_spec.errors import SourceError, UnknownNameError
from builders.sources.grey import grey_image_set
from builders.sources.packaged import fashion_mnist
from builders.sources.read import read_source


def test_a_picture_is_scaled_to_white() -> None:
    """Level / 4 of 255, rounded: 0, 63.75, 127.5, 255."""
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")
    found = grey_image_set(
        "tiny", fashion_mnist.ABOUT, Path(), paths=["f#0"], labels=np.array([0]),
        pixels=np.array([[0, 1, 2, 4]], np.uint8), white=4, expected={"a": 1},
    )  # fmt: skip
    assert np.asarray(found.open(0)).tolist() == [[[0] * 3, [64] * 3], [[128] * 3, [255] * 3]]


def _idx(path: Path, values: np.ndarray) -> None:
    sizes = np.array(values.shape, dtype=">i4").tobytes()
    head = bytes([0, 0, 8, values.ndim])
    path.write_bytes(gzip.compress(head + sizes + values.astype(np.uint8).tobytes()))


def test_fashion_mnist_is_training_part_then_test_part(
    fetched: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = fetched(fashion_mnist.PACKAGES[0]) / fashion_mnist.DATA
    data.mkdir(parents=True)
    for part, labels in (("train", [1, 0, 1]), ("t10k", [0])):
        images = np.arange(len(labels) * 4).reshape(-1, 2, 2) + (100 if part == "t10k" else 0)
        _idx(data / f"{part}-images-idx3-ubyte.gz", images)
        _idx(data / f"{part}-labels-idx1-ubyte.gz", np.array(labels))
    monkeypatch.setattr(fashion_mnist, "EXPECTED", {"T-shirt/top": 2, "Trouser": 2})
    found = fashion_mnist.read(tmp_path / "raw")
    assert found.images["path"].to_pylist() == [
        "train-images-idx3-ubyte.gz#1",
        "t10k-images-idx3-ubyte.gz#0",
        "train-images-idx3-ubyte.gz#0",
        "train-images-idx3-ubyte.gz#2",
    ]
    assert found.pixels is not None
    assert found.pixels[:, 0].tolist() == [4, 100, 0, 8]
    assert found.white == 255
    monkeypatch.setattr(fashion_mnist, "CLASSES", ("T-shirt/top",))
    monkeypatch.setattr(fashion_mnist, "PARTS", {"test": ("t10k", 1)})
    test = read_source("fashion_mnist", tmp_path / "raw", options={"part": "test"})
    assert test.images["path"].to_pylist() == ["t10k-images-idx3-ubyte.gz#0"]
    assert test.provenance["part"] == "test"
    with pytest.raises(UnknownNameError, match="unknown part 'tset'; did you mean 'test'"):
        fashion_mnist.read(tmp_path / "raw", part="tset")


def test_a_damaged_idx_file_says_what_to_remove(tmp_path: Path) -> None:
    path = tmp_path / "dataset-fashion-mnist/usr/share/datasets/fashion-mnist/x.gz"
    path.parent.mkdir(parents=True)
    for data in (b"no gzip", gzip.compress(b"\0\0"), gzip.compress(b"\0\0\x08\1\0\0\0\1\7")[:-9]):
        path.write_bytes(data)
        with pytest.raises(SourceError, match=r"x\.gz cannot be read") as caught:
            fashion_mnist.read_idx(path)
        assert f"remove {tmp_path / 'dataset-fashion-mnist'} and" in caught.value.fix
