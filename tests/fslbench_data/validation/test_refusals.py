"""Everything that can be wrong with a submission: its own error, rows, remedy, exit code 2."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from benchmark_spec import errors
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.scoring.score import score
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from fslbench_data.validation.validate import validate

Edit = Callable[[dict[str, list[Any]]], None]
SET = "open-5w5s5q"  # 31 tasks of 25 queries


@pytest.fixture(scope="module")
def good(embedded: Release) -> dict[str, list[Any]]:
    """A submission with predictions, as columns."""
    tasks = embedded.task_set("digits", SET)
    rng = np.random.default_rng(0)
    recorder = Recorder("mine")
    recorder.add_task_set(tasks, rng.integers(0, 5, tasks.query_label.shape))
    columns = recorder.submission().table.to_pydict()
    columns["fingerprint"] = [tasks.info.fingerprint] * len(tasks)
    return dict(columns)


def _set(column: str, row: int, value: Any) -> Edit:
    def edit(columns: dict[str, list[Any]]) -> None:
        columns[column][row] = value

    return edit


def _drop(column: str) -> Edit:
    def edit(columns: dict[str, list[Any]]) -> None:
        del columns[column]

    return edit


def _rows(change: Callable[[list[Any]], list[Any]]) -> Edit:
    def edit(columns: dict[str, list[Any]]) -> None:
        for name in columns:
            columns[name] = change(columns[name])

    return edit


def _all(*edits: Edit) -> Edit:
    def edit(columns: dict[str, list[Any]]) -> None:
        for each in edits:
            each(columns)

    return edit


def _cast(column: str, to: type) -> Edit:
    def edit(columns: dict[str, list[Any]]) -> None:
        columns[column] = [to(value) for value in columns[column]]

    return edit


def _constant(column: str, value: Any) -> Edit:
    def edit(columns: dict[str, list[Any]]) -> None:
        columns[column] = [value] * len(columns["method"])

    return edit


def _longer(column: str, row: int) -> Edit:
    def edit(columns: dict[str, list[Any]]) -> None:
        columns[column][row] = [*columns[column][row], 0]

    return edit


def _bare(columns: dict[str, list[Any]]) -> None:
    """Without the lists, so that counts can be edited alone."""
    del columns["predictions"], columns["class_correct"]


# name: edit, error, what its text must say
CASES: dict[str, tuple[Edit, type[errors.FSLBenchError], list[str]]] = {
    "missing task": (
        _rows(lambda x: x[:7] + x[8:]),
        errors.MissingTaskError,
        ["1 of 31 tasks are missing: task_id 7", "mine on digits/open-5w5s5q", "0..30"],
    ),
    "many missing tasks": (
        _rows(lambda x: x[:3]),
        errors.MissingTaskError,
        ["28 of 31", "3, 4, 5, 6, 7, 8, 9, 10 and 20 more"],
    ),
    "doubled task": (
        _rows(lambda x: [*x, x[4]]),
        errors.DoubledTaskError,
        ["task 4 is answered more than once", "rows 5, 32"],
    ),
    "one task in place of another": (
        _set("task_id", 3, 2),
        errors.DoubledTaskError,
        ["rows 3, 4"],
    ),
    "unknown task": (
        _set("task_id", 30, 31),
        errors.UnknownTaskError,
        ["no task 31", "row 31", "0..30"],
    ),
    "negative task": (_set("task_id", 0, -1), errors.UnknownTaskError, ["no task -1", "row 1 "]),
    "absurd task": (_set("task_id", 0, 2**40), errors.UnknownTaskError, ["row 1"]),
    "null task": (_set("task_id", 9, None), errors.UnknownTaskError, ["null", "row 10"]),
    "too many right": (
        _all(_bare, _set("n_correct", 2, 26)),
        errors.CountError,
        ["26, out of range", "row 3 ", "0..25"],
    ),
    "a percentage": (
        _all(_bare, _set("n_correct", 2, 92)),
        errors.CountError,
        ["not percentages"],
    ),
    "fewer than none right": (
        _all(_bare, _set("n_correct", 5, -1)),
        errors.CountError,
        ["row 6 ", "0..25"],
    ),
    "absurd count": (_all(_bare, _set("n_correct", 5, 70_000)), errors.CountError, ["row 6"]),
    "null count": (_all(_bare, _set("n_correct", 4, None)), errors.CountError, ["null", "row 5"]),
    "fractional count": (
        _all(_bare, _cast("n_correct", float), _set("n_correct", 6, 3.5)),
        errors.CountError,
        ["fractional", "row 7", "counts, not accuracies"],
    ),
    "NaN": (
        _all(_bare, _cast("n_correct", float), _set("n_correct", 1, float("nan"))),
        errors.CountError,
        ["NaN", "row 2"],
    ),
    "NaN before a fraction": (
        _all(
            _bare,
            _cast("n_correct", float),
            _set("n_correct", 3, 0.5),
            _set("n_correct", 9, float("nan")),
        ),
        errors.CountError,
        ["NaN", "row 10"],
    ),
    "counts as texts": (
        _all(_bare, _cast("n_correct", str)),
        errors.SchemaError,
        ["n_correct", "string"],
    ),
    "counts as booleans": (
        _all(_bare, _cast("n_correct", bool)),
        errors.SchemaError,
        ["n_correct", "bool"],
    ),
    "names as numbers": (_constant("method", 3), errors.SchemaError, ["method", "int64"]),
    "null name": (_set("method", 3, None), errors.SchemaError, ["method", "row 4"]),
    "another number of queries": (
        _constant("n_query", 15),
        errors.QueryCountError,
        ["n_query is 15", "25", "5 ways with 5 queries"],
    ),
    "one row's number of queries": (
        _set("n_query", 12, 5),
        errors.QueryCountError,
        ["n_query is 5", "row 13 "],
    ),
    "wrong fingerprint": (
        _constant("fingerprint", "0" * 64),
        errors.FingerprintError,
        ["other tasks", "rows 1, 2", "found 0000"],
    ),
    "a fingerprint left out": (
        _set("fingerprint", 8, None),
        errors.FingerprintError,
        ["row 9 ", "left out"],
    ),
    "a fingerprint cut too short": (
        _constant("fingerprint", "e2c84bbb9f3"),
        errors.FingerprintError,
        ["'e2c84bbb9f3' is not a fingerprint", "12 to 64"],
    ),
    "something else for a fingerprint": (
        _constant("fingerprint", "embedded@1.0.0"),
        errors.FingerprintError,
        ["is not a fingerprint", "fslbench info"],
    ),
    "another fingerprint's first digits": (
        _constant("fingerprint", "eab66a82ed61"),
        errors.FingerprintError,
        ["other tasks", "found eab66a82ed61"],
    ),
    "no fingerprint": (
        _drop("fingerprint"),
        errors.UnboundError,
        ["--unbound", "fslbench info", "mine on digits/open-5w5s5q"],
    ),
    "a reference method's name": (
        _constant("method", "pixels/NCC"),
        errors.MethodNameError,
        ["already called 'pixels/NCC'", "rename"],
    ),
    "an unprintable name": (
        _constant("method", "a\x1b[31m"),
        errors.MethodNameError,
        ["printable"],
    ),
    "no such data set": (
        _constant("dataset", "digit"),
        errors.UnknownNameError,
        ["did you mean 'digits'", "from data row 1"],
    ),
    "no such task set": (
        _constant("task_set", "open-5w5s4q"),
        errors.UnknownNameError,
        ["did you mean 'open-5w5s5q'"],
    ),
    "a task set of other data": (
        _constant("task_set", "published-5w5s5q"),
        errors.UnknownNameError,
        ["task set of digits", "closed-5w5s5q"],
    ),
    "missing column": (_drop("n_query"), errors.SchemaError, ["misses column 'n_query'"]),
    "no method": (_drop("method"), errors.SchemaError, ["misses column 'method'"]),
    "no data set": (_drop("dataset"), errors.SchemaError, ["misses column 'dataset'"]),
    "unknown column": (
        _constant("accuracy", 1.0),
        errors.SchemaError,
        ["unknown column 'accuracy'", "predictions"],
    ),
    "predictions too long": (
        _longer("predictions", 3),
        errors.PredictionError,
        ["26 entries", "row 4 ", "25 (K·Q"],
    ),
    "a class id for a prediction": (
        _set("predictions", 3, [7] * 25),
        errors.PredictionError,
        ["holds 7", "row 4 ", "0..K-1"],
    ),
    "a null among predictions": (
        _set("predictions", 3, [None] * 25),
        errors.PredictionError,
        ["null", "row 4 "],
    ),
    "predictions as texts": (
        _constant("predictions", ["1"] * 25),
        errors.SchemaError,
        ["predictions"],
    ),
    "counts that contradict predictions": (
        _all(_drop("class_correct"), _set("n_correct", 11, 25)),
        errors.ContradictionError,
        ["row 12 ", "n_correct is 25"],
    ),
    "class counts that contradict the count": (
        _all(_drop("predictions"), _set("class_correct", 2, [5, 5, 5, 5, 5])),
        errors.ContradictionError,
        ["sums to 25", "row 3 "],
    ),
    "class counts too short": (
        _constant("class_correct", [1, 1]),
        errors.PredictionError,
        ["2 entries", "5 (K"],
    ),
    "class counts out of range": (
        _all(_drop("predictions"), _set("class_correct", 0, [6, 0, 0, 0, 0])),
        errors.PredictionError,
        ["holds 6", "0..Q"],
    ),
}
IN_CSV = {
    name: case
    for name, case in CASES.items()
    # CSV has texts only: these cannot be told, or read as something else that is wrong
    if name not in {"counts as texts", "counts as booleans", "names as numbers"}
    and not name.startswith(("predictions as", "a null among"))
}


def _columns(good: dict[str, list[Any]], edit: Edit) -> dict[str, list[Any]]:
    columns = {name: list(values) for name, values in good.items()}
    edit(columns)
    return columns


def _refused(path: Path, said: list[str], *options: str) -> None:
    """Both commands: exit code 2, the reason on standard error, nothing else anywhere."""
    for command in ("score", "validate"):
        result = CliRunner().invoke(main, [command, str(path), *options])
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        before, error, _ = result.stderr.partition("Error: ")
        assert error
        assert not before or before.startswith("Warning: ")  # of a file without metadata
        for text in said:
            assert text in result.stderr


@pytest.mark.parametrize("name", CASES)
def test_parquet(name: str, good: dict[str, list[Any]], tmp_path: Path, embedded: Release) -> None:
    edit, error, said = CASES[name]
    path = tmp_path / "submission.parquet"
    pq.write_table(pa.table(_columns(good, edit)), path)
    with pytest.raises(error) as caught:
        validate(Submission.read(path), embedded)
    assert type(caught.value) is error
    assert caught.value.where
    _refused(path, [*said, "submission.parquet"])


@pytest.mark.parametrize("name", IN_CSV)
def test_csv(name: str, good: dict[str, list[Any]], tmp_path: Path, embedded: Release) -> None:
    edit, error, said = IN_CSV[name]
    columns = _columns(good, edit)
    path = tmp_path / "submission.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow(json.dumps(v) if isinstance(v, list) else v for v in row)
    with pytest.raises(error) as caught:
        validate(Submission.read(path), embedded)
    assert type(caught.value) is error
    for text in said:
        assert text in str(caught.value)


def test_untouched_it_is_accepted(
    good: dict[str, list[Any]], tmp_path: Path, embedded: Release
) -> None:
    """The cases above fail for what they change, not for something else."""
    path = tmp_path / "good.parquet"
    pq.write_table(pa.table(good), path)
    assert validate(Submission.read(path), embedded).methods == ("mine",)
    result = CliRunner().invoke(main, ["validate", str(path)])
    assert result.exit_code == 0
    assert "mine on digits/open-5w5s5q: 31 tasks, bound to" in result.stdout
    assert "predictions and class_correct checked" in result.stderr
    # the digits that `fslbench info` prints will do
    short = {**good, "fingerprint": [text[:12].upper() for text in good["fingerprint"]]}
    pq.write_table(pa.table(short), path)
    assert validate(Submission.read(path), embedded).groups[0].bound


def test_texts_where_csv_wants_numbers(good: dict[str, list[Any]], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    head = "method,dataset,task_set,task_id,n_correct,n_query"
    path.write_text(f"{head}\na,digits,{SET},0,many,25\n")
    with pytest.raises(errors.SchemaError, match=r"not a number: 'many'(.|\n)*row 1"):
        Submission.read(path)
    path.write_text(f"{head},predictions\na,digits,{SET},0,3,25,1 2 3\n")
    with pytest.raises(errors.SchemaError, match="JSON array"):
        Submission.read(path)
    path.write_text(f"{head},predictions\na,digits,{SET},0,3,25,[999]\n")
    with pytest.raises(errors.SchemaError, match="JSON array"):
        Submission.read(path)


def _make_cut(path: Path, good: dict[str, list[Any]]) -> None:
    pq.write_table(pa.table(good), path)
    path.write_bytes(path.read_bytes()[:-100])


FILES: dict[str, tuple[str, Callable[[Path, dict[str, list[Any]]], object], list[str]]] = {
    "cut short": ("x.parquet", _make_cut, ["cannot be read as parquet", "cut short"]),
    "not Parquet": ("x.parquet", lambda p, _: p.write_text("hello"), ["cannot be read as parquet"]),
    "empty": ("x.parquet", lambda p, _: p.write_bytes(b""), ["is empty"]),
    "empty CSV": ("x.csv", lambda p, _: p.write_bytes(b""), ["is empty"]),
    "header only": (
        "x.csv",
        lambda p, _: p.write_text("method,dataset,task_set,task_id,n_correct,n_query\n"),
        ["no rows"],
    ),
    "no rows": (
        "x.parquet",
        lambda p, good: pq.write_table(pa.table(good).slice(0, 0), p),
        ["no rows"],
    ),
    "a folder": ("x.parquet", lambda p, _: p.mkdir(), ["is a folder", "--release"]),
    "not there": ("x.parquet", lambda p, _: None, ["there is no file"]),
    "another ending": ("x.xlsx", lambda p, _: p.write_text("x"), [".xlsx", ".jsonl"]),
    "bytes in CSV": ("x.csv", lambda p, _: p.write_bytes(b"method\n\xff\xfe\n"), ["x.csv"]),
    "bad JSON": ("x.jsonl", lambda p, _: p.write_text('{"method": '), ["cannot be read as jsonl"]),
    "an object over two lines": (
        "x.jsonl",
        lambda p, _: p.write_text('{"method": "a"}\n{"method":\n"a"}\n'),
        ["line 2 is not one object"],
    ),
    "two objects on a line": (
        "x.jsonl",
        lambda p, _: p.write_text('\n{"method": "a"} {"method": "a"}\n'),
        ["line 2 is not one object"],
    ),
    "JSON Lines cut short": (
        "x.ndjson",
        lambda p, _: p.write_text('{"method": "a"}\n{"method": "a", "predictions": [1, 2'),
        ["line 2 is not one object", "cut short"],
    ),
    "a quote without its other": (
        "x.csv",
        lambda p, _: p.write_text('method,dataset\n"a","b"\na,"b'),
        ["a quote does not stand around a cell: 'a,\"b'", "x.csv, line 3", "cut short"],
    ),
    "something behind a quote": (
        "x.csv",
        lambda p, _: p.write_text('method,dataset\n"a"b,"c"\n'),
        ["x.csv, line 2"],
    ),
    "a cell of two lines": (
        "x.csv",
        lambda p, _: p.write_text('method,dataset\n"a\nb","c"\n'),
        ["x.csv, line 2"],
    ),
    "a quote in a bare cell": (
        "x.csv",
        lambda p, _: p.write_text('method,dataset\na"b,c\n'),
        ["x.csv, line 2"],
    ),
    "ragged CSV": ("x.csv", lambda p, _: p.write_text("method,dataset\na\n"), ["x.csv"]),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_read(name: str, good: dict[str, list[Any]], tmp_path: Path) -> None:
    file, make, said = FILES[name]
    path = tmp_path / file
    make(path, good)
    with pytest.raises(errors.FSLBenchError) as caught:
        Submission.read(path)
    assert isinstance(caught.value, errors.UnreadableError | errors.SchemaError)
    _refused(path, said)


@pytest.mark.parametrize(
    "metadata",
    [
        b"\xff",
        b"[]",
        b"{}",
        b'{"methods": {"mine": 3}}',
        b'{"methods": {"mine": {"description": 3}}}',
        b'{"methods": {"mine": {"transductive": "yes"}}}',
        b'{"methods": {"mine": {"task_sets": {"digits": {"fingerprint": "x"}}}}}',
        b'{"methods": {"mine": {"task_sets": {"digits/s": {}}}}}',
        b'{"methods": {"mine": {"task_sets": {"digits/s": {"fingerprint": "x", "tasks": 0}}}}}',
    ],
)
def test_metadata_that_is_wrong(
    metadata: bytes, good: dict[str, list[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(good).replace_schema_metadata({b"fslbench": metadata}), path)
    with pytest.raises(errors.SchemaError, match="metadata"):
        Submission.read(path)


def test_a_fingerprint_of_other_tasks_in_the_metadata(embedded: Release, tmp_path: Path) -> None:
    tasks = embedded.task_set("digits", SET)
    recorder = Recorder("mine")
    recorder.add_counts(tasks, np.full(31, 20))
    path = tmp_path / "x.parquet"
    recorder.submission().write(path)
    table = pq.read_table(path)
    metadata = table.schema.metadata[b"fslbench"].replace(
        tasks.info.fingerprint.encode(), b"0" * 64
    )
    pq.write_table(table.replace_schema_metadata({b"fslbench": metadata}), path)
    with pytest.raises(errors.FingerprintError, match="other tasks"):
        validate(Submission.read(path), embedded)
    # a column cannot outvote it
    column = pa.array([tasks.info.fingerprint] * 31)
    both = table.append_column("fingerprint", column)
    pq.write_table(both.replace_schema_metadata({b"fslbench": metadata}), path)
    with pytest.raises(errors.FingerprintError):
        validate(Submission.read(path), embedded)


def test_more_tasks_declared_than_there_are_or_answered(embedded: Release, tmp_path: Path) -> None:
    tasks = embedded.task_set("digits", SET)
    recorder = Recorder("mine")
    recorder.add_counts(tasks, np.full(10, 20))
    path = tmp_path / "x.parquet"
    recorder.submission().write(path)
    table = pq.read_table(path)

    def declared(m: int) -> Submission:
        metadata = table.schema.metadata[b"fslbench"].replace(
            b'"tasks": 10', f'"tasks": {m}'.encode()
        )
        pq.write_table(table.replace_schema_metadata({b"fslbench": metadata}), path)
        return Submission.read(path)

    assert validate(declared(10), embedded).groups[0].tasks == 10
    with pytest.raises(errors.MissingTaskError, match="1 of 11 tasks"):
        validate(declared(11), embedded)
    with pytest.raises(errors.UnknownTaskError, match="beyond the 9 tasks"):
        validate(declared(9), embedded)
    with pytest.raises(errors.UnknownTaskError, match="declares 32 tasks"):
        validate(declared(32), embedded)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--against", "pixels/NNC"], ["did you mean 'pixels/NCC'", "pixels/Ridge"]),
        (["--dataset", "digit"], ["unknown data set 'digit'", "did you mean 'digits'"]),
        (["--dataset", "cub"], ["unknown data set 'cub'"]),
        (["--task-set", "open-5w5s6q"], ["unknown task set", "open-5w5s5q"]),
        (["--level", "95"], ["95.0 is not a confidence level"]),
        (["--release", "nowhere"], ["there is no release at"]),
        (["-o", "nowhere/x.csv", "--format", "csv"], ["cannot write nowhere/x.csv"]),
        (["-o", ".", "--format", "csv"], ["is a folder"]),
        (["-o", "x.xlsx"], ["no output of that kind", ".csv, .json"]),
        (["--against", "pixels/Ridge"], ["nothing to compare"]),
    ],
)
def test_options_that_are_wrong(options: list[str], said: list[str], root: Path) -> None:
    result = CliRunner().invoke(
        main, ["score", str(root / "examples/my_results.parquet"), *options]
    )
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for text in said:
        assert text in result.stderr


def test_errors_are_raised_to_library_users_too(example: Submission, embedded: Release) -> None:
    with pytest.raises(errors.UnknownNameError, match="unknown method 'x'"):
        score(example, embedded, against=["x"])
    with pytest.raises(errors.FSLBenchError):
        score(example, embedded, datasets=["x"])


def test_the_submission_itself_is_not_written_over(
    good: dict[str, list[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(good), path)
    before = path.read_bytes()
    result = CliRunner().invoke(main, ["score", str(path), "-o", str(path)])
    assert result.exit_code == 2
    assert "is the submission itself" in result.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("head", "remedy"),
    [
        ("method;dataset;task_set;task_id;n_correct;n_query", "separate the columns by commas"),
        ("method,dataset,task_set,Task_ID, n_correct,n_query", "'Task_ID' to 'task_id', ' n_corr"),
        ("method,dataset,task_set,task_id,correct,n_query", "columns are 'method', 'dataset'"),
    ],
)
def test_columns_that_are_almost_right(head: str, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    mark = ";" if ";" in head else ","
    path.write_text(f"{head}\n{mark.join(['1'] * (head.count(mark) + 1))}\n")
    with pytest.raises(errors.SchemaError) as caught:
        Submission.read(path)
    assert remedy in str(caught.value)


def test_what_is_wrong_with_a_csv_file_is_found_by_its_row(tmp_path: Path) -> None:
    head = "method,dataset,task_set,task_id,n_correct,n_query"
    path = tmp_path / "x.csv"
    path.write_text(f"{head}\na,digits,{SET},0,3,25\na,digits,{SET},1\n")
    with pytest.raises(errors.UnreadableError, match="Row #3: Expected 6 columns, got 4"):
        Submission.read(path)
    path.write_bytes(f"{head}\né,digits,{SET},0,3,25\n".encode("latin-1"))
    with pytest.raises(errors.UnreadableError, match="UTF-8"):
        Submission.read(path)
    path.write_text(f"{head}\na,digits,{SET},0,3,25\n{head}\n")
    with pytest.raises(errors.SchemaError, match="header stands there again"):
        Submission.read(path)


# ---- damage, and tables made by hand -------------------------------------------------------------


def test_a_parquet_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    for table in (
        pa.table({"a": [1]}),
        pa.table({"Method": ["a"], "dataset": ["d"]}),
        pa.table({"method": [["a"]], "dataset": [{"a": 1}]}),
    ):
        pq.write_table(table, path)
        with pytest.raises(errors.SchemaError):
            Submission.read(path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_texts_that_are_not_utf_8(ending: str, good: dict[str, list[Any]], tmp_path: Path) -> None:
    path = tmp_path / f"x.{ending}"
    columns = {name: good[name] for name in ("method", "dataset", "task_set", "task_id")}
    columns |= {name: good[name] for name in ("n_correct", "n_query", "fingerprint")}
    columns["method"] = ["mQX"] * 31
    if ending == "parquet":
        pq.write_table(pa.table(columns), path, compression="none", write_statistics=False)
    elif ending == "csv":
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join(",".join(map(str, row)) for row in [tuple(columns), *rows]))
    else:
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join(json.dumps(dict(zip(columns, r, strict=True))) for r in rows))
    assert Submission.read(path).table.num_rows == 31
    path.write_bytes(path.read_bytes().replace(b"mQX", b"m\xffX"))
    with pytest.raises((errors.UnreadableError, errors.SchemaError)):
        Submission.read(path)
    _refused(path, [])


def test_a_dictionary_that_names_a_method_twice(
    good: dict[str, list[Any]], tmp_path: Path, embedded: Release
) -> None:
    names = ("dataset", "task_set", "task_id", "n_correct", "n_query", "fingerprint")
    one = {name: good[name] for name in names}
    table = pa.concat_tables([pa.table({"method": [name] * 31, **one}) for name in ("ma", "mb")])
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, compression="none", write_statistics=False)
    assert len(validate(Submission.read(path), embedded).groups) == 2
    path.write_bytes(path.read_bytes().replace(b"mb", b"ma"))
    with pytest.raises(errors.FSLBenchError):
        validate(Submission.read(path), embedded)
    # and by hand, in memory
    twice = pa.DictionaryArray.from_arrays(pa.array([0] * 31 + [1] * 31, pa.int32()), ["m", "m"])
    with pytest.raises(errors.DoubledTaskError):
        validate(Submission(table.set_column(0, "method", twice)), embedded)


def test_tables_made_by_hand_are_checked_like_files(
    good: dict[str, list[Any]], embedded: Release
) -> None:
    table = pa.table({name: values for name, values in good.items() if name != "predictions"})
    assert validate(Submission(table), embedded).methods == ("mine",)
    with pytest.raises(errors.UnreadableError, match="no rows"):
        validate(Submission(table.slice(0, 0)), embedded)
    hidden = pa.DictionaryArray.from_arrays(
        pa.array([0] * 31, pa.int32()), pa.array([None], pa.string())
    )
    with pytest.raises(errors.SchemaError, match="empty"):
        validate(Submission(table.set_column(0, "method", hidden)), embedded)
    with pytest.raises(errors.SchemaError, match="misses"):
        validate(Submission(table.drop_columns("method")), embedded)


def test_runs_named_like_dates_in_json_lines(
    good: dict[str, list[Any]], tmp_path: Path, embedded: Release
) -> None:
    path = tmp_path / "x.jsonl"
    rows = [dict(zip(good, row, strict=True)) for row in zip(*good.values(), strict=True)]
    path.write_text("\n".join(json.dumps({**row, "run": "2024-01-01"}) for row in rows))
    assert validate(Submission.read(path), embedded).groups[0].runs == ("2024-01-01",)


def test_cells_in_quotes_are_as_good_as_bare_ones(
    good: dict[str, list[Any]], tmp_path: Path, embedded: Release
) -> None:
    path = tmp_path / "x.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(good)
        for row in zip(*good.values(), strict=True):
            name, *rest = ["" if v == good["predictions"][3] else v for v in row]
            writer.writerow([f'{name}, "so called"', *rest])
    assert validate(Submission.read(path), embedded).methods == ('mine, "so called"',)


def test_views_of_texts(good: dict[str, list[Any]], tmp_path: Path, embedded: Release) -> None:
    table = pa.table(good)
    for name in ("method", "dataset", "task_set", "fingerprint"):
        index = table.column_names.index(name)
        table = table.set_column(index, name, table.column(name).cast(pa.string_view()))
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    for submission in (Submission(table), Submission.read(path), read_untrusted(path)):
        assert validate(submission, embedded).methods == ("mine",)


def test_methods_named_like_dates_in_json_lines(
    good: dict[str, list[Any]], tmp_path: Path, embedded: Release
) -> None:
    names = ("dataset", "task_set", "task_id", "n_correct", "n_query", "fingerprint")
    path = tmp_path / "x.jsonl"
    rows = [{"method": "2024-01-01", **{n: good[n][i] for n in names}} for i in range(31)]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert validate(Submission.read(path), embedded).methods == ("2024-01-01",)


def test_declared_results_do_not_get_lost(embedded: Release, tmp_path: Path) -> None:
    recorder = Recorder("mine")
    for name in (SET, "open-5w10s7q"):
        tasks = embedded.task_set("digits", name)
        recorder.add_counts(tasks, np.full(len(tasks), 20))
    path = tmp_path / "x.parquet"
    recorder.submission().write(path)
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 31), path)
    with pytest.raises(errors.MissingTaskError, match="mine on digits/open-5w10s7q"):
        validate(Submission.read(path), embedded)
    newer = table.schema.metadata[b"fslbench"].replace(
        b'"spec_version": "1.0"', b'"spec_version": "2.0"'
    )
    pq.write_table(table.replace_schema_metadata({b"fslbench": newer}), path)
    with pytest.raises(errors.SchemaError, match=r"specification '2\.0'"):
        Submission.read(path)


def test_names_that_no_file_system_has(tmp_path: Path, root: Path) -> None:
    mine = str(root / "examples/my_results.parquet")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for arguments in (
        ["score", "x" * 300 + ".parquet"],
        ["score", mine, "-o", "x" * 300 + ".csv"],
        ["score", mine, "--release", str(tmp_path / "loop")],
    ):
        result = CliRunner().invoke(main, arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Traceback" not in result.stderr


def test_unbound_closed_results_are_said_to_be_so(embedded: Release) -> None:
    """They stand beside bound open ones, though only these were chosen."""
    parts = []
    for name in (SET, "closed-5w5s5q"):
        tasks = embedded.task_set("digits", name)
        recorder = Recorder("mine")
        recorder.add_counts(tasks, np.full(len(tasks), 20))
        table = recorder.submission().table
        prints = [tasks.info.fingerprint if name == SET else None] * len(tasks)
        parts.append(table.append_column("fingerprint", pa.array(prints, pa.string())))
    both = Submission(pa.concat_tables(parts))
    report = score(both, embedded, task_sets=SET, allow_unbound=True)
    assert report.signature.unbound == ("mine on digits/closed-5w5s5q",)
    assert [str(s) for s in report.signature.sets] == [f"digits/{SET}", "digits/closed-5w5s5q"]
    assert [str(each.scored) for each in report.sets] == [f"digits/{SET}"]
