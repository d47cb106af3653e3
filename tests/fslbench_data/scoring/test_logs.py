"""Logs of one's own tasks go wherever results do; of several shots and data sets in one, too."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import own_logs
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from commands import invoke, printed
from golden_inputs import joined, write_columns
from own_logs import estimates
from scipy import stats

import fslbench_data as fb
from benchmark_spec.errors import (
    DoubledTaskError,
    FSLBenchError,
    FSLBenchWarning,
    MethodNameError,
    SchemaError,
    SpecError,
    SubmissionError,
    TaskLogError,
    UnknownNameError,
)
from fslbench_data.submission.reading import is_log

SIZES = {str(c): 60 for c in range(15)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a log of three methods on 300 tasks, and the sizes of its classes."""
    folder = tmp_path_factory.mktemp("log")
    write_columns(folder / "log.jsonl", own_logs.with_roles(own_logs.log(tasks=300)))
    (folder / "sizes.json").write_text(json.dumps(SIZES))
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return fb.interval(folder / "log.jsonl", class_sizes=folder / "sizes.json")


def _run(folder, *words, code=0):
    words = tuple(word.replace("LOG", str(folder / "log.jsonl")) for word in words)
    sizes = "--class-sizes", folder / "sizes.json"
    result = invoke(*words, *(() if words[0] == "cite" else sizes))
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.output


@pytest.mark.parametrize("more", [(), ("--details",), ("--format", "csv"), ("--format", "json")])
def test_score_and_interval_say_the_same(folder, more):
    assert _run(folder, "score", "LOG", *more) == _run(folder, "interval", "LOG", *more)


def test_rows_and_columns_are_taken_as_files_are(folder):
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    expected = [*fb.interval(rows).scores]
    for log in (rows, columns):
        assert [*fb.score(log).scores] == expected
        assert fb.table(log).csv() == fb.table(fb.open_log(folder / "log.jsonl")).csv()


def test_tables_figures_and_pages(folder, report, tmp_path):
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


@pytest.mark.parametrize("run", [[], [m + p for p in "01" for m in "ab" for _ in range(40)]])
def test_results_and_tasks_of_sql_have_the_same_numbers(run):
    """Every result joins the task whose images the log gives it: of two sets, or of named runs."""
    parts = [own_logs.log(methods={"a": 0, "b": 0}, tasks=40, images=20, seed=s) for s in range(2)]
    if not run:
        parts[1]["method"] = ["c"] * 40 + ["d"] * 40
        parts[1]["task"] = [100 + task for task in parts[1]["task"]]
    log = joined(parts) | ({"run": run} if run else {})
    own = fb.open_log(log, class_sizes=dict.fromkeys(range(15), 20))
    with fb.connect(submissions=own) as connection:
        rows = connection.execute(
            "SELECT r.method, r.n_correct, t.class_ids, t.query FROM results r "
            "JOIN tasks t USING (dataset, task_set, task_id)"
        ).fetchall()
        paths = dict(connection.execute("SELECT image_id, path FROM images").fetchall())
        names = dict(connection.execute("SELECT class_id, class_name FROM classes").fetchall())
        firsts = "SELECT dataset, class_id, min(image_id) FROM images GROUP BY ALL ORDER BY ALL"
        said = "SELECT dataset, class_id, first_image_id FROM classes ORDER BY ALL"
        assert connection.execute(firsts).fetchall() == connection.execute(said).fetchall()
    assert len(rows) == 160
    found = {
        (method, n, tuple(names[c] for c in classes), tuple(paths[i] for i in query))
        for method, n, classes, query in rows
    }
    for row in own_logs.rows(log):
        images = tuple(str(image) for own in row["image_ids"] for image in own[5:])
        assert (row["method"], row["n_correct"], (*map(str, row["class_ids"]),), images) in found


