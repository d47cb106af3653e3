"""What is said of a method in a column survives what drops a file's metadata."""

import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from golden_inputs import write_columns

from benchmark_spec.errors import ContradictionError, FSLBenchWarning
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.scoring.score import score
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from fslbench_data.validation.validate import validate

SET = "open-5w10s7q"  # 19 tasks of 35 queries


def _recorded(release: Release, name: str, *, transductive: bool = False) -> Submission:
    tasks = release.task_set("digits", SET)
    recorder = Recorder(name, transductive=transductive)
    recorder.add_counts(tasks, [20 + i % 9 for i in range(len(tasks))])
    return recorder.submission()


def _rows(release: Release, *marks: Any) -> dict[str, list[Any]]:
    """Columns of a submission without metadata; a mark for each row, or one for all."""
    columns = _recorded(release, "mine").table.to_pydict()
    columns["fingerprint"] = [release.task_set("digits", SET).info.fingerprint] * 19
    columns["transductive"] = list(marks) * (19 if len(marks) == 1 else 1)
    return columns


def test_files_joined_by_pandas_keep_the_mark(embedded: Release, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    for name in ("plain", "marked"):
        recorded = _recorded(embedded, name, transductive=name == "marked")
        recorded.write(tmp_path / f"{name}.parquet")
    frames = [pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("plain", "marked")]
    joined = pd.concat(frames)
    joined["fingerprint"] = embedded.task_set("digits", SET).info.fingerprint
    path = tmp_path / "joined.parquet"
    joined.to_parquet(path, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FSLBenchWarning)  # the column says it
        report = score(path, embedded)
    assert {s.method: s.transductive for s in report.scores if s.method in ("plain", "marked")} == {
        "plain": False,
        "marked": True,
    }
    result = CliRunner().invoke(main, ["score", str(path)])
    assert result.exit_code == 0
    assert "marked †" in result.stdout
    assert "plain †" not in result.stdout
    assert "Warning" not in result.stderr


def test_a_file_that_lost_its_metadata_is_warned_of(embedded: Release, tmp_path: Path) -> None:
    columns = _rows(embedded, True)
    del columns["transductive"]
    path = write_columns(tmp_path / "x.parquet", columns)
    with pytest.warns(FSLBenchWarning, match="no fslbench metadata, which pandas drops"):
        Submission.read(path)
    for command in ("score", "validate"):
        result = CliRunner().invoke(main, [command, str(path)])
        assert result.exit_code == 0
        assert result.stderr.startswith(f"Warning: {path} has fingerprints in a column")
        assert "fix: give the column `transductive`" in result.stderr
    quiet = tmp_path / "recorded.parquet"
    _recorded(embedded, "mine").write(quiet)
    for path in (quiet, write_columns(tmp_path / "x.csv", columns)):
        assert "Warning" not in CliRunner().invoke(main, ["validate", str(path)]).stderr


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("marks", [[True], [False], [None], [True, None] * 9 + [True]])
def test_the_column_in_every_kind_of_file(
    ending: str, marks: list[Any], embedded: Release, tmp_path: Path
) -> None:
    path = write_columns(tmp_path / f"x.{ending}", _rows(embedded, *marks))
    found = [Submission.read(path)]
    found += [read_untrusted(path)] if ending == "parquet" else []
    for submission in found:
        methods = validate(submission, embedded).submission.methods
        if marks == [None]:
            assert not methods
        else:
            assert methods["mine"].transductive is marks[0]


@pytest.mark.parametrize("said", [True, False])
def test_a_column_that_contradicts_the_metadata(said: bool, embedded: Release) -> None:
    recorded = _recorded(embedded, "mine", transductive=said)
    table = recorded.table.drop_columns([c for c in ["transductive"] if said])
    table = table.append_column("transductive", pa.repeat(not said, len(table)))
    submission = Submission(table, recorded.methods, recorded.bindings)
    with pytest.raises(ContradictionError, match="the file's metadata say otherwise"):
        validate(submission, embedded)
    agreed = Submission(table, {"mine": Method("mine", transductive=not said)}, recorded.bindings)
    assert validate(agreed, embedded).submission.methods["mine"].transductive is not said


def test_a_recorded_mark_is_in_the_file_twice(embedded: Release, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    _recorded(embedded, "mine", transductive=True).write(path)
    assert pq.read_table(path).column("transductive").to_pylist() == [True] * 19
    found = validate(Submission.read(path), embedded)
    assert found.submission.methods["mine"].transductive
    plain = _recorded(embedded, "mine").table
    assert "transductive" not in plain.column_names
