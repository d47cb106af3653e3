"""The paper's released accuracies, imported once for the tests that compare with it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import builders.cli


@pytest.fixture(scope="session")
def published(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file that ``fslbench-build import-published`` writes."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, to read .pt files")
    path = str(tmp_path_factory.mktemp("published") / "published.parquet")
    arguments = ["import-published", str(shared / "published_results"), "-o", path]
    result = CliRunner().invoke(builders.cli.main, arguments)
    assert result.exit_code == 0, result.output
    return path
