"""docs/own_tasks.md: its loops run, and a log gives what the package's own path gives."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from own_logs import estimates
from pages import blocks

import fslbench_data as fb
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from fslbench_data.cli import main

pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
pytest.importorskip("easyfsl", reason="needs easyfsl, of the extra `test`")

PAGE = Path(__file__).parents[1] / "docs/own_tasks.md"
BLOCKS = blocks(PAGE)
PYTHON = [content for mark, language, content in BLOCKS if language == "python" and not mark]


def _ran() -> dict[str, Any]:
    """What stands after the page's Python blocks were run."""
    names: dict[str, Any] = {}
    for block in PYTHON:
        exec(block, names)
    return names


def _own_path(names: dict[str, Any]) -> Any:
    """Means and half-widths from the loop's own arrays, without a log."""
    methods = [type(method).__name__ for method in names["methods"]]
    labels, drawn = np.array(names["labels"]), names["sampler"].drawn[:600]
    images = np.array([np.hstack([task["support_ids"], task["query_ids"]]) for task in drawn])
    right = {(row["method"], row["task"]): row["n_correct"] for row in names["tasks"].rows}
    y = np.array([[right[method, task] for task in range(600)] for method in methods]) / 35
    return leave_one_out(TaskDesign.of(labels[images[:, :, 0]], images, labels), y, 0.95)


def _check(names: dict[str, Any]) -> None:
    shown, own = names["shown"], _own_path(names)
    for kinds, (i, j) in zip(estimates(shown).values(), [(0, 0), (1, 1), (0, 1)], strict=True):
        assert {*kinds} == {"images", "classes"}
        for kind, row in kinds.items():
            assert abs(row["value"] - 100 * own.mean[i, j]) < 1e-12
            assert abs(row["halfwidth"] - 100 * getattr(own, kind).halfwidth[i, j]) < 1e-8
            assert 0 < row["halfwidth"] < 20


@pytest.mark.slow
def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "50")
    names = _ran()
    _check(names)
    (command,) = (content for mark, _, content in BLOCKS if mark == "run")
    (printed,) = (content for mark, _, content in BLOCKS if mark == "printed")
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    *shown, signature, _ = result.stdout.split("\n")
    assert signature == str(names["shown"].signature)
    assert "\n".join(shown).strip() == printed.strip()
    assert len(result.stdout.splitlines()) <= 50


@pytest.mark.parametrize("package", ["learn2learn", "pytorch_lightning"])
def test_the_loops_of_other_packages(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package, reason=f"needs {package}", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in PYTHON[:2]:
        exec(block, names)
    (block,) = (content for mark, _, content in BLOCKS if mark == package)
    assert len(block.splitlines()) <= 15
    exec(block, names)
    log = names["log" if package == "learn2learn" else "tasks"]
    (score,) = fb.interval(log.rows, class_sizes=log.class_sizes).scores
    assert score.accuracy.tasks == 600
    assert 90 < score.accuracy.mean < 93
