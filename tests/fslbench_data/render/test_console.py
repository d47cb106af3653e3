"""Texts of users on terminals: shown as they are, whatever rich would take them for."""

import sys
from itertools import combinations
from pathlib import Path

import pytest
from commands import invoke, printed
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import recorded
from rich.cells import cell_len

from benchmark_spec.errors import MethodNameError
from benchmark_spec.naming import check_method_name
from fslbench_data.cli.options import say
from fslbench_data.evaluation.progress import progress_bar
from fslbench_data.release.release import Release
from fslbench_data.render.console import SCREEN_LINES, page, print_screen, steps
from fslbench_data.render.table import Column, Table, right

NAMES = ["[/]", "[/red]", "[bold]a[/bold]", "[link=https://example.org]a", ":smile:", "a\\[b]"]


@pytest.mark.parametrize("name", NAMES)
def test_steps_of_long_work(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with steps(f"reading {name}") as step:
        step(name)
    said = capsys.readouterr().err
    assert f"reading {name}" in said
    assert f"reading {name}: {name}" in said


def test_a_file_is_told_no_steps_whatever_colours_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with steps("reading") as step, progress_bar(2, show=True) as advance:
        step("more")
        advance(1)
    assert capsys.readouterr().err == ""


def test_where_standard_error_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after ``2>&-``, for daemons, and in programs of Windows without a console."""
    monkeypatch.setattr(sys, "stderr", None)
    with steps("reading") as step, progress_bar(2, show=True) as advance:
        step("more")
        advance(1)
    say("Error: of which nobody hears")


def test_a_page_has_no_colours_whatever_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It becomes a file, or a string: Jupyter and many CI services set the variable."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with page() as (on_page, text):
        on_page.print("dim", style="dim")
    assert text() == "dim\n"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["validate", "score"])
def test_commands_with_such_methods(
    name: str, command: str, embedded: Release, tmp_path: Path
) -> None:
    tasks = embedded.task_set("digits", "open-5w10s7q")
    path = tmp_path / "x.parquet"
    recorded(tasks, [20 + i % 9 for i in range(19)], name, description=name).write(path)
    result = invoke(command, path, FORCE_COLOR="1")
    assert result.exit_code == 0, result.output
    assert name in result.output


@pytest.mark.parametrize("name", ["mine †", "mine‡", "†", "a ‡ b", "a†‡"])
def test_names_do_not_forge_marks(name: str) -> None:
    for what in ("method", "run"):
        with pytest.raises(MethodNameError, match="a mark that tables give"):
            check_method_name(name, what=what)


LETTERS = st.characters(exclude_categories=["C", "Z"]) | st.sampled_from("測試/ _-\u0302\ufdfa")
HOSTILE = st.text(LETTERS, min_size=1, max_size=90).map(str.strip).filter(bool)


@given(st.lists(HOSTILE, min_size=1, max_size=40, unique=True), st.integers(40, 200))
@settings(max_examples=25)
def test_a_screen_has_thirty_lines_whatever_the_names(names: list[str], width: int) -> None:
    tables = [
        Table(
            "Methods and their means, with intervals",
            (
                Column("method", lambda i: names[i]),
                right("mean", lambda i: f"{60 + i / 7:.2f} ± 1.05"),
            ),
            range(len(names)),
        ),
        Table(
            "",
            (
                Column("method", lambda pair: names[pair[0]]),
                Column("versus", lambda pair: names[pair[1]]),
                right("difference", lambda pair: f"{sum(pair) / 7:+.2f} ± 0.37"),
            ),
            [*combinations(range(len(names)), 2)],
        ),
    ]
    notes = [f"A note of some length that says what is weak: {i}" for i in range(12)]
    with page((width, 50)) as (console, text):
        print_screen(tables, console, notes, "For a paper: " + "some words " * 12, "signature")
    lines = text().splitlines()
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= SCREEN_LINES or width < 80
    assert "60.00 ± 1.05" in text()
    assert [lines[-1], lines.count("signature")] == ["signature", 1]


def test_a_width_of_nothing_is_one_that_is_not_known() -> None:
    shown = printed("info", COLUMNS="0", LINES="0", FORCE_COLOR="1")
    assert "embedded@" in shown.splitlines()[0]
