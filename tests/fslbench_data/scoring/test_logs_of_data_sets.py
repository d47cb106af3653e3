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
from golden_inputs import joined
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


def _named(logs: dict[str, own_logs.Columns], names: dict[str, Any] | None = None) -> Any:
    """Join logs in one, in the column `dataset`, perhaps under other names."""
    parts = [
        {**log, "dataset": [(names or {}).get(name, name)] * len(log["method"])}
        for name, log in logs.items()
    ]
    return joined(parts)


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
        assert [each in str(part.signature) for each in LOGS] == [each == name for each in LOGS]
        digest = one.signature.sets[0].fingerprint
        assert own.scored.fingerprint == digest
        assert f"own-tasks:{name}:{own.scored.n_tasks}x5x10#{digest[:12]}" in str(both.signature)


def test_what_every_output_says(both: fb.Report) -> None:
    content = both.to_dict()
    classes = {name: facts["classes"] for name, facts in content["logs"].items()}
    assert classes == {"birds": 15, "planes": 12}
    assert "log" not in content
    assert "more: means over data sets (--means)" in str(both)
    with fb.connect(submissions=fb.open_log(_named(LOGS), class_sizes=SIZES)) as database:
        found = database.sql("SELECT mean, halfwidth, datasets FROM dataset_means").fetchall()
        sizes = database.sql(
            "SELECT dataset, sum(n_images) FROM classes GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert found == [(m.mean, m.halfwidth, 2) for m in both.dataset_means]
    assert sizes == [("birds", 900), ("planes", 480)]


def test_one_data_set_has_its_name() -> None:
    log = _named({"birds": LOGS["birds"]})
    report = fb.interval(log, class_sizes=SIZES["birds"])
    assert report.log is not None
    assert {score.dataset for score in report.scores} == {"birds"}
    assert _rows(report) == _rows(fb.interval(LOGS["birds"], class_sizes=SIZES["birds"]))


OF_CLASS = [(name, *own) for name, sizes in SIZES.items() for own in sizes.items()]
"""Data sets, classes and their numbers of images."""


def _table(rows: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, ["dataset", "class", "n_images"], orient="row")


def test_forms_of_sizes_of_classes(both: fb.Report, tmp_path: Path) -> None:
    (json_file := tmp_path / "sizes.json").write_text(json.dumps(SIZES))
    _table(OF_CLASS).write_csv(csv_file := tmp_path / "sizes.csv")
    number = {"birds": 1, "planes": 2}
    numbers = {number[name]: own for name, own in SIZES.items()}
    table = _table([(number[name], *own) for name, *own in OF_CLASS])
    for given, names in ((json_file, {}), (csv_file, {}), (numbers, number), (table, number)):
        found = fb.score(fb.open_log(_named(LOGS, names), class_sizes=given))
        assert _rows(found) == _rows(both)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (_table([*OF_CLASS[:-1], ("planes", "11", 0)]), "n_images of class '11' is '0'"),
        (_table([*OF_CLASS, OF_CLASS[-1]]), rf"twice(.|\n)*data row {len(OF_CLASS) + 1}"),
        ({"birds": SIZES["birds"]}, "class sizes has no data set"),
        (SIZES["birds"], "class sizes has no data set"),
    ],
)
def test_sizes_of_classes_are_of_one_data_set(given: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        fb.open_log(_named(LOGS), class_sizes=given)


def test_groups_and_superclasses_by_data_set() -> None:
    above = {name: {c: f"{int(c) // 3}" for c in sizes} for name, sizes in SIZES.items()}
    images = {name: np.unique(log["image_ids"]).tolist() for name, log in LOGS.items()}
    groups = {name: {str(i): str(i - i % 2) for i in own} for name, own in images.items()}
    found = fb.score(fb.open_log(_named(LOGS), groups=groups, superclasses=above))
    superclasses = {name: facts.superclasses for name, facts in found.logs.items()}
    assert superclasses == {"birds": 5, "planes": 4}
    assert all(each.units.groups for each in found.sets)


_LOG = _named(LOGS)
_ROWS = len(_LOG["method"])
_SECOND = len(LOGS["birds"]["method"])
_FEW = {"birds": SIZES["birds"], "planes": {"0": 40}}


@pytest.mark.parametrize(
    ("log", "more", "error", "said"),
    [
        (
            {name: [*values, values[_SECOND + 7]] for name, values in _LOG.items()},
            {},
            DoubledTaskError,
            f"data set planes.*data rows {_SECOND + 8}, {_ROWS + 1}",
        ),
        (
            {name: values for name, values in _LOG.items() if name != "dataset"},
            {},
            DoubledTaskError,
            "column `dataset`",
        ),
        (_LOG, {"class_sizes": _FEW}, TaskLogError, r"sizes lack 11 classes(.|\n)*data set planes"),
        (_LOG | {"dataset": ["=1"] * _ROWS}, {}, MethodNameError, "name of a data set"),
        (_LOG | {"dataset": [None, *_LOG["dataset"][1:]]}, {}, SchemaError, "dataset"),
        (
            _named(LOGS, {"birds": 1}),
            {},
            SchemaError,
            "column 'dataset' holds",
        ),
    ],
)
def test_errors_name_the_data_set_and_the_rows_of_the_file(
    log: Any, more: dict[str, Any], error: type[Exception], said: str
) -> None:
    """Where values are of several kinds it is refused: data sets are not mixed."""
    with pytest.raises(error, match=said):
        fb.open_log(log, **more)


def _planes(images: int, queries: int) -> own_logs.Columns:
    """The log of planes with other numbers of images a class and queries a task."""
    log = LOGS["planes"]
    few = [[own[:images] for own in ids] for ids in log["image_ids"]]
    right = [min(right, queries) for right in log["n_correct"]]
    return log | {"image_ids": few, "n_correct": right, "n_query": [queries] * len(right)}


def test_numbers_of_queries_may_differ_between_data_sets() -> None:
    """Their counts stay counts: shares of other numbers are not taken for accuracies."""
    few = _planes(10, 45)
    found = fb.open_log(_named({"birds": LOGS["birds"], "planes": few}))
    asked = found.answers.submission.table.column("n_query").unique().to_pylist()
    assert asked == [25, 45]
    assert _rows(fb.score(found))[-1] == _rows(fb.score(fb.open_log(few)))[-1]


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
    rows = [{"dataset": name, **row} for name, log in logs.items() for row in log]
    both = fb.all_ways(rows, pool=40)
    alone = [fb.all_ways(log, pool=40) for log in logs.values()]
    assert [s.intervals["images"] for s in both.scores] == [
        s.intervals["images"] for one in alone for s in one.scores
    ]
    assert [s.dataset for s in both.scores] == ["base", "base", "new", "new"]
    means = {m.method: m for m in both.harmonic_means if m.versus is None}
    a, b = (one.scores[0].accuracy.mean for one in alone)
    assert means["adapter"].mean == pytest.approx(2 / (1 / a + 1 / b))
    assert means["adapter"].tasks == "all classes, 4-shot"
    assert str(fb.table(fb.open_log(rows, pool=40), means=True)).count("4-shot") >= 3
    first = len(logs["base"]) + 1
    for row, wrong, said in (
        (-1, {"image": 0}, f"data set new, data rows {first}"),
        (730, {"predicted": None}, "data row 731"),
    ):
        bad = [*rows]
        bad[row] = bad[row] | wrong
        with pytest.raises(SchemaError, match=said):
            fb.all_ways(bad)


def test_the_column_is_read_as_an_index_of_pandas(both: fb.Report, tmp_path: Path) -> None:
    frame = pd.DataFrame(_named(LOGS)).set_index("dataset", append=True)
    frame.to_parquet(tmp_path / "log.parquet")
    for log in (frame, tmp_path / "log.parquet"):
        assert _rows(fb.score(fb.open_log(log, class_sizes=SIZES))) == _rows(both)


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


def test_means_are_of_the_methods_that_answer_every_data_set() -> None:
    """On birds one method answers tasks of its own."""
    other = own_logs.log(methods={"alone": 0.0}, tasks=200, seed=5)
    logs = {name: log | {"task": [*map(str, log["task"])]} for name, log in LOGS.items()}
    other["task"] = [f"other {task}" for task in other["task"]]
    logs["birds"] = joined([logs["birds"], other])
    with pytest.warns(FSLBenchWarning, match="not compared, since their tasks differ"):
        report = fb.score(fb.open_log(_named(logs), class_sizes=SIZES))
    assert [each.scored.dataset for each in report.sets] == ["birds", "birds (2)", "planes"]
    assert {mean.method for mean in report.dataset_means} == {"weak", "strong", "strong too"}
    assert {mean.datasets for mean in report.dataset_means} == {("birds", "planes")}


def test_a_plan_is_of_one_protocol() -> None:
    logs = {"birds": LOGS["birds"], "planes": _planes(9, 20)}
    opened = fb.open_log(own_logs.with_roles(_named(logs)))
    found = fb.plan(opened, method="weak", datasets="planes")
    assert [each.pilot.info.dataset for each in found.sets] == ["planes"]
    first = fb.plan(opened, method="weak")
    assert first.left_out == ("planes/own-5w5s4q: planned with --dataset planes --shots 5",)


def test_means_of_runs_with_tasks_of_their_own_by_hand() -> None:
    """Runs of a pair answer the same tasks, whose noise counts once."""
    logs, two = {"x": [], "y": []}, {"a": 0.0, "b": 0.05}
    for first, parts in zip((0, 9), logs.values(), strict=True):
        for run in range(6):
            part = own_logs.log(images=15, methods=two, tasks=60, seed=run + first)
            named = {"run": [run] * 120, "task": [f"{run}-{task}" for task in part["task"]]}
            parts.append(part | named)
    log = _named({name: joined(parts) for name, parts in logs.items()})
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


def test_episodes_of_other_sizes_have_a_mean() -> None:
    """As those of Meta-Dataset have, whose largest ways and shots differ between data sets."""
    rows, rng = [], np.random.default_rng(0)
    for dataset, most in (("birds", 6), ("planes", 5)):
        for task in range(80):
            classes = rng.permutation(12)[: rng.integers(3, most + 1)].tolist()
            drawn = [(50 * c + rng.permutation(50)[:8]).tolist() for c in classes]
            shots = rng.integers(1, 4, len(classes)).tolist()
            row = {"dataset": dataset, "method": "m", "task": task, "class_ids": classes}
            row["support_ids"] = [own[:s] for own, s in zip(drawn, shots, strict=True)]
            row["query_ids"] = [own[s:] for own, s in zip(drawn, shots, strict=True)]
            rows.append(row | {"accuracy": float(rng.uniform(0.5, 0.9))})
    report = fb.score(fb.open_log(rows))
    mean = report.dataset_means[0]
    assert (mean.tasks, mean.ways, mean.shots) == ("episodes", None, None)
    widths = [score.intervals["images"].halfwidth for score in report.scores]
    assert mean.halfwidth == pytest.approx(np.hypot(*widths) / 2)
    assert "mean episodes" in str(fb.table(fb.open_log(rows), means=True))
