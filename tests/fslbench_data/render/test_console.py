"""What commands print: summaries, names as they are, lines that fit, and bars; notebooks."""

import builtins
import json
import re
import sys
from base64 import b64decode
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import own_logs
import pytest
from commands import invoke, printed
from elements import Elements
from golden_inputs import INPUTS
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import answered, recorded
from rich.cells import cell_len

import fslbench_data as fb
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
    shortened,
    steps,
    wrapped,
)
from fslbench_data.render.summary_text import print_summary, report_text, summary_paper
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.summary import summarize

NAMES = ["[/]", "[/red]", "[bold]a[/bold]", "[link=https://example.org]a", ":smile:", "a\\[b]"]
LETTERS = st.characters(exclude_categories=["C", "Z"]) | st.sampled_from("測試/ _-\u0302\ufdfa")
HOSTILE = st.text(LETTERS, min_size=1, max_size=90).map(str.strip).filter(bool)
MEAN = re.compile(r"[+-]?\d+\.\d\d(?: ± \d+\.\d+)?")


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
    assert "embedded@" in printed("info", COLUMNS="0", LINES="0", FORCE_COLOR="1").splitlines()[0]


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
    made = []

    def display(shown, *, display_id):
        assert display_id
        made.append(_Cell(shown))
        return made[-1]

    module = SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=module))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(builtins, "get_ipython", type("ZMQInteractiveShell", (), {}), raising=False)
    return made


def test_a_bar_in_a_cell(cells, capsys, monkeypatch):
    with progress_bar(8, show=False) as advance:
        advance(8)
    assert not cells
    monkeypatch.setattr(progress, "_REDRAW_SECONDS", 0.0)
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


PCA = "efficientnet_lite0-pca128"

NAMED = {
    "every set": ("groceries/|openclipart/", [f"{PCA}/mine"]),
    "many methods": ("digits/open-5w10s7q", [f"m{i}" for i in range(60)]),
    "long names": ("digits/open-", [f"{'x' * 120}-{i}/{'head' * 15}" for i in range(35)]),
    "wide names": ("(groc|openc).*-5w5s5q", ["測試" * 30 + f"/頭{i}" for i in range(20)]),
}
"""The task sets of less than 300 tasks that are answered, and by which methods."""


def _report(name, embedded, path):
    if name == "references":
        return fb.score(None, embedded, datasets=("digits", "fashion_mnist", "openclipart"))
    if name in INPUTS:
        INPUTS[name](path / name)
        return fb.score(path / name, embedded, allow_unbound=True)
    wanted, methods = NAMED[name]
    parts = [
        recorded(info, [(9 * t + n) % info.protocol.n_query for t in range(info.n_tasks)], method)
        for info in embedded.task_sets
        if re.match(wanted, str(info)) and info.n_tasks <= 300 and info.name.suite != "pooled"
        for n, method in enumerate(methods)
    ]
    return fb.score(fb.merge(parts), embedded)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [*NAMED, "references", "runs.parquet", "prefix.parquet", "stopped.parquet", "unbound.csv"],
)
def test_whatever_the_file_it_has_at_most_thirty_lines(name, embedded, tmp_path):
    report = _report(name, embedded, tmp_path)
    (table,), _, _ = summary_paper(summarize(report))
    numbers = {n for row in table.rows for text in table.texts(row) for n in MEAN.findall(text)}
    for width in (40, 57, 80, 100, 140, 200):
        with page((width, SCREEN_LINES)) as (console, text):
            print_summary(summarize(report), console)
        *lines, signature = text().splitlines()
        assert signature == report.signature.short
        assert max(map(cell_len, lines)) <= width
        assert len(lines) < SCREEN_LINES or width < 80
        found = [n for line in lines for n in MEAN.findall(line) if "±" in n]
        assert {*found} <= numbers
        # of a stopped run ordinary intervals do not hold
        assert found or width < 80 or name == "stopped.parquet"
    assert str(report) == report_text(report)


def test_results_of_python_are_printed_as_by_the_commands():
    given = {"dataset": "miniImageNet", "ways": 5, "shots": 5, "queries": 15, "tasks": 600}
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    text = printed("reported", "91.72 ± 0.55", *options)
    assert str(fb.reported("91.72 ± 0.55", **given)) == text
    assert str(fb.plan(datasets="digits")) == printed("plan", "--dataset", "digits")


def _mine(embedded, name):
    """A reference method's counts, a little better on some tasks, on photos in superclasses."""
    reference = dict(zip(embedded.methods, embedded.references(), strict=True))[f"{PCA}/NCC"]
    info = embedded.task_set_info("groceries", "closed-5w5s5q")
    correct = reference.on([info]).table.column("n_correct").to_numpy()
    moved = np.minimum(correct + (np.arange(correct.size) % 3 == 0), info.protocol.n_query)
    return recorded(info, moved, name, backbone=PCA)


