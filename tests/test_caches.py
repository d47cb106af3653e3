"""What is kept to save work: other things under its names are neither opened nor written to."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from processes import python

from benchmark_spec.errors import OutputError
from benchmark_spec.manifest import Table
from builders.execution.steps import Journal, lock_folder
from builders.features.block_job import JOURNAL_FILE, WorkFolder
from builders.training import images as kept_images
from builders.training.images import TrainingImages
from builders.training.settings import DataSettings
from fslbench_data import hub
from fslbench_data.files import is_kept, is_own_folder, read_kept, whole_file
from fslbench_data.hub import Memory, Pin
from fslbench_data.release.features import FeatureCopy
from fslbench_data.release.release import Release
from fslbench_data.release.tables import redrawn


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """End what hangs."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Caches are in a folder of the test's own, and so is the temporary one."""
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "assets"


Use = Callable[[], object]
"""Uses a cache as if for the first time, and gives what it holds then."""


def _drawn(folder: Path, embedded: Release) -> Use:
    """Task sets that a release holds no table of."""
    table = next(
        t for t in embedded.manifest.tables if t.path == "tasks/closed-5w1s1q/digits.parquet"
    )
    entry: Table = replace(table, drawn=True)
    sizes = embedded.classes("digits").column("n_images").to_pylist()
    return lambda: redrawn(entry, lambda: (sizes, None, None)).num_rows


def _features(folder: Path, embedded: Release) -> Use:
    def use() -> object:
        copy = FeatureCopy.of(["a" * 64], 2)
        values = copy.open()
        if values is None:
            assert copy.write(3, np.dtype(np.float16), [np.ones((2, 3), np.float16)])
            values = copy.open()
        return None if values is None else values.tolist()

    return use


def _memory(folder: Path, embedded: Release) -> Use:
    """Tags."""

    def use() -> object:
        memory, pin = Memory("org/name"), Pin("0a" * 20, "ff" * 32)
        if memory.pin("v1.0.0") is None:
            memory.remember_pin("v1.0.0", pin)
        return memory.pin("v1.0.0")

    return use


def _training_images(folder: Path, embedded: Release) -> Use:
    images = TrainingImages(np.zeros((4, 1, 2, 2), np.uint8), np.array([2, 2]), "0" * 64)
    data = DataSettings(source="digits")
    path = folder / "assets/images/digits.npz"

    def use() -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kept_images, "read_images", lambda *_: (images, images))
            kept_images.keep_images(data, None, path, lambda _: None)
        return kept_images.load_images(path)[0].digest

    return use


def _blocks(folder: Path, embedded: Release) -> Use:
    """Features of an unfinished extraction."""

    def use() -> object:
        work = WorkFolder(folder / "assets/blocks")
        work.begin({"of": 1})
        block = np.ones((2, 3), np.float16), {0: "dark"}
        work.once(work.step(0, iter([(0, block)])))
        values = work.values(0).tolist()
        problems = work.problems([0])
        work.close()
        return values, problems

    return use


CACHES = {
    "drawn task sets": _drawn,
    "features": _features,
    "tags": _memory,
    "images of trainings": _training_images,
    "blocks of features": _blocks,
}


def _link_to_a_copy(path: Path, others: Path, content: bytes) -> None:
    """What is looked for, but not under its own name."""
    (others / path.name).write_bytes(content)
    path.symlink_to(others / path.name)


def _fifo(path: Path, others: Path, content: bytes) -> None:
    os.mkfifo(path)


def _files(folder: Path) -> list[Path]:
    """The files that a cache has made, without locks and journals: those say whose they are."""
    left = {".lock", JOURNAL_FILE}
    return [p for p in folder.rglob("*") if not p.is_dir() and p.name not in left]


@pytest.mark.parametrize("obstacle", [_link_to_a_copy, _fifo])
@pytest.mark.parametrize("cache", CACHES)
def test_what_is_no_regular_file_is_replaced(
    cache: str,
    obstacle: Callable[[Path, Path, bytes], None],
    tmp_path: Path,
    assets: Path,
    embedded: Release,
) -> None:
    use = CACHES[cache](tmp_path, embedded)
    first = use()
    made = _files(assets)
    assert made
    others = tmp_path / "others"
    others.mkdir()
    for path in made:
        content = path.read_bytes()
        path.unlink()
        obstacle(path, others, content)
    before = {p: p.lstat().st_mtime_ns for p in others.iterdir()}
    with within(20):
        assert use() == first
    assert {p: p.lstat().st_mtime_ns for p in others.iterdir()} == before
    assert _files(assets)
    assert all(is_kept(path) for path in _files(assets))


