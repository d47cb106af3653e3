"""Logs of several data sets: each is scored as if alone, and their means are one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import own_logs
import polars as pl
import pytest

import fslbench_data as fb
from benchmark_spec.errors import DoubledTaskError, MethodNameError, SchemaError, TaskLogError

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
    assert [(facts["classes"], facts["sizes_known"]) for facts in content["logs"]] == [
        (15, True),
        (12, True),
    ]
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
    assert [facts.superclasses for facts in found.logs] == [5, 4]
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
