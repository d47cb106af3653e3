"""What a command writes with -o: a file that is there stays, unless --overwrite is given."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from builders.cli import main as builders_main
from fslbench_data.cli import main
from fslbench_data.release.release import Release

GO_ON = {"fetch", "features", "release", "results-repo", "train"}
"""Commands that fill a folder: called again they go on, and refuse what is not theirs."""

CHECKS = ("check_free", "check_output", "check_submission", "check_table_file")

QUERY = "SELECT 1 AS one"


def _commands() -> list[tuple[str, click.Command]]:
    return [
        (name, command)
        for group in (main, builders_main)
        for name, command in group.commands.items()
    ]


def _options(command: click.Command) -> set[str]:
    return {text for option in command.params for text in option.opts}


def test_every_command_that_writes_a_file_has_the_option() -> None:
    writing = {name for name, command in _commands() if "--output" in _options(command)}
    asking = {name for name, command in _commands() if "--overwrite" in _options(command)}
    assert writing - GO_ON == asking
    assert {"score", "compare", "merge", "evaluate", "report", "plot", "sql"} <= asking


def test_every_such_command_looks_before_it_works(root: Path) -> None:
    for path in [*(root / "fslbench_data/cli").glob("*.py"), *(root / "builders/cli").glob("*.py")]:
        for command in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(command, ast.FunctionDef):
                continue
            options = " ".join(map(ast.unparse, command.decorator_list))
            if "output_to(" in options or "output_option" in options:
                called = {
                    node.func.id
                    for node in ast.walk(command)
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                }
                assert called & set(CHECKS), (path, command.name)


def _run(*arguments: str | Path) -> click.testing.Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def _write_a_method(folder: Path) -> str:
    path = folder / "method.py"
    path.write_text("def first(support, query, rng):\n    return [0] * len(query)\n")
    return f"{path}:first"


@pytest.mark.parametrize("command", ["score", "compare", "merge", "sql", "plan", "evaluate"])
def test_a_file_that_is_there_stays(command: str, tmp_path: Path, root: Path, toy: Release) -> None:
    mine = root / "examples/my_results.parquet"
    out = tmp_path / ("out.parquet" if command in ("merge", "evaluate") else "out.csv")
    chosen = ("--dataset", "digits", "--task-set", "open-5w10s7q")
    arguments = {
        "score": ("score", mine, *chosen, "--format", "csv"),
        "compare": ("compare", mine, "pixels/LR", *chosen, "--format", "csv"),
        "merge": ("merge", mine),
        "sql": ("sql", QUERY, "--release", toy.files.where),
        "plan": ("plan", "--dataset", "digits", "--queries", "3"),
        "evaluate": ("evaluate", _write_a_method(tmp_path), "--features", "pixels", *chosen),
    }[command]
    out.write_text("precious")
    refused = _run(*arguments, "-o", out)
    assert (refused.exit_code, out.read_text()) == (2, "precious")
    assert f"{out} exists already" in refused.stderr
    assert "--overwrite" in refused.stderr
    replaced = _run(*arguments, "-o", out, "--overwrite")
    assert replaced.exit_code == 0, replaced.output
    assert out.read_bytes()[:8] != b"precious"
    assert not list(tmp_path.glob("*.partial"))


def test_not_even_then_the_input(tmp_path: Path, root: Path) -> None:
    mine = tmp_path / "mine.parquet"
    mine.write_bytes((root / "examples/my_results.parquet").read_bytes())
    before = mine.read_bytes()
    for command in (("merge", mine), ("score", mine), ("sql", QUERY, "--submission", mine)):
        refused = _run(*command, "-o", mine, "--overwrite")
        assert refused.exit_code == 2
        assert "is the submission itself" in refused.stderr
    assert mine.read_bytes() == before


@pytest.mark.slow
def test_what_is_written_into_needs_no_leave(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("before\n")
    start = "from fslbench_data.cli import main; main()"
    program = [sys.executable, "-c", start, "sql", QUERY, "--format", "csv"]
    with log.open("a") as open_file:
        subprocess.run([*program, "-o", "/dev/stdout"], stdout=open_file, check=True)
    assert log.read_text() == "before\none\n1\n"
    assert _run("sql", QUERY, "-o", "/dev/null").exit_code == 0


def test_a_page_that_is_there_stays(tmp_path: Path, root: Path) -> None:
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    mine, chosen = root / "examples/my_results.parquet", ("--task-set", "open-5w10s7q")
    page = tmp_path / "page" / "index.html"
    page.parent.mkdir()
    page.write_text("precious")
    refused = _run("report", mine, *chosen, "-o", page.parent)
    assert (refused.exit_code, page.read_text()) == (2, "precious")
    figure = tmp_path / "forest.svg"
    figure.write_text("precious")
    refused = _run("plot", "forest", mine, *chosen, "-o", figure)
    assert (refused.exit_code, figure.read_text()) == (2, "precious")
    assert _run("plot", "forest", mine, *chosen, "-o", figure, "--overwrite").exit_code == 0
    assert "<svg" in figure.read_text()


@pytest.mark.parametrize(
    ("arguments", "ending"),
    [
        (["score"], ".docx"),
        (["compare", "pixels/NCC", "pixels/LR"], ".txtt"),
        (["interval", "log.csv"], ".html"),
        (["reported", "91 ± 0.5"], ".docx"),
        (["table"], ".json"),
        (["plan"], ".md"),
        (["leaderboard", "--results", "results"], ".docx"),
        (["review", "new.parquet", "--results", "results"], ".tex"),
        (["sql", QUERY], ".html"),
        (["init", "images"], ".yaml"),
        (["query-size", "--dataset=digits", "--features=pixels", "--shot=5"], ".tex"),
    ],
)
def test_endings_that_name_no_format_are_refused(
    arguments: list[str], ending: str, tmp_path: Path
) -> None:
    group = main if arguments[0] in main.commands else builders_main
    path = tmp_path / f"out{ending}"
    refused = CliRunner().invoke(group, [*arguments, "-o", str(path)])
    assert (refused.exit_code, path.exists()) == (2, False)
    assert "there is no output of that kind" in refused.stderr


def test_with_a_format_other_endings_are_written(tmp_path: Path) -> None:
    sizes = {"dataset": "CUB", "ways": 5, "shots": 5, "queries": 15, "tasks": 600}
    printed = ["reported", "91 ± 1", *(f"--{name}={value}" for name, value in sizes.items()), "-o"]
    assert _run(*printed, tmp_path / "out.dat", "--format", "csv").exit_code == 0
    assert (tmp_path / "out.dat").read_text().startswith("method,dataset,")
    assert _run(*printed, tmp_path / "out.txt").exit_code == 0
