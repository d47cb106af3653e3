"""A large Parquet submission, read in pieces: the same results and errors as read at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark_spec.errors import FSLBenchError
from fslbench_data.release.release import Release
from fslbench_data.submission import model, streaming
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from fslbench_data.submission.streaming import Streamed, open_submission
from fslbench_data.validation import rows
from fslbench_data.validation.validate import validate

Columns = dict[str, list[Any]]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_FEW", 0)
    monkeypatch.setattr(streaming, "BATCH", 7)
    monkeypatch.setattr(model, "BATCH", 7)
    monkeypatch.setattr(rows, "_ROWS", 20)


@pytest.fixture(scope="module")
def good(embedded: Release) -> Columns:
    """Two methods on two task sets, with predictions and fingerprints, methods in turns."""
    parts = []
    for method in ("mine", "other"):
        recorder = Recorder(method)
        for name in ("open-5w5s5q", "open-5w1s1q"):
            tasks = embedded.task_set("digits", name)
            predictions = np.random.default_rng(0).integers(0, 5, tasks.query_label.shape)
            recorder.add_task_set(tasks, predictions)
        for row in recorder.submission().table.to_pylist():
            fingerprint = embedded.task_set_info("digits", row["task_set"]).fingerprint
            parts.append({**row, "fingerprint": fingerprint})
    parts.sort(key=lambda row: (row["task_set"], row["task_id"]))
    return {name: [row[name] for row in parts] for name in parts[0]}


def _write(path: Path, columns: Columns) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=50)
    return path


@pytest.mark.filterwarnings("ignore:.*no fslbench metadata")
def test_results_are_the_same(good: Columns, embedded: Release, tmp_path: Path) -> None:
    streamed = open_submission(_write(tmp_path / "x.parquet", good))
    assert isinstance(streamed, Streamed)
    found = validate(streamed, embedded)
    assert "table" not in vars(found.submission)
    expected = validate(Submission.read(tmp_path / "x.parquet"), embedded)
    assert [g.method for g in found.groups] == [g.method for g in expected.groups]
    for one, other in zip(found.groups, expected.groups, strict=True):
        assert (one.info, one.bound) == (other.info, other.bound)
        assert np.array_equal(one.counts, other.counts)
    assert streamed.table.equals(expected.submission.table)


def _last(name: str, value: Any) -> Callable[[Columns], None]:
    def edit(columns: Columns) -> None:
        columns[name][-1] = value

    return edit


def _two(columns: Columns) -> None:
    columns["dataset"][0] = "none"
    columns["n_correct"][-1] = None


@pytest.mark.filterwarnings("ignore:.*no fslbench metadata")
@pytest.mark.parametrize(
    "edit",
    [
        _last("n_correct", None),
        _last("n_correct", 1000),
        _last("task_id", 2**40),
        _last("method", None),
        _last("dataset", "none"),
        _last("task_id", 0),
        _last("fingerprint", "0" * 64),
        _last("predictions", [9] * 5),
        _last("n_query", 3),
        _two,
    ],
)
def test_errors_are_the_same(
    edit: Callable[[Columns], None], good: Columns, embedded: Release, tmp_path: Path
) -> None:
    columns = {name: list(values) for name, values in good.items()}
    edit(columns)
    path = _write(tmp_path / "x.parquet", columns)
    with pytest.raises(FSLBenchError) as expected:
        validate(Submission.read(path), embedded)
    with pytest.raises(FSLBenchError) as caught:
        validate(open_submission(path), embedded)
    assert type(caught.value) is type(expected.value)
    assert str(caught.value) == str(expected.value)


def test_what_is_no_parquet_file_is_refused_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_text("hello")
    with pytest.raises(FSLBenchError, match="cannot be read as parquet"):
        open_submission(path)
