"""Figures: how wide and tall they are, their fonts and files, and what is no figure."""

import base64
import gzip
import html
import io
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from commands import invoke, printed
from golden_inputs import INPUTS, SWEEP
from recorded import recorded

import fslbench_data as fb
from benchmark_spec.errors import OutputError, SpecError, SubmissionError, UnknownNameError
from fslbench_data.render.figures.plot import packed
from fslbench_data.render.figures.rows import queries as sweep_queries

pytest.importorskip("vl_convert", reason="needs the extra `report`")

EXAMPLE = "examples/my_results.parquet"
LADDER = "ladder_titles-5w5s5q"
TWO = ["--method", "efficientnet_lite0/LR", "--method", "efficientnet_lite0/NCC"]
COMMANDS = {
    "forest": [EXAMPLE, "--task-set", "open-5w10s7q"],
    "accuracies": ["--dataset", "groceries", "--task-set", "open-5w5s5q"],
    "means": ["--dataset", "emoji", "--dataset", "glyphs_sample", "--task-set", "open-5w5s5q"],
    "scatter": ["--dataset", "groceries", "--task-set", "closed-5w5s5q", *TWO],
    "queries": ["--sweep", "SWEEP"],
    "ladder": ["--dataset", "openclipart", "--task-set", LADDER, *TWO],
    "worst": ["--dataset", "openclipart", "--task-set", LADDER, *TWO],
    "conclusive": ["--dataset", "groceries"],
}


def _plot(root, kind, path, *more):
    sweep = path.with_name("sweep.json")
    sweep.write_text(json.dumps(SWEEP))
    given = {EXAMPLE: str(root / EXAMPLE), "SWEEP": str(sweep)}
    command = [given.get(part, part) for part in COMMANDS[kind]]
    return invoke("plot", kind, *command, *more, "-o", path)


SLOW = ("accuracies", "ladder", "worst")

ONE, TWO_COLUMNS = ("--width=column", 0, 235), ("--width=page", 0, 487)


@pytest.mark.parametrize(
    ("kind", "option", "least", "most"),
    [
        *(pytest.param(k, *ONE, marks=[pytest.mark.slow] * (k in SLOW)) for k in COMMANDS),
        ("forest", *TWO_COLUMNS),
        ("scatter", *TWO_COLUMNS),
        ("scatter", "--width=202", 199, 203),
        ("scatter", "--width=244", 241, 245),
    ],
)
def test_a_figure_fits_its_columns_and_brings_its_font(root, tmp_path, kind, option, least, most):
    path = tmp_path / "figure.svg"
    result = _plot(root, kind, path, option)
    assert result.exit_code == 0, result.output
    svg = path.read_text()
    (width,) = re.findall(r'<svg[^>]* width="([\d.]+)"', svg)
    assert least <= float(width) <= most
    assert svg.count("@font-face") == 2
    families = set(re.findall('font-family="([^"]*)"', svg))
    assert families == {"FSLBench Sans, Helvetica, Arial, sans-serif"}


