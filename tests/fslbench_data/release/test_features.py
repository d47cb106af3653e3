"""Features read back: from shards, on the Hub, from raw copies, and never from a damaged one."""

import fcntl
import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from tiny_features import feature_array

from benchmark_spec.errors import CorruptReleaseError, ReleaseError, UnknownNameError
from builders.hub.publish import publish
from fslbench_data.release import features as feature_copies
from fslbench_data.release.features import copies_folder, read_features
from fslbench_data.release.release import load_release

FEATURES = "fslbench_data.release.features"
REPO = "org/sharded"


@pytest.fixture(autouse=True)
def assets(tmp_path, monkeypatch):
    """Every set of features is worth a copy, and the copies are in a folder of the test's own."""
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    monkeypatch.setattr(f"{FEATURES}.WORTH_A_COPY", 0)
    monkeypatch.setattr(f"{FEATURES}.LEFT_FREE", 0)
    return tmp_path / "assets"


def _stored(release, backbone):
    folder = Path(release.files.where)
    tables = [t for t in release.manifest.tables if t.name == backbone]
    return np.concatenate([feature_array(pq.ParquetFile(folder / t.path).read()) for t in tables])


def _is_mapped(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return isinstance(array, np.memmap)


def _copy():
    (path,) = copies_folder().glob("*.npy")
    return path


@pytest.mark.parametrize(("backbone", "dtype"), [("net", np.float16), ("net-pca4", np.float32)])
def test_shards_read_as_one_and_again(sharded, backbone, dtype, monkeypatch):
    expected = _stored(sharded, backbone)
    first = sharded.features("birds", backbone)
    raw = np.load(_copy())
    monkeypatch.setattr(f"{FEATURES}.read_groups", None)  # it is not read again
    second = load_release(sharded.files.where).features("birds", backbone)
    for found in (first, second, raw):
        assert (found.shape, found.dtype) == (expected.shape, dtype)
        assert np.array_equal(found, expected)
    for found in (first, second):
        assert _is_mapped(found)
        assert type(found) is np.ndarray
        assert not found.flags.writeable
    assert sorted(p.suffix for p in copies_folder().iterdir()) == [".npy", ".whole"]


def test_names(sharded):
    assert sharded.backbones == ("net", "net-pca4")
    assert sharded.datasets_with("features", "net") == ("birds",)
    with pytest.raises(UnknownNameError, match=r"one of net, net-pca4$"):
        sharded.features("birds", "nets")
    with pytest.raises(ReleaseError, match="no images of birds"):
        sharded.images("birds")


def test_small_features_leave_no_copy(sharded, assets, monkeypatch, embedded):
    monkeypatch.undo()
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(assets))
    for backbone, dtype in (("net", np.float16), ("net-pca4", np.float32)):
        found = sharded.features("birds", backbone)
        assert found.dtype == dtype
        assert not found.flags.writeable
        assert not _is_mapped(found)
    embedded.features("digits", "pixels")
    assert not assets.exists()


def _same_time(path, change, place=".npy"):
    """Change a file's content, perhaps in another place, and put its time back."""
    stat, other = path.stat(), path.with_suffix(place)
    other.write_bytes(change(path.read_bytes()))
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(path)


def _flipped(data):
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


