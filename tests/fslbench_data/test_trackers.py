"""What experiment trackers take of a report, by the lines of docs/sql.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest.mock import MagicMock

import own_logs
import pytest
from commands import printed

import fslbench_data as fb

PAGE = (Path(__file__).parents[2] / "docs/sql.md").read_text(encoding="utf-8")
LINES = re.findall(r"`([^`]+report\.to_dict\(\)[^`]+)`|`([^`]+ = report\.to_dict\(\))`", PAGE)


@pytest.fixture(scope="module")
def report() -> fb.Report:
    return fb.interval(own_logs.log(methods={"a": 0.0, "b": 0.1}, tasks=200))


def test_it_is_the_commands_json(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = own_logs.rows(own_logs.log(methods={"a": 0.0, "b": 0.1}, tasks=200))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert json.loads(printed("score", path, "--format", "json")) == fb.interval(path).to_dict()


@pytest.mark.parametrize("start", ["run.", "mlflow.", "writer."])
def test_the_line_of_a_tracker_gives_it_the_report(start: str, report: fb.Report) -> None:
    """Trackers are none of the extras: what stands in for them keeps what it is given."""
    (line,) = (one or other for one, other in LINES if (one or other).startswith(start))
    tracker = MagicMock()
    exec(line, {start.removesuffix("."): tracker, "json": json, "report": report})
    given = [part for call in tracker.mock_calls for part in (*call.args, *call.kwargs.values())]
    assert report.to_dict() in given or json.dumps(report.to_dict()) in given
