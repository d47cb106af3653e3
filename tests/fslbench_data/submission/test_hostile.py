"""Files and names made to harm: errors of their own kind, and output that no name gets out of."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bombs import few

from benchmark_spec import errors
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import MOST_NESTED
from fslbench_data.submission.recorder import Recorder
from fslbench_data.validation.validate import validate

SET = "open-5w5s5q"  # 31 tasks of 25 queries


def _clean(error):
    """An error's text, found harmless to a terminal and not long."""
    text = str(error)
    assert text.replace("\n", "").isprintable(), ascii(text)
    assert len(text) < 5000
    return text


def test_texts_are_refused_where_they_are_given_too():
    with pytest.raises(errors.SpecError, match=r"description holds the unprintable .* U\+001B"):
        Recorder("mine", description="\x1b[31m")
    with pytest.raises(errors.SpecError, match=r"link holds .* U\+200B"):
        Method("mine", link="https://example.org/\u200b")


def test_runs_that_have_no_name(embedded):
    """One without a name would not have been counted, and its right answers would have been."""
    prints = [embedded.task_set("digits", SET).info.fingerprint] * 62
    numbers = list(range(31)) * 2
    table = few(62, task_id=numbers, run=["a"] * 31 + [""] * 31, fingerprint=prints)
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
    """As many as rows, in as many runs: each is looked at once for a task set."""
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
    with pytest.raises(errors.UnreadableError, match=r"is nested [0-9]+ deep") as caught:
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
