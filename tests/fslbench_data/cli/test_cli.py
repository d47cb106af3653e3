"""The command: its start, methods chosen, and what -o never replaces."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import invoke, printed

from benchmark_spec.version import __version__
from builders.cli import main as builders_main
from fslbench_data.cli import main


@pytest.fixture
def mine(root):
    return str(root / "examples/my_results.parquet")


def test_version():
    assert printed("--version").strip() == f"fslbench, version {__version__}"


@pytest.mark.slow
def test_the_installed_command(mine):
    """Through the real entry point: a table on standard output, no escapes, a line on stderr."""
    command = Path(sys.executable).with_name("fslbench")
    if not command.exists():
        pytest.skip("the command fslbench is not installed beside this Python")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    out = subprocess.run([command, "score", mine], capture_output=True, check=True, env=ascii_only)
    (line,) = out.stderr.decode("ascii").splitlines()
    assert line.startswith("tip: evaluate the pooled sets (digits/pooled-5w1s1q")
    assert b"\x1b" not in out.stdout
    assert b"pixels/Ridge against 3 methods" in out.stdout
    bad = subprocess.run([command, "score", "nowhere.csv"], capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "Error: there is no file nowhere.csv\n"


ONE_SET = ("--dataset", "digits", "--task-set", "closed-5w5s5q")


def test_some_methods_only(mine):
    chosen = ("--method", "pixels/Ridge", "--method", "pixels/NCC")
    text = printed("score", mine, *ONE_SET, *chosen)
    assert "pixels/Ridge" in text
    assert "pixels/NCC" in text
    assert "LR" not in text
    assert "reference method (--all-references)" not in text
    text = printed("score", mine, *ONE_SET, "--method", "pixels/Ridge", "--against", "NCC")
    assert text.startswith("pixels/Ridge against pixels/NCC:")
    refused = invoke("score", mine, "--bias", "--method", "pixels/Ridge")
    assert "--method does not go with --bias" in refused.stderr


def test_a_data_set_in_place_of_a_release():
    refused = invoke("info", "digits")
    assert refused.exit_code == 2
    assert refused.stderr.endswith("fix: fslbench info --dataset digits\n")
    refused = invoke("info", "nowhere")
    assert "--dataset" not in refused.stderr


GO_ON = {"fetch", "features", "release", "results-repo", "train"}
"""Commands that fill a folder: called again they go on, and refuse what is not theirs."""

QUERY = "SELECT 1 AS one"
ENDINGS = {
    "score": ([], "txt", "docx"),
    "table": ([], "tex", "json"),
    "compare": (["pixels/NCC", "pixels/LR"], "csv", "txtt"),
    "interval": (["log.csv"], "csv", "html"),
    "reported": (["91 ± 0.5"], "csv", "docx"),
    "plan": ([], "csv", "md"),
    "leaderboard": (["--results", "results"], "csv", "docx"),
    "review": (["new.parquet", "--results", "results"], "md", "tex"),
    "sql": ([QUERY], "csv", "html"),
    "merge": (["new.parquet"], "parquet", "csv"),
    "evaluate": (["method.py:first", "--features", "pixels"], "parquet", "csv"),
    "import-accuracies": (["x.txt", "--task-set", "x", "--method", "x"], "parquet", "csv"),
    "init": (["images"], "toml", "yaml"),
    "plot": (["forest", "nowhere.parquet"], "svg", "gif"),
    "query-size": (["--dataset=digits", "--features=pixels", "--shot=5"], "csv", "tex"),
    "source": (["emoji"], "parquet", "csv"),
    "attributes": (["emoji", "--recipe=given"], "parquet", "csv"),
    "answer": (["."], "parquet", "csv"),
    "picture": (["--dataset=digits", "--task-set=x"], "png", "gif"),
}
"""Commands with as much as they need to look at -o, an ending that they write and one that none
does; what else they are given is not there, and is not looked at before."""


def _options(command):
    return {text for option in command.params for text in option.opts}


def test_every_command_that_writes_a_file_has_the_option():
    commands = main.commands | builders_main.commands
    writing = {name for name in commands if "--output" in _options(commands[name])}
    asking = {name for name in commands if "--overwrite" in _options(commands[name])}
    assert writing - GO_ON == asking
    assert asking == {*ENDINGS, "report"}  # whose -o is a folder


@pytest.mark.parametrize("command", ENDINGS)
def test_a_command_looks_at_the_file_before_it_works(command, tmp_path):
    group = main if command in main.commands else builders_main
    arguments, ending, other = ENDINGS[command]
    path, nothing = tmp_path / f"out.{ending}", tmp_path / f"out.{other}"
    path.write_text("precious")
    refused = CliRunner().invoke(group, [command, *arguments, "-o", str(path)])
    assert (refused.exit_code, path.read_text()) == (2, "precious")
    assert f"{path} exists already" in refused.stderr
    refused = CliRunner().invoke(group, [command, *arguments, "-o", str(nothing)])
    assert (refused.exit_code, nothing.exists()) == (2, False)
    assert str(nothing) in refused.stderr


@pytest.mark.parametrize(
    "command", ["score", "compare", "merge", "sql", "plan", "evaluate", "plot"]
)
def test_a_file_that_is_there_is_replaced_if_that_is_said(command, tmp_path, root, toy):
    mine = root / "examples/my_results.parquet"
    endings = {"merge": "parquet", "evaluate": "parquet", "plot": "svg"}
    out, method = tmp_path / f"out.{endings.get(command, 'csv')}", tmp_path / "method.py"
    method.write_text("def first(support, query, rng):\n    return [0] * len(query)\n")
    chosen = ("--dataset", "digits", "--task-set", "open-5w10s7q")
    arguments = {
        "score": ("score", mine, *chosen, "--format", "csv"),
        "compare": ("compare", mine, "pixels/LR", *chosen, "--format", "csv"),
        "merge": ("merge", mine),
        "sql": ("sql", QUERY, "--release", toy.files.where),
        "plan": ("plan", "--dataset", "digits", "--queries", "3"),
        "evaluate": ("evaluate", f"{method}:first", "--features", "pixels", *chosen),
        "plot": ("plot", "forest", mine, *chosen),
    }[command]
    out.write_text("precious")
    replaced = invoke(*arguments, "-o", out, "--overwrite")
    assert replaced.exit_code == 0, replaced.output
    assert out.read_bytes()[:8] != b"precious"
    assert not list(tmp_path.glob("*.partial"))


def test_not_even_then_the_input(tmp_path, root):
    mine = tmp_path / "mine.parquet"
    mine.write_bytes((root / "examples/my_results.parquet").read_bytes())
    before = mine.read_bytes()
    for command in (("merge", mine), ("score", mine), ("sql", QUERY, "--submission", mine)):
        refused = invoke(*command, "-o", mine, "--overwrite")
        assert refused.exit_code == 2
        assert "is the submission itself" in refused.stderr
    assert mine.read_bytes() == before
    (page := tmp_path / "index.html").write_text("precious")  # nor a page, without it
    refused = invoke("report", mine, "-o", tmp_path)
    assert (refused.exit_code, page.read_text()) == (2, "precious")


@pytest.mark.slow
def test_what_is_written_into_needs_no_leave(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("before\n")
    start = "from fslbench_data.cli import main; main()"
    program = [sys.executable, "-c", start, "sql", QUERY, "--format", "csv"]
    with log.open("a") as open_file:
        subprocess.run([*program, "-o", "/dev/stdout"], stdout=open_file, check=True)
    assert log.read_text() == "before\none\n1\n"
    assert invoke("sql", QUERY, "-o", "/dev/null").exit_code == 0


def test_with_a_format_other_endings_are_written(tmp_path):
    sizes = {"dataset": "CUB", "ways": 5, "shots": 5, "queries": 15, "tasks": 600}
    printed = ["reported", "91 ± 1", *(f"--{name}={value}" for name, value in sizes.items()), "-o"]
    assert invoke(*printed, tmp_path / "out.dat", "--format", "csv").exit_code == 0
    assert (tmp_path / "out.dat").read_text().startswith("method,dataset,")
    assert invoke(*printed, tmp_path / "out.txt").exit_code == 0


def test_accuracies_of_one_data_set_are_not_taken_for_anothers(tmp_path):
    (accuracies := tmp_path / "mine.txt").write_text("\n".join(["0.8", "0.96"] * 300))
    words = ["import-accuracies", accuracies, "--task-set", "digits/closed-5w5s5q", "--method", "m"]
    refused = invoke(*words, "-o", tmp_path / "m.parquet", "--dataset", "groceries")
    assert "digits/closed-5w5s5q and --dataset groceries name two data sets" in refused.stderr


@pytest.mark.parametrize("kind", ["conclusive", "queries"])
def test_a_figure_shows_results_or_a_sweep(tmp_path, mine, kind):
    refused = invoke("plot", kind, mine, "--sweep", tmp_path / "s", "-o", tmp_path / "x.svg")
    assert re.search("--sweep is of the figure queries|nothing of", refused.stderr)
