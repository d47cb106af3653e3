"""What commands print: texts of users as they are, lines that fit, steps and bars of long work."""

import builtins
import re
import sys
from contextlib import suppress
from itertools import combinations
from types import SimpleNamespace

import pytest
from commands import invoke, printed
from golden_inputs import INPUTS
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import recorded
from rich.cells import cell_len

from benchmark_spec.errors import MethodNameError, SpecError
from benchmark_spec.naming import check_method_name
from fslbench_data.cli.options import say
from fslbench_data.evaluation import progress
from fslbench_data.evaluation.progress import progress_bar
from fslbench_data.render.console import (
    SCREEN_LINES,
    line_now_and_then,
    page,
    print_screen,
    steps,
    wrapped,
)
from fslbench_data.render.table import Column, Table, right

NAMES = ["[/]", "[/red]", "[bold]a[/bold]", "[link=https://example.org]a", ":smile:", "a\\[b]"]


@pytest.mark.parametrize("name", NAMES)
def test_steps_of_long_work(name, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with steps(f"reading {name}") as step:
        step(name)
    said = capsys.readouterr().err
    assert f"reading {name}" in said
    assert f"reading {name}: {name}" in said


def test_files_have_no_steps_and_no_colours_whatever_is_asked_for(monkeypatch, capsys):
    """Jupyter and many CI services set the variable; daemons have no standard error."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    for stderr in (sys.stderr, None):
        monkeypatch.setattr(sys, "stderr", stderr)
        with steps("reading") as step, progress_bar(2, show=True) as advance:
            step("more")
            advance(1)
    say("Error: of which nobody hears")
    assert capsys.readouterr().err == ""
    with page() as (on_page, text):
        on_page.print("dim", style="dim")
    assert text() == "dim\n"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["validate", "score"])
def test_commands_with_such_methods(name, command, embedded, tmp_path):
    tasks = embedded.task_set("digits", "open-5w10s7q")
    path = tmp_path / "x.parquet"
    recorded(tasks, [20 + i % 9 for i in range(19)], name, description=name).write(path)
    result = invoke(command, path, FORCE_COLOR="1")
    assert result.exit_code == 0, result.output
    assert name in result.output


@pytest.mark.parametrize("name", ["mine †", "mine‡", "†", "a ‡ b", "a†‡"])
def test_names_do_not_forge_marks(name):
    for what in ("method", "run"):
        with pytest.raises(MethodNameError, match="a mark that tables give"):
            check_method_name(name, what=what)


LETTERS = st.characters(exclude_categories=["C", "Z"]) | st.sampled_from("測試/ _-\u0302\ufdfa")
HOSTILE = st.text(LETTERS, min_size=1, max_size=90).map(str.strip).filter(bool)


@given(st.lists(HOSTILE, min_size=1, max_size=40, unique=True), st.integers(40, 200))
@settings(max_examples=25)
def test_a_screen_has_thirty_lines_whatever_the_names(names, width):
    method = Column("method", lambda pair: names[pair[0]])
    versus = Column("versus", lambda pair: names[pair[1]])
    mean = right("mean", lambda pair: f"{60 + pair[0] / 7:.2f} ± 1.05")
    difference = right("difference", lambda pair: f"{sum(pair) / 7:+.2f} ± 0.37")
    rows, pairs = [(i,) for i in range(len(names))], [*combinations(range(len(names)), 2)]
    tables = [
        Table("Methods and their means, with intervals", (method, mean), rows),
        Table("", (method, versus, difference), pairs),
    ]
    notes = [f"A note of some length that says what is weak: {i}" for i in range(12)]
    with page((width, 50)) as (console, text):
        print_screen(tables, console, notes, "For a paper: " + "some words " * 12, "signature")
    lines = text().splitlines()
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= SCREEN_LINES or width < 80
    assert "60.00 ± 1.05" in text()
    assert [lines[-1], lines.count("signature")] == ["signature", 1]


def test_a_width_of_nothing_is_one_that_is_not_known():
    shown = printed("info", COLUMNS="0", LINES="0", FORCE_COLOR="1")
    assert "embedded@" in shown.splitlines()[0]


# ---- widths --------------------------------------------------------------------------------------


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
def test_what_is_printed_fits(command, tmp_path, monkeypatch):
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
def test_messages_fit(width, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"efficientnet_lite{i}-pca128/NCC" for i in range(30)]
    error = SpecError("unknown method", where="a file", expected=", ".join(names), fix="name one")
    say(f"Error: {error}")
    text = capsys.readouterr().err
    assert max(map(len, text.splitlines())) <= min(width, 120)
    assert {*text.replace(",", "").split()} == {*f"Error: {error}".replace(",", "").split()}
    assert "\n  fix: name one\n" in text


def test_messages_in_files_keep_their_lines_and_long_words_are_whole(capsys):
    say(text := "a long line " * 40)
    assert capsys.readouterr().err == f"{text}\n"
    path = "/".join(["folder"] * 30)
    assert wrapped(f"wrote {path}", 40).split() == ["wrote", path]


def test_a_log_file_is_told_now_and_then(monkeypatch, capsys):
    times = {"now": 0.0}
    for module in ("render.console", "evaluation.progress"):
        monkeypatch.setattr(f"fslbench_data.{module}.monotonic", lambda: times["now"])
    advance = progress.counted(4000, "tasks", line_now_and_then())
    advance(100, resumed=True)
    for times["now"] in (10.0, 40.0, 50.0):
        advance(100)
    assert capsys.readouterr().err == "300 of 4,000 tasks, 5.0 tasks/s, 0:12:20 left\n"


# ---- a bar in a notebook's cell, without ipywidgets ----------------------------------------------


class _Cell:
    """What `display` of IPython gives: keeps each picture of what it shows, as plain text."""

    def __init__(self, shown):
        self.pictures = []
        self.update(shown)

    def update(self, shown):
        bundle = shown._repr_mimebundle_([], [])
        assert bundle["text/html"].startswith("<pre")
        self.pictures.append(bundle["text/plain"])


@pytest.fixture
def cells(monkeypatch):
    """The outputs of a notebook that this process takes itself to run in."""
    made = []

    def display(shown, *, display_id):
        assert display_id
        made.append(_Cell(shown))
        return made[-1]

    module = SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=module))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
    return made


def test_a_bar_in_a_cell(cells, capsys, monkeypatch):
    with progress_bar(8, show=False) as advance:
        advance(8)
    assert not cells
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    with progress_bar(8, show=True) as advance:
        advance(2, resumed=True)
        advance(5)
    (cell,) = cells
    shown = [next(n for n in ("0/8", "2/8", "7/8") if n in each) for each in cell.pictures]
    assert shown == ["0/8", "2/8", "7/8", "7/8"]
    assert "tasks/s" in cell.pictures[-1]
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_drawn_now_and_then_and_at_the_end(cells):
    with suppress(ValueError), progress_bar(1000, show=True) as advance:
        for _ in range(600):
            advance(1)
        raise ValueError("no luck")
    (cell,) = cells
    assert "600/1000" in cell.pictures[-1]
    assert len(cell.pictures) < 300
