"""Logs of several data sets: each is scored as if alone, and their means are one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import own_logs
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import fslbench_data as fb
from benchmark_spec.errors import (
    DoubledTaskError,
    FSLBenchWarning,
    MethodNameError,
    SchemaError,
    TaskLogError,
)

SIZES = {"birds": {str(c): 60 for c in range(15)}, "planes": {str(c): 40 for c in range(12)}}
LOGS = {
    "birds": own_logs.log(tasks=200),
    "planes": own_logs.log(classes=12, images=40, tasks=150, seed=1),
}
"""The same names of methods, tasks, classes and images in both."""


def _named(logs: dict[str, own_logs.Columns]) -> own_logs.Columns:
    """Join logs in one, in the column `dataset`."""
    parts = [{**log, "dataset": [name] * len(log["method"])} for name, log in logs.items()]
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def _rows(report: fb.Report) -> list[dict[str, Any]]:
    """Scores and comparisons without the names of data sets."""
    every = report.scores.to_arrow().to_pylist() + report.comparisons.to_arrow().to_pylist()
    return [{name: value for name, value in row.items() if name != "dataset"} for row in every]


@pytest.fixture(scope="module")
def both() -> fb.Report:
    return fb.score(fb.open_log(_named(LOGS), class_sizes=SIZES))


def test_each_is_scored_as_if_alone(both: fb.Report) -> None:
    alone = [fb.interval(log, class_sizes=SIZES[name]) for name, log in LOGS.items()]
    for number, (name, one) in enumerate(zip(LOGS, alone, strict=True)):
        (own,) = (each for each in both.sets if each.scored.dataset == name)
        assert own == both.sets[number]
        part = fb.score(fb.open_log(_named(LOGS), class_sizes=SIZES), datasets=name)
        assert _rows(part) == _rows(one)
        digest = one.signature.sets[0].fingerprint
        assert own.scored.fingerprint == digest
        assert f"own-tasks:{name}:{own.scored.n_tasks}x5x10#{digest[:12]}" in str(both.signature)


def test_a_table_has_a_column_each_and_their_mean(both: fb.Report) -> None:
    table = fb.table(fb.open_log(_named(LOGS), class_sizes=SIZES), means=True)
    text = str(table)
    found = {(m.method, m.about): m for m in both.dataset_means if m.versus is None}
    for method in ("weak", "strong"):
        own = [s.intervals["images"] for s in both.scores if s.method == method]
        mean = found[method, "new images"]
        assert mean.mean == pytest.approx(np.mean([each.mean for each in own]))
        halves = [each.halfwidth for each in own]
        assert mean.halfwidth == pytest.approx(np.hypot(*halves) / 2)
        assert f"{mean.mean:.2f} ± {mean.halfwidth:.2f}" in text


def test_what_every_output_says(both: fb.Report, tmp_path: Path) -> None:
    content = both.to_dict()
    assert {name: facts["classes"] for name, facts in content["logs"].items()} == {
        "birds": 15,
        "planes": 12,
    }
    assert "log" not in content
    assert "more: means over data sets (--means)" in str(both)
    with fb.connect(submissions=fb.open_log(_named(LOGS), class_sizes=SIZES)) as database:
        found = database.sql("SELECT DISTINCT datasets FROM dataset_means").fetchall()
        sizes = database.sql(
            "SELECT dataset, sum(n_images) FROM classes GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert found == [(2,)]
    assert sizes == [("birds", 900), ("planes", 480)]


def test_objects_show_the_intervals_for_new_images_too(both: fb.Report) -> None:
    score, comparison = both.scores[0], both.comparisons[0]
    for kind in ("images", "classes"):
        assert f"{kind} ± {score.intervals[kind].halfwidth:.2f}" in repr(score)
        pair = comparison.intervals[kind]
        width = f"{pair.difference.halfwidth:.2f} {pair.verdict.value!r}"
        assert f"{kind} ± {width}" in repr(comparison)


def test_one_data_set_has_its_name() -> None:
    log = _named({"birds": LOGS["birds"]})
    report = fb.interval(log, class_sizes=SIZES["birds"])
    assert report.log is not None
    assert {score.dataset for score in report.scores} == {"birds"}
    assert _rows(report) == _rows(fb.interval(LOGS["birds"], class_sizes=SIZES["birds"]))


@pytest.mark.parametrize("form", ["json", "csv"])
def test_sizes_of_classes_in_a_file(both: fb.Report, form: str, tmp_path: Path) -> None:
    path = tmp_path / f"sizes.{form}"
    if form == "json":
        path.write_text(json.dumps(SIZES))
    else:
        of_class = [(name, *own) for name, sizes in SIZES.items() for own in sizes.items()]
        pl.DataFrame(of_class, ["dataset", "class", "n_images"], orient="row").write_csv(path)
    found = fb.score(fb.open_log(_named(LOGS), class_sizes=path))
    assert _rows(found) == _rows(both)


def test_groups_and_superclasses_by_data_set() -> None:
    above = {name: {c: f"{int(c) // 3}" for c in sizes} for name, sizes in SIZES.items()}
    groups = {
        name: {
            str(image): str(image - image % 2)
            for task in LOGS[name]["image_ids"]
            for own in task
            for image in own
        }
        for name in LOGS
    }
    found = fb.score(fb.open_log(_named(LOGS), groups=groups, superclasses=above))
    assert {name: facts.superclasses for name, facts in found.logs.items()} == {
        "birds": 5,
        "planes": 4,
    }
    assert all(each.units.groups for each in found.sets)


def test_errors_name_the_data_set_and_the_rows_of_the_file() -> None:
    log = _named(LOGS)
    first = len(LOGS["birds"]["method"])
    twice = {name: [*values, values[first + 7]] for name, values in log.items()}
    with pytest.raises(DoubledTaskError) as found:
        fb.open_log(twice)
    assert "data set planes" in str(found.value.where)
    assert f"data rows {first + 8}, {len(log['method']) + 1}" in str(found.value.where)
    with pytest.raises(DoubledTaskError, match="column `dataset`"):
        fb.open_log({name: values for name, values in log.items() if name != "dataset"})
    few = {"birds": SIZES["birds"], "planes": {"0": 40}}
    with pytest.raises(TaskLogError, match="class sizes lack 11 classes") as found:
        fb.open_log(log, class_sizes=few)
    assert "data set planes" in str(found.value.where)
    with pytest.raises(MethodNameError, match="name of a data set"):
        fb.open_log({**log, "dataset": ["=1" for _ in log["dataset"]]})
    with pytest.raises(SchemaError, match="dataset"):
        fb.open_log({**log, "dataset": [None, *log["dataset"][1:]]})


def test_numbers_of_queries_may_differ_between_data_sets() -> None:
    """Their counts stay counts: shares of other numbers are not taken for accuracies."""
    few = {**LOGS["planes"], "n_query": [50] * len(LOGS["planes"]["n_query"])}
    few["image_ids"] = [[own[:10] for own in ids] for ids in few["image_ids"]]
    few = {**few, "n_query": [45] * len(few["n_query"])}
    found = fb.open_log(_named({"birds": LOGS["birds"], "planes": few}))
    asked = found.answers.submission.table.column("n_query").unique().to_pylist()
    assert asked == [25, 45]
    alone = fb.score(fb.open_log(few))
    joint = fb.score(found)
    assert _rows(joint)[-1] == _rows(alone)[-1]


def _draws(classes: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    made = []
    for method, better in (("adapter", 1.4), ("prompt", 0.6)):
        for draw in range(3):
            for image in range(20 * classes):
                scores = rng.normal(size=classes)
                scores[image // 20] += better
                row = {"method": method, "draw": draw, "shots": 4, "image": image}
                predicted = int(scores.argmax())
                made.append({**row, "class": image // 20, "predicted": predicted})
    return made


def test_all_classes_at_once() -> None:
    """Means are over data sets with other numbers of classes, too."""
    logs = {"base": _draws(6, 0), "new": _draws(5, 1)}
    joined = [{"dataset": name, **row} for name, log in logs.items() for row in log]
    both = fb.all_ways(joined, pool=40)
    alone = [fb.all_ways(log, pool=40) for log in logs.values()]
    assert [s.intervals["images"] for s in both.scores] == [
        s.intervals["images"] for one in alone for s in one.scores
    ]
    assert [s.dataset for s in both.scores] == ["base", "base", "new", "new"]
    means = {m.method: m for m in both.harmonic_means if m.versus is None}
    a, b = (one.scores[0].accuracy.mean for one in alone)
    assert means["adapter"].mean == pytest.approx(2 / (1 / a + 1 / b))
    assert means["adapter"].tasks == "all classes, 4-shot"
    assert str(fb.table(fb.open_log(joined, pool=40), means=True)).count("4-shot") >= 3
    bad = [*joined[:-1], {**joined[-1], "image": 0}]
    with pytest.raises(SchemaError) as found:
        fb.all_ways(bad)
    assert f"data set new, data rows {len(logs['base']) + 1}" in str(found.value.where)


def test_the_column_is_never_passed_over(both: fb.Report, tmp_path: Path) -> None:
    """As an index of pandas it is read; of several kinds it is refused: data sets are not mixed."""
    frame = pd.DataFrame(_named(LOGS)).set_index("dataset", append=True)
    frame.to_parquet(tmp_path / "log.parquet")
    for log in (frame, tmp_path / "log.parquet"):
        assert _rows(fb.score(fb.open_log(log, class_sizes=SIZES))) == _rows(both)
    names = [1 if name == "birds" else name for name in _named(LOGS)["dataset"]]
    with pytest.raises(SchemaError, match="column 'dataset' holds"):
        fb.open_log({**_named(LOGS), "dataset": names})


def test_numbers_name_data_sets(both: fb.Report) -> None:
    number = {"birds": 1, "planes": 2}
    log = _named(LOGS)
    log["dataset"] = [number[name] for name in log["dataset"]]
    sizes = {number[name]: own for name, own in SIZES.items()}
    rows = [(number[d], c, n) for d, own in SIZES.items() for c, n in own.items()]
    table = pl.DataFrame(rows, ["dataset", "class", "n_images"], orient="row")
    for given in (sizes, table):
        assert _rows(fb.score(fb.open_log(log, class_sizes=given))) == _rows(both)


def test_a_seed_is_a_run_where_it_tells_tasks_apart() -> None:
    """Not because of another data set, where it does."""
    columns = own_logs.log(tasks=90)
    plain = {**columns, "seed": [task % 5 for task in columns["task"]]}
    runs = {name: values * 3 for name, values in LOGS["planes"].items()}
    runs["seed"] = [seed for seed in range(3) for _ in LOGS["planes"]["method"]]
    log = _named({"birds": plain, "planes": runs})
    joint = fb.score(fb.open_log(log))
    assert [score.runs for score in joint.scores] == [1] * 3 + [3] * 3
    assert _rows(fb.score(fb.open_log(log), datasets="birds")) == _rows(fb.interval(plain))


def test_sizes_of_classes_are_of_one_data_set() -> None:
    log = _named(LOGS)
    rows = [(d, c, n) for d, own in SIZES.items() for c, n in own.items()]
    columns = ["dataset", "class", "n_images"]
    table = pl.DataFrame([*rows[:-1], ("planes", "11", 0)], columns, orient="row")
    with pytest.raises(SchemaError, match="n_images of class '11' is '0'"):
        fb.open_log(log, class_sizes=table)
    table = pl.DataFrame([*rows, rows[-1]], columns, orient="row")
    with pytest.raises(SchemaError, match="twice") as found:
        fb.open_log(log, class_sizes=table)
    assert f"data row {len(rows) + 1}" in str(found.value.where)
    for given in ({"birds": SIZES["birds"]}, SIZES["birds"]):
        with pytest.raises(SchemaError, match="class sizes has no data set"):
            fb.open_log(log, class_sizes=given)


def _of_two_groups() -> own_logs.Columns:
    """On birds one method answers tasks of its own."""
    other = own_logs.log(methods={"alone": 0.0}, tasks=200, seed=5)
    other["task"] = [f"other {task}" for task in other["task"]]
    first = {**LOGS["birds"], "task": [str(task) for task in LOGS["birds"]["task"]]}
    both = {name: [*first[name], *other[name]] for name in other}
    planes = {**LOGS["planes"], "task": [str(task) for task in LOGS["planes"]["task"]]}
    return _named({"birds": both, "planes": planes})


def test_means_are_of_the_methods_that_answer_every_data_set() -> None:
    with pytest.warns(FSLBenchWarning, match="not compared, since their tasks differ"):
        report = fb.score(fb.open_log(_of_two_groups(), class_sizes=SIZES))
    assert [each.scored.dataset for each in report.sets] == ["birds", "birds (2)", "planes"]
    assert {mean.method for mean in report.dataset_means} == {"weak", "strong", "strong too"}
    assert {mean.datasets for mean in report.dataset_means} == {("birds", "planes")}


def test_a_signature_has_the_tasks_that_are_selected() -> None:
    opened = fb.open_log(_named(LOGS), class_sizes=SIZES)
    assert "planes" not in str(fb.score(opened, datasets="birds").signature)


def test_a_plan_is_of_one_protocol() -> None:
    few = {**LOGS["planes"], "n_query": [20] * len(LOGS["planes"]["n_query"])}
    few["image_ids"] = [[own[:9] for own in ids] for ids in few["image_ids"]]
    few["n_correct"] = [min(right, 20) for right in few["n_correct"]]
    logs = {"birds": LOGS["birds"], "planes": few}
    opened = fb.open_log(own_logs.with_roles(_named(logs)))
    found = fb.plan(opened, method="weak", datasets="planes")
    assert [each.pilot.info.dataset for each in found.sets] == ["planes"]
    first = fb.plan(opened, method="weak")
    assert first.left_out == ("planes/own-5w5s4q: planned with --dataset planes --shots 5",)


def test_means_of_runs_with_tasks_of_their_own_by_hand() -> None:
    """Runs of a pair answer the same tasks, whose noise counts once."""
    logs: dict[str, own_logs.Columns] = {}
    two = {"a": 0.0, "b": 0.05}
    for dataset in ("x", "y"):
        parts = [
            own_logs.log(images=15, methods=two, tasks=60, seed=run + 9 * len(logs))
            for run in range(6)
        ]
        logs[dataset] = {n: [v for part in parts for v in part[n]] for n in parts[0]}
        logs[dataset]["run"] = [run for run in range(6) for _ in range(120)]
        logs[dataset]["task"] = [
            f"{r}-{t}" for r, t in zip(logs[dataset]["run"], logs[dataset]["task"], strict=True)
        ]
    log = _named(logs)
    report = fb.score(fb.open_log(log))
    (mean,) = (m for m in report.dataset_means if m.versus and m.about == "new images")
    y = np.array(log["n_correct"]).reshape(2, 6, 2, 60) * 4.0
    apart, t = y[:, :, 0] - y[:, :, 1], stats.t.isf(0.025, 5)
    within = (apart - apart.mean(axis=2, keepdims=True)) * 60 / 59
    noise = np.square(within).sum(axis=(1, 2)) / 359 / 360
    each = apart.mean(axis=2).var(axis=1, ddof=1) / 6
    widths = np.array([c.intervals["images"].difference.halfwidth for c in report.comparisons])
    assert (widths > 1.01 * t * np.sqrt(each)).all()
    of_tasks = np.square(widths) - t**2 * np.maximum(each - noise, 0)
    v = apart.mean(axis=(0, 2)).var(ddof=1) / 6
    square = of_tasks.sum() / 4 + t**2 * max(v - noise.sum() / 4, 0)
    assert mean.halfwidth == pytest.approx(np.sqrt(max(square, t**2 * v)), rel=1e-6)


def test_what_is_empty_is_named_by_the_rows_of_the_file() -> None:
    joined = [{"dataset": n, **row} for n, c in (("base", 6), ("new", 5)) for row in _draws(c, 0)]
    joined[730]["predicted"] = None
    with pytest.raises(SchemaError, match="data row 731"):
        fb.all_ways(joined)


def test_episodes_of_other_sizes_have_a_mean() -> None:
    """As those of Meta-Dataset have, whose largest ways and shots differ between data sets."""
    rows, rng = [], np.random.default_rng(0)
    for dataset, most in (("birds", 6), ("planes", 5)):
        for task in range(80):
            classes = rng.permutation(12)[: rng.integers(3, most + 1)].tolist()
            drawn = [(50 * c + rng.permutation(50)[:8]).tolist() for c in classes]
            shots = rng.integers(1, 4, len(classes)).tolist()
            ids = {
                "class_ids": classes,
                "support_ids": [own[:s] for own, s in zip(drawn, shots, strict=True)],
                "query_ids": [own[s:] for own, s in zip(drawn, shots, strict=True)],
            }
            share = float(rng.uniform(0.5, 0.9))
            rows.append({"dataset": dataset, "method": "m", "task": task, "accuracy": share, **ids})
    report = fb.score(fb.open_log(rows))
    mean = report.dataset_means[0]
    assert (mean.tasks, mean.ways, mean.shots) == ("episodes", None, None)
    widths = [score.intervals["images"].halfwidth for score in report.scores]
    assert mean.halfwidth == pytest.approx(np.hypot(*widths) / 2)
    assert "mean episodes" in str(fb.table(fb.open_log(rows), means=True))
