"""What a notebook shows of a report: its answer, escaped, and nothing that works."""

import builtins
import re
import sys
from base64 import b64decode
from pathlib import Path

import pytest
from elements import Elements
from golden_inputs import INPUTS

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


def _report(name: str, folder: Path) -> Report:
    INPUTS[name](folder / name)
    return fb.score(folder / name)


@pytest.mark.parametrize("name", ["my_results.parquet", "three.parquet"])
def test_the_answer_with_its_figure(name: str, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    report = _report(name, tmp_path)
    shown = _shown(report)
    assert "table" in shown.tags
    (image,) = shown.images
    svg = b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode()
    assert svg.startswith("<svg")
    assert "<script" not in svg
    assert "intervals" in image["alt"]
    for method in {score.method for score in report.scores if not score.is_reference}:
        assert method in shown.text
    first = " ".join(str(report).partition("\n\n")[0].split())
    assert first.split(":")[0] in shown.text
    assert report.signature.short in shown.text


def test_names_are_escaped() -> None:
    recorder = fb.Recorder(NAME)
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    recorder.add_task_set(tasks, tasks.query_label)
    assert NAME in _shown(fb.score(recorder.submission())).text


def test_without_the_extra_the_figure_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    shown = _shown(_report("my_results.parquet", tmp_path))
    assert not shown.images
    assert re.search(r"The figure is left out: .*\[report\]", shown.text)


def test_reports_of_many_methods_are_cut() -> None:
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    parts = []
    for number in range(40):
        recorder = fb.Recorder(f"mine {number:02}")
        recorder.add_task_set(tasks, (tasks.query_label + number % 3) % 5)
        parts.append(recorder.submission())
    shown = _shown(fb.score(parts, references=False))
    assert len(shown.rows) <= 33
    assert "and 10 more rows" in shown.text


def test_in_a_notebook_a_text_is_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = _report("my_results.parquet", tmp_path)
    text = str(report)
    assert len(text.splitlines()) > 5
    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
    assert str(report) == text
