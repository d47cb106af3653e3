"""The tables of what leaving one out changes: claims are counted rightly."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fslbench_data as fb
from analysis_sql.comparisons import Verdict
from analysis_sql.leave_one_out.leave_one_out import leave_one_out

CLAIMED = (Verdict.BETTER, Verdict.WORSE)


@pytest.fixture
def real() -> ModuleType:
    """The table of real comparisons."""
    return import_module("studies.what_it_changes.__main__")


@pytest.fixture
def simulated() -> ModuleType:
    """The table of simulated ones."""
    return import_module("studies.what_it_changes.false_claims")


def test_claims_are_kept_for_the_same_method_only(real: ModuleType) -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
    signs = {
        "error bars": [1, -1, 1, 0],
        "closed": [1, -1, 1, 1],
        "open": [0, 0, 0, 0],
        "class-aware": [0, 0, 0, 0],
        "images": [1, 1, 0, 1],
        "classes": [0, -1, 0, 0],
    }
    by_kind = {kind: dict(zip(pairs, of_kind, strict=True)) for kind, of_kind in signs.items()}
    by_kind["open"]["a", "e"] = 1  # of which the other sets say nothing
    row = real.Row("some, 5 shots", by_kind)
    assert row.pairs == pairs
    assert [row.conclusive(kind) for kind in ("error bars", "open", "images")] == [3, 0, 3]
    assert row.conclusive("superclasses") is None
    assert [row.kept("error bars", kind) for kind in ("images", "classes")] == [1, 1]
    assert [row.kept("closed", kind) for kind in ("images", "classes")] == [2, 1]

    without = {kind: of for kind, of in by_kind.items() if kind not in real.LEFT_OUT}
    lines = real.table([row, real.Row("some, 1 shot", without)]).splitlines()
    assert lines[2] == "| some, 5 shots | 4 | 3 | 1 · 1 | 4 | 2 · 1 | 0 | 0 | 3 | 1 | – |"
    assert lines[3] == "| some, 1 shot | 4 | 3 | – · – | 4 | – · – | 0 | 0 | – | – | – |"
    assert lines[4] == lines[2].replace("some, 5 shots", "all with intervals for new images (1)")
    assert real.short({"closed": [row], "pooled": []}).splitlines()[2:] == [
        "| two closed error bars | 3 (75 %) |",
        "| the closed interval of the difference | 4 (100 %) |",
        "| open | 0 (0 %) |",
        "| class-aware | 0 (0 %) |",
        "| images left out | 3 (75 %) |",
        "| classes left out | 1 (25 %) |",
    ]


@pytest.mark.slow
def test_the_table_counts_what_the_package_claims(real: ModuleType) -> None:
    names = ("open-5w10s7q", "closed-5w10s7q")
    (row,) = [
        row
        for row in real.compared(fb.load_release(), ("digits",))["closed"]
        if row.name == "digits, 10 shots"
    ]
    report = fb.score(datasets="digits", task_sets=names)
    closed = [c for c in report.comparisons if c.interval_kind == "closed"]
    opened = [c for c in report.comparisons if c.interval_kind == "open"]
    assert len(row.pairs) == len(closed) == len(opened) == 3
    expected = {
        "error bars": [c.verdict_closed in CLAIMED for c in opened],
        "closed": [c.verdict in CLAIMED for c in closed],
        "open": [c.verdict in CLAIMED for c in opened],
        "class-aware": [c.intervals["class-aware"].verdict in CLAIMED for c in opened],
        "images": [c.intervals["images"].verdict in CLAIMED for c in closed],
    }
    assert {kind: row.conclusive(kind) for kind in expected} == {
        kind: sum(claimed) for kind, claimed in expected.items()
    }
    assert row.kept("closed", "images") == sum(
        c.verdict in CLAIMED and c.intervals["images"].verdict is c.verdict for c in closed
    )


def test_pairs_in_another_order_are_the_same_claim(real: ModuleType) -> None:
    report = fb.score(datasets="digits", task_sets="open-5w5s5q")
    (task_set,) = report.sets
    turned = task_set.only(task_set.methods[::-1])
    assert real.claims(turned) == real.claims(task_set)
    assert any(real.claims(task_set)["open"].values())


def test_simulated_claims_are_those_of_the_intervals(simulated: ModuleType) -> None:
    reusing, disjoint = simulated.data_set(simulated.PROCESSES[0], 0, 0)
    assert reusing.correct.shape == (6, simulated.LINE.most)
    assert np.unique(disjoint.images).size == disjoint.images.size
    made = simulated.claims(reusing, disjoint, 0.02)
    assert len(made) == 2 * len(simulated.LINE.counts) + 2 + 2 * len(simulated.LINE.counts)

    y = reusing.correct[:, :600] / simulated.LINE.protocol.n_query
    y[0] += 0.02
    some = reusing.first(600)
    design = simulated.task_design(simulated.LINE, some.class_ids, some.images)
    expected = leave_one_out(design, y, 0.95)
    outside = np.abs(expected.mean) > expected.images.halfwidth
    signs = np.triu(np.sign(expected.mean) * outside, 1)
    np.testing.assert_array_equal(made["images left out, 600 tasks"], signs)


def test_shares_are_of_all_pairs_and_of_the_first_method(simulated: ModuleType) -> None:
    signs = np.zeros((6, 6), int)
    signs[0, 1:] = [1, 1, -1, 0, 0]
    signs[2, 4] = -1
    assert simulated.shares({"some": signs}, equal=True) == [pytest.approx(100 * 4 / 15)]
    assert simulated.shares({"some": signs}, equal=False) == [pytest.approx(40)]


@pytest.mark.slow
def test_the_tables_of_the_pages(real: ModuleType, root: Path) -> None:
    by_suite = real.compared(fb.load_release())
    page = (root / "studies/what_it_changes/README.md").read_text(encoding="utf-8")
    for rows in by_suite.values():
        assert real.table(rows) in page
    why = " ".join((root / "docs/why.md").read_text(encoding="utf-8").split())
    shares = {
        row.split("|")[1].strip(): row.split("|")[2].split()[0]
        for row in real.short(by_suite).splitlines()[2:]
    }
    assert f"intervals of 600 tasks claim {shares['two closed error bars']}" in why
