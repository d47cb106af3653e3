"""Reading a researcher's own log: every form, what is wrong, and sizes by data sets' names."""

import json
from decimal import Decimal

import numpy as np
import own_logs
import pandas as pd
import polars
import pyarrow as pa
import pytest
from golden_inputs import write_columns
from own_logs import estimates

import benchmark_spec.catalogue as known
import fslbench_data as fb
from benchmark_spec.errors import (
    AccuracyError,
    CountError,
    MethodNameError,
    SchemaError,
    TaskLogError,
    UnknownNameError,
    UnreadableError,
)
from fslbench_data.scoring.task_log import TaskLog
from fslbench_data.validation.log_source import numbers_by_id

LOG = own_logs.log(tasks=7, classes=8, images=20, per_class=6)
_REST = ("n_correct", "n_query")


def _read(source):
    (log,) = TaskLog.read(source)
    return log


def _joined(ids):
    """Ids of each class as one list a task."""
    return [[i for own in of_task for i in own] for of_task in ids]


def _flat(columns):
    return columns | {"image_ids": _joined(columns["image_ids"])}


def _texts(columns):
    """The same with padded texts for ids, which sort as the numbers do."""
    images = [[[f"{i:06}.png" for i in own] for own in ids] for ids in columns["image_ids"]]
    classes = [[f"c{c:02}" for c in ids] for ids in columns["class_ids"]]
    return columns | {"class_ids": classes, "image_ids": images}


def _check(log):
    """It is LOG, whatever the ids are called."""
    assert (log.methods, len(log.tasks)) == (("weak", "strong", "strong too"), 7)
    assert log.method.tolist() == [0] * 7 + [1] * 7 + [2] * 7
    assert log.task.tolist() == [*range(7)] * 3
    order = {c: i for i, c in enumerate(sorted({c for ids in LOG["class_ids"] for c in ids}))}
    assert log.class_ids.tolist() == [[order[c] for c in ids] for ids in LOG["class_ids"]]
    flat = np.array(LOG["image_ids"])
    assert np.array_equal(np.unique(flat)[log.image_ids], flat)
    assert np.allclose(log.y, np.array(LOG["n_correct"]) / 25, atol=0)


def _roles(columns):
    """The same with the first image of every class for support, the others in one list."""
    told = own_logs.with_roles(columns, 1)
    return told | {"query_ids": _joined(told["query_ids"])}


def _cells(columns):
    """The same with lists as texts, as a CSV file that was converted has them."""
    return columns | {k: [json.dumps(v) for v in columns[k]] for k in ("class_ids", "image_ids")}


def _shares(columns):
    shares = [count / 25 for count in columns["n_correct"]]
    return {k: v for k, v in columns.items() if k not in _REST} | {"accuracy": shares}


@pytest.mark.parametrize("form", [dict, _flat, _texts, _roles, _cells, _shares])
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "rows", "columns", "arrow"])
def test_every_form_gives_the_same(kind, form, tmp_path):
    columns = form(LOG)
    sources = {
        "parquet": lambda: write_columns(tmp_path / "x.parquet", columns),
        "csv": lambda: str(write_columns(tmp_path / "x.csv", columns)),
        "jsonl": lambda: write_columns(tmp_path / "x.jsonl", columns),
        "rows": lambda: own_logs.rows(columns),
        "columns": lambda: columns,
        "arrow": lambda: pa.table(columns),
    }
    _check(_read(sources[kind]()))


FRAMES = {
    "large lists of string views": lambda _: polars.DataFrame(_texts(LOG)),
    "columns of arrays": lambda _: {name: np.array(values) for name, values in LOG.items()},
    "rows with arrays": lambda _: [
        {**row, "image_ids": np.array(row["image_ids"])} for row in own_logs.rows(LOG)
    ],
    "another order of an index": lambda _: pd.DataFrame(_flat(LOG)).assign(loss=0.5)[::-1][::-1],
    "polars": lambda table: polars.from_arrow(table),
    "arrays in cells": lambda table: _arrays(table.to_pandas()),
    "of Arrow": lambda table: table.to_pandas().convert_dtypes(dtype_backend="pyarrow"),
    "categories": lambda table: table.to_pandas().astype({"method": "category"}),
    "nullable": lambda table: table.to_pandas().convert_dtypes(),
    "an index with names of columns": lambda table: table.to_pandas().rename_axis("run"),
}