def test_long_features_are_said_once_and_what_is_not_counted_is_marked(embedded):
    report = fb.score(_mine(embedded, f"{PCA}/mine"), embedded)
    words = " ".join(report_text(report).split())
    assert words.startswith("mine against 3 methods, corrected for 3 comparisons (Holm):")
    assert f"names without a slash: on the features {PCA}" in words
    (row,) = summarize(report).rows
    best = row.displayed[-1].versus
    assert best not in {c.versus for c in row.compared}
    assert f"{best} ^" in words
    (table,), _, _ = summary_paper(summarize(report))
    notes = " ".join(table.notes)
    for said in (
        f"names without a slash: on the features {PCA}.",
        "^ the most accurate reference of all, not among the comparisons counted.",
        "groceries: a group of images counts as one image.",
        "groceries: new classes are other classes of the same superclasses.",
    ):
        assert said in notes
    assert [c.versus for c in row.compared] == [f"{PCA}/{h}" for h in ("NCC", "MatchingNet", "LR")]


def test_names_that_would_be_alike_are_whole(embedded):
    summary = summarize(fb.score(_mine(embedded, "NCC"), embedded))
    (table,), _, _ = summary_paper(summary)
    shown = {c.versus for row in summary.rows for c in row.displayed}
    assert {
        table.cells(line)[table.names.index("versus")].split()[0] for line in table.rows
    } == shown
    assert "without a slash" not in " ".join(table.notes)


@pytest.mark.parametrize("most", [8, 12, 20, 40])
@pytest.mark.parametrize("name", ["short", f"{PCA}/MatchingNet", "a" * 99, "頭" * 50 + "/LR"])
def test_names_are_cut_in_front_of_what_tells_them_apart(name, most):
    cut = shortened(name, most)
    assert cell_len(cut) <= most
    assert (cut == name) == (cell_len(name) <= most)
    head = name.rpartition("/")[2]
    if cell_len(head) + 4 <= most:
        assert cut.endswith(head)


ELEMENTS = {"div", "p", "small", "b", "br", "span", "img"}
ELEMENTS |= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
SCRIPT = "<script>alert('a')</script>&\"b\""


def _shown(report):
    text = report._repr_html_()
    assert text is not None
    shown = Elements(text)
    assert {*shown.tags} <= ELEMENTS
    assert not [name for name in shown.attributes if name.startswith("on") or name == "href"]
    return shown


def test_the_answer_with_its_figure_of_a_hostile_name():
    pytest.importorskip("vl_convert")
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    report = fb.score(answered(tasks, tasks.query_label, SCRIPT))
    shown = _shown(report)
    assert SCRIPT in shown.text
    assert "table" in shown.tags
    assert report.signature.short in shown.text
    (image,) = shown.images
    svg = b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode()
    assert svg.startswith("<svg")
    assert "<script" not in svg
    assert "intervals" in image["alt"]


def test_without_the_extra_the_figure_is_left_out_and_a_text_is_a_text(example, monkeypatch):
    report = fb.score(example)
    text = str(report)
    assert len(text.splitlines()) > 5
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setattr(builtins, "get_ipython", type("ZMQInteractiveShell", (), {}), raising=False)
    assert str(report) == text
    shown = _shown(report)
    assert not shown.images
    assert re.search(r"The figure is left out: .*\[report\]", shown.text)


def test_reports_of_many_methods_are_cut():
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    parts = [answered(tasks, (tasks.query_label + n % 3) % 5, f"mine {n:02}") for n in range(40)]
    shown = _shown(fb.score(parts, references=False))
    assert len(shown.rows) <= 33
    assert "and 10 more rows" in shown.text


def test_a_comparison_prints_a_sentence(example):
    compared = fb.score(example, datasets="digits", task_sets="closed-5w10s7q").comparisons
    text = next(str(c) for c in compared if c.versus == "pixels/LR")
    assert text.startswith(
        "pixels/Ridge against pixels/LR on digits/closed-5w10s7q: +0.98 points, "
        "± 0.51 for new images (better), ± "
    )


def test_no_file_is_read_for_a_repr():
    release = fb.Release(fb.load_release().manifest, SimpleNamespace(where="nowhere", hub=""))
    assert repr(release).endswith("22 reference methods\n in nowhere>")


PAGE = (Path(__file__).parents[3] / "docs/sql.md").read_text(encoding="utf-8")
LINES = re.findall(r"`([^`]+report\.to_dict\(\)[^`]+)`|`([^`]+ = report\.to_dict\(\))`", PAGE)


def test_the_line_of_a_tracker_gives_it_the_commands_json(tmp_path):
    """Trackers are none of the extras: what stands in for them keeps what it is given."""
    path = tmp_path / "log.jsonl"
    rows = own_logs.rows(own_logs.log(methods={"a": 0.0, "b": 0.1}, tasks=200))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said, report = json.loads(printed("score", path, "--format", "json")), fb.interval(path)
    for name in ("run", "mlflow", "writer"):
        (line,) = (one or other for one, other in LINES if (one or other).startswith(f"{name}."))
        tracker = MagicMock()
        exec(line, {name: tracker, "json": json, "report": report})
        given = [
            part for call in tracker.mock_calls for part in (*call.args, *call.kwargs.values())
        ]
        assert said in given or json.dumps(said) in given
