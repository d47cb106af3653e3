"""Jobs on a Ray cluster of two nodes on this machine: the same bytes, whoever is killed."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from killed_jobs import Killed, KillingEngine, Squares
from processes import python

from benchmark_spec.errors import EngineError, UnknownNameError
from builders.execution.ray_engine import RayEngine, _do, _stop

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def ray():
    return pytest.importorskip("ray", reason="needs the extra `ray`")


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
    print(list(RayEngine(*sys.argv[1:]).run(Squares(), [3])))
except EngineError as error:
    print(error)
"""
"""Runs a job, on a cluster if one is named; prints its result, or what the engine says."""


def _environment(root, home, settings):
    """Where this package and its tests' own are found, and nothing of Ray is set but `settings`."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}
    path = os.pathsep.join([str(root), str(root / "tests/support")])
    plain = {"PYTHONPATH": path, "HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0"}
    return {**kept, **plain, **settings}


@pytest.fixture(scope="module")
def address(ray, root):
    """Of a cluster of two nodes, one processor each, that finds this package and the tests' own."""
    from ray.cluster_utils import Cluster

    before = dict(os.environ)
    path = [str(root), str(root / "tests/support"), before.get("PYTHONPATH", "")]
    os.environ |= {"PYTHONPATH": ":".join(filter(None, path)), "RAY_USAGE_STATS_ENABLED": "0"}
    os.environ.pop("RAY_ADDRESS", None)
    node = {"num_cpus": 1, "object_store_memory": 10**8}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()
    os.environ.clear()
    os.environ |= before


@pytest.fixture(scope="module")
def engine(address):
    return RayEngine(address, retries=1)


def test_results_come_in_order_and_errors_as_they_are(engine):
    assert list(engine.run(Squares(), [])) == []
    blocks = [5, 3, 8, *range(20, 60)]
    assert list(engine.run(Squares(), blocks)) == [(block, block**2) for block in blocks]
    with pytest.raises(UnknownNameError, match=r"unknown number '13'(.|\n)*one of 12, 14"):
        list(engine.run(Squares(), [1, 13, 2]))


def test_two_hundred_jobs_that_fail_leave_the_process_alive(root, tmp_path_factory):
    """Of a task that is cancelled while its reply is under way, Ray makes the driver's end."""
    folder = tmp_path_factory.mktemp("r")  # sockets have short names only
    out = python(ROUNDS, folder, 200, env=_environment(root, folder, {}))
    assert out.returncode == 0, out.stderr[-2000:]
    assert out.stdout.split() == [str(number) for number in range(200)]


def test_tasks_that_wait_see_that_nobody_does(ray, engine, tmp_path):
    engine._connected()
    task, shared = ray.remote(_do), ray.put(Killed(Squares(), None, tmp_path))
    _stop("over")
    assert ray.get(task.remote([shared], "over", 5)) is None
    assert not list(tmp_path.iterdir())
    assert ray.get(task.remote([shared], "another", 5)) == 25
    assert [path.name for path in tmp_path.iterdir()] == ["done 5"]


def test_few_blocks_are_handed_out_at_a_time(engine, tmp_path):
    job = Killed(Squares(), None, tmp_path)
    found = engine.run(job, list(range(40)))
    assert next(found) == (0, 0)
    found.close()
    with pytest.raises(UnknownNameError):
        list(engine.run(job, [13, *range(100, 140)]))
    assert list(engine.run(Squares(), [3])) == [(3, 9)]
    done = {int(path.name.split()[1]) for path in tmp_path.glob("done *")}
    assert 0 in done
    assert done <= {0, 1, 2, 3, 13, 100, 101, 102}


def test_more_than_any_machine_has_is_refused(engine):
    with pytest.raises(EngineError, match=r"no machine .* has 2 processors(.|\n)*at most 1 proc"):
        list(engine.run(Squares(threads=2), [1]))
    with pytest.raises(EngineError, match="has 1 processors and 1 GPU for a process"):
        list(engine.run(Squares(device="cuda"), [1]))


