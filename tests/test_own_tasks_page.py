"""docs/own_tasks.md: its loops run, and a log gives what the package's own path gives."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from own_logs import means, pairs

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from fslbench_data.cli import main

pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
pytest.importorskip("easyfsl", reason="needs easyfsl, of the extra `test`")

PAGE = Path(__file__).parents[1] / "docs/own_tasks.md"
BLOCKS = re.findall(
    r"(?:<!-- (\w+) -->\n)?```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
)
PYTHON = [content for _, language, content in BLOCKS if language == "python"]


def _ran(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What stands after the page's Python blocks were run."""
    from torch.utils.data import Sampler

    monkeypatch.setattr(Sampler, "__init__", Sampler.__init__)  # which the page sets anew
    names: dict[str, Any] = {}
    for block in PYTHON:
        exec(block, names)
    return names


def _own_path(names: dict[str, Any]) -> Any:
    """Means and half-widths from the loop's own arrays, without a log."""
    methods = list(names["methods"])
    labels, tasks = np.array(names["labels"]), np.array(names["tasks"])
    images = tasks.reshape(len(tasks), 5, 17)
    right = {(row["method"], row["task"]): row["n_correct"] for row in names["log"]}
    y = np.array([[right[method, task] for task in range(len(tasks))] for method in methods]) / 35
    return leave_one_out(TaskDesign.of(labels[images[:, :, 0]], images, labels), y, 0.95)


def _check(names: dict[str, Any]) -> None:
    shown, own = names["shown"], _own_path(names)
    for estimate, (i, j) in zip(
        [*means(shown), *pairs(shown)], [(0, 0), (1, 1), (0, 1)], strict=True
    ):
        assert abs(estimate.mean - 100 * own.mean[i, j]) < 1e-12
        assert set(estimate.widths) == {"images", "classes"}
        for kind, width in estimate.widths.items():
            assert abs(width.halfwidth - 100 * getattr(own, kind).halfwidth[i, j]) < 1e-8
            assert 0 < width.halfwidth < 20


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "50")
    names = _ran(monkeypatch)
    _check(names)
    (command,) = (content for mark, _, content in BLOCKS if mark == "run")
    (printed,) = (content for mark, _, content in BLOCKS if mark == "printed")
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    *shown, signature, _ = result.stdout.split("\n")
    assert signature == str(names["shown"].signature)
    assert "\n".join(shown).strip() == printed.strip()
    assert len(result.stdout.splitlines()) <= 50
