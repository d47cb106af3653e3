"""Submissions that are refused, damaged or made by hand, marks in columns, and hostile texts.

What each broken rule is refused with is frozen: tests/test_refusals.py."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bombs import few
from commands import invoke
from golden_inputs import write_columns
from recorded import answered, recorded

from benchmark_spec import errors
from benchmark_spec.errors import ContradictionError, FSLBenchWarning
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.scoring.score import score
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import MOST_NESTED
from fslbench_data.validation.validate import validate

SET = "open-5w5s5q"  # 31 tasks of 25 queries
COUNTS = ("dataset", "task_set", "task_id", "n_correct", "n_query", "fingerprint")
TEN_SHOTS = "open-5w10s7q"  # 19 tasks of 35 queries


@pytest.fixture(scope="module")
def good(embedded):
    tasks = embedded.task_set("digits", SET)
    answers = np.random.default_rng(0).integers(0, 5, tasks.query_label.shape)
    columns = answered(tasks, answers).table.to_pydict()
    columns["fingerprint"] = [tasks.info.fingerprint] * len(tasks)
    return dict(columns)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_texts_that_are_not_utf_8(ending, good, tmp_path):
    columns = {name: good[name] for name in COUNTS} | {"method": ["mQX"] * 31}
    path = write_columns(tmp_path / f"x.{ending}", columns)
    if ending == "parquet":
        pq.write_table(pa.table(columns), path, compression="none", write_statistics=False)
    assert Submission.read(path).table.num_rows == 31
    path.write_bytes(path.read_bytes().replace(b"mQX", b"m\xffX"))
    with pytest.raises((errors.UnreadableError, errors.SchemaError)):
        Submission.read(path)


def test_a_dictionary_that_names_a_method_twice(good, tmp_path, embedded):
    one = {name: good[name] for name in COUNTS}
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


def test_tables_made_by_hand_are_checked_like_files(good, embedded):
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


def test_cells_in_quotes_are_as_good_as_bare_ones(good, tmp_path, embedded):
    path = tmp_path / "x.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(good)
        for row in zip(*good.values(), strict=True):
            name, *rest = ["" if v == good["predictions"][3] else v for v in row]
            writer.writerow([f'{name}, "so called"', *rest])
    assert validate(Submission.read(path), embedded).methods == ('mine, "so called"',)


def test_other_ways_to_write_texts(good, tmp_path, embedded):
    """Views of Arrow, in files too; the digits that `fslbench info` prints; names like dates."""
    path = tmp_path / "x.parquet"
    table = pa.table({**good, "fingerprint": [text[:12].upper() for text in good["fingerprint"]]})
    for name in ("method", "dataset", "task_set", "fingerprint"):
        index = table.column_names.index(name)
        table = table.set_column(index, name, table.column(name).cast(pa.string_view()))
    pq.write_table(table, path)
    for submission in (Submission(table), Submission.read(path), read_untrusted(path)):
        assert validate(submission, embedded).groups[0].bound
    path = tmp_path / "x.jsonl"
    dates = {"method": "2024-01-01", "run": "2024-05-01"}
    rows = [dates | {name: good[name][i] for name in COUNTS} for i in range(31)]
    path.write_text("\n".join(map(json.dumps, rows)))
    (group,) = validate(Submission.read(path), embedded).groups
    assert (group.method, group.runs) == ("2024-01-01", ("2024-05-01",))


def test_unbound_closed_results_are_said_to_be_so(embedded):
    """They stand beside bound open ones, though only these were chosen."""
    parts = []
    for name in (SET, "closed-5w5s5q"):
        tasks = embedded.task_set("digits", name)
        table = recorded(tasks, np.full(len(tasks), 20)).table
        prints = [tasks.info.fingerprint if name == SET else None] * len(tasks)
        parts.append(table.append_column("fingerprint", pa.array(prints, pa.string())))
    report = score(Submission(pa.concat_tables(parts)), embedded, task_sets=SET, allow_unbound=True)
    assert report.signature.unbound == ("mine on digits/closed-5w5s5q",)
    assert [str(s) for s in report.signature.sets] == [f"digits/{SET}", "digits/closed-5w5s5q"]
    assert [str(each.scored) for each in report.sets] == [f"digits/{SET}"]


def _recorded(release, name, *, transductive=False):
    counts = [20 + i % 9 for i in range(19)]
    return recorded(release.task_set("digits", TEN_SHOTS), counts, name, transductive=transductive)


def _rows(release, *marks):
    """Columns of a submission without metadata; a mark for each row, or one for all."""
    columns = _recorded(release, "mine").table.to_pydict()
    columns["fingerprint"] = [release.task_set("digits", TEN_SHOTS).info.fingerprint] * 19
    columns["transductive"] = list(marks) * (19 if len(marks) == 1 else 1)
    return columns


def test_a_file_that_lost_its_metadata_is_warned_of(embedded, tmp_path):
    columns = _rows(embedded, True)
    del columns["transductive"]
    path = write_columns(tmp_path / "x.parquet", columns)
    with pytest.warns(FSLBenchWarning, match="no fslbench metadata, which pandas drops"):
        Submission.read(path)
    for command in ("score", "validate"):
        result = invoke(command, path)
        assert result.exit_code == 0
        assert result.stderr.startswith(f"Warning: {path} has fingerprints in a column")
        assert "fix: give the column `transductive`" in result.stderr
    quiet = tmp_path / "recorded.parquet"
    _recorded(embedded, "mine").write(quiet)
    for path in (quiet, write_columns(tmp_path / "x.csv", columns)):
        assert "Warning" not in invoke("validate", path).stderr


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("marks", [[True], [False], [None], [True, None] * 9 + [True]])
def test_the_column_in_every_kind_of_file(ending, marks, embedded, tmp_path):
    path = write_columns(tmp_path / f"x.{ending}", _rows(embedded, *marks))
    found = [Submission.read(path)]
    found += [read_untrusted(path)] if ending == "parquet" else []
    for submission in found:
        methods = validate(submission, embedded).submission.methods
        if marks == [None]:
            assert not methods
        else:
            assert methods["mine"].transductive is marks[0]


def test_a_recorded_mark_is_in_the_file_twice(embedded, tmp_path):
    path = tmp_path / "x.parquet"
    _recorded(embedded, "mine", transductive=True).write(path)
    assert pq.read_table(path).column("transductive").to_pylist() == [True] * 19
    assert validate(Submission.read(path), embedded).submission.methods["mine"].transductive
    plain = _recorded(embedded, "mine")
    assert "transductive" not in plain.columns
    told = plain.declare(inductive=True).to_arrow()  # which pandas keeps
    assert told["inductive"].to_pylist() == [True] * 19
    for marks, declared, others in (
        ([False] * 19, {"mine": {"inductive": True}}, "the file's metadata"),
        ([True] * 9 + [False] * 10, {}, "other rows"),
    ):
        frame = told.set_column(told.column_names.index("inductive"), "inductive", [marks])
        with pytest.raises(ContradictionError, match=f"inductive of mine is .*, and {others}"):
            validate(Submission.from_frame(frame, methods=declared), embedded)


def _clean(error):
    """An error's text, found harmless to a terminal and not long."""
    text = str(error)
    assert text.replace("\n", "").isprintable(), ascii(text)
    assert len(text) < 5000
    return text


