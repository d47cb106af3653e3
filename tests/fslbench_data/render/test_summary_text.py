"""The summary as people read it: at most thirty lines, at any width, and in notebooks."""

import builtins
import json
import re
import sys
from base64 import b64decode
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import own_logs
import pytest
from commands import printed
from elements import Elements
from golden_inputs import INPUTS
from recorded import answered, recorded
from rich.cells import cell_len

import fslbench_data as fb
from fslbench_data.render.console import SCREEN_LINES, page, shortened
from fslbench_data.render.summary_text import print_summary, report_text, summary_paper
from fslbench_data.scoring.summary import summarize

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


NUMBER = re.compile(r"[+-]?\d+\.\d\d(?: ± \d+\.\d+)?")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [*NAMED, "references", "runs.parquet", "prefix.parquet", "stopped.parquet", "unbound.csv"],
)
def test_whatever_the_file_it_has_at_most_thirty_lines(name, embedded, tmp_path):
    report = _report(name, embedded, tmp_path)
    (table,), _, _ = summary_paper(summarize(report))
    numbers = {n for row in table.rows for text in table.texts(row) for n in NUMBER.findall(text)}
    for width in (40, 57, 80, 100, 140, 200):
        with page((width, SCREEN_LINES)) as (console, text):
            print_summary(summarize(report), console)
        *lines, signature = text().splitlines()
        assert signature == report.signature.short
        assert max(map(cell_len, lines)) <= width
        assert len(lines) < SCREEN_LINES or width < 80
        found = [n for line in lines for n in NUMBER.findall(line) if "±" in n]
        assert {*found} <= numbers
        # of a stopped run ordinary intervals do not hold
        assert found or width < 80 or name == "stopped.parquet"
    assert str(report) == report_text(report)


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


# ---- in a notebook -------------------------------------------------------------------------------


ELEMENTS = {"div", "p", "small", "b", "br", "span", "img"}
ELEMENTS |= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
NAME = "<script>alert('a')</script>&\"b\""


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
    report = fb.score(answered(tasks, tasks.query_label, NAME))
    shown = _shown(report)
    assert NAME in shown.text
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
    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
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
    no_files = SimpleNamespace(where="nowhere", hub="")
    release = fb.Release(fb.load_release().manifest, no_files)
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
