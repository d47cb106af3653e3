"""Programs that use Ray in processes of their own, where Ray may end them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROUNDS = """
import sys

import ray
from killed_jobs import Squares

from benchmark_spec.errors import UnknownNameError
from builders.execution.ray_engine import RayEngine

options = {"include_dashboard": False, "object_store_memory": 10**8, "_temp_dir": sys.argv[1]}
ray.init(address="local", num_cpus=4, log_to_driver=False, logging_level="ERROR", **options)
for number in range(int(sys.argv[2])):
    try:
        list(RayEngine().run(Squares(), [1, 2, 13, *range(20, 80)]))
    except UnknownNameError:
        print(number, flush=True)
assert list(RayEngine().run(Squares(), [3])) == [(3, 9)]
"""
"""Runs a job so many times, whose third block raises."""

HEAD = """
import sys
from ray.cluster_utils import Cluster
options = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8}
cluster = Cluster(initialize_head=True, head_node_args=options)
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
"""A cluster of one node, until its standard input ends."""

CALL = """
import sys
from killed_jobs import Squares
from benchmark_spec.errors import EngineError
from builders.execution.ray_engine import RayEngine
try:
    print(list(RayEngine(sys.argv[1]).run(Squares(), [3])))
except EngineError as error:
    print(error)
"""
"""Runs a job on a cluster; prints its result, or what the engine says."""


def command(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def environment(root: Path, home: Path, settings: Mapping[str, str] = {}) -> dict[str, str]:
    """Where this package and its tests' own are found, and nothing of Ray is set but `settings`."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}
    path = os.pathsep.join([str(root), str(root / "tests/support")])
    plain = {"PYTHONPATH": path, "HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0"}
    return {**kept, **plain, **settings}


def run(
    root: Path, home: Path, code: str, *arguments: str, settings: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(code, *arguments),
        capture_output=True, text=True, env=environment(root, home, settings),
    )  # fmt: skip
