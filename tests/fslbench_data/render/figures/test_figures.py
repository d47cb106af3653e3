"""Figures: how wide and tall they are, their fonts and files, and what is no figure."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from commands import invoke, printed
from recorded import recorded

from benchmark_spec.errors import SubmissionError
from fslbench_data.release.release import Release
from fslbench_data.render.figures.rows import queries as sweep_queries

pytest.importorskip("vl_convert", reason="needs the extra `report`")

EXAMPLE = "examples/my_results.parquet"
LADDER = "ladder_titles-5w5s5q"
TWO = ["--method", "efficientnet_lite0/LR", "--method", "efficientnet_lite0/NCC"]
COMMANDS: dict[str, list[str]] = {
    "forest": [EXAMPLE, "--task-set", "open-5w10s7q"],
    "accuracies": ["--dataset", "groceries", "--task-set", "open-5w5s5q"],
    "means": ["--dataset", "emoji", "--dataset", "glyphs_sample", "--task-set", "open-5w5s5q"],
    "scatter": ["--dataset", "groceries", "--task-set", "closed-5w5s5q", *TWO],
    "queries": ["--sweep", "SWEEP"],
    "ladder": ["--dataset", "openclipart", "--task-set", LADDER, *TWO],
    "worst": ["--dataset", "openclipart", "--task-set", LADDER, *TWO],
    "conclusive": ["--dataset", "groceries"],
}
SWEEP = {
    "dataset": "digits", "method": "pixels/NCC", "way": 5, "shot": 5, "seeds": 20, "level": 0.95,
    "rows": [
        {"query": q, "tasks": 60.0 - q, "observed": 3.0 + 0.1 * q, "model": 3.1} for q in (1, 2, 3)
    ],
}  # fmt: skip


def _plot(root: Path, kind: str, path: Path, *more: str) -> Result:
    sweep = path.with_name("sweep.json")
    sweep.write_text(json.dumps(SWEEP))
    given = {EXAMPLE: str(root / EXAMPLE), "SWEEP": str(sweep)}
    command = [given.get(part, part) for part in COMMANDS[kind]]
    return invoke("plot", kind, *command, *more, "-o", path)


SLOW = ("accuracies", "ladder", "worst")


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        *(pytest.param(k, "1", marks=[pytest.mark.slow] * (k in SLOW)) for k in COMMANDS),
        ("forest", "2"),
        ("scatter", "2"),
    ],
)
def test_a_figure_fits_its_columns_and_brings_its_font(
    root: Path, tmp_path: Path, kind: str, columns: str
) -> None:
    path = tmp_path / "figure.svg"
    result = _plot(root, kind, path, "--columns", columns)
    assert result.exit_code == 0, result.output
    svg = path.read_text()
    (width,) = re.findall(r'<svg[^>]* width="([\d.]+)"', svg)
    assert float(width) <= {"1": 235, "2": 487}[columns]
    assert svg.count("@font-face") == 2
    families = set(re.findall('font-family="([^"]*)"', svg))
    assert families == {"FSLBench Sans, Helvetica, Arial, sans-serif"}


@pytest.mark.slow
def test_a_pdf_has_its_text_as_text(root: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("width", [202, 244])
def test_a_figure_is_as_wide_as_a_column(root: Path, tmp_path: Path, width: int) -> None:
    path = tmp_path / "figure.svg"
    assert _plot(root, "scatter", path, "--width", str(width)).exit_code == 0
    size = re.search(r'<svg[^>]* width="([\d.]+)"', path.read_text())
    assert size is not None
    assert width - 3 <= float(size[1]) <= width + 1
    assert _plot(root, "scatter", tmp_path / "x.svg", "--width", "20").exit_code == 2


def test_a_figure_that_is_taller_than_a_page_says_so(root: Path, tmp_path: Path) -> None:
    for name, told in (("groceries", True), ("digits", False)):
        figure = ["forest", "--dataset", name, "--task-set", "pooled-5w1s1q"]
        made = invoke("plot", *figure, "-o", tmp_path / f"{name}.svg")
        assert made.exit_code == 0, made.output
        assert ("points tall, a page has about 640" in made.stderr) is told


def test_a_png_has_300_dots_an_inch(root: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs pillow, of the extra `builders`")
    path = tmp_path / "figure.png"
    assert _plot(root, "forest", path, "--columns", "1").exit_code == 0
    shown = image.open(path)
    assert abs(shown.width - 3.25 * 300) < 8
    assert shown.info["dpi"] == pytest.approx((300, 300), abs=0.1)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, root: Path, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    result = _plot(root, "forest", tmp_path / "x.svg")
    assert result.exit_code == 2
    assert "the package 'altair' is not installed" in result.output
    assert "[report]" in result.output


@pytest.mark.slow
def test_ladders_without_counts_by_class(embedded: Release, tmp_path: Path) -> None:
    info = embedded.task_set_info("openclipart", "biased_titles-5w5s5q")
    path = tmp_path / "mine.parquet"
    recorded(info, np.full(600, 12)).write(path)
    common = ["plot", "ladder", str(path), "--task-set", LADDER]  # one step of it is answered
    printed(*common, "-o", tmp_path / "x.svg")
    caption = (tmp_path / "x.caption.txt").read_text(encoding="utf-8")
    assert "Not shown, without counts by class: mine" in caption
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
def test_files_that_are_no_sweeps(tmp_path: Path, content: object) -> None:
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(content))
    with pytest.raises(SubmissionError, match="no sweep"):
        sweep_queries([path])


def test_two_sweeps_of_the_same_have_two_names(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.json" for name in "ab"]
    for path in paths:
        path.write_text(json.dumps(SWEEP))
    figure = sweep_queries(paths)
    assert len({row["sweep"] for row in figure.rows}) == 2
