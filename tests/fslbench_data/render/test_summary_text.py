"""The summary as people read it: at most thirty lines, at any width, and no number is cut."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from golden_inputs import INPUTS, answers, bare, joined, write
from recorded import recorded
from rich.cells import cell_len

import fslbench_data as fb
from fslbench_data.render.console import SCREEN_LINES, page, shortened
from fslbench_data.render.summary_text import print_summary, report_text, summary_paper
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.summary import summarize
from fslbench_data.tasks import TaskSetInfo

Infos = list[TaskSetInfo]
PCA = "efficientnet_lite0-pca128"


def _answered(infos: Infos, names: list[str], path: Path) -> None:
    """Write made-up answers of methods on task sets."""
    parts = [
        bare(answers(name, info.dataset, str(info.name), 0.5 + 0.4 * number / len(names)))
        for info in infos
        for number, name in enumerate(names)
    ]
    write(path, joined(parts), {})


LARGE: dict[str, tuple[Callable[[Infos], Infos], list[str]]] = {
    "every set": (
        lambda small: [i for i in small if i.dataset in ("groceries", "openclipart")],
        [f"{PCA}/mine"],
    ),
    "many methods": (
        lambda small: [i for i in small if str(i) == "digits/open-5w10s7q"],
        [f"m{i}" for i in range(60)],
    ),
    "long names": (
        lambda small: [i for i in small if i.dataset == "digits" and i.name.suite == "open"],
        [f"{'x' * 120}-{i}/{'head' * 15}" for i in range(35)],
    ),
    "wide names": (lambda small: small[:30:3], ["測試" * 30 + f"/頭{i}" for i in range(20)]),
}
"""The task sets of less than 300 tasks that are answered, and by which methods."""


def _report(name: str, embedded: fb.Release, path: Path) -> Report:
    if name == "references":
        return fb.score(None, embedded, datasets=("digits", "fashion_mnist", "openclipart"))
    if name in INPUTS:
        INPUTS[name](path / name)
        return fb.score(path / name, embedded, allow_unbound=True)
    wanted, methods = LARGE[name]
    infos = [i for i in embedded.task_sets if i.n_tasks <= 300 and i.name.suite != "pooled"]
    _answered(wanted(infos), methods, path / "large.parquet")
    return fb.score(path / "large.parquet", embedded, allow_unbound=True)


NUMBER = re.compile(r"[+-]?\d+\.\d\d(?: ± \d+\.\d+)?")


def _numbers(report: Report) -> set[str]:
    """Means and half-widths that may stand in a report's tables, as they are written."""
    (table,), _, _ = summary_paper(summarize(report))
    return {n for row in table.rows for text in table.texts(row) for n in NUMBER.findall(text)}


def _at(report: Report, width: int) -> list[str]:
    with page((width, SCREEN_LINES)) as (console, text):
        print_summary(summarize(report), console)
    return text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [*LARGE, "references", "runs.parquet", "prefix.parquet", "stopped.parquet", "unbound.csv"],
)
def test_whatever_the_file_it_has_at_most_thirty_lines(
    name: str, embedded: fb.Release, tmp_path: Path
) -> None:
    report = _report(name, embedded, tmp_path)
    numbers = _numbers(report)
    for width in (40, 57, 80, 100, 140, 200):
        *lines, signature = _at(report, width)
        assert signature == report.signature.short
        assert max(map(cell_len, lines)) <= width
        assert len(lines) < SCREEN_LINES or width < 80
        found = [n for line in lines for n in NUMBER.findall(line) if "±" in n]
        assert {*found} <= numbers
        # of a stopped run ordinary intervals do not hold
        assert found or width < 80 or name == "stopped.parquet"
    assert str(report) == report_text(report)


def _words(report: Report) -> str:
    return " ".join(report_text(report).split())


def _mine(embedded: fb.Release, name: str, shift: int, dataset: str = "groceries") -> fb.Submission:
    """A reference method's counts, a little better on some tasks, on photos in superclasses."""
    reference = dict(zip(embedded.methods, embedded.references(), strict=True))[f"{PCA}/NCC"]
    info = embedded.task_set_info(dataset, "closed-5w5s5q")
    correct = reference.on([info]).table.column("n_correct").to_numpy()
    moved = np.minimum(correct + (np.arange(correct.size) % shift == 0), info.protocol.n_query)
    return recorded(info, moved, name, backbone=PCA)


def test_long_features_are_said_once_and_what_is_not_counted_is_marked(embedded) -> None:
    report = fb.score(_mine(embedded, f"{PCA}/mine", 3), embedded)
    words = _words(report)
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


def test_names_that_would_be_alike_are_whole(embedded) -> None:
    summary = summarize(fb.score(_mine(embedded, "NCC", 3), embedded))
    (table,), _, _ = summary_paper(summary)
    shown = {c.versus for row in summary.rows for c in row.displayed}
    assert {
        table.cells(line)[table.names.index("versus")].split()[0] for line in table.rows
    } == shown
    assert "without a slash" not in " ".join(table.notes)


@pytest.mark.parametrize("most", [8, 12, 20, 40])
@pytest.mark.parametrize("name", ["short", f"{PCA}/MatchingNet", "a" * 99, "頭" * 50 + "/LR"])
def test_names_are_cut_in_front_of_what_tells_them_apart(name: str, most: int) -> None:
    cut = shortened(name, most)
    assert cell_len(cut) <= most
    assert (cut == name) == (cell_len(name) <= most)
    head = name.rpartition("/")[2]
    if cell_len(head) + 4 <= most:
        assert cut.endswith(head)
