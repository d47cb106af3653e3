"""The answer as people read it: whatever the file, at most forty lines of a hundred characters."""

import re
from collections.abc import Iterator
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
from fslbench_data.render import answer_grid
from fslbench_data.render.answer_format import LINES, WIDTH, answer_paper, report_text
from fslbench_data.render.short_names import folded, shortened
from fslbench_data.scoring.answer import answer
from fslbench_data.scoring.report import Report
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


@pytest.fixture(scope="module")
def files(embedded, root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Files of every shape, and how they are scored."""
    folder = tmp_path_factory.mktemp("files")
    small = [i for i in embedded.task_sets if i.n_tasks <= 300 and i.name.suite != "pooled"]
    wide = ["測試" * 30 + f"/頭{i}" for i in range(20)]
    long = [f"{'x' * 120}-{i}/{'head' * 15}" for i in range(60)]
    published = _sets(embedded, "published")
    of_photos = [
        info for info in embedded.task_sets
        if info.dataset in ("groceries", "openclipart") and info.name.suite != "pooled"
    ]  # fmt: skip
    open_digits = [i for i in _sets(embedded, "open") if i.dataset == "digits"]
    for make in (three, runs, prefix, stopped, twelve):
        make(folder / f"{make.__name__}.parquet")
    unbound(folder / "unbound.csv")
    return {
        "example": root / "examples/my_results.parquet",
        "every set": _of(of_photos, [f"{PCA}/mine"], folder / "every.parquet"),
        "published": _of(published, [f"n{i}/h" for i in range(12)], folder / "published.parquet"),
        "many": _of(open_digits[2:3], [f"m{i}" for i in range(1000)], folder / "many.parquet"),
        "long": _of(open_digits, long, folder / "long.parquet"),
        "wide": _of(small[:30:3], wide, folder / "wide.parquet"),
        "one wide": _of(small[::2], wide[:1], folder / "one.parquet"),
        **{name: folder / f"{name}.parquet" for name in ("three", "runs", "prefix", "stopped")},
        "twelve": folder / "twelve.parquet",
        "unbound": folder / "unbound.csv",
        "references": None,
    }  # fmt: skip


NAMES = (
    "example", "every set", "published", "many", "long", "wide", "one wide", "three", "runs",
    "prefix", "stopped", "twelve", "unbound", "references",
)  # fmt: skip


@pytest.fixture(scope="module")
def reports(embedded, files: dict[str, Any]) -> dict[str, Report]:
    assert set(files) == {*NAMES}
    return {name: fb.score(path, embedded, allow_unbound=True) for name, path in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_whatever_the_file_it_has_at_most_forty_lines(
    reports: dict[str, Report], name: str
) -> None:
    lines = report_text(reports[name]).splitlines()
    assert 8 <= len(lines) <= LINES
    assert max(map(cell_len, lines)) <= WIDTH
    assert lines[-1] == reports[name].signature.short
    assert str(reports[name]) == "".join(f"{line}\n" for line in lines)


def _words(report: Report) -> str:
    return " ".join(report_text(report).split())


def test_one_method_is_told_where_it_is_better_and_by_how_much(embedded, example) -> None:
    report = fb.score(example, embedded)
    words = _words(report)
    assert words.startswith(
        "pixels/Ridge: for new images better than pixels/MatchingNet on digits (5 and 10 shots), "
        "than pixels/NCC and pixels/LR on digits (10 shots), by up to 3.15 points, not told apart "
        "in 5 of 9 comparisons; for new classes no difference is shown."
    )
    row = answer(report).rows[2]
    mean = row.score.intervals["images"]
    assert f"{mean.mean:.2f} ± {mean.halfwidth:.2f} pixels/LR +0.98 ± 0.53 + 0" in words
    alone = "each verdict stands alone: 9 comparisons; Holm over all leaves 4 of 4 differences"
    assert f"{alone} for new images" in words
    assert str(report) == report_text(report)


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
    shown = "mine: for new images better than NCC, MatchingNet and LR on groceries (5 shots)"
    assert words.startswith(shown)
    assert words.count(PCA) == 1
    assert f"names without a slash: on the features {PCA}" in words
    (row,) = answer(report).rows
    best = row.best[-1].versus
    assert best not in {c.versus for c in row.met}
    assert f"{best} ^" in words
    assert "^ the most accurate reference of all: not among the comparisons counted" in words
    assert "alone: 3 comparisons" in words
    assert "groceries: images of one group are left out together" in words
    assert "groceries: new classes of the superclasses seen" in words
    (table,), _, _ = answer_paper(answer(report))
    assert f"names without a slash: on the features {PCA}." in table.notes
    assert [c.versus for c in row.met] == [f"{PCA}/{h}" for h in ("NCC", "MatchingNet", "LR")]


def test_new_superclasses_are_counted_where_there_are_enough_of_them(embedded) -> None:
    report = fb.score(_mine(embedded, f"{PCA}/mine", 3, "openclipart"), embedded)
    (row,) = answer(report).rows
    verdicts = [comparison.intervals["superclasses"].verdict for comparison in row.met]
    shown = sum(verdict in ("+", "-") for verdict in verdicts)
    said = f"new superclasses: shown in {shown} of {len(verdicts)} comparisons (--details)"
    assert said in _words(report)
    assert shown
    few = fb.score(_mine(embedded, f"{PCA}/mine", 3), embedded)
    assert "new superclasses" not in _words(few)


def test_it_says_how_to_list_what_it_counts(embedded, example) -> None:
    every = answer(fb.score(example, embedded))
    words = _words(fb.score(example, embedded))
    (options,) = re.findall(r"all 9 comparisons:((?: --against \S+)+)", words)
    named = options.split()[1::2]
    report = fb.score(example, embedded, against=named)
    listed = answer(report)
    assert [row.met for row in every.rows] == [row.met for row in listed.rows]
    assert [row.best for row in listed.rows] == [row.met for row in listed.rows]
    assert "all 9 comparisons" not in _words(report)


def test_names_that_would_be_alike_are_whole(embedded) -> None:
    words = _words(fb.score(_mine(embedded, "NCC", 3), embedded))
    assert f"{PCA}/NCC" in words
    assert "without a slash" not in words


def test_two_methods_stand_beside_each_other_with_their_marks(embedded) -> None:
    report = fb.score(None, embedded, datasets="digits")
    words = _words(report)
    (column,) = [c for c in answer(report).columns if c.headline.name.protocol.shot == 10]
    for name, standing in column.by_method.items():
        interval = standing.score.intervals["images"]
        mark = {0: "*", 1: "~", 2: "°", 3: ""}[[*type(standing.mark)].index(standing.mark)]
        assert f"{interval.mean:.2f} ± {interval.halfwidth:.2f}{mark}" in words, name
    assert "(Holm, 3 pairs a set)" in words
    assert "pixels/LR: highest mean on digits (10 shots), better than all others" in words


def _kinds(embedded, tmp_path: Path) -> Iterator[tuple[str, Any, str]]:
    for make, said in (
        (prefix, "part: prefix chosen by the submitter; its intervals are shown"),
        (stopped, "‡ run with a rule to stop: its ordinary intervals do not hold"),
        (runs, "several training runs, counted in ± and verdicts: seeded, twice"),
        (three, "† transductive: uses a task's queries together"),
        (unbound, "rests on the word of whoever made them"),
    ):
        path = tmp_path / f"{make.__name__}{'.csv' if make is unbound else '.parquet'}"
        make(path)
        yield make.__name__, fb.score(path, embedded, allow_unbound=True), said


def test_what_must_be_known_is_said(embedded, tmp_path: Path) -> None:
    for name, report, said in _kinds(embedded, tmp_path):
        assert said in _words(report), name
        (table,), signature, _ = answer_paper(answer(report))
        assert said in " ".join(table.notes), name
        assert signature == str(report.signature)


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


@pytest.mark.parametrize("width", [8, 9, 13])
@pytest.mark.parametrize("name", ["new classes", f"{PCA}/MatchingNet (ref.)", "頭" * 50 + "/LR"])
def test_headings_are_folded_to_a_few_lines(name: str, width: int) -> None:
    lines = folded(name, width).splitlines()
    assert len(lines) <= 4
    assert max(map(cell_len, lines)) <= width
    if "…" not in "".join(lines):
        assert "".join(lines).replace(" ", "") == name.replace(" ", "")


def test_numbers_of_random_widths_never_make_the_table_too_wide(embedded, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    infos = _sets(embedded, "open")
    for number in range(3):
        names = ["n" * int(rng.integers(1, 90)) + str(i) for i in range(int(rng.integers(1, 6)))]
        path = _of(infos[: int(rng.integers(1, 9))], names, tmp_path / f"{number}.parquet")
        lines = report_text(fb.score(path, embedded)).splitlines()
        assert len(lines) <= LINES
        assert max(map(cell_len, lines)) <= WIDTH


def test_of_many_methods_only_those_are_measured_that_a_line_can_hold(
    embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = 0
    short_cell = answer_grid._short_cell

    def count(*of: Any) -> str:
        nonlocal measured
        measured += 1
        return short_cell(*of)

    infos = [i for i in _sets(embedded, "published") if i.n_tasks < 30][:6]
    found = answer(fb.score(_of(infos, [f"m{i}" for i in range(40)], tmp_path / "many.parquet")))
    monkeypatch.setattr(answer_grid, "_short_cell", count)
    answer_grid.fitted_grid(found, 20, 30)
    assert 0 < measured < 1500
