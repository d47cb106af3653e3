"""README and docs say what is so."""

import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest
from comparing import assert_same_picture
from pages import blocks, follow

from benchmark_spec import errors
from fslbench_data.release.release import Release
from fslbench_data.render.figures import KINDS

PAGE = Path(__file__).parents[1] / "README.md"


README = PAGE.read_text(encoding="utf-8")


def test_the_front_page_is_short() -> None:
    assert len(README.splitlines()) <= 90


def test_it_begins_with_the_three_intervals_of_its_own_example(root: Path) -> None:
    """Text, picture and printed output are one method's, of one run."""
    shown = [block.content for block in blocks(PAGE) if block.language == "text"]
    mean, usual, images, classes = re.findall(r"[\d.]+", shown[1].splitlines()[1])
    line = f"**{mean} ± {usual} as papers print it, ± {images} for new images, ± {classes} for new"
    assert line in README
    (alternative,) = re.findall(r"!\[(.*)\]\(docs/four_intervals.svg\)", README)
    said = [f"{mean} ± {half}" for half in (usual, images, classes)]
    assert re.findall(r"[\d.]+ ± [\d.]+", alternative)[:3] == said
    assert f"![{alternative}](four_intervals.svg)" in (root / "docs/why.md").read_text("utf-8")


@pytest.mark.slow
def test_its_commands_run_in_the_order_given(root: Path, tmp_path: Path) -> None:
    """From top to bottom in one folder; CI does the same in the environment that it makes."""
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    shutil.copytree(root / "examples", tmp_path / "examples")
    programs = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    printed = follow(PAGE, tmp_path, programs)
    assert sum(line.startswith("fslbench ") for line in printed) >= 6
    shown = [block.content for block in blocks(PAGE) if block.language == "text"]
    assert shown[1] in printed["python own_tasks.py"]
    made = {"my_method.parquet", "table.tex", "forest.pdf", "page"}
    assert made <= {path.name for path in tmp_path.iterdir()}


def test_the_two_commands_stand_where_ci_looks_for_them() -> None:
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    assert len(commands) == 2
    assert commands[0].endswith("score examples/my_results.parquet")
    assert commands[1].endswith("pytest -n auto --dist loadfile")


def test_numbers_of_tasks_in_the_readme(embedded: Release) -> None:
    tasks = [s.n_tasks for s in embedded.task_sets if s.name.suite == "open"]
    assert f"too few images are left: {min(tasks)} to {max(tasks)} tasks" in README


def test_every_error_in_the_docs_exists(root: Path) -> None:
    text = (root / "docs/submissions.md").read_text(encoding="utf-8")
    named = {*re.findall(r"\b[A-Z]\w+Error\b", text)}
    there = {name: each for name, each in vars(errors).items() if isinstance(each, type)}
    assert named <= {*there}
    family = {name for name, each in there.items() if issubclass(each, errors.SubmissionError)}
    assert family - named == {"SubmissionError"}  # the family's head


def _anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_links_lead_somewhere(root: Path) -> None:
    for page in (
        *(root / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
        *(root / "docs").glob("*.md"),
        *(root / "studies").rglob("*.md"),
    ):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
            if not link.startswith("http"):
                target = page.parent / link if link else page
                assert target.exists(), (page, link)
                if anchor and target.suffix == ".md":
                    assert anchor in _anchors(target), (page, link, anchor)


@pytest.mark.slow
def test_the_gallery_is_what_its_script_draws(root: Path, tmp_path: Path) -> None:
    """Whatever fonts the machine has."""
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    gallery = runpy.run_path(str(root / "docs/draw_gallery.py"))
    page = (root / "docs/figures.md").read_text(encoding="utf-8")
    names = {*gallery["commands"]()}
    assert names == {*re.findall(r"\]\(pictures/(\w+)\.png\)", page)}
    assert names | {"queries"} == {*KINDS}
    for name in names:
        kept = root / f"docs/pictures/{name}.png"
        drawn = gallery["draw"](name, tmp_path)
        if "FSLBENCH_REGENERATE" in os.environ:
            shutil.copy(drawn, kept)
        assert kept.stat().st_size < 80_000
        assert_same_picture(drawn, kept)
