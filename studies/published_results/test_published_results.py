"""The page on the published results holds what its commands print."""

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import fslbench_data as fb
import fslbench_data.cli
from fslbench_data.scoring.report import verdict_counts

NEW_CLASSES, NEW_SUPERCLASSES = "new classes (disjoint tasks)", "new superclasses (disjoint tasks)"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "studies/published_results/README.md").read_text(encoding="utf-8")


def _summary(path: str, form: str) -> str:
    shown = ["score", path, "--counts", "--format", form]
    return CliRunner().invoke(fslbench_data.cli.main, shown).stdout


def test_the_page_is_what_the_commands_print(published: str, page: str) -> None:
    _, table = _summary(published, "markdown").split("-->\n\n", 1)
    assert table in page


def test_superclasses_are_summed_by_data_set(published: str, page: str) -> None:
    sums: dict[str, Counter[str]] = {}
    for row in json.loads(_summary(published, "json"))["rows"]:
        dataset = row["task set"].partition("/")[0]
        if dataset != "all" and row[NEW_SUPERCLASSES] is not None:
            numbers = {key: row[key] for key in ("comparisons", NEW_CLASSES, NEW_SUPERCLASSES)}
            sums.setdefault(dataset, Counter()).update(numbers)
    assert list(sums) == ["fungi", "omniglot", "traffic_signs"]
    sums["all"] = sum(sums.values(), Counter())
    section = page.split("## New superclasses\n", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines()]
    assert {row[0]: row[2:] for row in rows if row and row[0] in sums} == {
        dataset: [str(number) for number in numbers.values()] for dataset, numbers in sums.items()
    }


def test_the_counts_are_those_of_the_figure(published: str, page: str) -> None:
    figure = fb.plot("conclusive", published).figure
    rows = {row["kind"]: row["shown"].split(" of ") for row in figure.rows}
    assert len(rows) == 4
    for kind, (number, total) in rows.items():
        assert f"| {kind} | {number} | {total} | {100 * int(number) / int(total):.0f} |" in page


def test_what_is_said_of_data_sets_follows_from_the_table(page: str) -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    sets = {
        row[0].replace("\\", ""): row for row in rows if len(row) == 8 and "published" in row[0]
    }
    assert len(sets) == 27

    def lost(dataset: str, *protocols: str) -> float:
        own = [
            row
            for name, row in sets.items()
            if name.startswith(dataset) and (not protocols or name.endswith(protocols))
        ]
        images, classes = (sum(int(row[i]) for row in own) for i in (3, 4))
        return 1 - classes / images

    assert 0.25 < lost("") < 0.35  # three in ten
    assert sum(int(row[4]) for name, row in sets.items() if name.startswith("dtd/")) == 3
    assert lost("vgg_flower/", "5w5s5q", "5w10s7q") == 1
    assert 0.35 < lost("aircraft/") < 0.45
    assert 0.45 < lost("traffic_signs/") < 0.55
    assert max(lost("fungi/"), lost("omniglot/")) < 0.06


def test_the_verdicts_of_the_reference_methods_are_those_on_the_page(page: str) -> None:
    report = fb.score(datasets="groceries", task_sets="open-5w5s5q")
    counts = {kind: n.conclusive for kind, n in verdict_counts(report.sets).items()}
    found = [counts[kind] for kind in ("closed", "direct", "paired", NEW_CLASSES)]
    assert found == [51, 0, 13, 0]
    assert "of 120 comparisons closed error bars call 51 conclusive, error bars none" in page


def test_the_figure_of_two_methods_is_described(published: str, root: Path) -> None:
    names = ("dino/NCC", "clip/NCC")
    chosen = {"datasets": "cub", "task_sets": "published-5w5s5q"}
    said = fb.plot("scatter", published, methods=names, **chosen).figure.caption
    text = (root / "studies/paper_figures/README.md").read_text(encoding="utf-8")
    assert "Pearson's r = 0.33." in said
    assert "minus clip/NCC: -6.67 ± 2.62 " in said
    assert "T = 33 tasks" in said
    assert "r is 0.33 over these 33 tasks, and the difference -6.67 ± 2.62 points" in text
