"""What is said of a method in a column survives what drops a file's metadata."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from commands import invoke
from golden_inputs import write_columns
from recorded import recorded

from benchmark_spec.errors import FSLBenchWarning
from fslbench_data.release.release import Release
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate

SET = "open-5w10s7q"  # 19 tasks of 35 queries


def _recorded(release: Release, name: str, *, transductive: bool = False) -> Submission:
    counts = [20 + i % 9 for i in range(19)]
    return recorded(release.task_set("digits", SET), counts, name, transductive=transductive)


def _rows(release: Release, *marks: Any) -> dict[str, list[Any]]:
    """Columns of a submission without metadata; a mark for each row, or one for all."""
    columns = _recorded(release, "mine").table.to_pydict()
    columns["fingerprint"] = [release.task_set("digits", SET).info.fingerprint] * 19
    columns["transductive"] = list(marks) * (19 if len(marks) == 1 else 1)
    return columns


def test_a_file_that_lost_its_metadata_is_warned_of(embedded: Release, tmp_path: Path) -> None:
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


def test_a_recorded_mark_is_in_the_file_twice(embedded: Release, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    _recorded(embedded, "mine", transductive=True).write(path)
    assert pq.read_table(path).column("transductive").to_pylist() == [True] * 19
    found = validate(Submission.read(path), embedded)
    assert found.submission.methods["mine"].transductive
    plain = _recorded(embedded, "mine")
    assert "transductive" not in plain.columns
    told = plain.declare(inductive=True).to_arrow()  # which pandas keeps
    assert told["inductive"].to_pylist() == [True] * 19
