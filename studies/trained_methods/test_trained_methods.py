"""Trained methods: the tables of the page are what is printed of the answers that are kept."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from fslbench_data.release.release import load_release
from fslbench_data.scoring.bias import bias
from fslbench_data.scoring.score import score
from fslbench_data.scoring.selection import Selection
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission

PAGE = "studies/trained_methods/README.md"


@pytest.fixture
def trained() -> ModuleType:
    """What prints the tables."""
    return import_module("studies.trained_methods.__main__")


@pytest.mark.slow
def test_the_rows_of_a_method_are_those_of_the_page(root: Path, trained: ModuleType) -> None:
    """Of ProtoNet's own answers; ``python -m studies.checks printed_pages`` has all tables."""
    page = (root / PAGE).read_text(encoding="utf-8").splitlines()
    release = load_release(trained.RELEASE)
    paths = sorted(trained.RESULTS.glob("ProtoNet-*.parquet"))
    answers = merge([Submission.read(path) for path in paths])
    report = score(answers, release, task_sets=trained.OPEN)
    steps = [f"{step}_style-3w5s15q" for step in ("random", *trained.STEPS)]
    (ladder,) = bias(answers, release, Selection.of(task_sets=steps)).ladders
    tables = (
        trained.brought_rows(report),
        trained.seed_rows(answers),
        trained.head_rows(report),
        trained.open_shot_rows(report),
        trained.paper_rows(ladder),
        trained.step_rows(ladder),
        trained.shot_rows(ladder),
    )
    for rows in tables:
        (cells,) = rows
        assert f"| {' | '.join(cells)} |" in page
    for cells in trained.training_rows():
        assert f"| {' | '.join(cells)} |" in page


@pytest.mark.slow
def test_every_answer_is_of_a_training_that_is_kept(root: Path) -> None:
    """Names of files, runs and methods agree, and the settings are those of the run's file."""
    folder = root / "studies/trained_methods"
    for path in sorted((folder / "results").glob("*.parquet")):
        name, _, seed = path.stem.rpartition("-")
        table = pq.read_table(path, columns=["method", "run"])
        assert set(table["run"].to_pylist()) == {seed}
        methods = set(table["method"].to_pylist())
        network, _, kind = name.rpartition("-")
        if kind in ("heads", "FT", "means"):
            heads = {"heads": ("NCC", "MatchingNet", "LR"), "FT": ("FT",), "means": ("NCC",)}[kind]
            maps = name if kind == "means" else network
            assert methods == {f"{maps}/{head}" for head in heads}
        else:
            assert methods == {name}
            network = name.replace("-untrained", "-5w5s")
        about = json.loads((folder / "trainings" / f"{network}-{seed}/trained.json").read_text())
        described = about["settings"]
        assert described["seed"] == int(seed)
        raw = tomllib.loads((folder / f"runs/{network}.toml").read_text(encoding="utf-8"))
        for part in ("network", "training", "validation"):
            for field, value in raw[part].items():
                assert described[part].get(field, "") == value, (path.name, part, field)


def test_three_thousand_tasks_begin_with_those_of_the_other_tables(root: Path) -> None:
    """The same trained models answer them alike; those of LEO were trained on another machine."""
    folder, compared = root / "studies/trained_methods", 0
    for path in sorted((folder / "many_results").glob("*.parquet")):
        few = pq.read_table(folder / "results" / path.name).to_pylist()
        many = pq.read_table(path).to_pylist()
        known = {(row["task_set"], row["task_id"]): row["class_correct"] for row in few}
        both = [
            (row["class_correct"], known.get((row["task_set"], row["task_id"]))) for row in many
        ]
        alike = [one == other for one, other in both if other is not None]
        compared += len(alike)
        assert all(alike) or path.name == "LEO-5w5s-0.parquet", path.name
    assert compared > 5000


def test_the_rows_of_three_thousand_tasks_are_those_of_the_page(
    root: Path, trained: ModuleType
) -> None:
    page = (root / PAGE).read_text(encoding="utf-8").splitlines()
    many = trained.many_counts()
    assert all(len(of) == 3000 for methods in many.values() for of in methods.values())
    every = (trained.many_rows(many, "5w1s15q"), trained.many_rows(many, "3w5s15q"))
    for rows in (*every, trained.many_rank_rows(many), trained.support_rows(many)):
        for cells in rows:
            assert f"| {' | '.join(cells)} |" in page