def test_validate_takes_a_log_in_python_as_the_command_does(folder):
    log = folder / "log.jsonl"
    opened = fb.open_log(log)
    assert "weak on log/own-5w5s5q: 300 tasks" in _run(folder, "validate", "LOG")
    assert "Oops" in _run(folder, "cite", "LOG")
    for source in (log, opened, [log], pd.read_json(log, lines=True)):
        assert fb.validate(source).methods == opened.answers.methods
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    with pytest.raises(FSLBenchError, match="lacks tasks"):
        fb.validate(rows[1:])


def test_tables_and_figures_say_which_half_widths_are_bounds(folder):
    few = fb.open_log(own_logs.log(tasks=40, images=800), class_sizes=dict.fromkeys(SIZES, 800))
    bound = "± is an upper bound"
    assert f"{bound} on log/own-5w5s5q." in fb.table(few).markdown()
    assert f"{bound} for new images: " in fb.score(few)._repr_html_()
    for kind in ("forest", "accuracies"):
        assert f"{bound} for new images" in fb.plot(kind, few).caption
        assert bound not in fb.plot(kind, fb.open_log(folder / "log.jsonl")).caption
    assert bound not in fb.table(few, kind="closed").markdown()
    assert bound not in fb.table(folder / "log.jsonl").markdown()


def test_plan(folder, report):
    """The pilot's own 300 tasks have the width that is found; more of them have narrower ones."""
    text = _run(folder, "plan", "--pilot", "LOG::weak", "--tasks", "300,3000", "--format", "json")
    (planned,) = json.loads(text)["datasets"]
    assert (planned["dataset"], planned["pilot"]["task_set"]) == ("log", "own-5w5s5q")
    widths = {row["tasks"]: row["halfwidth"] for row in planned["rows"] if row["kind"] == "images"}
    assert widths[300] == pytest.approx(report.scores[0].intervals["images"].halfwidth, rel=0.01)
    assert widths[3000] < widths[300]
    words = "plan", "--pilot", "LOG::weak", "--versus", "strong"
    assert "weak minus strong" in _run(folder, *words)


def test_compare(folder):
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
def test_compare_two_logs_of_a_method_each(folder, tmp_path, ending):
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    weak, strong = (str(tmp_path / f"{name}.{ending}") for name in ("weak", "strong"))
    for path in (weak, strong):
        own = [row for row in rows if row["method"] == Path(path).stem]
        table = {name: [row[name] for row in own] for name in own[0]}
        write_columns(Path(path), table)
        write_columns(Path(path.replace(".", "_v.")), table | {"method": ["ours"] * len(own)})
    versions = (path.replace(".", "_v.") for path in (weak, strong))
    assert "ours (weak_v)  ours (strong_v)      -10.04" in _run(folder, "compare", *versions)
    assert "-10.04" in _run(folder, "compare", weak, strong)
    assert "-10.04" in _run(folder, "compare", f"{weak}::weak", strong)
    assert "+10.04" in _run(folder, "compare", strong, weak)
    refused = _run(folder, "compare", weak, "weak", code=2)
    assert "name 1 method of" in refused
    assert "fix: name another log besides" in refused


def test_a_log_stands_alone(folder, root, tmp_path):
    log, results = folder / "log.jsonl", root / "examples/my_results.parquet"
    with pytest.raises(SubmissionError, match="a log of one's own tasks stands beside other"):
        fb.score([log, results])
    result = invoke("score", results, "--class-sizes", results)
    assert result.exit_code == 2
    assert "--class-sizes is of a log of one's own tasks" in result.output
    (tmp_path / "semicolons.csv").write_text("method;task;class_ids\n")
    result = invoke("score", tmp_path / "semicolons.csv", "--class-sizes", "digits")
    assert "separate the columns by commas" in result.output
    refused = invoke("merge", log, "-o", tmp_path / "all.parquet").stderr
    assert "a log is no submission: score, compare, table" in " ".join(refused.split())


def test_what_cannot_be_compared_with_a_log_is_named(folder, root):
    for other, said in (
        ("nowhere.jsonl", "there is no file nowhere.jsonl"),
        ("strongest", "did you mean 'strong'?"),
        (str(root / "examples/my_results.parquet"), "a log of one's own tasks stands beside other"),
    ):
        for words in (("LOG", other), (other, "LOG::weak")):
            assert said in " ".join(_run(folder, "compare", *words, code=2).split())
    assert "+10.04" in _run(folder, "compare", "strong", "LOG::weak")


