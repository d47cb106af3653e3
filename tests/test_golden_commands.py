"""What every command prints and writes is what it printed before; see tests/golden/commands."""

import tomllib
from pathlib import Path
from typing import Any

import golden_commands
import golden_refusals
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


def _refusals(tmp_path: Path, root: Path, files: list[str]) -> str:
    return golden_commands.transcript(
        [f"fslbench validate {name}" for name in files], tmp_path, root
    )


def _file_name(name: str) -> str:
    return name.replace(" ", "-").replace("'", "")


@pytest.mark.parametrize("name", golden_refusals.ROWS)
def test_rows_that_are_refused(
    name: str, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = []
    for ending in golden_refusals.ROWS[name][2]:
        files.append(f"x.{ending}")
        golden_refusals.write_rows(name, ending, tmp_path / files[-1])
    text = _refusals(tmp_path, root, files)
    golden_commands.check(f"refusals/{_file_name(name)}", text, ("pyarrow",))


@pytest.mark.parametrize("name", golden_refusals.TEXTS)
def test_files_that_are_refused(
    name: str, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, content = golden_refusals.TEXTS[name]
    (tmp_path / file).write_bytes(content)
    text = _refusals(tmp_path, root, [file])
    golden_commands.check(f"refusals/file-{_file_name(name)}", text, ("pyarrow",))


def test_metadata_that_is_refused(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [f"{_file_name(name)}.parquet" for name in golden_refusals.METADATA]
    for name, file in zip(golden_refusals.METADATA, files, strict=True):
        golden_refusals.write_metadata(name, tmp_path / file)
    golden_commands.check("refusals/metadata", _refusals(tmp_path, root, files))


def test_declarations_that_are_refused(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [f"{_file_name(name)}.parquet" for name in golden_refusals.SPECIAL]
    for make, file in zip(golden_refusals.SPECIAL.values(), files, strict=True):
        make(tmp_path / file)
    golden_commands.check("refusals/declarations", _refusals(tmp_path, root, files), ("pyarrow",))
