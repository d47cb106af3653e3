"""What is kept to save work: other things under its names are neither opened nor written to."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from processes import python

from benchmark_spec.errors import OutputError
from builders.execution.steps import Journal, lock_folder
from builders.features.block_job import JOURNAL_FILE, WorkFolder
from builders.training import images as kept_images
from builders.training.images import TrainingImages
from builders.training.settings import DataSettings
from fslbench_data import hub
from fslbench_data.files import is_kept, is_own_folder, read_kept, whole_file
from fslbench_data.hub import Memory, Pin
from fslbench_data.release.features import FeatureCopy
from fslbench_data.release.tables import redrawn


@contextmanager
def within(seconds):
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def assets(tmp_path, monkeypatch):
    """Caches are in a folder of the test's own, and so is the temporary one."""
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "assets"


def _drawn(folder, embedded):
    path = "tasks/closed-5w1s1q/digits.parquet"
    (entry,) = (t for t in embedded.manifest.tables if t.path == path)
    sizes = embedded.classes("digits").column("n_images").to_pylist()
    return redrawn(replace(entry, drawn=True), lambda: (sizes, None, None)).num_rows


def _features(folder, embedded):
    copy = FeatureCopy.of(["a" * 64], 2)
    if copy.open() is None:
        assert copy.write(3, np.dtype(np.float16), [np.ones((2, 3), np.float16)])
    return copy.open().tolist()


def _tags(folder, embedded):
    memory = Memory("org/name")
    if memory.pin("v1.0.0") is None:
        memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    return memory.pin("v1.0.0")


def _training_images(folder, embedded):
    images = TrainingImages(np.zeros((4, 1, 2, 2), np.uint8), np.array([2, 2]), "0" * 64)
    path = folder / "assets/images/digits.npz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_images, "read_images", lambda *_: (images, images))
        kept_images.keep_images(DataSettings(source="digits"), None, path, lambda _: None)
    return kept_images.load_images(path)[0].digest


def _blocks(folder, embedded):
    work = WorkFolder(folder / "assets/blocks")
    work.begin({"of": 1})
    work.once(work.step(0, np.ones((2, 3), np.float16)))
    found = work.values(0).tolist()
    work.close()
    return found


def _files(folder):
    """The files that a cache has made, without locks and journals: those say whose they are."""
    left = {".lock", JOURNAL_FILE}
    return [p for p in folder.rglob("*") if not p.is_dir() and p.name not in left]


@pytest.mark.parametrize("obstacle", ["link to a copy", "fifo"])
@pytest.mark.parametrize("use", [_drawn, _features, _tags, _training_images, _blocks])
def test_what_is_no_regular_file_is_replaced(use, obstacle, tmp_path, assets, embedded):
    first = use(tmp_path, embedded)
    made, others = _files(assets), tmp_path / "others"
    assert made
    others.mkdir()
    for path in made:
        content = path.read_bytes()
        path.unlink()
        if obstacle == "fifo":
            os.mkfifo(path)
        else:  # what is looked for, but not under its own name
            (others / path.name).write_bytes(content)
            path.symlink_to(others / path.name)
    before = {p: p.lstat().st_mtime_ns for p in others.iterdir()}
    with within(20):
        assert use(tmp_path, embedded) == first
    assert {p: p.lstat().st_mtime_ns for p in others.iterdir()} == before
    assert _files(assets)
    assert all(is_kept(path) for path in _files(assets))


def test_the_lock_of_a_folder_is_no_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "far")
    with within(20), pytest.raises(OutputError, match="cannot lock"):
        lock_folder(tmp_path, "link", "build")
    assert not (tmp_path / "far").exists()
    lock_folder(tmp_path, "lock", "build").release()


@pytest.mark.parametrize("name", ["far", "nowhere"])
def test_the_journal_of_a_folder_is_no_link(name, tmp_path):
    kept, far = tmp_path / "journal", tmp_path / "far"
    journal = Journal(tmp_path, "journal", "lock", "build")
    journal.begin({"release": "r"})
    before = kept.read_bytes()
    kept.rename(far)
    kept.symlink_to("far")
    journal.save()
    assert kept.read_bytes() == far.read_bytes() == before
    assert not kept.is_symlink()
    journal.close()
    kept.unlink()
    kept.symlink_to(name)
    with pytest.raises(OutputError, match="journal of the unfinished build"):
        Journal(tmp_path, "journal", "lock", "build")
    lock_folder(tmp_path, "lock", "build").release()  # which it has let go


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
lock.release()
lock_folder(Path(sys.argv[1]), "lock", "build")
"""


def test_forked_processes_do_not_keep_the_lock_of_a_folder(tmp_path):
    done = python(_FORKED, tmp_path)
    assert not done.returncode, done.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a second user")
def test_files_of_others_are_not_read(tmp_path):
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


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "x/y").mkdir(parents=True)
    with pytest.raises(OutputError, match="is a folder"), whole_file(tmp_path / "x", follow=False):
        pass
    assert (tmp_path / "x/y").is_dir()
    assert not is_kept(tmp_path / "x")
    assert not is_kept(Path("a\0b"))


@pytest.fixture
def snapshot(tmp_path):
    """The name of a file in a snapshot of the Hub's own cache, where links lead to blobs."""
    repo = tmp_path / "hub/datasets--org--name"
    (repo / "blobs").mkdir(parents=True)
    (repo / "snapshots" / "0a").mkdir(parents=True)
    return repo / "snapshots" / "0a" / "x.parquet"


@pytest.mark.parametrize("by", ["blob", "file", "link elsewhere"])
def test_a_damaged_file_is_removed_with_its_blob(by, snapshot, tmp_path):
    blob, victim = snapshot.parents[2] / "blobs" / ("0" * 64), tmp_path / "victim"
    victim.write_bytes(b"precious")
    if by == "file":
        snapshot.write_bytes(b"x")
    else:
        blob.write_bytes(b"x")
        snapshot.symlink_to(Path("../../blobs") / blob.name if by == "blob" else victim)
    hub.forget(snapshot)
    assert blob.exists() == (by == "link elsewhere")
    assert not os.path.lexists(snapshot)
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("kind", ["fifo", "link to a fifo", "circle"])
def test_a_fifo_in_the_hubs_cache_is_fetched_anew(kind, snapshot, monkeypatch):
    blob = snapshot.parents[2] / "blobs" / ("0" * 64)
    if kind == "fifo":
        os.mkfifo(snapshot)
    elif kind == "circle":
        snapshot.symlink_to(snapshot)
    else:
        os.mkfifo(blob)
        snapshot.symlink_to(blob)

    def give(*_, **__):
        if not os.path.lexists(snapshot):  # as the Hub's client: what has the name is taken
            snapshot.write_bytes(b"x")
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", give)
    with within(20):
        assert hub.fetch("org/name", "x.parquet", "0a").read_bytes() == b"x"
    assert not blob.exists()