def test_what_is_a_log(folder, root, tmp_path):
    log = own_logs.log(tasks=20)
    write_columns(tmp_path / "log.parquet", log)
    (tmp_path / "log.csv").write_text('method,task,"class_ids",image_ids\n')
    (tmp_path / "other.csv").write_text("method,dataset,task_set,class_ids\n")
    (tmp_path / "no.jsonl").write_text("no json\n")
    (tmp_path / "no.parquet").write_bytes(b"PAR1")
    for source in (tmp_path / "log.parquet", tmp_path / "log.csv", folder / "log.jsonl"):
        assert is_log(source), source
    assert is_log(pa.table(log))
    assert not is_log(root / "examples/my_results.parquet")
    for name in ("other.csv", "no.jsonl", "no.parquet", "nowhere.csv"):
        assert not is_log(tmp_path / name), name


def _accuracies(log):
    shares = {"accuracy": [n / 25 for n in log["n_correct"]]}
    return {k: v for k, v in log.items() if k not in ("n_correct", "n_query")} | shares


@pytest.mark.parametrize("change", [_accuracies, lambda log: _accuracies(own_logs.with_roles(log))])
def test_accuracies_give_what_their_counts_give(change):
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
    usual, again = ([s.accuracy.halfwidth for s in report.scores] for report in (first, second))
    assert again == pytest.approx(usual, rel=1e-9)


def test_tasks_of_more_classes_and_images_than_a_release_has():
    log = own_logs.log(classes=160, images=300, way=150, per_class=250, tasks=12, methods={"m": 0})
    log["n_query"] = [36_000] * 12
    log["n_correct"] = [1440 * n for n in log["n_correct"]]
    own = fb.open_log(log, class_sizes=dict.fromkeys(range(160), 300))
    (score,) = fb.score(own).scores
    assert score.task_set == "own-150w10s240q"
    assert score.accuracy.mean == pytest.approx(np.mean(log["n_correct"]) / 360)
    with fb.connect(submissions=own) as connection:
        assert connection.execute("SELECT count(*) FROM results").fetchall() == [(12,)]


def _of_shots(shots, tasks=120, **how):
    """Rows of tasks of 5 ways with 5 queries of a class, whose names are the same for all shots."""
    columns = own_logs.log(per_class=shots + 5, tasks=tasks, **how)
    return own_logs.rows(own_logs.with_roles(columns, shots))


def _write(path, rows):
    return str(write_columns(path, {name: [row[name] for row in rows] for name in rows[0]}))


def _told(log):
    """The log with lists of as many right queries as each task has."""
    return [row | {"correct": [int(i < row["n_correct"]) for i in range(25)]} for row in log]


def _unequal(log):
    """The log with accuracies that are no whole number of queries, as worst-class ones are."""
    for number, row in enumerate(log):
        row["accuracy"] = (row.pop("n_correct") + 0.013 * (number % 7)) / (row.pop("n_query") + 1)
    return log


@pytest.mark.parametrize("change", [list, _told, _unequal])
@pytest.mark.parametrize("files", [False, True])
def test_each_has_the_numbers_that_it_has_alone(change, files, tmp_path):
    rows = {shots: change(_of_shots(shots)) for shots in (5, 1)}
    endings = {5: "jsonl", 1: "parquet"}
    paths = [_write(tmp_path / f"{shots}.{endings[shots]}", of) for shots, of in rows.items()]
    how = {"class_sizes": SIZES, "inductive": True if change is _told else None}
    both = fb.interval(paths if files else [*rows[5], *rows[1]], **how)
    alone = [fb.interval(rows[shots], **how) for shots in (1, 5)]
    assert [str(each.scored) for each in both.sets] == ["log/own-5w1s5q", "log/own-5w5s5q"]
    digests = [one.sets[0].scored.fingerprint for one in alone]
    assert [each.scored.fingerprint for each in both.sets] == digests
    assert [*both.scores] == [score for one in alone for score in one.scores]
    assert [*both.comparisons] == [pair for one in alone for pair in one.comparisons]
    if change is _unequal:
        mean = np.mean([row["accuracy"] for row in rows[1] if row["method"] == "weak"])
        assert both.scores[0].accuracy.mean == pytest.approx(100 * mean, abs=1e-9)
    assert change is not _told or all(score.by_queries for score in both.scores)