@pytest.mark.slow
def test_a_pdf_has_its_text_as_text(root, tmp_path):
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    path = tmp_path / "figure.pdf"
    assert _plot(root, "forest", path, "--title", "A title").exit_code == 0
    run = subprocess.run(["pdftotext", str(path), "-"], capture_output=True, text=True, check=True)
    text = " ".join(run.stdout.split())
    assert "A title" in text
    assert "MatchingNet" in text
    fonts = subprocess.run(["pdffonts", str(path)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in fonts.stdout.splitlines()[2:]]
    assert {row[0].partition("+")[2] for row in rows} == {"FSLBenchSans", "FSLBenchSans-Bold"}
    assert {row[4] for row in rows} == {"yes"}, "not embedded"


def test_a_figure_that_is_taller_than_a_page_says_so(root, tmp_path):
    for name, told in (("groceries", True), ("digits", False)):
        figure = ["forest", "--dataset", name, "--task-set", "pooled-5w1s1q"]
        made = invoke("plot", *figure, "-o", tmp_path / f"{name}.svg")
        assert made.exit_code == 0, made.output
        assert ("points tall, a page has about 640" in made.stderr) is told


def test_a_png_has_300_dots_an_inch(root, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs pillow, of the extra `builders`")
    path = tmp_path / "figure.png"
    assert _plot(root, "forest", path, "--width", "column").exit_code == 0
    shown = image.open(path)
    assert abs(shown.width - 3.25 * 300) < 8
    assert shown.info["dpi"] == pytest.approx((300, 300), abs=0.1)


def test_without_the_extra(monkeypatch, root, tmp_path):
    monkeypatch.setitem(sys.modules, "altair", None)
    result = _plot(root, "forest", tmp_path / "x.svg")
    assert result.exit_code == 2
    assert "the package 'altair' is not installed" in result.output
    assert "[report]" in result.output


@pytest.mark.slow
def test_ladders_without_counts_by_class(embedded, tmp_path):
    info = embedded.task_set_info("openclipart", "biased_titles-5w5s5q")
    path = tmp_path / "mine.parquet"
    recorded(info, np.full(600, 12)).write(path)
    common = ["plot", "ladder", str(path), "--task-set", LADDER]  # one step of it is answered
    printed(*common, "-o", tmp_path / "x.svg")
    caption = (tmp_path / "x.caption.txt").read_text(encoding="utf-8")
    assert "Not shown, without counts by class or with a rule to stop: mine" in caption
    result = invoke(*common, "--method=mine", "-o", tmp_path / "y.svg")
    assert result.exit_code == 2
    assert "which classes it answers rightly" in result.output


@pytest.mark.parametrize(
    "content",
    [
        SWEEP | {"rows": []},
        SWEEP | {"rows": [{"query": 1, "tasks": None, "observed": 1.0, "model": 1.0}]},
        SWEEP | {"rows": [{"query": 1, "tasks": 5, "observed": float("nan"), "model": 1.0}]},
        SWEEP | {"level": "high"},
        {},
        [],
    ],
)
def test_files_that_are_no_sweeps(tmp_path, content):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(content))
    with pytest.raises(SubmissionError, match="no sweep"):
        sweep_queries([path])
    paths = [tmp_path / f"{name}.json" for name in "ab"]  # two of the same have two names
    for path in paths:
        path.write_text(json.dumps(SWEEP))
    assert len({row["sweep"] for row in sweep_queries(paths).rows}) == 2


@pytest.mark.parametrize(
    ("colours", "alpha", "mode"),
    [(1, 255, "P"), (3, 255, "P"), (256, 255, "P"), (257, 255, "RGBA"), (3, 7, "RGBA")],
)
def test_the_pixels_are_the_same(colours, alpha, mode):
    image = pytest.importorskip("PIL.Image", reason="needs pillow, of the extra `report`")
    palette = np.random.default_rng(0).choice(1 << 24, colours, replace=False)
    words = palette[np.arange(60 * 80).reshape(60, 80) % colours].astype("<u4") | 0xFF000000
    pixels = words.astype("<u4").view(np.uint8).reshape(60, 80, 4)
    pixels[5, 5, 3] = alpha
    file = io.BytesIO()
    image.fromarray(pixels).save(file, format="PNG", compress_level=1)
    after = packed(file.getvalue())
    shown = image.open(io.BytesIO(after))
    assert shown.mode == mode
    assert np.array_equal(np.asarray(shown.convert("RGBA")), pixels)
    assert mode == "RGBA" or len(after) < len(file.getvalue())


DIGITS = {"datasets": "digits", "task_sets": "open-5w5s5q"}
CHOSEN = ["--dataset", "digits", "--task-set", "open-5w5s5q"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "three.parquet"
    INPUTS["three.parquet"](path)
    return path


@pytest.mark.slow
def test_a_drawing_is_what_the_command_draws(path, tmp_path):
    drawn, written = tmp_path / "command.svg", tmp_path / "python.svg"
    printed("plot", "forest", str(path), *CHOSEN, "-o", str(drawn))
    drawing = fb.plot("forest", fb.Submission.read(path), **DIGITS, path=written)
    assert written.read_bytes() == drawn.read_bytes()
    assert drawing._repr_svg_() == drawing.svg == written.read_text()
    assert 'width="486"' in drawing.svg
    assert "<script" not in drawing.svg
    assert repr(drawing).startswith("<Drawing forest: ")
    frame = fb.Submission.read(path).to_arrow()
    assert fb.plot("forest", frame, **DIGITS).figure == drawing.figure
    fb.plot("accuracies", frame, **DIGITS, width="column").write(tmp_path / "one.pdf")
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_a_forest_of_several_task_sets_has_the_comparisons_of_score(root, path, tmp_path):
    sets = "digits/closed-5w1s1q", "digits/closed-5w5s5q", "digits/closed-5w10s7q"
    best = zip(sets, ("pixels/LR", "pixels/NCC", "pixels/LR"), strict=True)
    labels = [row["label"] for row in fb.plot("forest", root / EXAMPLE).figure.rows]
    assert labels == [f"{task_set}: {versus}" for task_set, versus in best]
    drawn = fb.plot("forest", path).figure.rows
    assert {row["subject"] for row in drawn} == {"clip/A"}
    assert [row["versus"] for row in drawn] == ["clip/B", "net|C"] * 2
    INPUTS["twelve.parquet"](many := tmp_path / "twelve.parquet")
    with pytest.raises(SubmissionError, match="comparisons on 63 task sets"):
        fb.plot("forest", many)
    assert "At most 30 are shown." in fb.score(many)._repr_html_()


@pytest.mark.slow
def test_a_drawing_whatever_altair_is_set_to():
    import altair

    drawing = fb.plot("accuracies", **DIGITS)
    as_usual = drawing.svg
    with altair.data_transformers.enable("vegafusion"):
        assert drawing.svg == as_usual


def test_what_cannot_be_drawn_is_refused(tmp_path):
    nowhere = tmp_path / "there is none.parquet"
    assert invoke("plot", "forest", nowhere, "--width", "20", "-o", "x.svg").exit_code == 2
    with pytest.raises(UnknownNameError, match="figure 'pie'"):
        fb.plot("pie", nowhere)
    with pytest.raises(OutputError, match="names no format of a figure"):
        fb.plot("forest", nowhere, path="x.gif")
    with pytest.raises(SpecError, match="no width '3 columns'"):
        fb.plot("forest", nowhere, width="3 columns")


def test_the_page_is_what_the_command_writes_and_a_frame_is_named_file(path, tmp_path):
    printed("report", str(path), *CHOSEN, "-o", str(tmp_path / "command"))
    page = fb.report_page(path, tmp_path / "python", **DIGITS)
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
    page = fb.report_page(fb.Submission.read(path).to_arrow(), **DIGITS)
    (content,) = re.findall('id="content">(.*?)</script>', page.text)
    assert json.loads(gzip.decompress(base64.b64decode(content)))["arguments"] == "FILE"


@pytest.mark.slow
def test_submissions_frames_and_files_are_compared(path):
    submission = fb.Submission.read(path)
    first = submission.table.column("method")[0].as_py()
    versus = "pixels/NCC"
    by_file = fb.compare(f"{path}::{first}", versus, **DIGITS)
    rows = submission.table.column("method").to_pylist()
    some = [number for number, name in enumerate(rows) if name == first]
    bare = submission.to_arrow().take(some).replace_schema_metadata(None)
    assert fb.compare(bare, versus, **DIGITS) == by_file
    assert fb.compare(fb.Submission.from_frame(bare), versus, **DIGITS) == by_file
    again = fb.compare(bare, bare, **DIGITS)
    assert {(c.method, c.versus) for c in again.comparisons} == {(f"{first} (A)", f"{first} (B)")}
    with pytest.raises(SubmissionError, match="the frame, pixels/NCC hold 4 methods"):
        fb.compare(submission.to_arrow(), versus)
