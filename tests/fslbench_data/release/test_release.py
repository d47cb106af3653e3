"""Releases in folders and on the Hub: damage is found, and what is asked for is given."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from forged import parquet
from hub_server import Fault
from msgspec.structs import replace

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    CorruptReleaseError,
    HubNotFoundError,
    HubUnreachableError,
    MovedTagError,
    ReleaseNotFoundError,
    UnknownNameError,
)
from fslbench_data.release import release as release_module
from fslbench_data.release.folder import embedded_folder, read_manifest
from fslbench_data.release.release import load_release

KINDS = ("classes", "images", "features", "attributes", "tasks", "results")


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(embedded_folder(), tmp_path / "release"))


def test_a_flipped_byte_in_a_table_of_any_kind_is_detected(copy):
    stored = [table for table in load_release(copy).manifest.tables if not table.drawn]
    assert len(stored) == len([*copy.rglob("*.parquet")])
    ends = [[t.path for t in stored if t.kind == kind][i] for kind in KINDS for i in (0, -1)]
    assert {table.kind for table in stored} == {*KINDS}
    rng = np.random.default_rng(0)
    for number, name in enumerate(ends):
        whole = (copy / name).read_bytes()
        changed = bytearray(whole)
        at = (0, len(whole) - 1, int(rng.integers(len(whole))))[number % 3]
        changed[at] ^= 1 << int(rng.integers(8))
        (copy / name).write_bytes(changed)
        with pytest.raises(CorruptReleaseError, match=f"(?s)not the file that was rel.*{name}"):
            load_release(copy)
        (copy / name).write_bytes(whole)
    load_release(copy)


@pytest.mark.parametrize("change", ["remove", "cut", "grow"])
def test_a_table_missing_or_of_another_length(change, copy):
    path = copy / "classes/cub.parquet"
    whole = path.read_bytes()
    path.unlink()
    if change != "remove":
        path.write_bytes(whole[:-1] if change == "cut" else whole + b"\0")
    with pytest.raises(CorruptReleaseError, match=r"classes/cub(.|\n)*get the release again"):
        load_release(copy)


def test_task_sets_as_arrays_and_task_by_task(embedded):
    tasks = embedded.task_set("digits", "open-5w10s7q")
    arrays = (tasks.class_ids, tasks.support, tasks.query, tasks.query_label)
    assert [array.shape for array in arrays] == [(19, 5), (19, 5, 10), (19, 35), (19, 35)]
    assert [str(array.dtype) for array in arrays] == ["int32", "int32", "int32", "int8"]
    assert not any(array.flags.writeable for array in arrays)
    for task_id, task in enumerate(tasks):
        assert task.task_id == task_id
        np.testing.assert_array_equal(task.support, tasks.support[task_id])
        np.testing.assert_array_equal(task.query_label, tasks.query_label[task_id])
    assert len(tasks) == 19
    for outside in (-1, 19):
        with pytest.raises(IndexError, match=r"0\.\.18"):
            tasks[outside]


def test_files_of_results_on_other_task_sets_are_not_read(embedded, copy, monkeypatch):
    only = [embedded.task_set_info("digits", "closed-5w5s5q")]
    expected = embedded.references(only)
    release, read = load_release(copy), Mock(wraps=release_module.read_table)
    monkeypatch.setattr(release_module, "read_table", read)
    some = release.references(only)
    assert len(some) == len(release.methods)
    assert [call.args[0].stem.partition("-")[0] for call in read.mock_calls] == ["pixels"] * 3
    for one, whole in zip(some, expected, strict=True):
        assert one.methods == whole.methods
        rows = one.table.num_rows
        assert one.table.equals(whole.table) if rows else not whole.table.num_rows


# ---- on the Hub, with the real client from a local server ----------------------------------------


REPO = "org/toy"


@pytest.fixture
def published(hub, toy):
    hub.create_repo(REPO, files=Path(toy.files.where))
    hub.tag(REPO, "v1.0.0")
    return hub


def _contents(hub):
    return [r.path.partition("?")[0] for r in hub.seen(r"/cdn/|/resolve/.*json$", "GET")]


def test_only_what_is_asked_for_is_fetched_and_once(published, toy):
    release = load_release(f"{REPO}@v1.0.0")
    assert release.manifest == toy.manifest
    assert len(_contents(published)) == 1  # the manifest
    info = release.task_set_info("cats", "open-2w1s2q")
    found = release.task_set("cats", "open-2w1s2q")
    assert np.array_equal(found.query, toy.task_set("cats", "open-2w1s2q").query)
    assert [path for path in _contents(published) if "cats" in path] == _contents(published)[1:]
    published.requests.clear()
    again = load_release(f"{REPO}@v1.0.0")
    assert np.array_equal(again.class_ids(info), found.class_ids)
    assert not _contents(published)


def test_revisions(published, toy):
    first = published.sha(REPO)
    newer = replace(toy.manifest, version="1.10.0").to_json()
    published.commit(REPO, {"release.json": newer.encode()})
    published.tag(REPO, "v1.10.0")
    published.tag(REPO, "v1.9.0", "v1.0.0")
    published.tag(REPO, "v2", "v1.0.0")
    published.create_repo("org/empty")
    assert str(load_release(REPO)) == "toy@1.10.0"  # the highest, not the last letter
    assert str(load_release(f"{REPO}@{first}")) == "toy@1.0.0"
    assert str(load_release(f"{REPO}@main")) == "toy@1.10.0"
    assert load_release(f"{REPO}@main").hub == f"{REPO}@{published.sha(REPO)}"
    for address, error, what in (
        (f"{REPO}@v1.9.0", CorruptReleaseError, r"tag v1\.9\.0 holds version 1\.0\.0"),
        (f"{REPO}@v7.0.0", HubNotFoundError, r"no such tag(.|\n)*v1\.0\.0, v1\.10\.0, v1\.9\.0"),
        (f"{REPO}@1.0.0", HubNotFoundError, rf"did you mean {REPO}@v1\.0\.0\?"),
        (f"{REPO}@v1.0", HubNotFoundError, rf"did you mean {REPO}@v1\.0\.0\?"),
        (f"datasets/{REPO}@v1.0.0", ReleaseNotFoundError, rf"did you mean {REPO}@v1\.0\.0\?"),
        ("org/nothing@v1.0.0", HubNotFoundError, "no such repository"),
        ("org/empty", HubNotFoundError, "no released version"),
        ("org/empty@main", HubNotFoundError, "no such file"),
    ):
        with pytest.raises(error, match=what):
            load_release(address)


def test_a_moved_tag_is_an_error_until_it_is_accepted(published):
    first = published.sha(REPO)
    load_release(f"{REPO}@v1.0.0")
    published.commit(REPO, {"README.md": b"# Better\n"})
    published.tag(REPO, "v1.0.0")
    moved = published.sha(REPO)
    with pytest.raises(MovedTagError, match=f"{moved}(.|\\n)*{first}") as caught:
        load_release(f"{REPO}@v1.0.0")
    assert load_release(f"{REPO}@{first}").hub.endswith(first)
    Path(caught.value.fix.rsplit("remove ", 1)[1]).unlink()
    assert load_release(f"{REPO}@v1.0.0").hub.endswith(moved)


def test_without_a_connection_the_cache_serves(published, toy):
    with published.offline(), pytest.raises(HubUnreachableError, match="HF_HUB_OFFLINE"):
        load_release(f"{REPO}@v1.0.0")
    with published.offline(), pytest.raises(HubNotFoundError, match="unset HF_HUB_OFFLINE"):
        load_release(REPO)
    release = load_release(f"{REPO}@v1.0.0")
    release.task_set("cats", "open-2w1s2q")
    published.requests.clear()
    with published.offline():
        for address in (f"{REPO}@v1.0.0", REPO, release.hub):
            again = load_release(address)
            assert again.task_set("cats", "open-2w1s2q").info.n_tasks == 4
        with pytest.raises(HubUnreachableError, match=r"dogs\.parquet"):
            again.task_set("dogs", "open-2w1s2q")
    assert not published.requests


def test_load_dataset_gives_the_same_rows(published):
    import datasets

    release = load_release(f"{REPO}@v1.0.0")
    for config, splits in release.manifest.configs().items():
        for split in splits:
            table = release.load_dataset(config, split)
            plain = datasets.load_dataset(REPO, config, split=split, revision="v1.0.0")
            assert content_digest(plain.data.table) == content_digest(table.data.table)
    with pytest.raises(UnknownNameError, match="did you mean 'tasks-open-2w1s2q'"):
        release.load_dataset("tasks-open-2w1s2", "cats")
    with pytest.raises(UnknownNameError, match="cats, dogs"):
        release.load_dataset("classes", "birds")


def test_load_dataset_compares_digests_and_asks_the_card(published, toy):
    classes = toy.classes("dogs")
    names = pa.chunked_array([["a", "b", "c", "x"]])
    table = parquet(classes.set_column(1, classes.schema.field(1), names))
    published.commit(REPO, {"classes/dogs.parquet": table})  # and the manifest stays
    release = load_release(f"{REPO}@main")
    with pytest.raises(CorruptReleaseError, match=r"classes/dogs\.parquet"):
        release.load_dataset("classes", "dogs")
    with pytest.raises(CorruptReleaseError, match=r"classes/dogs\.parquet"):
        release.classes("dogs")
    published.commit(REPO, {"README.md": b"# Nothing\n"})
    with pytest.raises(CorruptReleaseError, match="the dataset card does not say"):
        load_release(f"{REPO}@main").load_dataset("classes", "cats")


def test_when_the_hub_is_down_a_version_that_was_loaded_is_named(published, quick_retries):
    load_release(f"{REPO}@v1.0.0")
    published.faults.add(Fault(".", "status", status=503, times=None))
    with pytest.raises(HubUnreachableError, match=r"a version that was loaded before: v1\.0\.0"):
        load_release(REPO)
    assert str(load_release(f"{REPO}@v1.0.0")) == "toy@1.0.0"


def test_where_only_a_folder_will_do_an_address_is_not_told_to_be_an_address():
    with pytest.raises(ReleaseNotFoundError, match=rf"fslbench export FOLDER --release {REPO}@v1"):
        read_manifest(Path(f"{REPO}@v1.0.0"))


def test_a_folder_comes_before_the_hub(published, toy, tmp_path, monkeypatch):
    (tmp_path / "org").mkdir()
    (tmp_path / "org/toy").symlink_to(toy.files.where)
    monkeypatch.chdir(tmp_path)
    assert not load_release(REPO).hub
    with pytest.raises(ReleaseNotFoundError):
        load_release("./org/other")
    assert not published.requests