def test_a_table_has_a_column_for_each(tmp_path):
    paths = [_write(tmp_path / f"{shots}.jsonl", _of_shots(shots)) for shots in (1, 5)]
    (tmp_path / "sizes.json").write_text(json.dumps({str(c): 60 for c in range(15)}))
    given = ["table", *paths, "--class-sizes", str(tmp_path / "sizes.json"), "--format", "latex"]
    assert r"method & 1-shot & 5-shot \\" in printed(*given)
    valid = invoke("validate", *paths, *given[3:5])
    assert f"{', '.join(paths)} are together a valid log" in valid.stderr
    assert printed("cite", *paths).startswith("@misc{fslbench")


def test_runs_in_another_column_than_run():
    rows = [
        row | {"seed": seed, "n_correct": max(0, row["n_correct"] - (seed + number) % 3)}
        for seed in (0, 1, 2)
        for number, row in enumerate([*_of_shots(1), *_of_shots(5)])
    ]
    named = [{"run": row["seed"], **row} for row in rows]
    by_seed, by_run = (fb.interval(log, class_sizes=SIZES) for log in (rows, named))
    assert [*by_seed.scores] == [*by_run.scores]
    assert {score.runs for score in by_seed.scores} == {3}
    assert "have one mean (copies?)" not in str(by_seed)


def test_copies_of_one_run_are_told():
    rows = [row | {"run": run} for run in "ab" for row in _of_shots(5)]
    of_log = fb.interval(rows, class_sizes=SIZES)
    example = fb.Submission.read("examples/my_results.parquet").to_pandas()
    copies = pd.concat([example.assign(run=run) for run in "ab"])
    for report in (of_log, fb.score(copies)):
        assert "have one mean (copies?)" in " ".join(str(report).split())


@pytest.mark.parametrize("shots", [{1: 120, 5: 19}, dict.fromkeys(range(1, 6), 30)])
def test_few_tasks_or_many_numbers_of_shots_stay_together(shots):
    rows = [
        {**row, "task": f"{number}-{row['task']}"}
        for number, tasks in shots.items()
        for row in _of_shots(number, tasks, seed=number)
    ]
    (one,) = fb.interval(rows, class_sizes=SIZES).sets
    assert one.scored.n_tasks == sum(shots.values())
    assert one.scored.name.suite == "episodes"


def test_logs_that_cannot_be_joined():
    one = pa.Table.from_pylist(_of_shots(1))
    texts = pa.Table.from_pylist([{**row, "class_ids": [*"abcde"]} for row in _of_shots(5)])
    numbers = pa.Table.from_pylist([{**row, "method": 1} for row in _of_shots(1)])
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


def test_runs_with_tasks_of_their_own_say_why_tasks_are_taken_as_a_whole():
    rows = [{**row, "run": run} for run in range(2) for row in _told(_of_shots(5, seed=run))]
    with pytest.warns(FSLBenchWarning, match="changes nothing where training runs have tasks of"):
        report = fb.interval(rows, class_sizes=SIZES, inductive=True)
    said = " ".join(str(report).split())
    assert "inductive changes nothing where training runs have tasks of their own" in said
    assert "with --inductive" not in said
    assert "--inductive" not in report._repr_html_()
    assert {score.by_queries for score in report.scores} == {None}
    assert "the column correct" not in said


def test_groups_with_two_images_in_a_task_are_told():
    groups = {1000 * c + i: f"{c}-{i // 2}" for c in range(15) for i in range(60)}
    with pytest.warns(FSLBenchWarning, match="a task shows several images of a group"):
        fb.interval(_told(_of_shots(5)), groups=groups, inductive=True)