def test_the_lock_of_a_folder_is_no_link_and_no_fifo(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "far")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo"):
        with within(20), pytest.raises(OutputError, match="cannot lock"):
            lock_folder(tmp_path, name, "build")
    assert not (tmp_path / "far").exists()
    lock_folder(tmp_path, "lock", "build").close()


@pytest.mark.parametrize("far", [True, False], ids=["link", "dangling"])
def test_the_journal_of_a_folder_is_no_link(far: bool, tmp_path: Path) -> None:
    journal = Journal(tmp_path, "journal", "lock", "build")
    journal.begin({"release": "r"})
    before = (tmp_path / "journal").read_bytes()
    (tmp_path / "journal").rename(tmp_path / "far")
    (tmp_path / "journal").symlink_to("far")
    journal.save()
    assert (tmp_path / "journal").read_bytes() == (tmp_path / "far").read_bytes() == before
    assert not (tmp_path / "journal").is_symlink()
    journal.close()
    (tmp_path / "journal").unlink()
    (tmp_path / "journal").symlink_to("far" if far else "nowhere")
    with pytest.raises(OutputError, match="journal of the unfinished build"):
        Journal(tmp_path, "journal", "lock", "build")
    lock_folder(tmp_path, "lock", "build").close()  # which it has let go


_FORKED = """
import os, sys
from pathlib import Path
from builders.execution.steps import Journal, lock_folder
lock = lock_folder(Path(sys.argv[1]), "lock", "build")
begun, begins = os.pipe()
end, ends = os.pipe()
if not os.fork():
    os.close(ends)
    os.write(begins, b".")
    os.read(end, 1)  # until its parent has ended
    os._exit(0)
os.read(begun, 1)
lock.close()
lock_folder(Path(sys.argv[1]), "lock", "build")
"""


def test_forked_processes_do_not_keep_the_lock_of_a_folder(tmp_path: Path) -> None:
    done = python(_FORKED, tmp_path)
    assert not done.returncode, done.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a second user")
def test_files_of_others_are_not_read(tmp_path: Path) -> None:
    path, folder = tmp_path / "x", tmp_path / "f"
    path.write_bytes(b"theirs")
    folder.mkdir()
    assert is_own_folder(folder)
    assert read_kept(path) == b"theirs"
    for one in (path, folder):
        os.chown(one, 12345, 12345)
    assert not is_kept(path)
    assert not is_own_folder(folder)
    with pytest.raises(OSError, match="own"):
        read_kept(path)
    with whole_file(path, follow=False) as temporary:
        temporary.write_bytes(b"ours")
    assert read_kept(path) == b"ours"


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "x/y").mkdir(parents=True)
    with pytest.raises(OutputError, match="is a folder"), whole_file(tmp_path / "x", follow=False):
        pass
    assert (tmp_path / "x/y").is_dir()
    assert not is_kept(tmp_path / "x")
    assert not is_kept(Path("a\0b"))


# ---- the Hub's own cache, where links lead from snapshots to blobs -------------------------------


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """The name of a file in a snapshot of a repository."""
    repo = tmp_path / "hub/datasets--org--name"
    (repo / "blobs").mkdir(parents=True)
    (repo / "snapshots" / "0a").mkdir(parents=True)
    return repo / "snapshots" / "0a" / "x.parquet"


@pytest.mark.parametrize("by", ["blob", "file", "link elsewhere"])
def test_a_damaged_file_is_removed_with_its_blob(by: str, snapshot: Path, tmp_path: Path) -> None:
    blob, victim = snapshot.parents[2] / "blobs" / ("0" * 64), tmp_path / "victim"
    victim.write_bytes(b"precious")
    if by == "blob":
        blob.write_bytes(b"x")
        snapshot.symlink_to(Path("../../blobs") / blob.name)
    elif by == "file":
        snapshot.write_bytes(b"x")
    else:
        snapshot.symlink_to(victim)
    hub.forget(snapshot)
    assert not blob.exists()
    assert not os.path.lexists(snapshot)
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("kind", ["fifo", "link to a fifo", "circle"])
def test_a_fifo_in_the_hubs_cache_is_fetched_anew(
    kind: str, snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = snapshot.parents[2] / "blobs" / ("0" * 64)
    if kind == "fifo":
        os.mkfifo(snapshot)
    elif kind == "circle":
        snapshot.symlink_to(snapshot)
    else:
        os.mkfifo(blob)
        snapshot.symlink_to(blob)

    def give(*_: Any, **__: Any) -> str:
        if not os.path.lexists(snapshot):  # as the Hub's client: what has the name is taken
            snapshot.write_bytes(b"x")
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", give)
    with within(20):
        assert hub.fetch("org/name", "x.parquet", "0a").read_bytes() == b"x"
    assert not blob.exists()