def _arrays(frame):
    """A frame whose cells are arrays, of images (K, m)."""
    return frame.assign(image_ids=[np.stack(list(ids)) for ids in frame["image_ids"]])


@pytest.mark.parametrize("kind", FRAMES)
def test_whatever_speaks_arrow_is_a_log(kind):
    _check(_read(FRAMES[kind](pa.table(LOG))))


def test_what_is_no_table_is_refused_as_of_submissions():
    for source, said in ((polars.DataFrame, "class DataFrame"), (3, "int"), (iter(()), "tuple_")):
        with pytest.raises(SchemaError, match=f"the log is a {said}"):
            _read(source)


@pytest.mark.parametrize("name", ["step", "shots", "run", "__index_level_0__", None])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_index_is_left_alone(name, ending, tmp_path):
    if ending == "csv" and name == "run":
        pytest.skip("CSV does not say that a column is the index")
    frame = pd.DataFrame(_flat(LOG))
    frame.index = frame.index[::-1] % 4  # which pandas writes as a column
    path = tmp_path / f"x.{ending}"
    frame = frame.rename_axis(name)
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path)
    _check(_read(path))


def test_an_index_that_is_needed_is_read(tmp_path):
    frame = pd.DataFrame(LOG).set_index(["task", "method"])
    frame.to_parquet(tmp_path / "x.parquet")
    _check(_read(tmp_path / "x.parquet"))


@pytest.mark.parametrize("gap", [None, float("nan")])
@pytest.mark.parametrize("kind", ["pandas", "columns"])
def test_the_advice_on_names_of_several_kinds_leads_on(kind, gap):
    """Texts are made of all there are, and then the empty one is named."""
    tasks = [gap, 3, "x", *LOG["task"][3:]]
    make = (lambda c: c) if kind == "columns" else pd.DataFrame
    with pytest.raises(SchemaError, match="row 3") as told:
        _read(make(LOG | {"task": tasks}))
    assert "wherever there is one: str(value)" in told.value.fix
    texts = [value if value is gap else str(value) for value in tasks]
    with pytest.raises(SchemaError, match="'task' is empty in data row 1"):
        _read(make(LOG | {"task": texts}))


def test_texts_that_look_like_dates(tmp_path):
    dates = [[f"2020-01-{c + 1:02}" for c in ids] for ids in LOG["class_ids"]]
    log = _read(write_columns(tmp_path / "x.jsonl", LOG | {"class_ids": dates}))
    assert log.classes[0] == "2020-01-01"
    _check(log)


def _with(name, value, at=3):
    return LOG | {name: [*LOG[name][:at], value, *LOG[name][at + 1 :]]}


def _without(*names, **more):
    return {k: v for k, v in LOG.items() if k not in names} | more


def _of(accuracies):
    return _without(*_REST, accuracy=accuracies)