def test_a_plan_is_for_the_shots_that_are_asked_for():
    of_weak = [row for row in _of_shots(5) if row["method"] == "weak"]
    log = fb.open_log([*_of_shots(1), *of_weak], class_sizes=SIZES)
    planned = {shots: fb.plan(log, method="weak", shot=shots) for shots in (1, 5)}
    for shots, each in planned.items():
        assert str(each.sets[0].pilot.info) == f"log/own-5w{shots}s5q"
    assert planned[5].left_out == ("log/own-5w1s5q: planned with --shots 1",)
    (one,) = fb.plan(log, method="strong").sets
    assert one.pilot.info.protocol.shot == 1
    with pytest.raises(SpecError, match=r"strong answered no tasks of 5 shots\n.*\n.*5w1s5q"):
        fb.plan(log, method="strong", shot=5)


def test_a_plan_of_a_log_is_told_no_other_tasks(tmp_path):
    path = _write(tmp_path / "log.parquet", _of_shots(5))
    for option in ("--ways=7", "--queries=3", "--suite=open", "--suite=balanced"):
        result = invoke("plan", "--pilot", f"{path}::weak", option)
        assert result.exit_code == 2
        ways = option == "--ways=7"
        said = "answered no tasks of 7 ways" if ways else "the queries and draws that it has"
        assert said in result.stderr
    assert invoke("plan", "--pilot", f"{path}::weak", "--suite=pooled", "--ways=5").exit_code == 0


OF_SETS = {"birds": {str(c): 60 for c in range(15)}, "planes": {str(c): 40 for c in range(12)}}
LOGS = {
    "birds": own_logs.log(tasks=200),
    "planes": own_logs.log(classes=12, images=40, tasks=150, seed=1),
}
"""The same names of methods, tasks, classes and images in both."""


def _named(logs, names=None):
    """Join logs in one, in the column `dataset`, perhaps under other names."""
    parts = [
        {**log, "dataset": [(names or {}).get(name, name)] * len(log["method"])}
        for name, log in logs.items()
    ]
    return joined(parts)


def _rows(report):
    """Scores and comparisons without the names of data sets."""
    every = report.scores.to_arrow().to_pylist() + report.comparisons.to_arrow().to_pylist()
    return [{name: value for name, value in row.items() if name != "dataset"} for row in every]


@pytest.fixture(scope="module")
def both():
    return fb.score(fb.open_log(_named(LOGS), class_sizes=OF_SETS))


def test_each_is_scored_as_if_alone(both):
    alone = [fb.interval(log, class_sizes=OF_SETS[name]) for name, log in LOGS.items()]
    for number, (name, one) in enumerate(zip(LOGS, alone, strict=True)):
        (own,) = (each for each in both.sets if each.scored.dataset == name)
        assert own == both.sets[number]
        part = fb.score(fb.open_log(_named(LOGS), class_sizes=OF_SETS), datasets=name)
        assert _rows(part) == _rows(one)
        assert [each in str(part.signature) for each in LOGS] == [each == name for each in LOGS]
        digest = one.signature.sets[0].fingerprint
        assert own.scored.fingerprint == digest
        assert f"own-tasks:{name}:{own.scored.n_tasks}x5x10#{digest[:12]}" in str(both.signature)
        of_one = fb.interval(_named({name: LOGS[name]}), class_sizes=OF_SETS[name])
        assert of_one.log is not None
        assert {score.dataset for score in of_one.scores} == {name}
        assert _rows(of_one) == _rows(one)


