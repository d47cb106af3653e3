"""README and docs say what is so."""

import importlib
import json
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from comparing import assert_same_picture
from golden_commands import REGENERATE
from pages import blocks, follow

import fslbench_data as fb
from benchmark_spec import errors
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.render.figures import KINDS
from fslbench_data.scoring.reported import SHARES, reported

ROOT = Path(__file__).parents[1]
DOCS, PAGE = ROOT / "docs", ROOT / "README.md"
README, WHY, REPORTED = (
    path.read_text(encoding="utf-8") for path in (PAGE, DOCS / "why.md", DOCS / "reported.md")
)


def test_the_front_page_is_short() -> None:
    assert len(README.splitlines()) <= 90


def test_it_begins_with_the_three_intervals_of_its_own_example() -> None:
    """Text, picture and printed output are one method's, of one run."""
    shown = [block.content for block in blocks(PAGE) if block.language == "text"]
    mean, usual, images, classes = re.findall(r"[\d.]+", shown[1].splitlines()[1])
    line = f"**{mean} ± {usual} as papers print it, ± {images} for new images, ± {classes} for new"
    assert line in README
    (alternative,) = re.findall(r"!\[(.*)\]\(docs/four_intervals.svg\)", README)
    said = [f"{mean} ± {half}" for half in (usual, images, classes)]
    assert re.findall(r"[\d.]+ ± [\d.]+", alternative)[:3] == said
    assert f"![{alternative}](four_intervals.svg)" in WHY


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
    named = {*re.findall(r"\b[A-Z]\w+Error\b", (root / "docs/submissions.md").read_text("utf-8"))}
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
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")]
    pages += [*DOCS.glob("*.md"), *(root / "studies").rglob("*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    notebook = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = ("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    texts[DOCS / "notebook.ipynb"] = "\n".join(cells)
    for page, text in texts.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        links = re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", prose)
        assert links or page.suffix == ".md"
        for link, anchor in links:
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
        if REGENERATE:
            shutil.copy(drawn, kept)
        assert kept.stat().st_size < 80_000
        assert_same_picture(drawn, kept)


def test_the_page_of_reported_results_shows_what_the_command_prints() -> None:
    before, mark, after = REPORTED.partition("<!-- reported -->\n```text\n")
    command = before.rpartition("```sh\n")[2].partition("\n```")[0]
    printed = CliRunner(env={"COLUMNS": "88"}).invoke(main, shlex.split(command)[1:]).stdout
    shown, end, rest = after.partition("```")
    if REGENERATE:
        (DOCS / "reported.md").write_text(before + mark + printed + end + rest, "utf-8")
    else:
        assert shown == printed


def test_the_page_of_reported_results_has_the_shares() -> None:
    rows = re.findall(r"\| (\d+) \| (\d+) \| (0\.\d\d) \| (0\.\d\d) \|", REPORTED)
    assert {(int(s), int(q)): (float(i), float(c)) for s, q, i, c in rows} == SHARES


def test_how_many_differences_survive_in_a_printed_table(root: Path) -> None:
    table = root / "studies/reported/fewstab_random.csv"
    pairs = reported(table, ways=5, queries=15, tasks=3000).differences
    assert len(pairs) == 270
    tasks, images, classes = (
        sum(getattr(p, kind) for p in pairs) for kind in ("tasks", "images", "classes")
    )
    said = f"{tasks} are significant for other tasks, {images} for new images, and {classes} for"
    assert f"{said} new classes" in " ".join(REPORTED.split())


REUSED, DISJOINT = "closed-5w10s7q", "open-5w10s7q"


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("draw_four_intervals")


def test_the_picture_is_what_its_script_draws(drawing: Any) -> None:
    answers = drawing.answers()
    drawn = (DOCS / "four_intervals.svg").read_text(encoding="utf-8")
    assert drawn == drawing.draw(answers), "draw it again: python docs/draw_four_intervals.py"
    assert f"![{drawing.alternative(answers)}](four_intervals.svg)" in WHY
    rows = re.findall(r"\((?:the same )?(\d+) tasks\) \| (\d\S+ ± \S+) \|", WHY)
    assert rows == [(str(answer.tasks), str(answer)) for answer in answers]


def test_an_interval_beyond_the_axis_is_not_drawn(drawing, monkeypatch) -> None:
    monkeypatch.setattr(drawing, "LOW", 86)
    with pytest.raises(ValueError, match=r"91\.72 ± 6\.54 reaches beyond the axis from 86 to 100"):
        drawing.answers()


def test_how_many_comparisons_are_conclusive() -> None:
    report = fb.score(datasets="groceries", task_sets=[REUSED, DISJOINT])
    pairs = {
        name: [pair for pair in report.comparisons if pair.task_set == name]
        for name in (REUSED, DISJOINT)
    }
    assert [*map(len, pairs.values())] == [105, 105]

    def claimed(name: str, kind: str) -> set[int]:
        of_pairs = enumerate(pair.intervals[kind].verdict for pair in pairs[name])
        return {position for position, verdict in of_pairs if verdict in "+-"}

    habit = {i for i, pair in enumerate(pairs[REUSED]) if pair.verdict_direct in "+-"}
    closed, images, classes = (claimed(REUSED, kind) for kind in ("closed", "images", "classes"))
    opened, aware = (len(claimed(DISJOINT, kind)) for kind in ("open", "class-aware"))
    for row, numbers in (
        ("two usual intervals", [len(habit)]),
        ("the usual interval of the difference", [len(closed)]),
        ("new photos", [len(images)]),
        ("new classes", [len(classes)]),
        ("for comparison", [opened, aware]),
    ):
        (cells,) = re.findall(rf"^\| {row}[^|]*\| ([^|]*) \|$", WHY, flags=re.MULTILINE)
        assert [*map(int, re.findall(r"\d+", cells))] == numbers
    text = " ".join(WHY.split())
    assert f"comparisons of 15 methods {opened} are significant" in text
    assert f"Of the {len(closed)} claims of the usual interval about half" in text
    assert abs(len(closed & images) / len(closed) - 0.5) < 0.05
    lost = f"Of the {len(habit)} claims by non-overlapping intervals {len(habit - images)} are not,"
    assert f"{lost} and {len(habit - classes)} are not significant for new classes" in text


def test_queries_with_another_photo_of_their_burst(embedded: Release) -> None:
    group = embedded.images("groceries")["group"].to_numpy()
    tasks = embedded.task_set("groceries", REUSED)
    shown = zip(tasks.support, tasks.query, strict=True)
    share = np.mean([np.isin(group[query], group[support]) for support, query in shown])
    assert f"{100 * share:.0f} % of the queries" in " ".join(WHY.split())