WRONG = {
    "queries alone": (
        LOG | {"image_ids": [[own[1:] for own in ids] for ids in LOG["image_ids"]]},
        "n_query is 25 and a task has 25 images: 0 of support for 5 classes",
    ),
    "shots that do not fit": (
        LOG | {"shots": [3] * 21},
        "a task has 30 images: 5 of support for 5 classes and 3 shots",
    ),
    "fewer queries than counted": (
        _roles(LOG) | {"query_ids": [[own[1:4] for own in ids] for ids in LOG["image_ids"]]},
        "n_query is 25 and a task has 15 query_ids",
    ),
    "support alone": (
        {k: v for k, v in _roles(LOG).items() if k != "query_ids"},
        "misses the column query_ids",
    ),
    "both ways": (LOG | _roles(LOG), "says twice which images"),
    "missing": (
        _without("image_ids", "method"),
        "misses the columns method, support_ids and query_ids",
    ),
    "half the counts": (_without("n_query"), "misses the column n_query"),
    "no result": (_without(*_REST), "misses the column correct"),
    "accuracies alone": (
        _without("class_ids", "image_ids", *_REST, accuracy=[0.5] * 21),
        "fslbench score takes accuracies alone",
    ),
    "two results": (_without(accuracy=[0.5] * 21), "says twice"),
    "no rows": ({k: [] for k in LOG}, "has no rows"),
    "null method": (_with("method", None), "data row 4"),
    "formula": (_with("method", "=1"), "'=1'", MethodNameError),
    "number as method": (_without("method", method=[1.5] * 21), "column 'method'"),
    "null list": (_with("class_ids", None), "class_ids is null.*\n.*data row 4"),
    "null id": (_with("class_ids", [1, 2, None, 4, 5]), "class_ids is null.*\n.*data row 4"),
    "another K": (
        _with("class_ids", [1, 2, 3]),
        "5 lists in image_ids and 3 class_ids.*\n.*data row 4",
    ),
    "another m": (
        _flat(LOG) | {"image_ids": [*_flat(LOG)["image_ids"][:20], [1, 2]]},
        "a task has 2 image_ids and 5 class_ids.*\n.*data row 21",
    ),
    "ragged": (
        _with("image_ids", [[1, 2, 3, 4], [5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]]),
        "n_query is 25 and a task has 15 images.*\n.*data row 4",
    ),
    "mixed ids": (
        _with("class_ids", ["a", "b", "c", "d", "e"]),
        r"'class_ids' holds values of several kinds(?s:.*)row 4(?s:.*)\[str\(i\) for i in ids\]",
    ),
    "tasks by number and by name": (
        _with("task", "t3"),
        r"'task' holds a int and then a str(?s:.*)row 4(?s:.*)str\(value\)",
    ),
    "columns of different length": (LOG | {"task": LOG["task"][:-1]}, "cannot be made a table"),
    "fractional ids": (
        LOG | {"class_ids": [[c + 0.5 for c in ids] for ids in LOG["class_ids"]]},
        r"holds lists of double[^~]*, not \[3\.0, 0\.0\]",
    ),
    "no lists": (LOG | {"image_ids": list(range(21))}, "'image_ids' holds int64"),
    "empty lists": (LOG | {"class_ids": [[]] * 21}, "class_ids"),
    "too many right": (_with("n_correct", 26), "above n_query.*\n.*data row 4", CountError),
    "below 0": (_with("n_correct", -1), "below 0.*\n.*data row 4", CountError),
    "no queries": (_with("n_query", 0), "n_query is not above 0.*\n.*data row 4", CountError),
    "a fraction as count": (_with("n_correct", 0.9), "n_correct is fractional", CountError),
    "NaN": (_of([0.5] * 20 + [float("nan")]), "data row 21", AccuracyError),
    "percentages": (_of([81.2] * 21), "divide all of them by 100", AccuracyError),
    "a loss": (_of([-3.0] * 21), "bring the statistic to 0 to 1", AccuracyError),
    "a word": (_of(["0.5"] * 20 + ["good"]), "'good'.*\n.*row 21"),
}


_OF_JSON = (float, int, str, list, dict)


@pytest.mark.parametrize(
    "others",
    [
        [0.5, "nan"],
        [{"lr": 0.1, "sizes": [1, {"a": 2}]}, None],
        ["x", ["x", "y"]],
        [2**70, True],
        ["2020-01-01T00:00:00", 5],
        [np.zeros((2, 2)), b"\xff"],
        [Decimal("1.50"), object()],
        [[[1], [2, 3]], []],
    ],
)
@pytest.mark.parametrize("name", ["note", "seed", "shots"])
@pytest.mark.parametrize("kind", ["jsonl", "rows", "columns", "pandas"])
def test_other_columns_are_left_alone(kind, name, others, tmp_path):
    """Whatever they hold, also values of several kinds; optional ones too, if they are no help."""
    columns = LOG | {name: [*others, *([others[0]] * 19)]}
    if kind == "jsonl" and not isinstance(others[0], _OF_JSON):
        pytest.skip("JSON does not have such values")
    sources = {
        "jsonl": lambda: write_columns(tmp_path / "x.jsonl", columns),
        "rows": lambda: own_logs.rows(columns),
        "columns": lambda: columns,
        "pandas": lambda: pd.DataFrame(_flat(columns)),
    }
    _check(_read(sources[kind]()))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    columns, said, *error = WRONG[name]
    with pytest.raises(*error or [SchemaError], match=said):
        _read(columns)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("x.csv", b"", "is empty"),
        ("x.csv", "method,task\nm,0\n".encode("utf-16"), "is in UTF-16"),
        ("x.csv", b'method,task,class_ids\nm,0,"[1\n', "a quote does not stand around a cell"),
        ("x.csv", b"method,task,class_ids,image_ids,accuracy\nm,0,1 2,1,0.5\n", "ids is '1 2'"),
        ("x.csv", b"method,task,task\nm,0,1\n", "doubles column 'task'"),
        ("x.parquet", b"PAR1 no more", "cannot be read as parquet"),
        ("x.jsonl", b'{"method": "m"\n', "is not one object"),
        ("x.jsonl", b'{"task": ' + b"[" * 5000 + b"]" * 5000 + b"}\n", "nested 5001 deep"),
    ],
)
def test_files_that_are_refused(file, content, said, tmp_path):
    (tmp_path / file).write_bytes(content)
    with pytest.raises((UnreadableError, SchemaError), match=said):
        _read(tmp_path / file)