def test_a_killed_process_is_replaced_but_not_for_ever(engine, tmp_path):
    found = list(engine.run(Killed(Squares(), 4, tmp_path), list(range(8))))
    assert found == [(block, block**2) for block in range(8)]
    assert (tmp_path / "killed").exists()
    assert len({path.read_text() for path in tmp_path.glob("done *")}) == 2  # both nodes worked
    with pytest.raises(EngineError, match="block 4 cannot be computed"):
        list(engine.run(Killed(Squares(), 4, tmp_path, always=True), list(range(8))))


def test_extraction_gives_the_same_features(tiny, plain, extract, engine, tmp_path):
    killing = KillingEngine(engine, 2, tmp_path)
    found, provenance = extract(tiny, tmp_path, engine=killing, workers=1)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(found, plain)
    assert provenance == extract(tiny, tmp_path / "local")[1]


def test_heads_give_the_same_predictions(engine, tmp_path):
    from builders.baselines.running import predictions

    chance = np.random.default_rng(0)
    features = chance.standard_normal((200, 16)).astype(np.float16)
    sets = []
    for tasks, shot in ((1100, 1), (600, 5)):
        ids = np.argsort(chance.random((tasks, 200)), axis=1)[:, : 5 * (shot + 3)]
        sets.append((ids[:, : 5 * shot].reshape(tasks, 5, shot), ids[:, 5 * shot :]))
    killing = KillingEngine(engine, (0, 512), tmp_path, "TaskRanges")
    for head in ("NCC", "LR"):
        here = predictions(head, features, sets, threads=1)
        there = predictions(head, features, sets, threads=1, engine=killing)
        assert [found.shape for found in here] == [(1100, 15, 2), (600, 15, 2)]
        for one, other in zip(here, there, strict=True):
            np.testing.assert_array_equal(one, other)
    assert (tmp_path / "killed").exists()


def test_the_cluster_last_started_here_is_not_joined(root):
    """Without an address Ray would wait a quarter of an hour for it once it is gone."""
    with TemporaryDirectory() as home:  # sockets have short names only
        (Path(home) / "ray").mkdir()
        (Path(home) / "ray/ray_current_cluster").write_text("127.0.0.1:1")
        out = python(CALL, env=_environment(root, home, {"RAY_TMPDIR": home}))
        assert out.stdout == "[(3, 9)]\n", out.stderr[-2000:]
        out = python(CALL, env=_environment(root, home, {"RAY_ADDRESS": "127.0.0.1:1"}))
        assert "cannot be reached: [Errno 111]" in out.stdout, out.stderr[-2000:]


def test_a_cluster_that_wants_a_token(ray, root, tmp_path):
    if not hasattr(ray.exceptions, "AuthenticationError"):
        pytest.skip("this version of Ray has no tokens")
    token = {"RAY_AUTH_MODE": "token"}
    own = token | {"RAY_AUTH_TOKEN": "a" * 64}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    env = _environment(root, tmp_path, own)
    head = subprocess.Popen([sys.executable, "-c", HEAD], text=True, env=env, **pipes)
    try:
        address = head.stdout.readline().strip()

        def call(settings):
            out = python(CALL, address, env=_environment(root, tmp_path, settings))
            assert out.returncode == 0, out.stderr[-2000:]
            return out.stdout

        assert call(own) == "[(3, 9)]\n"
        for settings in (token, token | {"RAY_AUTH_TOKEN": "b" * 64}, {}):
            said = call(settings)
            assert said.startswith("the Ray cluster does not let this process in: "), said
            assert f"where: {address}" in said
            assert "RAY_AUTH_TOKEN" in said
    finally:
        head.communicate("")


def test_a_late_start(ray, monkeypatch):
    def late(**_):
        raise TimeoutError("Timed out after 30 seconds while waiting for node to startup.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", late)
    with pytest.raises(EngineError, match=r"did not start on (.|\n)*session_latest/logs"):
        list(RayEngine().run(Squares(), [1]))
