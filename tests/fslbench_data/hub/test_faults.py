"""How faults while a release is loaded end: the table of studies/reliability/hub_faults.md.

Every fault must end in the right data or in an error of its own; and whatever happened, the same
cache must give the right data once the fault is over.
"""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import huggingface_hub
import pytest
from hub_server import Fault, HubServer, forget

from benchmark_spec.errors import FSLBenchError, FSLBenchWarning
from fslbench_data.files import sha256_of
from fslbench_data.release.release import Release, load_release

MODERN = int(huggingface_hub.__version__.split(".")[0]) >= 2
"""Whether the Hub's client heeds Retry-After."""

REPO, TAG = "org/faulty", "v1.0.0"
SET = ("cats", "open-2w1s2q")
TABLE = "tasks/open-2w1s2q/cats.parquet"
GET_TABLE = r"/cdn/.*/resolve/.*open-2w1s2q.*cats\.parquet|/resolve/.*open-2w1s2q/cats\.parquet"
MANIFEST = r"/resolve/.*release\.json"


@dataclass
class World:
    hub: HubServer
    toy: Release
    waits: list[float]
    folder: Path

    def load(self, revision=TAG):
        forget()
        release = load_release(f"{REPO}@{revision}")
        assert release.task_table(release.task_set_info(*SET)).equals(
            self.toy.task_table(self.toy.task_set_info(*SET))
        )

    def load_with(self, fault):
        self.hub.faults.add(fault)
        self.load()

    def load_other(self):
        load_release(f"{REPO}@{TAG}").task_set("dogs", SET[1])

    def fault(self, match, kind, **more):
        self.hub.faults.add(Fault(match, kind, **more))

    def child(self, code, **env):
        return subprocess.Popen(
            [sys.executable, "-c", code],
            env=self.hub.env(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


LOAD = f"""
from benchmark_spec.errors import FSLBenchError
from fslbench_data.release.release import load_release
try:
    release = load_release({REPO + "@" + TAG!r})
    for info in release.task_sets:
        release.task_table(info)
    print("loaded")
except FSLBenchError as error:
    print(type(error).__name__ + ": " + error.what)
"""

FAULTS = []
"""What the fault is, the doing, and the outcome as a regular expression."""


def fault(name, outcome):
    return lambda act: FAULTS.append((name, act, outcome))


HARMLESS = {
    "the Hub answers 500 once": Fault(GET_TABLE, "status", status=500),
    "the storage answers 503 twice": Fault(
        "/cdn/.*cats", "status", method="GET", status=503, times=2
    ),
    "the connection is reset in the middle of a table": Fault(
        GET_TABLE, "cut", method="GET", after=700, abrupt=True
    ),
    "a truncated body under the right length, once": Fault(GET_TABLE, "truncated", method="GET"),
    "a made-up ETag": Fault(GET_TABLE, "wrong_etag", times=None),
    "a byte of a table is flipped on the way, once": Fault(GET_TABLE, "tampered", method="GET"),
    "a byte of the manifest is flipped on the way, once": Fault(MANIFEST, "tampered", method="GET"),
}
"""Faults that a load of an empty cache gets over."""
SPOILT = {
    "the storage answers 503 to everything": (
        Fault("/cdn/", "status", status=503, times=None),
        "HubUnreachableError: .* answered 503 each time",
    ),
    "the Hub answers 500 to everything": (
        Fault(".", "status", status=500, times=None),
        "HubUnreachableError: .* answered 500 each time",
    ),
    "the connection is reset before every answer": (
        Fault(".", "reset", times=None),
        "HubUnreachableError: .*",
    ),
    "a truncated body under the right length, always": (
        Fault(GET_TABLE, "truncated", method="GET", missing=10**6, times=None),
        "HubUnreachableError: .*",
    ),
    "a body and length that are both short": (
        Fault(GET_TABLE, "wrong_length", method="GET", times=None),
        "HubUnreachableError: .* came short",
    ),
    "a wrong ETag of the manifest": (
        Fault(MANIFEST, "wrong_etag", times=None),
        r"CorruptReleaseError: release\.json is not .*",
    ),
    "a login page instead of the Hub (a captive portal)": (
        Fault(".", "html", times=None),
        "HubUnreachableError: .* not the Hub.*",
    ),
    "a login page instead of a table's content": (
        Fault(GET_TABLE, "html", method="GET", times=None),
        "HubUnreachableError: .* came short",
    ),
}
"""Those that end it, and in which error, as a regular expression."""
FAULTS += [(name, partial(World.load_with, fault=one), "loaded") for name, one in HARMLESS.items()]
FAULTS += [(name, partial(World.load_with, fault=one), end) for name, (one, end) in SPOILT.items()]


@fault("the Hub answers 503 to everything, and the table is in the cache", "loaded")
def _(w):
    w.load()
    w.fault(".", "status", status=503, times=None)
    w.load()


@fault("429 with Retry-After: 7", "loaded")
def _(w):
    w.fault(GET_TABLE, "status", method="GET", status=429, retry_after=7)
    w.load()
    # the seconds asked for, and one to be sure; older clients wait as after any failure
    assert (8.0 if MODERN else 1) in w.waits


@fault("the connection is cut in the middle of a table", "loaded")
def _(w):
    w.fault(GET_TABLE, "cut", method="GET", after=700)
    with patch("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100):  # else 10 MB, all at once
        w.load()
    assert [r.range for r in w.hub.seen("/cdn/.*cats", "GET")] == [None, "bytes=700-"]


@fault("another table's ETag, that table being in the cache", "loaded")
def _(w):
    w.load_other()
    (other,) = [t.sha256 for t in w.toy.manifest.tables if t.path == TABLE.replace("cats", "dogs")]
    w.fault(GET_TABLE, "wrong_etag", times=None, etag=other)
    w.load()
    w.load_other()


@fault("a table on the Hub is tampered with", rf"CorruptReleaseError: {TABLE} is not .*")
def _(w):
    w.hub.tamper(REPO, TABLE)
    try:
        w.load()
    finally:
        w.hub.tamper(REPO, TABLE)  # the flipped byte again: as it was


@fault("a table in the cache is damaged after it was loaded", "loaded")
def _(w):
    w.load()
    _damage(w)
    w.load()


@fault(
    "the same without a connection", r"CorruptReleaseError: the cached copy .* HF_HUB_OFFLINE .*"
)
def _(w):
    w.load()
    _damage(w)
    with w.hub.offline():
        w.load()


@fault("without a connection, and not in the cache", "HubUnreachableError: .* HF_HUB_OFFLINE .*")
def _(w):
    with w.hub.offline():
        w.load()


@fault("a tag is moved between two loads", rf"MovedTagError: the tag {TAG} of .* was moved.*")
def _(w):
    w.load()
    first = w.hub.sha(REPO)
    w.hub.commit(REPO, {"README.md": b"# Moved\n"})
    w.hub.tag(REPO, TAG)
    try:
        w.load()
    finally:
        w.hub.tag(REPO, TAG, first)


@fault("a private release, and a token without rights", "HubNotFoundError: .* or it is private")
def _(w):
    w.hub.repo(REPO).private = True
    with patch.dict(os.environ, HF_TOKEN=w.hub.token("eve")):
        w.load()


@fault("a gated release, and a token without access", "HubAccessError: .* is gated.*")
def _(w):
    w.hub.repo(REPO).gated = True
    with patch.dict(os.environ, HF_TOKEN=w.hub.token("eve")):
        w.load()


@fault("a full disk", "OutputError: cannot write what comes from the Hub: .*")
def _(w):
    home = w.folder / "small"
    home.mkdir()
    with _small_disk(home, kilobytes=64) as limit:
        (home / "hog").write_bytes(b"x" * limit)
        code = f"import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{LOAD}"
        run = w.child(code, HF_HOME=str(home), HF_HUB_CACHE=str(home / "hub"))
        said = run.communicate()[0].splitlines()[-1]
        assert _cached_is_right(w, home / "hub")
    raise Said(said)


@fault("the storage of xet refuses everything", "loaded")
def _(w):
    w.hub.xet = "broken"
    with (
        patch("huggingface_hub.constants.HF_HUB_DISABLE_XET", False),
        pytest.warns(FSLBenchWarning, match="files go by HTTP now"),
    ):
        w.load()


@fault("two processes load at once into an empty cache", "loaded")
def _(w):
    w.fault(r"/cdn/", "delay", seconds=0.1, times=None)
    both = [w.child(LOAD) for _ in range(2)]
    said = {run.communicate()[0].splitlines()[-1] for run in both}
    if said != {"loaded"}:
        raise Said(" / ".join(sorted(said)))
    w.load()


@fault("a process is killed while it downloads; another begins again", "loaded")
def _(w):
    w.fault(GET_TABLE, "delay", method="GET", seconds=30)
    run = w.child(LOAD)
    while not w.hub.seen("/cdn/.*cats|/resolve/.*open-2w1s2q/cats", "GET"):
        assert run.poll() is None
    run.kill()
    run.communicate()
    w.hub.faults.clear()
    w.load()


class Said(Exception):
    """What another process said."""


@contextmanager
def _small_disk(folder, kilobytes):
    """A file system of a few kilobytes; gives how many bytes leave it with hardly any room."""
    options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    done = subprocess.run(["mount", *options], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("needs the right to mount a small file system, to fill it")
    try:
        yield (kilobytes - 16) * 1024
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _damage(w):
    (path,) = Path(os.environ["HF_HUB_CACHE"]).glob(f"**/snapshots/*/{TABLE}")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.resolve().write_bytes(content)


def _cached_is_right(world, cache):
    truth = {t.path: t.sha256 for t in world.toy.manifest.tables}
    return all(
        sha256_of(path) == truth[path.relative_to(snapshot).as_posix()]
        for snapshot in cache.glob("**/snapshots/*")
        for path in snapshot.rglob("*.parquet")
        if path.exists()
    )


SLOW = ("two processes", "a process is killed", "a full disk")
"""How faults begin that take processes of their own."""


@pytest.mark.parametrize(
    ("name", "act", "outcome"),
    [
        pytest.param(*fault, id=fault[0], marks=[pytest.mark.slow] * fault[0].startswith(SLOW))
        for fault in FAULTS
    ],
)
def test_every_fault_ends_well(
    name, act, outcome, root, hub, toy, quick_retries, tmp_path, monkeypatch
):
    monkeypatch.setattr("fslbench_data.hub._PAUSE", 0.01)
    hub.create_repo(REPO, files=Path(toy.files.where))
    hub.tag(REPO, TAG)
    world = World(hub, toy, quick_retries, tmp_path)
    try:
        act(world)
        found = "loaded"
    except FSLBenchError as error:
        found = f"{type(error).__name__}: {error.what}"
    except Said as said:
        found = str(said)
    assert re.fullmatch(outcome, found), found
    assert "hf_" not in found
    if MODERN:
        kind, colon, what = re.sub(r"\b[0-9a-f]{40}\b", "…", found).partition(": ")
        assert _rows(root)[name] == (f"`{kind}`: {what}" if colon else "the right data")
    # whatever happened: the same cache, without the fault, gives the right data
    hub.faults.clear()
    hub.repo(REPO).private = hub.repo(REPO).gated = False
    world.load()
    world.load_other()
    assert _cached_is_right(world, Path(os.environ["HF_HUB_CACHE"]))


def test_the_table_in_the_docs_has_every_fault(root):
    assert sorted(_rows(root)) == sorted(name for name, _, _ in FAULTS)


def _rows(root):
    page = (root / "studies/reliability/hub_faults.md").read_text()
    return dict(re.findall(r"^\| (?!fault|---)(.+?) \| (.+?) \|$", page, re.MULTILINE))
