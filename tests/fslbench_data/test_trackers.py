"""What experiment trackers take of a report, by the lines of docs/sql.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import own_logs
import pytest
from click.testing import CliRunner

import fslbench_data as fb
from fslbench_data.cli import main

PAGE = (Path(__file__).parents[2] / "docs/sql.md").read_text(encoding="utf-8")
LINES = re.findall(r"`([^`]+report\.to_dict\(\)[^`]+)`|`([^`]+ = report\.to_dict\(\))`", PAGE)


def _line(start: str) -> str:
    """The line of the page that begins so."""
    (line,) = (one or other for one, other in LINES if (one or other).startswith(start))
    return line


@pytest.fixture(scope="module")
def report() -> Any:
    return fb.interval(own_logs.log(methods={"a": 0.0, "b": 0.1}, tasks=200))


def test_it_is_the_commands_json(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = own_logs.rows(own_logs.log(methods={"a": 0.0, "b": 0.1}, tasks=200))
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = CliRunner().invoke(main, ["score", str(log), "--format", "json"])
    report = fb.interval(log)
    assert json.loads(result.stdout) == report.to_dict()
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_wandb(report: Any, tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb", reason="needs wandb", exc_type=ImportError)
    settings = wandb.Settings(mode="offline", root_dir=str(tmp_path), silent=True)
    with wandb.init(project="p", settings=settings) as run:
        exec(_line("run."), {"run": run, "report": report})
        found = run.summary["fslbench"]
        assert found["scores"][0]["method"] == report.to_dict()["scores"][0]["method"]


def test_mlflow(report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow", exc_type=ImportError)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run():
        exec(_line("mlflow."), {"mlflow": mlflow, "report": report})
    (file,) = tmp_path.rglob("fslbench.json")
    assert json.loads(file.read_text()) == report.to_dict()


def test_tensorboard(report: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs tensorboard", exc_type=ImportError)
    tensorboard = pytest.importorskip("torch.utils.tensorboard", reason="needs PyTorch")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        exec(_line("writer."), {"writer": writer, "json": json, "report": report})
    events = EventAccumulator(str(tmp_path)).Reload()
    (event,) = events.Tensors("fslbench/text_summary")
    assert json.loads(event.tensor_proto.string_val[0]) == report.to_dict()