def test_runs_that_have_no_name(embedded):
    """One without a name would not have been counted, and its right answers would have been."""
    prints = [embedded.task_set("digits", SET).info.fingerprint] * 62
    table = few(62, task_id=list(range(31)) * 2, run=["a"] * 31 + [""] * 31, fingerprint=prints)
    with pytest.raises(errors.MethodNameError, match="cannot be the name of a run") as caught:
        validate(Submission(table), embedded)
    assert "data row 32" in _clean(caught.value)


@pytest.mark.parametrize("column", ["method", "dataset", "task_set", "run", "fingerprint"])
@pytest.mark.parametrize("text", ["\x1b[2J", "é" * 100_000, "a\nb\r\x00"])
def test_texts_in_errors_are_printable_and_short(column, text, embedded, tmp_path):
    path = tmp_path / "x.parquet"
    more = {"run": ["a"] * 31, "fingerprint": ["0" * 64] * 31}
    pq.write_table(few(**{**more, column: [text] * 31}), path)
    with pytest.raises(errors.FSLBenchError) as caught:
        validate(Submission.read(path), embedded)
    _clean(caught.value)


def test_many_fingerprints_are_compared_in_time(embedded):
    rows = 31 * 1000
    table = few(
        rows,
        task_id=np.tile(np.arange(31, dtype=np.int32), 1000),
        run=pa.array(np.repeat(np.arange(1000), 31)),
        fingerprint=[f"{i:064x}" for i in range(rows)],
    )
    with pytest.raises(errors.FingerprintError):
        validate(Submission(table), embedded)


GOOD = (
    f'{{"method": "mine", "dataset": "digits", "task_set": "{SET}", "task_id": 0, '
    '"n_correct": 3, "n_query": 25}'
)
DEEP = 100_000
NESTED = {
    "lists": GOOD + "\n" + "[" * DEEP,
    "objects": GOOD + "\n" + '{"a":' * DEEP,
    "over lines": GOOD + "\n" + "[\n" * DEEP,
    "in a value": GOOD[:-1] + ', "run": ' + "[" * DEEP + "]" * DEEP + "}",
    "after texts that close": '{"a": "' + "]" * DEEP + '", "b": ' + "[" * DEEP,
    "after closing": "]" * DEEP + "\n" + "[" * DEEP,
    "after a quote": '{"a": "\\"", "b": ' + "[" * DEEP,
    "after a text without an end": '"\n' + "[" * DEEP,
    "after a backslash": '"\\\n' + "[" * DEEP,
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_json_lines(name, tmp_path):
    """pyarrow calls itself for each level, and takes the process with it."""
    path = tmp_path / "x.jsonl"
    path.write_text(NESTED[name])
    with pytest.raises(errors.UnreadableError, match=r"is nested|is not one object") as caught:
        Submission.read(path)
    _clean(caught.value)


@pytest.mark.parametrize("method", ["[" * 150, '\\"[' * 40, "}]" * 50 + "{[" * 50, '[\\"'])
def test_brackets_in_texts_are_not_levels(method, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([GOOD.replace("mine", method)] * 200))
    table = Submission.read(path).table
    assert table.column("method").to_pylist() == [method.replace("\\", "")] * 200


def test_as_deep_as_may_be(tmp_path):
    path = tmp_path / "x.jsonl"
    for inner, kind in enumerate((errors.SchemaError, errors.UnreadableError), MOST_NESTED - 1):
        path.write_text(GOOD[:-1] + ', "x": ' + "[" * inner + "]" * inner + "}")
        with pytest.raises(kind):
            Submission.read(path)
