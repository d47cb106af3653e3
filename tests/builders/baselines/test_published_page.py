"""The page on the published results holds what its two commands print."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import builders.cli
import fslbench_data.cli


@pytest.mark.slow
def test_the_page_is_what_the_commands_print(root: Path, shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, to read .pt files")
    path = str(tmp_path / "published.parquet")
    read = ["import-published", str(shared / "published_results"), "-o", path]
    assert CliRunner().invoke(builders.cli.main, read).exit_code == 0
    shown = ["score", path, "--summary", "--format", "markdown"]
    printed = CliRunner().invoke(fslbench_data.cli.main, shown).stdout
    _, table = printed.split("-->\n\n", 1)
    assert table in (root / "docs/published.md").read_text(encoding="utf-8")
