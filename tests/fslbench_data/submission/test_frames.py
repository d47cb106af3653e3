"""Frames of pandas and polars and Arrow tables are read as files are, with the same checks."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden_inputs import INPUTS
from recorded import answered

import fslbench_data as fb
from benchmark_spec.errors import (
    CountError,
    FSLBenchWarning,
    SchemaError,
    SpecError,
    UnboundError,
    UnreadableError,
)
from fslbench_data.sandbox.client import read_untrusted

COLUMNS = ("method", "dataset", "task_set", "task_id", "n_correct", "n_query")


@pytest.fixture(scope="module")
def answers():
    """Two methods on a task set, one of them transductive."""
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    mine = answered(tasks, tasks.query_label)
    yours = answered(tasks, (tasks.query_label + 1) % 5, "yours", transductive=True)
    return fb.merge([mine, yours])


@pytest.fixture(scope="module")
def report(answers):
    return fb.score(answers)


def _pandas(table):
    return pytest.importorskip("pandas") and table.to_pandas()


def _polars(table):
    return pytest.importorskip("polars").from_arrow(table)


def _categories(table):
    polars = pytest.importorskip("polars")
    names = polars.col("method", "dataset", "task_set")
    return _polars(table).with_columns(names.cast(polars.Categorical))


def _apart(table):
    parts = (table.slice(0, 31), table.slice(31))
    return [part.set_column(0, "method", part["method"].dictionary_encode()) for part in parts]


FRAMES = {
    "arrow": lambda table: table,
    "pandas": _pandas,
    "polars": _polars,
    "categories": _categories,
    "joined": lambda table: pa.concat_tables(_apart(table)),
    "joined in polars": lambda table: pytest.importorskip("polars").concat(
        [_polars(part) for part in _apart(table)], rechunk=False
    ),
    "reader": lambda table: table.to_reader(),
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "structs": lambda table: table.to_struct_array(),
    "duckdb": lambda table: pytest.importorskip("duckdb").from_arrow(table),
    "nullable": lambda table: _pandas(table).convert_dtypes(),
    "of Arrow": lambda table: _pandas(table).convert_dtypes(dtype_backend="pyarrow"),
    "shuffled, with an index": lambda table: (
        _pandas(table).sample(frac=1, random_state=0).rename_axis("run")
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_whatever_speaks_arrow_is_a_frame(kind, answers, report):
    frame = FRAMES[kind](pa.Table.from_pylist(answers.to_arrow().to_pylist()))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FSLBenchWarning)
        read = fb.Submission.from_frame(frame)
    assert read.source == "the frame"
    assert fb.validate(read).methods == ("mine", "yours")
    found = fb.score(read)
    assert found == report
    assert not found.signature.unbound
    assert [score.transductive for score in found.scores[:2]] == [False, True]


def test_fingerprints_and_methods_are_said_beside_the_frame(answers, report):
    release = fb.load_release()
    frame = answers.table.select(list(COLUMNS))
    with pytest.raises(UnboundError):
        fb.score(frame)
    said = fb.Submission.from_frame(
        frame,
        methods={"yours": {"transductive": True, "description": "of rows"}},
        fingerprints={str(info): info.fingerprint for info in release.task_sets},
    )
    assert said.methods["yours"].description == "of rows"
    assert set(said.bindings) == set(answers.bindings)
    assert fb.score(said) == report


def test_whatever_takes_arrow_takes_a_submission(answers, report):
    assert fb.score(pytest.importorskip("polars").DataFrame(answers)) == report


def test_columns_of_many_types_are_read(answers, report):
    pandas = pytest.importorskip("pandas")
    frame = answers.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns)[:6] == list(COLUMNS)
    assert {"fingerprint", "transductive"} < set(frame.columns)
    assert fb.score(frame) == report
    for name in ("method", "dataset", "task_set", "fingerprint"):
        frame[name] = frame[name].astype(str).astype(object)
    frame["task_id"] = frame["task_id"].astype("Int64")
    frame["n_query"] = frame["n_query"].astype(object)
    frame["n_correct"] = pandas.array(frame["n_correct"], dtype="uint8")
    assert fb.score(frame) == report
    frame["n_correct"] = frame["n_correct"].astype(float)
    frame["task_id"] = frame["task_id"].astype("Float64")
    assert fb.score(frame) == report


@pytest.mark.parametrize(
    ("column", "value", "error", "message"),
    [
        ("n_correct", float("nan"), CountError, "the frame, data row 17"),
        ("n_correct", "many", SchemaError, "holds a int and then a str\n.*frame, data row 17"),
        ("method", None, SchemaError, "column 'method' is empty in data row 17"),
    ],
)
def test_a_wrong_value_is_named_by_its_row(column, value, error, message, answers):
    pytest.importorskip("pandas")
    frame = answers.to_pandas()
    frame[column] = frame[column].astype(object)
    frame.loc[16, column] = value
    with pytest.raises(error, match=message):
        fb.score(frame)


def test_what_methods_say_is_checked(answers):
    for methods, said in (
        ({"theirs": {}}, "says something of theirs"),
        ({"mine": {"colour": "red"}}, "colour"),
        ({"mine": {"backbone": "a\nb"}}, "backbone"),
    ):
        with pytest.raises(SpecError, match=said):
            fb.Submission.from_frame(answers.to_arrow(), methods=methods)


def test_a_file_that_arrow_reads_keeps_what_it_declares(tmp_path):
    path = tmp_path / "prefix.parquet"
    INPUTS["prefix.parquet"](path)
    assert fb.score(pq.read_table(path)) == fb.score(path)


@pytest.mark.slow
def test_frames_are_asked_in_sql_and_planned_with(answers):
    with fb.connect(None, answers.to_arrow()) as connection:
        asked = "SELECT DISTINCT method FROM results WHERE NOT is_reference ORDER BY ALL"
        assert connection.execute(asked).fetchall() == [("mine",), ("yours",)]
    planned = fb.plan(answers.to_arrow(), method="mine", datasets="digits", queries=(1, 2))
    assert planned.sets[0].pilot.info.dataset == "digits"


class Broken:
    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError("gone")


def _lost(table):
    def batches():
        yield from table.to_batches()
        raise RuntimeError("lost")

    return pa.RecordBatchReader.from_batches(table.schema, batches())


def _read(table):
    reader = table.to_reader()
    reader.read_all()
    return reader


REFUSED = {
    "lazy": (lambda t: _polars(t).lazy(), r"a LazyFrame\n(?s:.*)its .collect\(\) returns"),
    "a data set": (
        lambda t: pytest.importorskip("pyarrow.dataset").dataset(t),
        r"a InMemoryDataset\n(?s:.*)its .to_table\(\) returns",
    ),
    "raises": (lambda _: Broken(), "a Broken, of which(?s:.*)gone"),
    "breaks off": (_lost, r"a RecordBatchReader, of which.*lost\.\n"),
    "was read": (_read, "no rows\n(?s:.*)a reader is empty once it has been read"),
    "a column": (lambda t: t["method"], "a ChunkedArray, of which"),
    "a class": (lambda t: type(_polars(t)), "a class DataFrame, of which"),
    "a generator": (lambda t: (row for row in t.to_pylist()), "a generator\n"),
    "rows": (lambda t: t.to_pylist(), "frame number 1 is a dict, of which"),
    "doubled": (lambda t: _pandas(t).iloc[:, [0, *range(6)]], "the frame doubles column 'method'"),
    "unknown": (lambda t: t.append_column("seed", t["task_id"]), "has the unknown column 'seed'"),
    "arrays in cells": (
        lambda t: _pandas(t).assign(class_correct=[np.zeros((2, 2))] * len(t)),
        r"'class_correct' is of type list<item: list<item: double>>",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_is_refused_in_our_words(name, answers):
    make, said = REFUSED[name]
    with pytest.raises((SchemaError, UnreadableError), match=said):
        fb.validate(make(answers.to_arrow()))


def test_whole_floats_name_runs_as_in_logs(answers, tmp_path):
    """Of what Python, pandas and Parquet give: integers that once had a gap are floats."""
    table, path = answers.table, tmp_path / "x.parquet"
    for runs in (1.0, 1):
        pq.write_table(table.append_column("run", pa.array([runs] * table.num_rows)), path)
        assert {*fb.Submission.read(path).table["run"].to_pylist()} == {"1"}
    with pytest.raises(SchemaError, match="column 'run' is of type double"):
        fb.Submission.from_frame(table.append_column("run", pa.array([1.5] * table.num_rows)))


@pytest.mark.parametrize(
    ("ending", "index"),  # CSV does not say that a column is the index
    [("csv", None), ("parquet", None), ("parquet", "step"), ("parquet", "run")],
)
def test_files_with_the_index_of_a_frame(ending, index, answers, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = answers.to_arrow().select(COLUMNS).to_pandas()
    frame = pandas.concat([frame[::2], frame[1::2]]).rename_axis(index)
    path = tmp_path / f"x.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path)
    read = fb.Submission.read(path)
    assert read.table.column_names == list(COLUMNS)
    if ending == "parquet":
        assert read_untrusted(path).table.equals(read.table)
