"""What commands print fits the terminal: no line too long, no number cut, no word broken."""

import re
import sys
from pathlib import Path

import pytest
from commands import printed
from golden_inputs import INPUTS

from benchmark_spec.errors import SpecError
from fslbench_data.cli.options import say
from fslbench_data.render.console import line_now_and_then, wrapped

COMMANDS = (
    "--help",
    "score --help",
    "info",
    "info --dataset groceries",
    "score my_results.parquet",
    "score my_results.parquet --details",
    "compare my_results.parquet pixels/LR",
    "interval own_log.csv",
    "score all_classes.csv",
    "plan --dataset digits --queries 1,5,9",
    "plan --dataset digits --pilot my_results.parquet --versus pixels/LR --queries 5 --details",
    "validate my_results.parquet",
)
NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_fits(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in {*command.split()} & {*INPUTS}:
        INPUTS[word](tmp_path / word)
    whole = printed(*command.split(), COLUMNS="400")
    numbers, letters = {*NUMBER.findall(whole)}, re.sub(r"\s", "", whole)
    for width in (80, 110):
        text = printed(*command.split(), COLUMNS=str(width))
        for line in text.splitlines():
            assert len(line) <= width or line.startswith("fslbench:"), line  # one word
        if "--help" in command:
            continue
        cut = {number for number in NUMBER.findall(text) if number not in numbers}
        # a number in a name that is folded is a piece of it
        assert all(number in letters for number in cut), (width, cut)
        assert not re.search(r"\d…|…\d", text.replace("… ", "")), width


@pytest.mark.parametrize("width", [80, 140])
def test_messages_fit(width: int, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"efficientnet_lite{i}-pca128/NCC" for i in range(30)]
    error = SpecError("unknown method", where="a file", expected=", ".join(names), fix="name one")
    say(f"Error: {error}")
    text = capsys.readouterr().err
    assert max(map(len, text.splitlines())) <= min(width, 120)
    assert {*text.replace(",", "").split()} == {*f"Error: {error}".replace(",", "").split()}
    assert "\n  fix: name one\n" in text


def test_messages_in_files_keep_their_lines(capsys) -> None:
    say(text := "a long line " * 40)
    assert capsys.readouterr().err == f"{text}\n"


def test_words_longer_than_a_line_are_whole() -> None:
    path = "/".join(["folder"] * 30)
    assert wrapped(f"wrote {path}", 40).split() == ["wrote", path]


def test_a_log_file_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    from fslbench_data.evaluation import progress
    from fslbench_data.render import console

    times = {"now": 0.0}
    monkeypatch.setattr(console, "monotonic", lambda: times["now"])
    monkeypatch.setattr(progress, "monotonic", lambda: times["now"])
    advance = progress.counted(4000, "tasks", line_now_and_then())
    advance(100, resumed=True)
    for times["now"] in (10.0, 40.0, 50.0):
        advance(100)
    assert capsys.readouterr().err == "300 of 4,000 tasks, 5.0 tasks/s, 0:12:20 left\n"