def test_accuracies_by_hand(root: Path) -> None:
    """What the page says of ProtoNet's open tasks is the share of correct queries, of all seeds."""
    per_seed = []
    for path in sorted(
        (root / "studies/trained_methods/results").glob("ProtoNet-5w5s-[0-9].parquet")
    ):
        rows = [row for row in pq.read_table(path).to_pylist() if row["task_set"] == "open-5w1s1q"]
        assert {row["n_query"] for row in rows} == {5}
        per_seed.append([row["n_correct"] / 5 for row in rows])
    right = 100 * np.mean(per_seed, axis=0)
    v = 100**2 * np.mean(per_seed, axis=1).var(ddof=1) / 3  # of three seeds
    of_tasks = stats.t.isf(0.025, len(right) - 1) ** 2 * right.var(ddof=1) / len(right)
    halfwidth = np.sqrt(of_tasks + stats.t.isf(0.025, 2) ** 2 * v)
    page = (root / PAGE).read_text(encoding="utf-8")
    cells = [line.split("|")[2] for line in page.splitlines() if line.startswith("| ProtoNet |")]
    shown, width = map(float, cells[0].split("±"))
    assert abs(shown - right.mean()) < 0.005
    assert abs(width - halfwidth) < 0.005
    each = cells[1].split("(")[0].split("/")
    means = [100 * np.mean(seed) for seed in per_seed]
    assert np.allclose([float(of) for of in each], means, atol=0.005)


def test_what_the_page_says_lies_beyond_the_level_is_in_its_tables(root: Path) -> None:
    """The range of each ladder, and of which methods the interval lies above 0."""
    page = (root / PAGE).read_text(encoding="utf-8")
    most, above = [], []
    for table in re.findall(r"\n\| \dw.*beyond level: .*\n\|-.*\n((?:\|.*\n)+)", page):
        cells = [[cell.strip() for cell in row.split("|")] for row in table.splitlines()]
        told = {row[1]: [float(of) for of in row[6].split(" ± ")] for row in cells if row[6]}
        most.append((min(m for m, _ in told.values()), max(m for m, _ in told.values())))
        above.append({name for name, (mean, half) in told.items() if mean > half})
    assert above == [{"CAN", "DN4", "Baseline++"}, set(), {"CAN"}]
    (low, high), (_, five), (_, ten) = most
    assert (
        f"{low:.1f} to {high:.1f} points with 1 shot, above 0 of three methods (CAN, DN4, "
        f"Baseline++), at most {five:.1f} with 5 and {ten:.1f} with 10, above 0 of CAN alone, "
        "with 10"
    ) in " ".join(page.split())


def test_what_print_says_is_on_the_page(root: Path, trained: ModuleType) -> None:
    printed = import_module("studies.trained_methods.printed")
    page = (root / PAGE).read_text(encoding="utf-8")
    for table in (printed.lines(), printed.step_lines()):
        assert "\n".join(table) in page


def test_figures_of_print_are_typed_rightly(root: Path, trained: ModuleType) -> None:
    """Against a list of all cells of the paper's tables, where it is at hand."""
    path = root.parent / "shared/design/paper2_tables.csv"
    if not path.exists():
        pytest.skip("needs the list of the paper's cells")
    names = {
        ("S7", "Acc"): "accuracy",
        ("S7", "wAcc-A"): "worst",
        ("S8", "wAcc-A ViT-GPT2"): "worst_vit_gpt2",
        ("S8", "wAcc-A BLIP"): "worst_blip",
        ("3", "wAcc-R"): "worst_random_table3",
        ("3", "wAcc-A"): "worst_table3",
    }
    parts = {"SC1": "sc1", "SC2": "sc2", "QC1": "intra", "QC2": "inter"}
    parts |= dict.fromkeys(("SC3", "QC3"), "biased")
    folder = root / "studies/trained_methods"
    with (folder / "printed.csv").open() as file:
        ours = {(r["dataset"], r["shots"], r["method"]): r for r in csv.DictReader(file)}
    with (folder / "printed_steps.csv").open() as file:
        steps = {(r["dataset"], r["method"]): r for r in csv.DictReader(file)}
    compared = 0
    with path.open() as file:
        for cell in csv.DictReader(file):
            dataset, method, figure = cell["dataset"], cell["method"], cell["figure"]
            if column := names.get((cell["table"], figure)):
                mine = float(ours[dataset, cell["shots"], method][column])
            else:
                what, _, part = figure.partition(" ")
                every = [row for (of, _), row in steps.items() if of == dataset]
                rows = every if method == "average" else [steps[dataset, method]]
                random, biased = (
                    np.mean([float(row[of]) for row in rows])
                    for of in ("random", parts.get(part, "random"))
                )
                mine = random - biased if what == "gap" else biased
            within = 0.011 if method == "average" else 1e-9  # of rounded figures
            assert abs(mine - float(cell["value"])) < within, cell
            compared += 1
    assert compared == 798
