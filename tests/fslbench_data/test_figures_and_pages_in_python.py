"""What commands draw, write and compare, Python gives as objects that notebooks show."""

import base64
import gzip
import html
import json
import re
from pathlib import Path

import pytest
from commands import printed
from golden_inputs import INPUTS

import fslbench_data as fb
from benchmark_spec.errors import OutputError, SpecError, SubmissionError, UnknownNameError

pytest.importorskip("vl_convert", reason="needs the extra `report`")

ONE = {"datasets": "digits", "task_sets": "open-5w5s5q"}
CHOSEN = ["--dataset", "digits", "--task-set", "open-5w5s5q"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "three.parquet"
    INPUTS["three.parquet"](path)
    return path


@pytest.mark.slow
def test_a_drawing_is_what_the_command_draws(path: Path, tmp_path: Path) -> None:
    drawn, written = tmp_path / "command.svg", tmp_path / "python.svg"
    printed("plot", "forest", str(path), *CHOSEN, "-o", str(drawn))
    drawing = fb.plot("forest", fb.Submission.read(path), **ONE, path=written)
    assert written.read_bytes() == drawn.read_bytes()
    assert drawing._repr_svg_() == drawing.svg == written.read_text()
    assert 'width="486"' in drawing.svg
    assert "<script" not in drawing.svg
    assert repr(drawing).startswith("<Drawing forest: ")
    frame = fb.Submission.read(path).to_arrow()
    assert fb.plot("forest", frame, **ONE).figure == drawing.figure
    fb.plot("accuracies", frame, **ONE, columns=1).write(tmp_path / "one.pdf")
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_a_drawing_whatever_altair_is_set_to() -> None:
    """A notebook that uses vegafusion for its own charts."""
    import altair

    drawing = fb.plot("accuracies", **ONE)
    as_usual = drawing.svg
    with altair.data_transformers.enable("vegafusion"):
        assert drawing.svg == as_usual


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    """Before anything is read."""
    nowhere = tmp_path / "there is none.parquet"
    with pytest.raises(UnknownNameError, match="figure 'pie'"):
        fb.plot("pie", nowhere)
    with pytest.raises(OutputError, match="names no format of a figure"):
        fb.plot("forest", nowhere, path="x.gif")
    with pytest.raises(SpecError, match="3 columns wide"):
        fb.plot("forest", nowhere, columns=3)


def test_the_page_is_what_the_command_writes(path: Path, tmp_path: Path) -> None:
    printed("report", str(path), *CHOSEN, "-o", str(tmp_path / "command"))
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
