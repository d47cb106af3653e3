"""The benchmark of coverage in a short form: it runs, goes on where it stopped, and holds."""

from __future__ import annotations

from importlib import import_module
from math import comb
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The study's modules."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    names = ("data_sets", "holm", "lines", "runs")
    return {n: import_module(f"studies.coverage.leave_one_out.{n}") for n in names}


def test_truths_count_all_tasks_at_once(modules: dict[str, ModuleType]) -> None:
    shares = modules["data_sets"]._all_tasks(9, 5)
    np.testing.assert_allclose(shares, [comb(8 - b, 4) / comb(8, 4) for b in range(9)])


def test_rounds_and_fresh_tasks_agree(
    modules: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    truths, line = modules["data_sets"], modules["lines"].chosen(["7,120 5w1s1q"])[0]
    monkeypatch.setattr(truths, "TASKS", 8000)
    fixed = truths.class_draw(line, 0, 3)
    for classes in (fixed, None):
        rounds = truths._rounds(np.random.default_rng(1), line, classes, 2)
        fresh = truths._fresh(np.random.default_rng(2), line, classes, 5)
        # a task's accuracy has a standard deviation of about 0.24
        np.testing.assert_allclose(rounds, fresh, atol=4 * 0.24 / np.sqrt(8000))


@pytest.mark.slow
def test_a_cut_record_is_written_again(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    common = import_module("studies.common")
    runs, line = modules["runs"], modules["lines"].chosen(["7,120 5w1s1q"])[0]
    whole = tmp_path / runs.file_of(line, "images", 0)
    job = runs.Job(line, "images", "sets", 0, 0, tmp_path)
    common.work_off(tmp_path, [job], 1)
    (record,) = common.records(whole)
    whole.write_text(whole.read_text() + '{"part": "sets", "numb')
    todo = [j for j in runs.jobs(tmp_path, [line], 0, 40, tmp_path) if j.kind == "images"]
    assert [j.number for j in todo if j.part == "sets"] == [1]
    common.work_off(tmp_path, [todo[-1]], 1)
    first, second = common.records(whole)
    assert first == record
    assert second["number"] == 1
    assert first["mean"] != second["mean"]


def test_equal_methods_of_the_boards_are_equal_and_differ(modules: dict[str, ModuleType]) -> None:
    holm = modules["holm"]
    means = np.array([holm.PROCESSES[1].answers(0, i)[1].mean(axis=1) for i in range(4)])
    assert np.ptp(means, axis=1).min() > 0
    spread = np.ptp(means.mean(axis=0))
    assert spread < 6 * (means - means.mean(axis=1, keepdims=True)).std() / np.sqrt(4)


@pytest.mark.slow
def test_a_line_goes_on_and_holds(
    modules: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty data sets; ``python -m studies.checks coverage_short_form`` has three lines."""
    check = import_module("studies.checks.coverage_short_form")
    monkeypatch.setattr(modules["data_sets"], "TASKS", 4000)  # an error of 0.4 points at most
    rows = check.table(tmp_path, ("15,100 5w1s1q",), 20, 40)
    assert len(rows) == 2 * 2 * 2  # images and classes; 600 tasks and more; method and difference
    assert {row[7] for row in rows} == {"40"}
    coverage, width = check.numbers(rows)
    # a single row has a standard error of 3.4
    assert coverage.min() > 84
    assert 92 < coverage.mean() < 100
    assert width.min() > 0.85
    assert width.max() < 1.6
