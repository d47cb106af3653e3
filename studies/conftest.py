"""The studies are no installed package: their tests import them from the repository."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hypothesis
import pytest
from click.testing import CliRunner

import builders.cli

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
def published(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The first paper's released accuracies, as ``fslbench-build import-published`` writes them."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, to read .pt files")
    raw = root.parent / "shared/published_results"
    if not raw.is_dir():
        pytest.skip("needs the folder `shared` beside the repository")
    path = str(tmp_path_factory.mktemp("published") / "published.parquet")
    result = CliRunner().invoke(builders.cli.main, ["import-published", str(raw), "-o", path])
    assert result.exit_code == 0, result.output
    return path
