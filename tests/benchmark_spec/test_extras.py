import sys

import pytest
from click.testing import CliRunner

from benchmark_spec.errors import MissingPackageError
from benchmark_spec.extras import require
from builders.cli import main


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    with pytest.raises(MissingPackageError, match=r"'no_such'(.|\n)*fslbench\[builders\]"):
        require("no_such.part")
    assert require("json").loads("1") == 1


def test_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    result = CliRunner().invoke(main, ["source", "digits"])
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert "pip install" in result.stderr
