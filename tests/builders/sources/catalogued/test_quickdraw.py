"""Quick, Draw! from small files: the order of rows, digests, and damaged files."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import CatalogueError, SourceError
from builders.sources.catalogued import quickdraw, text_order

EXPECTED = {"angel": 12, "animal migration": 3}


@pytest.fixture
def drawings(tmp_path: Path) -> dict[str, NDArray[Any]]:
    """Files of two test classes, of both shapes, and of a training class."""
    generator = np.random.Generator(np.random.PCG64(0))
    found = {
        "angel": generator.integers(0, 256, (12, 784), dtype=np.uint8),
        "animal migration": generator.integers(0, 256, (3, 28, 28), dtype=np.uint8),
        "swan": np.zeros((2, 784), np.uint8),
    }
    for label, bitmaps in found.items():
        np.save(tmp_path / f"{label}.npy", bitmaps)
    return found


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 100, 1234])
def test_rows_come_as_their_file_names_sort(n: int) -> None:
    names = sorted(f"file_{i}.png" for i in range(1, n + 1))
    assert [f"file_{row + 1}.png" for row in text_order(n).to_pylist()] == names


def test_table_and_pictures(tmp_path: Path, drawings: dict[str, NDArray[Any]]) -> None:
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")
    steps: list[str] = []
    found = quickdraw.read(tmp_path, expected=EXPECTED, progress=steps.append)
    assert found.class_names == tuple(EXPECTED)
    assert found.class_sizes == (12, 3)
    schemas.check(found.images, schemas.IMAGES, "quickdraw")
    rows = [0, 9, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8]  # 1, 10, 11, 12, 2, ...
    assert found.images.column("path").to_pylist() == [
        *(f"angel.npy#{row}" for row in rows),
        *(f"animal migration.npy#{row}" for row in range(3)),
    ]
    assert found.images.column("image_id").to_pylist() == list(range(15))
    assert found.images.column("class_id").to_pylist() == [0] * 12 + [1] * 3
    assert (
        found.images.column("class_name").to_pylist() == ["angel"] * 12 + ["animal migration"] * 3
    )
    assert found.images.column("sha256").to_pylist() == [
        *(hashlib.sha256(drawings["angel"][row].tobytes()).hexdigest() for row in rows),
        *(hashlib.sha256(d.tobytes()).hexdigest() for d in drawings["animal migration"]),
    ]
    assert found.images.column("group").null_count == 15
    assert len(steps) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"{label}.npy" for label in drawings]
    for image_id, bitmap in ((1, drawings["angel"][9]), (13, drawings["animal migration"][1])):
        shown = np.asarray(found.open(image_id))
        assert (shown == bitmap.reshape(28, 28, 1)).all()
        assert shown.shape == (28, 28, 3)


@pytest.mark.usefixtures("drawings")
def test_missing_classes_and_other_counts(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="50 of 52 classes are missing: axe"):
        quickdraw.read(tmp_path)
    expected = {**EXPECTED, "angel": 13, "axe": 1}
    found = quickdraw.read(tmp_path, expected=expected, allow_missing=True)
    assert found.provenance["left_out"] == {
        "classes": ["axe"],
        "counts": ["angel has 12 images, not 13"],
    }
    for label in EXPECTED:
        (tmp_path / f"{label}.npy").unlink()
    with pytest.raises(SourceError, match="no images are left"):
        quickdraw.read(tmp_path, allow_missing=True)


@pytest.mark.usefixtures("drawings")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (np.zeros((2, 100), np.uint8), r"uint8 of shape \(2, 100\)"),
        (np.zeros((2, 784), np.float32), r"float32 of shape \(2, 784\)"),
        (b"", "is damaged"),
        (b"no array", "is damaged"),
        (None, "is damaged"),  # cut
    ],
)
def test_damaged_files(tmp_path: Path, content: Any, problem: str) -> None:
    path = tmp_path / "angel.npy"
    if isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_bytes(path.read_bytes()[:1000] if content is None else content)
    with pytest.raises(SourceError, match=rf"angel.npy is damaged: .*{problem}|{problem}"):
        quickdraw.read(tmp_path, expected=EXPECTED)
    found = quickdraw.read(tmp_path, expected=EXPECTED, allow_missing=True)
    assert found.class_names == ("animal migration",)
    assert found.provenance["left_out"] == {"images": ["angel.npy"], "classes": ["angel"]}
