"""The studies are no installed package: their tests import them from the repository."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hypothesis
import pytest

from fslbench_data.release.release import load_release

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))
os.environ |= {"COLUMNS": "120", "LC_ALL": "C.UTF-8"}
os.environ.setdefault("OMP_NUM_THREADS", "1")
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.load_profile("steady")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared(root: Path) -> Path:
    """The folder of input that stands beside the repository."""
    folder = root.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder `shared` beside the repository")
    return folder


@pytest.fixture(scope="session")
def published(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The first paper's released accuracies, as :mod:`studies.published_results` writes them."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, to read .pt files")
    from studies.published_results.__main__ import import_published

    path = str(tmp_path_factory.mktemp("published") / "published.parquet")
    import_published(shared / "published_results", load_release()).write(path)
    return path