DAMAGES = {
    "gone": lambda p: p.unlink(),
    "empty": lambda p: p.write_bytes(b""),
    "half, same time": lambda p: _same_time(p, lambda d: d[: len(d) // 2]),
    "written to": lambda p: p.write_bytes(_flipped(p.read_bytes())),
    "replaced, same time": lambda p: _same_time(p, _flipped, ".other"),
    "another type": lambda p: _same_time(p, lambda d: d.replace(b"<f2", b"<i2", 1)),
    "another order": lambda p: _same_time(p, lambda d: d.replace(b"False", b"True ", 1)),
    "another shape": lambda p: _same_time(p, lambda d: d.replace(b"(100, 8)", b"(50, 16)", 1)),
    "no mark": lambda p: p.with_suffix(".whole").unlink(),
    "no text in the mark": lambda p: p.with_suffix(".whole").write_bytes(b"\xff\xfe"),
    "mark and half": lambda p: (
        _same_time(p, lambda d: d[:864]),
        p.with_suffix(".whole").write_text(feature_copies.file_state(p)),
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_copy_is_made_again(sharded, damage):
    expected = np.array(sharded.features("birds", "net"))
    path = _copy()
    damage(path)
    found = sharded.features("birds", "net")
    assert np.array_equal(found, expected)
    assert _is_mapped(found)
    assert np.array_equal(np.load(path), expected)
    assert _is_mapped(sharded.features("birds", "net"))


def test_where_no_copy_can_be_written(sharded, assets, monkeypatch):
    def check():
        found = sharded.features("birds", "net")
        assert np.array_equal(found, _stored(sharded, "net"))
        assert not _is_mapped(found)

    assets.write_text("a file where the folder would be")
    check()
    assets.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(f"{FEATURES}.LEFT_FREE", 2**62)  # no room
        check()
    with monkeypatch.context() as patch:
        full = Mock(side_effect=OSError(28, "No space left on device"))  # a disk that fills up
        patch.setattr(f"{FEATURES}.np.ascontiguousarray", full)
        check()
    assert not list(copies_folder().iterdir())  # nor any temporary file
    sharded.features("birds", "net")
    copy = _copy()
    copy.unlink()
    copy.mkdir()
    check()


def test_what_killed_runs_left_is_removed(sharded):
    folder = copies_folder()
    folder.mkdir(parents=True)
    (folder / ".a.npy.12345678.writing").write_bytes(b"x")
    with (folder / ".b.npy.12345678.writing").open("wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        sharded.features("birds", "net")
    assert [p.name for p in folder.glob(".*")] == [".b.npy.12345678.writing"]


def test_a_folder_that_was_changed_since_it_was_opened(sharded, tmp_path):
    folder = tmp_path / "release"
    shutil.copytree(sharded.files.where, folder)
    release = load_release(folder)
    shards = sorted((folder / "features/net").iterdir())
    shutil.copyfile(folder / "features/net-pca4/birds-00002-of-00004.parquet", shards[2])
    with pytest.raises(CorruptReleaseError, match=r"birds-00002-of-00004\.parquet is not the file"):
        release.features("birds", "net")
    assert not list(copies_folder().iterdir())


def test_shards_that_do_not_fit_each_other(sharded):
    folder = Path(sharded.files.where)
    a, b, c, d = (t for t in sharded.manifest.tables if t.name == "net")
    small = next(t for t in sharded.manifest.tables if t.name == "net-pca4")
    for shards, what in (
        ([a, c, b, d], "00002-of-00004.parquet does not go on with image 32"),
        ([b], "does not go on with image 0"),
        ([a, replace(b, rows=31)], "has 32 rows, not 31"),
        ([a, small], "holds fixed_size_list<element: float not null>"),
    ):
        with pytest.raises(ReleaseError, match=what):
            read_features(shards, lambda table: folder / table.path)


@pytest.mark.parametrize("worth_a_copy", [0, 2**40])
def test_published_in_shards_and_read_as_one(hub, sharded, worth_a_copy, monkeypatch):
    monkeypatch.setattr("fslbench_data.release.features.WORTH_A_COPY", worth_a_copy)
    assert publish(Path(sharded.files.where), REPO).compared == len(sharded.manifest.tables) + 2
    hub.requests.clear()
    release = load_release(f"{REPO}@v1.0.0")
    assert not [r for r in hub.seen("/cdn/|/resolve/", "GET") if "features" in r.path]
    for _ in range(2):
        for backbone in ("net", "net-pca4"):
            found = release.features("birds", backbone)
            assert np.array_equal(found, sharded.features("birds", backbone))
        hub.requests.clear()
        with hub.offline():
            release = load_release(f"{REPO}@v1.0.0")
    assert not hub.requests
    copies = sorted(p.suffix for p in copies_folder().glob("*"))
    assert copies == ([".npy", ".npy", ".whole", ".whole"] if worth_a_copy == 0 else [])


def test_a_copy_serves_where_the_files_were_removed(hub, sharded, monkeypatch):
    monkeypatch.setattr("fslbench_data.release.features.WORTH_A_COPY", 0)
    hub.create_repo(REPO, files=Path(sharded.files.where))
    hub.tag(REPO, "v1.0.0")
    release = load_release(f"{REPO}@v1.0.0")
    expected = np.array(release.features("birds", "net"))
    for path in (copies_folder().parents[2] / "hub").rglob("*.parquet"):
        path.unlink()
    hub.requests.clear()
    assert np.array_equal(release.features("birds", "net"), expected)
    assert not hub.requests
