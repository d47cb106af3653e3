"""The summary as people read it: at most thirty lines, at any width, and no number is cut."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_inputs import (
    answers,
    bare,
    joined,
    prefix,
    runs,
    stopped,
    three,
    twelve,
    unbound,
    write,
)
from rich.cells import cell_len

import fslbench_data as fb
from fslbench_data.render.console import SCREEN_LINES, page, shortened
from fslbench_data.render.summary_text import print_summary, report_text, summary_paper
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.summary import summarize
from fslbench_data.tasks import TaskSetInfo

PCA = "efficientnet_lite0-pca128"


def _of(infos: list[TaskSetInfo], names: list[str], path: Path, **about: Any) -> Path:
    """Write made-up answers of methods on task sets."""
    parts = [
        bare(answers(name, info.dataset, str(info.name), 0.5 + 0.4 * number / len(names)))
        for info in infos
        for number, name in enumerate(names)
    ]
    write(path, joined(parts), about)
    return path


def _sets(release: fb.Release, *suites: str) -> list[TaskSetInfo]:
    return [info for info in release.task_sets if info.name.suite in suites]


REFERENCES_ON = ("digits", "fashion_mnist", "openclipart")
NAMES = (
    "example", "every set", "published", "many", "long", "wide", "one wide", "three", "runs",
    "prefix", "stopped", "twelve", "unbound", "references",
)  # fmt: skip


@pytest.fixture(scope="module")
def reports(embedded, root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """On files of every shape, as small as shows what is too much for thirty lines."""
    folder = tmp_path_factory.mktemp("files")
    small = [i for i in embedded.task_sets if i.n_tasks <= 300 and i.name.suite != "pooled"]
    wide = ["測試" * 30 + f"/頭{i}" for i in range(20)]
    long = [f"{'x' * 120}-{i}/{'head' * 15}" for i in range(35)]
    published = _sets(embedded, "published")
    of_photos = [
        info for info in embedded.task_sets
        if info.dataset in ("groceries", "openclipart") and info in small
    ]  # fmt: skip
    open_digits = [i for i in _sets(embedded, "open") if i.dataset == "digits"]
    for make in (three, runs, prefix, stopped, twelve):
        make(folder / f"{make.__name__}.parquet")
    unbound(folder / "unbound.csv")
    files = {
        "example": root / "examples/my_results.parquet",
        "every set": _of(of_photos, [f"{PCA}/mine"], folder / "every.parquet"),
        "published": _of(published[:8], [f"n{i}/h" for i in range(5)], folder / "all.parquet"),
        "many": _of(open_digits[2:3], [f"m{i}" for i in range(60)], folder / "many.parquet"),
        "long": _of(open_digits, long, folder / "long.parquet"),
        "wide": _of(small[:30:3], wide, folder / "wide.parquet"),
        "one wide": _of(small[::2], wide[:1], folder / "one.parquet"),
        **{name: folder / f"{name}.parquet" for name in ("three", "runs", "prefix", "stopped")},
        "twelve": folder / "twelve.parquet",
        "unbound": folder / "unbound.csv",
        "references": None,
    }  # fmt: skip
    assert set(files) == {*NAMES}
    return {
        name: fb.score(path, embedded, datasets=() if path else REFERENCES_ON, allow_unbound=True)
        for name, path in files.items()
    }


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
@pytest.mark.parametrize("name", NAMES)
def test_whatever_the_file_it_has_at_most_thirty_lines(
    reports: dict[str, Report], name: str
) -> None:
    report = reports[name]
    numbers = _numbers(report)
    for width in (40, 57, 80, 100, 140, 200):
        *lines, signature = _at(report, width)
        assert signature == report.signature.short
        assert max(map(cell_len, lines)) <= width
        assert len(lines) < SCREEN_LINES or width < 80
        found = [n for line in lines for n in NUMBER.findall(line) if "±" in n]
        assert {*found} <= numbers
        assert found or width < 80 or name == "stopped"  # whose ordinary intervals do not hold
    assert str(report) == report_text(report)


def _words(report: Report) -> str:
    return " ".join(report_text(report).split())


def _mine(embedded: fb.Release, name: str, shift: int, dataset: str = "groceries") -> fb.Submission:
    """A reference method's counts, a little better on some tasks, on photos in superclasses."""
    recorder = fb.Recorder(name, backbone=PCA)
    reference = dict(zip(embedded.methods, embedded.references(), strict=True))[f"{PCA}/NCC"]
    info = embedded.task_set_info(dataset, "closed-5w5s5q")
    correct = reference.on([info]).table.column("n_correct").to_numpy()
    moved = np.minimum(correct + (np.arange(correct.size) % shift == 0), info.protocol.n_query)
    recorder.add_counts(info, moved)
    return recorder.submission()


