"""What a notebook shows of a report: its answer, escaped, and nothing that works."""

import builtins
import re
import sys
from base64 import b64decode

import pytest
from elements import Elements
from recorded import answered

import fslbench_data as fb
from fslbench_data.scoring.report import Report

ELEMENTS = {"div", "p", "small", "b", "br", "span", "img"}
ELEMENTS |= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
NAME = "<script>alert('a')</script>&\"b\""


def _shown(report: Report) -> Elements:
    """What a notebook shows of a report, nothing of which works."""
    text = report._repr_html_()
    assert text is not None
    shown = Elements(text)
    assert {*shown.tags} <= ELEMENTS
    assert not [name for name in shown.attributes if name.startswith("on") or name == "href"]
    return shown


def test_the_answer_with_its_figure_of_a_hostile_name() -> None:
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


def test_without_the_extra_the_figure_is_left_out(
    example: fb.Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    shown = _shown(fb.score(example))
    assert not shown.images
    assert re.search(r"The figure is left out: .*\[report\]", shown.text)


def test_reports_of_many_methods_are_cut() -> None:
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    parts = [
        answered(tasks, (tasks.query_label + number % 3) % 5, f"mine {number:02}")
        for number in range(40)
    ]
    shown = _shown(fb.score(parts, references=False))
    assert len(shown.rows) <= 33
    assert "and 10 more rows" in shown.text


def test_in_a_notebook_a_text_is_a_text(
    example: fb.Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = fb.score(example)
    text = str(report)
    assert len(text.splitlines()) > 5
    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
    assert str(report) == text
