"""Logs of tasks of 1 and of 5 shots, in one file or in several; and what runs and groups allow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import own_logs
import pandas as pd
import pyarrow as pa
import pytest
from commands import invoke, printed
from golden_inputs import write_columns

import fslbench_data as fb
from benchmark_spec.errors import DoubledTaskError, FSLBenchWarning, SchemaError, SpecError

SIZES = dict.fromkeys(range(15), 60)


def _log(shots: int, tasks: int = 120, **how: Any) -> list[dict[str, Any]]:
    """Rows of tasks of 5 ways with 5 queries of a class, whose names are the same for all shots."""
    columns = own_logs.log(per_class=shots + 5, tasks=tasks, **how)
    return own_logs.rows(own_logs.with_roles(columns, shots))


def _write(path: Path, rows: list[dict[str, Any]]) -> str:
    return str(write_columns(path, {name: [row[name] for row in rows] for name in rows[0]}))


def _told(log: Any) -> Any:
    """The log with lists of as many right queries as each task has."""
    return [row | {"correct": [int(i < row["n_correct"]) for i in range(25)]} for row in log]


@pytest.fixture(scope="module")
def apart() -> dict[int, fb.Report]:
    """What the tasks of each number of shots show by themselves."""
    return {shots: fb.interval(_log(shots), class_sizes=SIZES) for shots in (1, 5)}


@pytest.mark.parametrize("form", ["one log", "two files"])
def test_each_has_the_numbers_that_it_has_alone(
    apart: dict[int, fb.Report], form: str, tmp_path: Path
) -> None:
    log: Any = [*_log(5), *_log(1)]
    if form == "two files":
        log = [tmp_path / "five.jsonl", tmp_path / "one.jsonl"]
        for path, shots in zip(log, (5, 1), strict=True):
            _write(path, _log(shots))
    both = fb.interval(log, class_sizes=SIZES)
    assert [str(each.scored) for each in both.sets] == ["log/own-5w1s5q", "log/own-5w5s5q"]
    assert [each.scored.fingerprint for each in both.sets] == [
        each.scored.fingerprint for of in apart.values() for each in of.sets
    ]
    assert [*both.scores] == [score for of in apart.values() for score in of.scores]
    assert [*both.comparisons] == [pair for of in apart.values() for pair in of.comparisons]


def test_a_table_has_a_column_for_each(tmp_path: Path) -> None:
    paths = [_write(tmp_path / f"{shots}.jsonl", _log(shots)) for shots in (1, 5)]
    (tmp_path / "sizes.json").write_text(json.dumps({str(c): 60 for c in range(15)}))
    given = ["table", *paths, "--class-sizes", str(tmp_path / "sizes.json"), "--format", "latex"]
    assert r"method & 1-shot & 5-shot \\" in printed(*given)
    valid = invoke("validate", *paths, *given[3:5])
    assert f"{', '.join(paths)} are together a valid log" in valid.stderr
    assert printed("cite", *paths).startswith("@misc{fslbench")


def test_with_which_queries_were_right() -> None:
    """They stay with their tasks."""
    rows = [_told(_log(shots)) for shots in (1, 5)]
    both = fb.interval([*rows[0], *rows[1]], class_sizes=SIZES, inductive=True)
    alone = [fb.interval(of, class_sizes=SIZES, inductive=True) for of in rows]
    assert [*both.scores] == [score for of in alone for score in of.scores]
    assert all(score.by_queries for score in both.scores)


def test_accuracies_that_are_no_counts_stay_as_they_are() -> None:
    """Such as worst-class accuracy: no whole number of the queries."""
    rows = {shots: _log(shots) for shots in (1, 5)}
    for number, row in enumerate(row for of in rows.values() for row in of):
        row["accuracy"] = (row.pop("n_correct") + 0.013 * (number % 7)) / (row.pop("n_query") + 1)
    both = fb.interval([*rows[1], *rows[5]], class_sizes=SIZES)
    alone = [fb.interval(of, class_sizes=SIZES) for of in rows.values()]
    assert [*both.scores] == [score for of in alone for score in of.scores]
    mean = np.mean([row["accuracy"] for row in rows[1] if row["method"] == "weak"])
    assert both.scores[0].accuracy.mean == pytest.approx(100 * mean, abs=1e-9)


def test_runs_in_another_column_than_run() -> None:
    """Where the tasks of all shots have the same names, too."""
    rows = [
        row | {"seed": seed, "n_correct": max(0, row["n_correct"] - (seed + number) % 3)}
        for seed in (0, 1, 2)
        for number, row in enumerate([*_log(1), *_log(5)])
    ]
    named = [{"run": row["seed"], **row} for row in rows]
    by_seed, by_run = (fb.interval(log, class_sizes=SIZES) for log in (rows, named))
    assert [*by_seed.scores] == [*by_run.scores]
    assert {score.runs for score in by_seed.scores} == {3}
    assert "have one mean (copies?)" not in str(by_seed)


def test_copies_of_one_run_are_told() -> None:
    """In the log's own text, and in the summary of a submission."""
    rows = [row | {"run": run} for run in "ab" for row in _log(5)]
    of_log = fb.interval(rows, class_sizes=SIZES)
    example = fb.Submission.read("examples/my_results.parquet").to_pandas()
    copies = pd.concat([example.assign(run=run) for run in "ab"])
    for report in (of_log, fb.score(copies)):
        assert "have one mean (copies?)" in " ".join(str(report).split())


