"""Raw folders that tests write, as if a package had been fetched."""

from collections.abc import Callable
from pathlib import Path

import pytest

from builders.sources.packages import MARK, Package

Fetched = Callable[[Package], Path]


@pytest.fixture
def fetched(tmp_path: Path) -> Fetched:
    """Makes the empty folder of a package in ``tmp_path / 'raw'``, marked as unpacked."""

    def make(package: Package) -> Path:
        folder = tmp_path / "raw" / package.name
        folder.mkdir(parents=True)
        (folder / MARK).write_text(package.sha256)
        return folder

    return make
