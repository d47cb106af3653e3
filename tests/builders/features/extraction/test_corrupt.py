"""Images that cannot be shown: named and refused, or skipped and recorded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_features import read_pictures, write_pictures

from benchmark_spec.errors import SourceError
from builders.sources.checking import keeping_damaged

Extract = Callable[..., tuple[np.ndarray[Any, Any], dict[str, Any]]]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """40 pictures in 4 classes, of which 13 is cut off and 25 is no picture."""
    folder = write_pictures(tmp_path / "pictures", 10)
    for path, data in (("class_1/0003.jpg", None), ("class_2/0005.jpg", b"not a picture")):
        data = data or (folder / path).read_bytes()[:-200]
        (folder / path).write_bytes(data)
    return folder


def _read(folder: Path) -> Any:
    with keeping_damaged():
        return read_pictures(folder)


def test_reading_refuses_them_or_numbers_them_like_whole_ones(damaged: Path) -> None:
    with pytest.raises(SourceError, match=r"2 files .* cannot be read: class_1/0003.jpg"):
        read_pictures(damaged)
    assert len(read_pictures(damaged, allow_missing=True).images) == 38
    images = _read(damaged).images
    assert len(images) == 40
    assert [i for i, sha in enumerate(images.column("sha256").to_pylist()) if sha is None] == [
        13,
        25,
    ]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_first_is_named(workers: int, damaged: Path, extract: Extract, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"tiny: image 13 \(class_1/0003.jpg\) cannot be shown"):
        extract(_read(damaged), tmp_path, workers=workers)


def test_skipped_they_are_zeros_and_recorded_and_change_no_other(
    damaged: Path, extract: Extract, tmp_path: Path
) -> None:
    found, provenance = extract(_read(damaged), tmp_path / "a", skip_corrupt=True)
    assert list(provenance["left_out"]) == ["13", "25"]
    assert "no image of a known format" in provenance["left_out"]["25"]
    assert not found[[13, 25]].any()
    whole, _ = extract(read_pictures(write_pictures(tmp_path / "whole", 10)), tmp_path / "b")
    others = np.delete(np.arange(40), [13, 25])
    np.testing.assert_array_equal(found[others], whole[others])


def test_what_was_skipped_is_remembered_by_a_resumed_run(
    damaged: Path, extract: Extract, tmp_path: Path
) -> None:
    images, calls = _read(damaged), []

    def stop(number: int, /, *, resumed: bool = False) -> None:
        calls.append(number)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(images, tmp_path, stop, skip_corrupt=True)
    found, provenance = extract(images, tmp_path, skip_corrupt=True)
    assert list(provenance["left_out"]) == ["13", "25"]
    assert not found[13].any()
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        extract(images, tmp_path / "x", stop, skip_corrupt=True)
    with pytest.raises(SourceError, match="image 13 "):  # and by one that is not to skip any
        extract(images, tmp_path / "x")


def test_a_file_that_changed_since_it_was_read_is_no_longer_the_image(
    extract: Extract, tmp_path: Path
) -> None:
    folder = write_pictures(tmp_path / "pictures", 5)
    images = read_pictures(folder)
    (folder / "class_0/0000.png").write_bytes((folder / "class_0/0002.png").read_bytes())
    with pytest.raises(SourceError, match=r"image 0 .* is another file than was read before"):
        extract(images, tmp_path)