def test_tables_of_two_columns(tmp_path):
    (path := tmp_path / "sizes.csv").write_text("class,n_images,more\n3,20,x\n5,21,y\n")
    (other := tmp_path / "sizes.json").write_text('{"3": 20, "5": 21}')
    forms = [
        path, str(other), {3: 20, 5: 21}, {"class": [3, 5], "n_images": [20, 21]},
        pa.table({"class": ["3", "5"], "n_images": [20, 21]}), {np.int64(3): np.int64(20), 5: 21},
    ]  # fmt: skip
    for form in forms:
        assert numbers_by_id(form, "class", "n_images", "sizes") == {"3": 20, "5": 21}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({3: 0}, "of class '3' is '0'"),
        ({3: 2.5}, "n_images is 2.5\n"),
        ({3: 20.0}, "n_images is 20.0\n(?s:.*)not as 60.0"),
        ({3: True}, "n_images is True\n"),
        ({None: 2}, "class is empty\n"),
        ({3: "many"}, "is 'many'"),
        ({"class": [3, 3], "n_images": [1, 1]}, "stands there twice"),
        (pa.table({"class": [3]}), "not one column n_images"),
        ({3: None}, "is empty"),
    ],
)
def test_sizes_that_are_refused(content, said):
    with pytest.raises(SchemaError, match=said):
        numbers_by_id(content, "class", "n_images", "sizes")


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        ('{"3": 20, "4": 0}', SchemaError, r"of class '4' is '0'\n.*sizes\.json"),
        ('{"3": 20, "3": 30}', SchemaError, r"'3' stands there twice\n.*sizes\.json"),
        ("[1]", UnreadableError, "JSON"),
        ("{", UnreadableError, "JSON"),
        ("[" * 100_000, UnreadableError, "JSON"),
    ],
)
def test_a_file_of_sizes_is_named(content, error, said, tmp_path):
    (path := tmp_path / "sizes.json").write_text(content)
    with pytest.raises(error, match=said):
        numbers_by_id(path, "class", "n_images", "class sizes")


def test_roles_are_told():
    told, untold = _read(_roles(LOG)), _read(LOG)
    assert (told.roles, untold.roles) == (True, False)
    assert (told.shots == 1).all()
    assert not untold.shots.any()
    for shots in (1, "one"):  # those that fit, and what is no number
        _check(_read(LOG | {"shots": [shots] * 21}))


def _again(columns, times, **more):
    return {**{name: values * times for name, values in columns.items()}, **more}


@pytest.mark.parametrize("name", ["run", "seed", "trial", "fold"])
@pytest.mark.parametrize("kind", [int, str])
def test_training_runs(name, kind):
    values = [kind(run) for run in (7, 3) for _ in range(21)]
    log = _read(_again(LOG, 2, **{name: values}))
    assert (log.runs, log.run_column) == (("7", "3"), name)
    assert log.run.tolist() == [0] * 21 + [1] * 21


def test_floats_of_pandas_name_runs_and_tasks():
    frame = pd.DataFrame(_again(_flat(LOG), 2, run=[1.0] * 21 + [2.0] * 21))
    assert _read(frame).runs == ("1", "2")
    numbered = frame.assign(task=[*range(21), *range(21)])
    read = [_read(each).tasks for each in (numbered, numbered.astype({"task": float}))]
    assert read[0] == read[1] == tuple(map(str, range(21)))