def test_long_features_are_said_once_and_what_is_not_counted_is_marked(embedded) -> None:
    report = fb.score(_mine(embedded, f"{PCA}/mine", 3), embedded)
    words = _words(report)
    assert words.startswith("mine against 3 methods, corrected for 3 comparisons (Holm):")
    assert f"names without a slash: on the features {PCA}" in words
    (row,) = summarize(report).rows
    best = row.shown[-1].versus
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


def test_new_superclasses_are_counted_where_there_are_enough_of_them(embedded) -> None:
    def notes(dataset: str) -> tuple[str, Any]:
        summary = summarize(fb.score(_mine(embedded, f"{PCA}/mine", 3, dataset), embedded))
        (table,), _, _ = summary_paper(summary)
        return " ".join(table.notes), summary.rows[0]

    said, row = notes("openclipart")
    verdicts = [comparison.intervals["superclasses"].verdict for comparison in row.compared]
    found = sum(verdict in ("+", "-") for verdict in verdicts)
    assert f"new superclasses: significant in {found} of {len(verdicts)} comparisons" in said
    assert found
    assert "new superclasses" not in notes("groceries")[0]


def test_it_says_how_to_list_what_it_counts(embedded, example) -> None:
    every = summarize(fb.score(example, embedded))
    words = _words(fb.score(example, embedded))
    assert "more: all 9 comparisons and 3 more task sets (--details)" in words
    named = {c.versus for row in every.rows for c in row.compared}
    report = fb.score(example, embedded, against=sorted(named))
    listed = summarize(report)
    assert [row.compared for row in every.rows] == [row.compared for row in listed.rows]
    assert [row.shown for row in listed.rows] == [row.compared for row in listed.rows]
    assert "all 9 comparisons" not in _words(report)


def test_names_that_would_be_alike_are_whole(embedded) -> None:
    summary = summarize(fb.score(_mine(embedded, "NCC", 3), embedded))
    (table,), _, _ = summary_paper(summary)
    shown = {c.versus for row in summary.rows for c in row.shown}
    assert {
        table.cells(line)[table.names.index("versus")].split()[0] for line in table.rows
    } == shown
    assert "without a slash" not in " ".join(table.notes)


def test_several_methods_stand_beside_each_other_with_their_marks(embedded) -> None:
    report = fb.score(None, embedded, datasets="digits")
    words = _words(report)
    (column,) = [c for c in summarize(report).columns if c.primary.scored.name.protocol.shot == 10]
    for name, standing in column.by_method.items():
        interval = standing.score.intervals["images"]
        mark = {0: "*", 1: "~", 2: "°", 3: ""}[[*type(standing.mark)].index(standing.mark)]
        assert f"{interval.mean:.2f} ± {interval.halfwidth:.2f}{mark}" in words, name
    assert "(Holm, 1 to 3 pairs a set)" in words
    assert "pixels/LR: highest mean on 2 of 5 data sets and shots" in words


def test_what_holm_loses_is_said(embedded) -> None:
    """Verdicts of the table stand alone, those of the lines above it do not."""
    summary = summarize(fb.score(_mine(embedded, f"{PCA}/mine", 12), embedded))
    lost = any(t.unadjusted > t.better + t.worse for t in summary.tallies)
    (table,), _, _ = summary_paper(summary)
    assert lost == ("not corrected for multiple comparisons" in " ".join(table.notes))


def test_a_method_without_others_has_its_accuracies(embedded, tmp_path: Path) -> None:
    infos = _sets(embedded, "published")[:2]
    path = _of(infos, ["alone"], tmp_path / "alone.parquet")
    words = _words(fb.score(path, embedded))
    assert words.startswith("alone: there is nothing to compare it with.")
    assert all(info.dataset in words for info in infos)
    assert "versus" not in words


@pytest.mark.parametrize("most", [8, 12, 20, 40])
@pytest.mark.parametrize("name", ["short", f"{PCA}/MatchingNet", "a" * 99, "頭" * 50 + "/LR"])
def test_names_are_cut_in_front_of_what_tells_them_apart(name: str, most: int) -> None:
    cut = shortened(name, most)
    assert cell_len(cut) <= most
    assert (cut == name) == (cell_len(name) <= most)
    head = name.rpartition("/")[2]
    if cell_len(head) + 4 <= most:
        assert cut.endswith(head)