@pytest.mark.parametrize("shots", [{1: 120, 5: 19}, dict.fromkeys(range(1, 6), 30)])
def test_few_tasks_or_many_numbers_of_shots_stay_together(shots: dict[int, int]) -> None:
    rows = [
        {**row, "task": f"{number}-{row['task']}"}
        for number, tasks in shots.items()
        for row in _log(number, tasks, seed=number)
    ]
    (one,) = fb.interval(rows, class_sizes=SIZES).sets
    assert one.scored.n_tasks == sum(shots.values())
    assert one.scored.name.suite == "episodes"


@pytest.mark.parametrize("second", ["b.parquet", "b.jsonl"])
@pytest.mark.parametrize("first", ["a.parquet", "a.jsonl"])
def test_logs_of_two_kinds_of_files_are_joined(tmp_path: Path, first: str, second: str) -> None:
    alone = [row for row in _log(5) if row["method"] != "strong too"]
    files = [
        _write(tmp_path / name, [row for row in alone if row["method"] == method])
        for name, method in ((first, "weak"), (second, "strong"))
    ]
    joined = fb.interval(files, class_sizes=SIZES)
    assert [*joined.scores] == [*fb.interval(alone, class_sizes=SIZES).scores]


def test_logs_that_cannot_be_joined() -> None:
    one = pa.Table.from_pylist(_log(1))
    texts = pa.Table.from_pylist([{**row, "class_ids": [*"abcde"]} for row in _log(5)])
    numbers = pa.Table.from_pylist([{**row, "method": 1} for row in _log(1)])
    draws = pa.table({"method": ["a"], "image": ["x"], "class": ["c"], "predicted": ["c"]})
    in_runs = one.append_column("run", pa.repeat("a", len(one)))
    for first, second, error, said in (
        (one, in_runs, SchemaError, "logs have other columns"),
        (one, texts, SchemaError, "columns of logs are not alike"),
        (one, one, DoubledTaskError, "twice"),
        (numbers, numbers, SchemaError, "write `method` as strings"),
        (draws, draws, SpecError, "read from one file"),
    ):
        with pytest.raises(error, match=said):
            fb.interval([first, second], class_sizes=None if first is draws else SIZES)


def test_runs_with_tasks_of_their_own_say_why_tasks_are_taken_as_a_whole() -> None:
    rows = [{**row, "run": run} for run in range(2) for row in _told(_log(5, seed=run))]
    with pytest.warns(FSLBenchWarning, match="changes nothing where training runs have tasks of"):
        report = fb.interval(rows, class_sizes=SIZES, inductive=True)
    said = " ".join(str(report).split())
    assert "inductive changes nothing where training runs have tasks of their own" in said
    assert "with --inductive" not in said
    assert "--inductive" not in report._repr_html_()
    assert {score.by_queries for score in report.scores} == {None}
    assert "the column correct" not in said


def test_groups_with_two_images_in_a_task_are_told() -> None:
    groups = {1000 * c + i: f"{c}-{i // 2}" for c in range(15) for i in range(60)}
    with pytest.warns(FSLBenchWarning, match="a task shows several images of a group"):
        fb.interval(_told(_log(5)), groups=groups, inductive=True)


def test_a_plan_is_for_the_shots_that_are_asked_for() -> None:
    """Of those that the method has; the others are named."""
    log = fb.open_log([*_log(1), *(r for r in _log(5) if r["method"] == "weak")], class_sizes=SIZES)
    planned = {shots: fb.plan(log, method="weak", shot=shots) for shots in (1, 5)}
    assert {shots: str(each.sets[0].pilot.info) for shots, each in planned.items()} == {
        shots: f"log/own-5w{shots}s5q" for shots in (1, 5)
    }
    assert planned[5].left_out == ("log/own-5w1s5q: planned with --shots 1",)
    (one,) = fb.plan(log, method="strong").sets
    assert one.pilot.info.protocol.shot == 1
    with pytest.raises(SpecError, match=r"strong answered no tasks of 5 shots\n.*\n.*5w1s5q"):
        fb.plan(log, method="strong", shot=5)


def test_a_plan_of_a_log_is_told_no_other_tasks(tmp_path: Path) -> None:
    """They did nothing, in silence."""
    path = _write(tmp_path / "log.parquet", _log(5))
    for option, said in (
        ("--ways=7", "answered no tasks of 7 ways"),
        ("--queries=3", "the queries and draws that it has"),
        ("--suite=open", "the queries and draws that it has"),
        ("--suite=balanced", "the queries and draws that it has"),
    ):
        result = invoke("plan", "--pilot", f"{path}::weak", option)
        assert result.exit_code == 2
        assert said in result.stderr
    assert invoke("plan", "--pilot", f"{path}::weak", "--suite=pooled", "--ways=5").exit_code == 0