LEFT_ALONE = {
    "one value": [0] * 42,
    "does not tell all apart": [0] * 41 + [1],
    "of two kinds": [1] * 21 + ["b"] * 21,
    "lists": [[1]] * 42,
    "gaps": [1] * 21 + [None] * 21,
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_columns_that_name_no_runs(name, tmp_path):
    columns = _again(LOG, 2, seed=LEFT_ALONE[name])
    lines = write_columns(tmp_path / "x.jsonl", columns)
    for source in (columns, own_logs.rows(columns), lines):
        log = _read(source)
        assert (log.runs, log.run_column) == ((), "")
    once = {**LOG, "seed": [*LEFT_ALONE[name][:20], 5]}
    assert _read(once).run_column == ""  # no task repeats: a column like any other


def _drawn(sizes, tasks=300):
    """Tasks of 5 ways and 6 images a class, drawn from classes of these names and sizes."""
    rng, names = np.random.default_rng(0), [*sizes]
    log = {"method": ["A"] * tasks, "task": list(range(tasks))}
    classes = [rng.choice(len(names), 5, replace=False) for _ in range(tasks)]
    log["class_ids"] = [[names[c] for c in of] for of in classes]
    log["image_ids"] = [
        [(1000 * c + rng.choice(sizes[names[c]], 6, replace=False)).tolist() for c in of]
        for of in classes
    ]
    log["n_correct"], log["n_query"] = rng.integers(10, 26, tasks).tolist(), [25] * tasks
    return log


MINI = {str(n): 600 for n in range(20)}


def test_the_splits_of_papers():
    splits = known.test_splits()
    assert (splits["miniimagenet"].classes, splits["miniimagenet"].images) == (20, 600)
    assert (splits["tieredimagenet"].classes, splits["tieredimagenet"].images) == (160, 954)
    assert (splits["isic"].classes, splits["isic"].images) == (7, 115)
    assert (splits["cropdisease"].classes, splits["cropdisease"].images) == (38, None)
    assert splits["cub"] is splits["cub_100_50_50"]
    assert splits["cub_meta_dataset"].sizes == splits["cub_140_30_30"].sizes
    assert known.test_split("CUB 130/20/50") == splits["cub_130_20_50"]
    assert known.test_split("CIFAR-FS") == splits["cifar_fs"]


def test_sizes_under_the_names_of_a_log():
    split = known.TestSplit({"a": 3, "b": 3, "c": 3})
    assert split.sizes_of(["b", "c"]) == {"a": 3, "b": 3, "c": 3}
    assert split.sizes_of(["0", "2"]) == {"0": 3, "2": 3, "a": 3}
    assert split.sizes_of(["0", "a"]) == {"0": 3, "a": 3, "b": 3}
    assert split.sizes_of("0123") == {"a": 3, "b": 3, "c": 3}
    assert known.TestSplit({"a": 3, "b": 4}).sizes_of(["0"]) == {"a": 3, "b": 4}


def test_data_sets_by_their_names():
    """Of papers, whatever the log calls their classes, and of the package."""
    classes = fb.load_release().classes("digits")
    digits = {row["class_name"]: row["n_images"] for row in classes.to_pylist()}
    for name, sizes in (("miniImageNet", MINI), ("Digits", digits)):
        log = _drawn(sizes)
        named, given = (fb.interval(log, class_sizes=told) for told in (name, sizes))
        assert named.log.images + named.log.unseen == sum(sizes.values())
        assert estimates(named) == estimates(given)


def test_cub_by_the_names_of_its_classes():
    sizes = known.test_splits()["cub"].known
    log = _drawn(sizes, tasks=600)
    seen = {image for task in log["image_ids"] for of in task for image in of}
    assert fb.interval(log, class_sizes="CUB").log.unseen == 2953 - len(seen)
    log["class_ids"] = [[list(sizes).index(name) for name in of] for of in log["class_ids"]]
    with pytest.raises(TaskLogError, match="the class sizes lack 50 classes of the log"):
        fb.interval(log, class_sizes="CUB")


def test_names_that_give_no_sizes():
    for name in ("minimagenet", "cropdisease"):
        with pytest.raises(UnknownNameError, match="or give a file with the columns class and"):
            fb.interval(_drawn(MINI), class_sizes=name)
