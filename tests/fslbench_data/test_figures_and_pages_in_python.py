"""What commands draw, write and compare, Python gives as objects that notebooks show."""

import base64
import gzip
import html
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from golden_inputs import INPUTS

import fslbench_data as fb
from benchmark_spec.errors import OutputError, SpecError, SubmissionError, UnknownNameError
from fslbench_data.cli import main
from fslbench_data.render.figures import KINDS
from fslbench_data.render.figures import plot as plots

ONE = {"datasets": "digits", "task_sets": "open-5w5s5q"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "three.parquet"
    INPUTS["three.parquet"](path)
    return path


def _command(*words: str) -> None:
    result = CliRunner().invoke(main, [*words])
    assert result.exit_code == 0, result.output


def test_the_command_draws_the_same_kinds() -> None:
    assert set(KINDS) == set(plots.KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forest", "conclusive"])
def test_a_drawing_is_what_the_command_draws(kind: str, path: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    drawn, written = tmp_path / "command.svg", tmp_path / "python.svg"
    chosen = ["--dataset", "digits", "--task-set", "open-5w5s5q"]
    _command("plot", kind, str(path), *chosen, "-o", str(drawn))
    drawing = fb.plot(kind, fb.Submission.read(path), **ONE, path=written)
    assert written.read_bytes() == drawn.read_bytes()
    assert drawing.svg == written.read_text()
    assert drawing.svg.startswith("<svg")
    assert drawing._repr_svg_() == drawing.svg
    (wide,) = re.findall(r'width="(\d+)" height="\d+" viewBox', drawing.svg)
    assert int(wide) == 486
    assert "<script" not in drawing.svg
    assert repr(drawing).startswith(f"<Drawing {kind}: ")
    assert "\n" not in repr(drawing)


@pytest.mark.slow
def test_a_drawing_of_reference_methods_and_of_frames(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    pair = ("pixels/NCC", "pixels/LR")
    assert len(fb.plot("scatter", methods=pair, **ONE).figure.rows) > 1
    frame = fb.Submission.read(path).to_arrow()
    assert fb.plot("forest", frame, **ONE).figure == fb.plot("forest", [path], **ONE).figure
    fb.plot("accuracies", frame, **ONE, columns=1).write(tmp_path / "one.pdf")
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")


def test_names_in_a_drawing_are_escaped() -> None:
    pytest.importorskip("vl_convert")
    name = "<script>alert(1)</script>&x"
    recorder = fb.Recorder(name)
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    recorder.add_task_set(tasks, tasks.query_label)
    drawing = fb.plot("accuracies", recorder.submission(), **ONE)
    assert "<script" not in drawing.svg
    assert "&lt;script&gt;" in drawing.svg


def test_what_cannot_be_drawn_is_refused() -> None:
    pytest.importorskip("vl_convert")
    with pytest.raises(UnknownNameError, match="figure 'pie'"):
        fb.plot("pie")
    with pytest.raises(SpecError, match="such a figure shows one"):
        fb.plot("accuracies", datasets="digits", task_sets=["open-5w5s5q", "open-5w1s1q"])
    with pytest.raises(SpecError, match="0 methods are chosen, scatter shows two"):
        fb.plot("scatter", **ONE)


def test_files_are_checked_before_anything_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    with pytest.raises(OutputError, match="names no format of a figure"):
        fb.plot("forest", tmp_path / "there is none.parquet", path="x.gif")
    with pytest.raises(SpecError, match="3 columns wide"):
        fb.plot("forest", columns=3)


def test_the_page_is_what_the_command_writes(path: Path, tmp_path: Path) -> None:
    chosen = ["--dataset", "digits", "--task-set", "open-5w5s5q"]
    _command("report", str(path), *chosen, "-o", str(tmp_path / "command"))
    page = fb.report_page(path, tmp_path / "python", **ONE)
    written = (tmp_path / "python" / "index.html").read_text(encoding="utf-8")
    assert written == (tmp_path / "command" / "index.html").read_text(encoding="utf-8")
    assert page.text == written
    assert re.fullmatch(r"<Page of \d\.\d MB; \.write\(folder\)>", repr(page))
    shown = page._repr_html_()
    frame = re.fullmatch(
        r'<iframe [^<>]*sandbox="allow-scripts"[^<>]*srcdoc="([^"<>]*)">(.*)', shown
    )
    assert frame is not None
    assert html.unescape(frame[1]) == written
    assert frame[2] == "</iframe>"


def test_a_page_of_a_frame_names_it_file(path: Path) -> None:
    page = fb.report_page(fb.Submission.read(path).to_arrow(), **ONE)
    (packed,) = re.findall('id="content">(.*?)</script>', page.text)
    assert json.loads(gzip.decompress(base64.b64decode(packed)))["arguments"] == "FILE"


def test_two_methods_are_compared(path: Path) -> None:
    report = fb.compare("pixels/LR", "pixels/NCC", datasets="digits")
    assert {(c.method, c.versus) for c in report.comparisons} == {("pixels/LR", "pixels/NCC")}
    both = fb.score(None, datasets="digits", against=["pixels/LR", "pixels/NCC"])
    there = {
        (c.dataset, c.task_set): -c.difference.mean
        for c in both.comparisons
        if {c.method, c.versus} == {"pixels/NCC", "pixels/LR"} and c.method == "pixels/NCC"
    }
    found = {(c.dataset, c.task_set): c.difference.mean for c in report.comparisons}
    assert found == there
    assert found


@pytest.mark.slow
def test_submissions_frames_and_files_are_compared(path: Path) -> None:
    submission = fb.Submission.read(path)
    first = submission.table.column("method")[0].as_py()
    versus = "pixels/NCC"
    by_file = fb.compare(f"{path}::{first}", versus, **ONE)
    rows = submission.table.column("method").to_pylist()
    some = [number for number, name in enumerate(rows) if name == first]
    frame = submission.to_arrow().take(some)
    bare = frame.replace_schema_metadata(None)
    assert fb.compare(bare, versus, **ONE) == by_file
    assert fb.compare(fb.Submission.from_frame(bare), versus, **ONE) == by_file
    again = fb.compare(bare, bare, **ONE)
    assert {(c.method, c.versus) for c in again.comparisons} == {(f"{first} (A)", f"{first} (B)")}
    with pytest.raises(SubmissionError, match="the frame, pixels/NCC hold 4 methods"):
        fb.compare(submission.to_arrow(), versus)
