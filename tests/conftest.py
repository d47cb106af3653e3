"""Fixtures: the embedded release, a release small enough to compute by hand, shared input."""

import atexit
import contextlib
import ctypes
import gc
import json
import os
import shutil
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path

import hypothesis
import numpy as np
import pyarrow as pa
import pytest
from comparing import first_difference, is_large
from hub_server import HubServer
from hub_server.server import ENVIRONMENT, bound_socket, point_at, quicken
from toy_release import toy_release

from analysis_sql.engine import working_database
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.model import Submission

# No test reaches the real Hub: whatever imports huggingface_hub from here on talks to this port,
# where nobody answers until a test asks for `hub`.
HUB_SOCKET = bound_socket()
os.environ |= ENVIRONMENT
# Nor what an earlier run left: `datasets` takes a release for another whose files are as old.
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="fslbench-")
atexit.register(shutil.rmtree, os.environ["HF_HOME"], ignore_errors=True)
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{HUB_SOCKET.getsockname()[1]}"

# What a shell says of its files, language, time, colours and width is no part of any test.
os.umask(0o022)
for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "CLICOLOR", "CLICOLOR_FORCE"):
    os.environ.pop(name, None)
os.environ |= {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "TZ": "UTC"}
os.environ |= {"COLUMNS": "120", "LINES": "50"}
if hasattr(time, "tzset"):
    time.tzset()

# Each worker has a core: threads would wait for each other, PyTorch's at three times the cost.
os.environ.setdefault("OMP_NUM_THREADS", "1")
working_database().execute("SET threads = 1")

# The same examples in every run, and none too slow for a busy machine.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None, max_examples=40)
hypothesis.settings.load_profile("steady")

# Modules and tests live as long as the process: the collector need not look at them again.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


def pytest_assertrepr_compare(op, left, right):
    """Say where long values differ first; pytest compares two pictures for 15 minutes."""
    if op == "==" and (is_large(left) or is_large(right)):
        pytest.fail(f"not the same: {first_difference(left, right)}")


@pytest.fixture(scope="module", autouse=True)
def _memory_given_back():
    """What a module's tests took is free for the worker's next, and for the other workers."""
    yield
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # of another library of C
            ctypes.CDLL("libc.so.6").malloc_trim(0)


@pytest.fixture(autouse=True)
def _imports_forgotten(tmp_path_factory):
    """What a test imports out of a temporary folder is not there for the worker's next test."""
    path, last = list(sys.path), next(reversed(sys.modules))
    yield
    sys.path[:] = path
    if next(reversed(sys.modules)) == last:
        return  # whatever is imported comes last
    folder = str(tmp_path_factory.getbasetemp())
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(folder):
            del sys.modules[name]


def _once(function, key):
    """Call a function once for each key, and always where the key is None."""
    made = {}

    def call(*given):
        at = key(*given)
        if at is None:
            return function(*given)
        if at not in made:
            made[at] = function(*given)
        return made[at]

    return call


@pytest.fixture(scope="session", autouse=True)
def _made_once():
    """What the tasks of a set share is worked out once, and results, tasks and right answers of the
    package are read once, not in each of hundreds of commands."""
    from fslbench_data.leaderboard import leaderboard
    from fslbench_data.release import release as opening
    from fslbench_data.release.folder import embedded_folder
    from fslbench_data.scoring import designs, score, sql

    inside, read_results = embedded_folder(), opening.read_results
    whole = _once(read_results, lambda table, path: path)

    def results_once(table, path, only=None):
        if inside in path.parents:
            return whole(table, path)
        return read_results(table, path, only)

    def of_package(release, *of):
        return tuple(map(str, of)) if release is load_release() else None

    made = lru_cache(maxsize=32)(designs.designs_of)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score, "designs_of", made)
        patch.setattr(leaderboard, "designs_of", made)
        patch.setattr(opening, "read_results", results_once)
        patch.setattr(sql, "_tasks", _once(sql._tasks, of_package))
        patch.setattr(Release, "_column", _once(Release._column, of_package))
        yield


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def shared():
    """Input that the repository does not ship."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder `shared` beside the repository")
    return SHARED


@pytest.fixture(scope="session")
def embedded():
    return load_release()


@pytest.fixture(scope="session")
def golden(root):
    """Content digest of every table of the embedded release, by path."""
    return json.loads((root / "tests/golden/embedded.json").read_text())


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """Two data sets of 4 classes with 6 images; 4 `open` and 5 `closed` tasks, K = 2, Q = 2."""
    sizes = {"cats": [6, 6, 6, 6], "dogs": [6, 6, 6, 6]}
    folder = tmp_path_factory.mktemp("toy") / "release"
    return toy_release(folder, sizes, {"open": None, "closed": 5})


@pytest.fixture(scope="session")
def biased(tmp_path_factory):
    """Ladders and counterfactual sets; see ``tests/support/biased_release.py``."""
    from biased_release import write_biased

    folder = tmp_path_factory.mktemp("biased") / "release"
    write_biased(folder)
    return load_release(folder)


@pytest.fixture(scope="session")
def sharded(tmp_path_factory):
    """100 images in 4 shards of 32, with features float16 (100, 8) and int8 (100, 4)."""
    from builders.release.writer import ReleaseWriter
    from builders.sources.image_set import About

    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("sharded") / "release"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmark_spec.manifest.SHARD_IMAGES", 32)
        writer = ReleaseWriter(folder, "sharded", "1.0.0", "In shards.")
        writer.add_dataset(
            "birds",
            About("birds", "https://example.org", "CC0", "@misc{x}", redistribution="features"),
            class_names=["a", "b", "c"],
            class_sizes=[40, 35, 25],
        )
        half = rng.standard_normal((100, 8)).astype(np.float16)
        writer.add_features("birds", "net", iter([half[:50], half[50:]]), {"backbone": "net"})
        steps = rng.integers(-127, 128, (100, 4)).astype(np.int8)
        about = {"backbone": "net", "scale": 0.0625}
        writer.add_features("birds", "net-pca4", iter([steps]), about)
        writer.finish()
    return load_release(folder)


@pytest.fixture(scope="session")
def example(root):
    return Submission.read(root / "examples/my_results.parquet")


@pytest.fixture(scope="session")
def _hub_server(tmp_path_factory):
    server = HubServer(tmp_path_factory.mktemp("hub") / "objects", HUB_SOCKET).start()
    yield server
    server.stop()


@pytest.fixture
def hub(_hub_server, tmp_path, monkeypatch):
    """A Hub on this machine, empty; clients here use it with empty caches and a token for `org`."""
    _hub_server.reset()
    token = _hub_server.token("alice", write=("org",))
    point_at(_hub_server, tmp_path / "hf", token, monkeypatch)
    yield _hub_server
    assert not _hub_server.crashes, _hub_server.crashes[0]


@pytest.fixture
def quick_retries(monkeypatch):
    """The clients' waits between tries are cut short; the list holds those they asked for."""
    return quicken(monkeypatch)
