"""The scripts in examples/ that a researcher starts from, run as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hub_server import HubServer
from tiny_features import write_checkpoint, write_pictures

import fslbench_data as fb


def _run(script: Path, *arguments: object, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        env=env,
        cwd=script.parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_method_of_ones_own_on_frozen_features(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.parquet"
    said = _run(root / "examples/own_method.py", path).splitlines()
    assert len(said) == 12  # two data sets, three protocols, two methods to compare with
    report = fb.score(path)
    assert not report.signature.unbound
    assert said[0].startswith("groceries/open-5w1s1q efficientnet_lite0-pca128/NCC: +0.0 ± 0.0 =")
    accuracies = [
        score.accuracy.mean
        for score in report.scores
        if score.method == "efficientnet_lite0-pca128/scatter"
    ]
    assert min(accuracies) > 45
    assert max(accuracies) > 88


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    return write_pictures(tmp_path_factory.mktemp("own") / "BIRDS", 12)


@pytest.mark.slow
def test_a_data_set_and_a_model_of_ones_own(
    root: Path, tmp_path: Path, birds: Path, hub: HubServer
) -> None:
    release = tmp_path / "release"
    arguments = [birds, "-o", release, "--protocols", "3w2s2q", "--repo-id", "org/birds"]
    said = _run(root / "examples/own_dataset.py", *arguments, env=hub.env()).splitlines()
    assert "0 problems" in said[0]
    tasks = fb.load_release(release)
    info = tasks.task_set_info("birds", "open-3w2s2q")
    assert said[1:3] == [
        f"birds/open-3w2s2q: {info.n_tasks} tasks",
        "birds/closed-3w2s2q: 600 tasks",
    ]
    assert said[3].startswith("published as org/birds@v1.0.0")

    weights = write_checkpoint(tmp_path)
    model = ["--model", "test_vit", "--checkpoint", weights / "tiny.safetensors"]
    where = [birds, "--dataset", "birds", "--release", release]
    for name in ("one.parquet", "two.parquet"):
        _run(root / "examples/own_model.py", *where, *model, "-o", tmp_path / name)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert not list(tmp_path.glob("*.partial"))
    found = fb.Submission.read(tmp_path / "one.parquet")
    assert list(found.methods) == ["test_vit/nearest-mean"]
    assert found.table.num_rows == info.n_tasks + 600
    report = fb.score(found, tasks)
    assert np.isfinite([score.accuracy.mean for score in report.scores]).all()
