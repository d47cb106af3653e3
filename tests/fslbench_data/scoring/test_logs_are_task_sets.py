"""A log of one's own tasks goes wherever a file of results does, with the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import own_logs
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import invoke
from golden_inputs import joined, write_columns
from own_logs import estimates

import fslbench_data as fb
from benchmark_spec.errors import FSLBenchError, SubmissionError, UnknownNameError
from fslbench_data.submission.reading import is_log

SIZES = {str(c): 60 for c in range(15)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log of three methods on 300 tasks, and the sizes of its classes."""
    folder = tmp_path_factory.mktemp("log")
    write_columns(folder / "log.jsonl", own_logs.with_roles(own_logs.log(tasks=300)))
    (folder / "sizes.json").write_text(json.dumps(SIZES))
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> fb.Report:
    """What the log shows."""
    return fb.interval(folder / "log.jsonl", class_sizes=folder / "sizes.json")


def _run(folder: Path, *words: str, code: int = 0) -> str:
    words = tuple(word.replace("LOG", str(folder / "log.jsonl")) for word in words)
    sizes = "--class-sizes", folder / "sizes.json"
    result = invoke(*words, *(() if words[0] == "cite" else sizes))
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.output


@pytest.mark.parametrize("more", [(), ("--details",), ("--format", "csv"), ("--format", "json")])
def test_score_and_interval_say_the_same(folder: Path, more: tuple[str, ...]) -> None:
    assert _run(folder, "score", "LOG", *more) == _run(folder, "interval", "LOG", *more)


