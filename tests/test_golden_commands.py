"""What every command prints and writes is what it printed before; see tests/golden/commands."""

import tomllib
from pathlib import Path
from typing import Any

import golden_commands
import pytest

CASES: list[dict[str, Any]] = tomllib.loads(
    (golden_commands.FOLDER / "cases.toml").read_text(encoding="utf-8")
)["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_commands(
    case: dict[str, Any], tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    text = golden_commands.transcript(case["commands"], tmp_path, root)
    golden_commands.check(case["name"], text, tuple(case.get("needs", ())))
