"""The whole way, command by command, as users go it: over HTTP, each command a process."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hub_server import HubServer

SPEC = """
name = "small"
version = "1.0.0"
description = "Digits, to try the whole way."
protocols = ["3w5s5q"]

[[dataset]]
name = "digits"
suites = ["open"]
features = ["pixels"]
heads = ["NCC"]
"""

METHOD = """
import numpy as np

def nearest(support, query, rng):
    way, shot = support.shape[:2]
    means = support.reshape(way, shot, -1).mean(axis=1)
    return ((query.reshape(len(query), 1, -1) - means) ** 2).sum(axis=2).argmin(axis=1)
"""

LOAD = """
import datasets, json
from fslbench_data.release.release import load_release

release = load_release("org/small@v1.0.0")
plain = datasets.load_dataset("org/small", "tasks-open-3w5s5q", split="digits", revision="v1.0.0")
tasks = release.task_set("digits", "open-3w5s5q")
assert plain["query"] == tasks.query.tolist()
assert release.load_dataset("results", "test").num_rows == plain.num_rows
print(json.dumps([release.hub, plain.num_rows]))
"""


def _types(
    hub: HubServer, folder: Path, program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of the package, or a script, in a process of its own, as a user does."""
    module = {"fslbench": "fslbench_data.cli", "fslbench-build": "builders.cli"}.get(program)
    start = f"from {module} import main; main()" if module else program
    done = subprocess.run(
        [sys.executable, "-c", start, *arguments],
        env=hub.env(),
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert hub.client_env["HF_TOKEN"] not in done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_build_publish_load_evaluate_submit_leaderboard(hub: HubServer, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    types = partial(_types, hub, tmp_path)
    (tmp_path / "small.toml").write_text(SPEC)
    (tmp_path / "method.py").write_text(METHOD)
    types("fslbench-build", "release", "small.toml", "-o", "release")
    types("fslbench-build", "publish", "release", "--repo-id", "org/small")
    manifest = json.loads((tmp_path / "release/release.json").read_text())
    assert json.loads(hub.read("org/small", "release.json", "v1.0.0")) == manifest

    origin, rows = json.loads(types(LOAD).stdout)
    assert origin == f"org/small@{hub.sha('org/small', 'v1.0.0')}"
    assert rows > 10

    release = ["--release", "org/small@v1.0.0"]
    run = ["evaluate", "method.py:nearest", *release, "--features", "pixels", "-o"]
    types("fslbench", *run, "nearest.parquet")
    scored = types("fslbench", "score", "nearest.parquet", *release, "--format", "json")
    signature = json.loads(scored.stdout)["signature"]
    assert signature["hub"] == origin
    assert signature["release_digest"] == manifest["digest"]

    hub.create_repo("org/results", files={"leaderboard.toml": b'releases = ["org/small@v1.0.0"]\n'})
    sent = types("fslbench", "submit", "nearest.parquet", "--to", "org/results")
    assert sent.stdout.strip().endswith("/discussions/1")
    hub.merge("org/results", 1)
    found = types("fslbench", "leaderboard", "--results", "org/results").stdout
    assert "nearest" in found
    assert "pixels/NCC" in found

    hub.client_env["HF_HUB_OFFLINE"] = "1"
    hub.requests.clear()
    types("fslbench", *run, "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "nearest.parquet").read_bytes()
    assert not hub.requests  # all from the cache

    for path in tmp_path.rglob("*"):  # nor does any file, but the one that a login would write
        if path.is_file() and path.name != "token":
            assert hub.client_env["HF_TOKEN"].encode() not in path.read_bytes(), path