def test_what_every_output_says(both):
    content = both.to_dict()
    classes = {name: facts["classes"] for name, facts in content["logs"].items()}
    assert classes == {"birds": 15, "planes": 12}
    assert "log" not in content
    assert "more: means over data sets (--means)" in str(both)
    with fb.connect(submissions=fb.open_log(_named(LOGS), class_sizes=OF_SETS)) as database:
        found = database.sql("SELECT mean, halfwidth, datasets FROM dataset_means").fetchall()
        sizes = database.sql(
            "SELECT dataset, sum(n_images) FROM classes GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert found == [(m.mean, m.halfwidth, 2) for m in both.dataset_means]
    assert sizes == [("birds", 900), ("planes", 480)]


OF_CLASS = [(name, *own) for name, sizes in OF_SETS.items() for own in sizes.items()]
"""Data sets, classes and their numbers of images."""


def _table(rows):
    return pl.DataFrame(rows, ["dataset", "class", "n_images"], orient="row")


def test_forms_of_sizes_of_classes(both, tmp_path):
    (json_file := tmp_path / "sizes.json").write_text(json.dumps(OF_SETS))
    _table(OF_CLASS).write_csv(csv_file := tmp_path / "sizes.csv")
    number = {"birds": 1, "planes": 2}
    numbers = {number[name]: own for name, own in OF_SETS.items()}
    table = _table([(number[name], *own) for name, *own in OF_CLASS])
    for given, names in ((json_file, {}), (csv_file, {}), (numbers, number), (table, number)):
        found = fb.score(fb.open_log(_named(LOGS, names), class_sizes=given))
        assert _rows(found) == _rows(both)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (_table([*OF_CLASS[:-1], ("planes", "11", 0)]), "n_images of class '11' is '0'"),
        (_table([*OF_CLASS, OF_CLASS[-1]]), rf"twice(.|\n)*data row {len(OF_CLASS) + 1}"),
        ({"birds": OF_SETS["birds"]}, "class sizes has no data set"),
        (OF_SETS["birds"], "class sizes has no data set"),
    ],
)
def test_sizes_of_classes_are_of_one_data_set(given, said):
    with pytest.raises(SchemaError, match=said):
        fb.open_log(_named(LOGS), class_sizes=given)


def test_groups_and_superclasses_by_data_set():
    above = {name: {c: f"{int(c) // 3}" for c in sizes} for name, sizes in OF_SETS.items()}
    images = {name: np.unique(log["image_ids"]).tolist() for name, log in LOGS.items()}
    groups = {name: {str(i): str(i - i % 2) for i in own} for name, own in images.items()}
    found = fb.score(fb.open_log(_named(LOGS), groups=groups, superclasses=above))
    superclasses = {name: facts.superclasses for name, facts in found.logs.items()}
    assert superclasses == {"birds": 5, "planes": 4}
    assert all(each.units.groups for each in found.sets)


_LOG = _named(LOGS)
_ROWS = len(_LOG["method"])
_SECOND = len(LOGS["birds"]["method"])
_FEW = {"birds": OF_SETS["birds"], "planes": {"0": 40}}


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
        (_named(LOGS, {"birds": 1}), {}, SchemaError, "column 'dataset' holds"),
    ],
)
def test_errors_name_the_data_set_and_the_rows_of_the_file(log, more, error, said):
    with pytest.raises(error, match=said):
        fb.open_log(log, **more)


def _planes(images, queries):
    """The log of planes with other numbers of images a class and queries a task."""
    log = LOGS["planes"]
    few = [[own[:images] for own in ids] for ids in log["image_ids"]]
    right = [min(right, queries) for right in log["n_correct"]]
    return log | {"image_ids": few, "n_correct": right, "n_query": [queries] * len(right)}


def test_numbers_of_queries_may_differ_between_data_sets():
    """Their counts stay counts: shares of other numbers are not taken for accuracies."""
    few = _planes(10, 45)
    found = fb.open_log(_named({"birds": LOGS["birds"], "planes": few}))
    asked = found.answers.submission.table.column("n_query").unique().to_pylist()
    assert asked == [25, 45]
    assert _rows(fb.score(found))[-1] == _rows(fb.score(fb.open_log(few)))[-1]


