"""Small raw folders: pictures whose pixels tell where they are, packages as if fetched."""

import hashlib
import json

import numpy as np
import pytest

from builders.sources.packages import MARK


@pytest.fixture(scope="session")
def draw():
    """Writes a picture and gives its SHA-256: pixel (x, y) is (10x, 10y, mark), lossless."""
    pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

    def write(path, size=(4, 3), mark=0):
        width, height = size
        y, x = np.mgrid[:height, :width]
        pixels = np.stack([10 * x, 10 * y, np.full_like(x, mark)], axis=2).astype(np.uint8)
        path.parent.mkdir(parents=True, exist_ok=True)
        pil.fromarray(pixels).save(path, format="PNG")
        return hashlib.sha256(path.read_bytes()).hexdigest()

    return write


@pytest.fixture(scope="session")
def draw_all(draw):
    """Writes pictures at some paths, all different: of the marks 1, 2, ..."""

    def write(folder, *paths):
        for mark, path in enumerate(paths, start=1):
            draw(folder / path, mark=mark)

    return write


@pytest.fixture(scope="session")
def class_lists(root):
    """All classes, not only those of the test split, in the order that the split is drawn from."""
    path = root / "tests/builders/sources/class_lists.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def fetched(tmp_path):
    """Makes the empty folder of a package in ``tmp_path / 'raw'``, marked as unpacked."""

    def make(package):
        folder = tmp_path / "raw" / package.name
        folder.mkdir(parents=True)
        (folder / MARK).write_text(package.sha256)
        return folder

    return make