def test_rows_and_columns_are_taken_as_files_are(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    expected = [*fb.interval(rows).scores]
    for log in (rows, columns):
        assert [*fb.score(log).scores] == expected
        assert fb.table(log).csv() == fb.table(fb.open_log(folder / "log.jsonl")).csv()


def test_tables_figures_and_pages(folder: Path, report: fb.Report, tmp_path: Path) -> None:
    text = _run(folder, "table", "LOG", "--format", "markdown")
    for score in report.scores:
        assert f"{score.accuracy.mean:.2f} ± {score.intervals['images'].halfwidth:.2f}" in text
    assert "own tasks (digest" in text
    for trained in (None, False):
        own = fb.open_log(folder / "log.jsonl", class_sizes=SIZES, trained=trained)
        scatter = fb.plot("scatter", own, methods=("weak", "strong"))
        figures = *(fb.plot(kind, own) for kind in ("forest", "accuracies")), scatter
        for caption in (*(each.caption for each in figures), " ".join(fb.table(own).notes)):
            assert ("One training run each of" in caption) is (trained is None)
    assert len(figures[0].figure.rows) == 3
    _run(folder, "report", "LOG", "-o", str(tmp_path / "page"))
    assert "strong too" in (tmp_path / "page/index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("runs", [False, True])
def test_results_and_tasks_of_sql_have_the_same_numbers(runs: bool) -> None:
    """Every result joins the task whose images the log gives it: of two sets, or of runs."""
    parts = [own_logs.log(methods={"a": 0.0}, tasks=40, images=20, seed=seed) for seed in range(2)]
    if not runs:
        parts[1]["method"] = ["b"] * 40
        parts[1]["task"] = [100 + task for task in parts[1]["task"]]
    log = joined(parts) | ({"run": [0] * 40 + [1] * 40} if runs else {})
    own = fb.open_log(log, class_sizes=dict.fromkeys(range(15), 20))
    with fb.connect(submissions=own) as connection:
        rows = connection.execute(
            "SELECT r.method, r.n_correct, t.class_ids, t.query FROM results r "
            "JOIN tasks t USING (dataset, task_set, task_id)"
        ).fetchall()
        paths = dict(connection.execute("SELECT image_id, path FROM images").fetchall())
        names = dict(connection.execute("SELECT class_id, class_name FROM classes").fetchall())
    assert len(rows) == 80
    found = {
        (method, n, tuple(names[c] for c in classes), tuple(paths[i] for i in query))
        for method, n, classes, query in rows
    }
    for row in own_logs.rows(log):
        images = tuple(str(image) for own in row["image_ids"] for image in own[5:])
        assert (row["method"], row["n_correct"], (*map(str, row["class_ids"]),), images) in found


def test_validate_takes_a_log_in_python_as_the_command_does(folder: Path) -> None:
    log = folder / "log.jsonl"
    opened = fb.open_log(log)
    assert invoke("validate", log).exit_code == 0
    for source in (log, opened, [log], pd.read_json(log, lines=True)):
        assert fb.validate(source).methods == opened.answers.methods
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    with pytest.raises(FSLBenchError, match="lacks tasks"):
        fb.validate(rows[1:])


def test_tables_and_figures_say_which_half_widths_are_bounds(folder: Path) -> None:
    """As score does; not where intervals are no bounds."""
    few = fb.open_log(own_logs.log(tasks=40, images=800), class_sizes=dict.fromkeys(SIZES, 800))
    bound = "± is at most so much, by a bound,"
    assert f"{bound} on log/own-5w5s5q." in fb.table(few).markdown()
    assert f"{bound} for new images on log/own-5w5s5q" in fb.score(few)._repr_html_()
    for kind in ("forest", "accuracies"):
        assert f"{bound} for new images" in fb.plot(kind, few).caption
        assert bound not in fb.plot(kind, fb.open_log(folder / "log.jsonl")).caption
    assert bound not in fb.table(few, kind="closed").markdown()
    assert bound not in fb.table(folder / "log.jsonl").markdown()


def test_plan(folder: Path, report: fb.Report) -> None:
    """The pilot's own 300 tasks have the width that is found; more of them have narrower ones."""
    text = _run(folder, "plan", "--pilot", "LOG::weak", "--tasks", "300,3000", "--format", "json")
    (planned,) = json.loads(text)["datasets"]
    assert (planned["dataset"], planned["pilot"]["task_set"]) == ("log", "own-5w5s5q")
    widths = {row["tasks"]: row["halfwidth"] for row in planned["rows"] if row["kind"] == "images"}
    assert widths[300] == pytest.approx(report.scores[0].intervals["images"].halfwidth, rel=0.01)
    assert widths[3000] < widths[300]
    words = "plan", "--pilot", "LOG::weak", "--versus", "strong"
    assert "weak minus strong" in _run(folder, *words)


def test_compare(folder: Path) -> None:
    worse = "compare", "LOG::weak", "LOG::strong"
    assert "-10.04" in _run(folder, *worse)
    _run(folder, *worse, "--fail-if-worse", code=1)
    _run(folder, "compare", "LOG::strong", "weak", "--fail-if-worse")
    assert "names 3 methods of" in _run(folder, "compare", "LOG", code=2)
    path = str(folder / "log.jsonl")
    found = fb.compare(f"{path}::strong", "weak")
    assert found.comparisons[0].verdict == "+"
    with pytest.raises(UnknownNameError, match="stronger"):
        fb.compare(f"{path}::stronger", "weak")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_compare_two_logs_of_a_method_each(folder: Path, tmp_path: Path, ending: str) -> None:
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    weak, strong = (str(tmp_path / f"{name}.{ending}") for name in ("weak", "strong"))
    for path in (weak, strong):
        own = [row for row in rows if row["method"] == Path(path).stem]
        write_columns(Path(path), {name: [row[name] for row in own] for name in own[0]})
    assert "-10.04" in _run(folder, "compare", weak, strong)
    assert "-10.04" in _run(folder, "compare", f"{weak}::weak", strong)
    assert "+10.04" in _run(folder, "compare", strong, weak)
    refused = _run(folder, "compare", weak, "weak", code=2)
    assert "name 1 method of" in refused
    assert "fix: name another log besides" in refused


def test_validate_and_cite(folder: Path) -> None:
    assert "weak on log/own-5w5s5q: 300 tasks" in _run(folder, "validate", "LOG")
    assert "Oops" in _run(folder, "cite", "LOG")


def test_a_log_stands_alone(folder: Path, root: Path, tmp_path: Path) -> None:
    log, results = folder / "log.jsonl", root / "examples/my_results.parquet"
    with pytest.raises(SubmissionError, match="a log of one's own tasks stands beside other"):
        fb.score([log, results])
    result = invoke("score", results, "--class-sizes", results)
    assert result.exit_code == 2
    assert "--class-sizes is of a log of one's own tasks" in result.output
    refused = invoke("merge", log, "-o", tmp_path / "all.parquet").stderr
    assert "a log is no submission: score, compare, table" in " ".join(refused.split())


def test_what_is_a_log(folder: Path, root: Path, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(own_logs.rows(own_logs.log(tasks=20)))
    pq.write_table(table, tmp_path / "log.parquet")
    (tmp_path / "log.csv").write_text('method,task,"class_ids",image_ids\n')
    (tmp_path / "other.csv").write_text("method,dataset,task_set,class_ids\n")
    (tmp_path / "no.jsonl").write_text("no json\n")
    (tmp_path / "no.parquet").write_bytes(b"PAR1")
    for name, found in {
        "log.parquet": True, "log.csv": True, "other.csv": False, "no.jsonl": False,
        "no.parquet": False, "nowhere.csv": False,
    }.items():  # fmt: skip
        assert is_log(tmp_path / name) is found, name
    assert is_log(folder / "log.jsonl")
    assert is_log(table)
    assert not is_log(root / "examples/my_results.parquet")


def _accuracies(log: own_logs.Columns) -> own_logs.Columns:
    shares = {"accuracy": [n / 25 for n in log["n_correct"]]}
    return {k: v for k, v in log.items() if k not in ("n_correct", "n_query")} | shares


@pytest.mark.parametrize("change", [_accuracies, lambda log: _accuracies(own_logs.with_roles(log))])
def test_accuracies_give_what_their_counts_give(change: Any) -> None:
    """The difference of a method and one that is a query better everywhere is constant in both."""
    rows = own_logs.rows(own_logs.log(tasks=300))
    twin = [{**r, "method": "twin"} for r in rows if r["method"] == "weak"]
    less = [{**r, "method": "less", "n_correct": r["n_correct"] - 1} for r in twin]
    counts = {name: [r[name] for r in [*rows, *twin, *less]] for name in own_logs.ROW}
    first, second = (fb.interval(log, class_sizes=SIZES) for log in (counts, change(counts)))
    found = estimates(second)
    for pair, kinds in estimates(first).items():
        for kind, one in kinds.items():
            other = found[pair][kind]
            assert other["value"] == pytest.approx(one["value"], abs=1e-12)
            assert other.get("verdict") == one.get("verdict")
            for name, error in (("halfwidth", {"abs": 1e-8}), ("p", {"rel": 1e-6})):
                assert (other.get(name) is None) == (one.get(name) is None)
                if one.get(name) is not None:
                    assert other[name] == pytest.approx(one[name], **error)
    usual = [score.accuracy.halfwidth for score in first.scores]
    assert [score.accuracy.halfwidth for score in second.scores] == pytest.approx(usual, rel=1e-9)


def test_tasks_of_more_classes_and_images_than_a_release_has() -> None:
    log = own_logs.log(classes=160, images=300, way=150, per_class=250, tasks=12, methods={"m": 0})
    log["n_query"] = [36_000] * 12
    log["n_correct"] = [1440 * n for n in log["n_correct"]]
    own = fb.open_log(log, class_sizes=dict.fromkeys(range(160), 300))
    (score,) = fb.score(own).scores
    assert score.task_set == "own-150w10s240q"
    assert score.accuracy.mean == pytest.approx(np.mean(log["n_correct"]) / 360)
    with fb.connect(submissions=own) as connection:
        assert connection.execute("SELECT count(*) FROM results").fetchall() == [(12,)]
