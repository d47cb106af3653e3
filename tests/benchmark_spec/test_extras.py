import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import benchmark_spec
from benchmark_spec.errors import MissingPackageError
from benchmark_spec.extras import install_line, require


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    with pytest.raises(MissingPackageError, match="'no_such'") as caught:
        require("no_such.part")
    assert caught.value.fix == install_line("builders")
    assert require("json").loads("1") == 1


@pytest.mark.slow
def test_what_needs_docstrings_says_so_where_python_has_none() -> None:
    """Altair reads its own while it is imported."""
    pytest.importorskip("altair", reason="needs the extra `report`")
    code = "from benchmark_spec.extras import require; require('altair', 'report')"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert "MissingPackageError: the package 'altair' cannot be imported" in done.stderr
    assert "fix: run Python without -OO" in done.stderr


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (
            {"url": "file:///a/clone%201", "dir_info": {"editable": True}},
            "pip install '/a/clone 1[report]'",
        ),
        ({"url": "file:///a/clone", "dir_info": {}}, "pip install '/a/clone[report]'"),
        (
            {"url": "file:///a/b.whl", "archive_info": {}},
            'pip install "fslbench[report] @ file:///a/b.whl"',
        ),
        (
            {"url": "https://a.b/c", "vcs_info": {"vcs": "git", "commit_id": "0123abc"}},
            'pip install "fslbench[report] @ git+https://a.b/c@0123abc"',
        ),
        (None, 'pip install "fslbench[report]"'),  # of an index
    ],
)
def test_the_line_installs_what_is_there(
    origin: dict[str, object] | None, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert install_line("report").startswith(line)


def test_a_clone_that_is_not_installed_has_a_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    folder = Path(benchmark_spec.__file__).resolve().parents[1]
    assert install_line("torch") == f"pip install '{folder}[torch]'"
