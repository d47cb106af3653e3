"""The benchmark of coverage in a short form: it runs, goes on where it stopped, and holds."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from math import comb
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

LINES = ("15,100 5w10s7q", "43,200 5w5s5q", "40,40 5w5s5q superclasses 8 of 40")


@pytest.fixture
def modules(root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The benchmark's modules; the benchmarks are no installed package."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(str(root))
    names = ("data_sets", "designs", "holm", "runs", "tables", "truths", "worlds")
    return {n: import_module(f"benchmarks.coverage.leave_one_out.{n}") for n in names}


def test_truths_count_all_tasks_at_once(modules: dict[str, ModuleType]) -> None:
    shares = modules["truths"]._all_tasks(9, 5)
    np.testing.assert_allclose(shares, [comb(8 - b, 4) / comb(8, 4) for b in range(9)])


def test_rounds_and_fresh_tasks_agree(
    modules: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    truths, line = modules["truths"], modules["designs"].chosen(["7,120 5w1s1q"])[0]
    monkeypatch.setattr(truths, "TASKS", 8000)
    fixed = truths.class_draw(line, 0, 3)
    for classes in (fixed, None):
        rounds = truths._rounds(np.random.default_rng(1), line, classes, 2)
        fresh = truths._fresh(np.random.default_rng(2), line, classes, 5)
        # a task's accuracy has a standard deviation of about 0.24
        np.testing.assert_allclose(rounds, fresh, atol=4 * 0.24 / np.sqrt(8000))


def test_a_cut_record_is_written_again(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    runs, line = modules["runs"], modules["designs"].chosen(["7,120 5w1s1q"])[0]
    whole = tmp_path / runs.file_of(line, "images", 0)
    job = runs.Job(line, "images", "sets", 0, 0, tmp_path)
    runs.work_off(tmp_path, [job], 1)
    (record,) = runs.records(whole)
    whole.write_text(whole.read_text() + '{"part": "sets", "numb')
    todo = [j for j in runs.jobs(tmp_path, [line], 0, 40, tmp_path) if j.kind == "images"]
    assert [j.number for j in todo if j.part == "sets"] == [1]
    runs.work_off(tmp_path, [todo[-1]], 1)
    first, second = runs.records(whole)
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
@pytest.mark.simulation
def test_short_form(root: Path, tmp_path: Path) -> None:
    asked = [word for line in LINES for word in ("--lines", line)]

    def command(*words: str) -> str:
        start = [sys.executable, "-m", "benchmarks.coverage", "leave-one-out"]
        done = subprocess.run(
            [*start, *words, *asked], cwd=root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    command("run", str(tmp_path), "--data-sets", "40")
    before = {p.name: p.read_text() for p in tmp_path.iterdir()}
    command("run", str(tmp_path), "--data-sets", "160")
    for name, text in before.items():
        assert (tmp_path / name).read_text().startswith(text)
    table = [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in command("table", str(tmp_path)).splitlines()
        if row.startswith("|") and row[2].isdigit()
    ]
    assert len(table) == 2 * (2 * 2 * 2 + 2)  # images and classes of two lines; superclasses
    coverage, width = (np.array([float(r[at].split()[0]) for r in table]) for at in (10, 11))
    assert {r[7] for r in table} == {"160"}
    # 20 rows of 160: a single one has a standard error of 1.7, and all are no less than 93 % apart
    # from chance; intervals that forgot the noise of tasks, or were of the wrong kind, fall short
    assert coverage.min() > 87
    assert 93 < coverage.mean() < 99
    assert width.min() > 0.85
    assert width.max() < 1.6