def _draws(classes, seed):
    rng, made, skills = np.random.default_rng(seed), [], {"adapter": 1.4, "prompt": 0.6}
    for method, draw, image in product(skills, range(3), range(20 * classes)):
        scores = rng.normal(size=classes)
        scores[image // 20] += skills[method]
        row = {"method": method, "draw": draw, "shots": 4, "image": image, "class": image // 20}
        made.append(row | {"predicted": int(scores.argmax())})
    return made


def test_all_classes_at_once():
    logs = {"base": _draws(6, 0), "new": _draws(5, 1)}
    rows = [{"dataset": name, **row} for name, log in logs.items() for row in log]
    both = fb.interval(rows, pool=40)
    alone = [fb.interval(log, pool=40) for log in logs.values()]
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
            fb.interval(bad)


def test_the_column_is_read_as_an_index_of_pandas(both, tmp_path):
    frame = pd.DataFrame(_named(LOGS)).set_index("dataset", append=True)
    frame.to_parquet(tmp_path / "log.parquet")
    for log in (frame, tmp_path / "log.parquet"):
        assert _rows(fb.score(fb.open_log(log, class_sizes=OF_SETS))) == _rows(both)


def test_a_seed_is_a_run_where_it_tells_tasks_apart():
    columns = own_logs.log(tasks=90)
    plain = {**columns, "seed": [task % 5 for task in columns["task"]]}
    runs = {name: values * 3 for name, values in LOGS["planes"].items()}
    runs["seed"] = [seed for seed in range(3) for _ in LOGS["planes"]["method"]]
    log = _named({"birds": plain, "planes": runs})
    joint = fb.score(fb.open_log(log))
    assert [score.runs for score in joint.scores] == [1] * 3 + [3] * 3
    assert _rows(fb.score(fb.open_log(log), datasets="birds")) == _rows(fb.interval(plain))


def test_means_are_of_the_methods_that_answer_every_data_set():
    other = own_logs.log(methods={"alone": 0.0}, tasks=200, seed=5)
    logs = {name: log | {"task": [*map(str, log["task"])]} for name, log in LOGS.items()}
    other["task"] = [f"other {task}" for task in other["task"]]
    logs["birds"] = joined([logs["birds"], other])
    with pytest.warns(FSLBenchWarning, match="not compared, since their tasks differ"):
        report = fb.score(fb.open_log(_named(logs), class_sizes=OF_SETS))
    assert [each.scored.dataset for each in report.sets] == ["birds", "birds (2)", "planes"]
    assert {mean.method for mean in report.dataset_means} == {"weak", "strong", "strong too"}
    assert {mean.datasets for mean in report.dataset_means} == {("birds", "planes")}


def test_a_plan_is_of_one_protocol():
    logs = {"birds": LOGS["birds"], "planes": _planes(9, 20)}
    opened = fb.open_log(own_logs.with_roles(_named(logs)))
    found = fb.plan(opened, method="weak", datasets="planes")
    assert [each.pilot.info.dataset for each in found.sets] == ["planes"]
    first = fb.plan(opened, method="weak")
    assert first.left_out == ("planes/own-5w5s4q: planned with --dataset planes --shots 5",)


def test_means_of_runs_with_tasks_of_their_own_by_hand():
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


def test_episodes_of_other_sizes_have_a_mean():
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


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_misnamed_column_is_shown_whatever_the_kind_of_file(tmp_path, ending):
    rows = own_logs.log(tasks=3)
    path = write_columns(tmp_path / f"log.{ending}", rows | {"Queries": rows.pop("n_query")})
    with pytest.raises(SchemaError, match=r"(?s)misses the column n_query.*'Queries'"):
        fb.interval(path)


def test_ids_of_places_in_a_task_are_doubted():
    rows = own_logs.log(tasks=100)
    ids = zip(rows["task"], rows["image_ids"], strict=True)
    rows["image_ids"] = [[[f"{t}_{i}" for i in own] for own in of_task] for t, of_task in ids]
    with pytest.warns(FSLBenchWarning, match="no image is in two tasks"):
        fb.open_log(rows)


def test_tasks_that_were_left_out_are_noticed():
    rows = [row for row in own_logs.rows(own_logs.log()) if row["task"] not in (7, 9)]
    with pytest.warns(FSLBenchWarning, match="numbered 0 to 599, and 2 of these"):
        fb.open_log(rows)
