"""Releases in folders and on the Hub: damage is found, and strangers' ones exhaust nothing."""

import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bombs import few
from forged import forge, opened, parquet
from hostile_parquet import NUM_ROWS, Parquet, put
from hub_server import Fault
from msgspec.structs import replace
from processes import python

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    CorruptReleaseError,
    HubNotFoundError,
    HubUnreachableError,
    MovedTagError,
    ReleaseError,
    ReleaseNotFoundError,
    SchemaError,
    UnknownNameError,
)
from benchmark_spec.manifest import Table
from fslbench_data.release import release as release_module
from fslbench_data.release.folder import embedded_folder, read_manifest
from fslbench_data.release.release import load_release
from fslbench_data.release.tables import read_groups, read_table

KINDS = ("classes", "images", "features", "attributes", "tasks", "results")
REPO = "org/toy"
OPEN = "tasks/open-2w1s2q/cats.parquet"


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


def test_what_takes_a_release_also_opens_one(copy, root):
    results, chosen = root / "examples/my_results.parquet", {"task_sets": "open-5w1s1q"}
    for function, options in {fb.score: chosen, fb.validate: {}}.items():
        found = [repr(function(results, where, **options)) for where in (copy, "embedded")]
        assert found[0].replace(str(copy), "embedded") == found[1]
    assert fb.load_release(release := fb.load_release(copy)) is release


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
    assert np.array_equal(load_release(f"{REPO}@v1.0.0").class_ids(info), found.class_ids)
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
        (f"{REPO}@v7.0.0", HubNotFoundError, r"no such tag(.|\n)*v1\.0\.0, v1\.10\.0, .* commit$"),
        (f"{REPO}@1.0.0", HubNotFoundError, rf"did you mean {REPO}@v1\.0\.0\?"),
        (f"{REPO}@v1.0", HubNotFoundError, rf"did you mean {REPO}@v1\.0\.0\?"),
        (f"datasets/{REPO}@v1.0.0", ReleaseNotFoundError, r"ORG/NAME@v1\.0\.0"),
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


def test_load_dataset_compares_digests(published, toy):
    classes = toy.classes("dogs")
    names = pa.chunked_array([["a", "b", "c", "x"]])
    table = parquet(classes.set_column(1, classes.schema.field(1), names))
    published.commit(REPO, {"classes/dogs.parquet": table})  # and the manifest stays
    release = load_release(f"{REPO}@main")
    with pytest.raises(CorruptReleaseError, match=r"classes/dogs\.parquet"):
        release.load_dataset("classes", "dogs")
    with pytest.raises(CorruptReleaseError, match=r"classes/dogs\.parquet"):
        release.classes("dogs")


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


@pytest.fixture
def folder(toy, tmp_path):
    return Path(shutil.copytree(toy.files.where, tmp_path / "release"))


@pytest.mark.slow
def test_pipes_and_devices_are_not_read(folder, tmp_path):
    shutil.copytree(folder, other := tmp_path / "other")
    for path in (folder / "release.json", other / OPEN):
        path.unlink()
    os.mkfifo(folder / "release.json")
    (other / OPEN).symlink_to("/dev/zero")
    for each in (folder, other):
        kind, what = opened(each)
        assert (kind, what.endswith("is not a regular file")) == ("CorruptReleaseError", True)
    done = python("from builders.cli import main; main()", "verify", other, timeout=200)
    assert done.returncode in (1, 2)
    assert "is not a regular file" in done.stdout + done.stderr


def test_links_lead_out_of_the_folder_only_to_the_blobs_of_the_cache(toy, tmp_path):
    outside = tmp_path / "outside.parquet"
    folder = tmp_path / "datasets--org--toy" / "snapshots" / ("0" * 40)
    shutil.copytree(toy.files.where, folder)
    blobs = folder.parent.parent / "blobs"
    blobs.mkdir()
    shutil.move(folder / OPEN, blobs / "b1")
    (folder / OPEN).symlink_to(Path("../../../../blobs/b1"))
    manifest = folder / "release.json"
    shutil.move(manifest, blobs / "b2")
    manifest.symlink_to(Path("../../blobs/b2"))
    assert load_release(folder).task_set("cats", "open-2w1s2q").info.n_tasks == 4

    shutil.move(blobs / "b1", outside)
    (blobs / "b1").symlink_to(outside)
    with pytest.raises(CorruptReleaseError, match=r"cats\.parquet leads out of the release"):
        load_release(folder)
    (blobs / "b1").unlink()
    shutil.copy(outside, blobs / "b1")
    elsewhere = tmp_path / "copied"
    shutil.copytree(folder, elsewhere, symlinks=True)
    for path in (OPEN, "release.json"):
        (elsewhere / path).unlink()
    shutil.copy(manifest, elsewhere / "release.json")
    (elsewhere / OPEN).symlink_to(outside)
    with pytest.raises(CorruptReleaseError, match="leads out of the release"):
        load_release(elsewhere)


def test_a_manifest_has_64_mebibytes_at_most(folder):
    with (folder / "release.json").open("r+b") as file:
        file.truncate(65 << 20)
    with pytest.raises(CorruptReleaseError, match=f"more than {64 << 20} bytes"):
        load_release(folder)


@pytest.mark.slow
def test_rows_that_cost_nothing_in_the_file(toy, tmp_path):
    rows, path = 20_000_000, "classes/cats.parquet"
    zeros = pa.array(np.zeros(rows // 10, np.int32))
    names = pa.DictionaryArray.from_arrays(zeros, ["a"])
    columns = ["class_id", "class_name", "n_images", "first_image_id"]
    table = pa.table([zeros, names, zeros, zeros], columns)
    data = parquet(pa.concat_tables([table] * 10), compression="zstd", row_group_size=rows // 10)
    assert len(data) < 1 << 20
    folder = forge(toy, tmp_path / "r", path, data, rows=rows, n_classes=rows, n_images=rows)
    kind, what = opened(folder)
    assert kind == "CorruptReleaseError"
    assert f"{path} takes more than" in what


@pytest.mark.slow
@pytest.mark.parametrize("column", ["image_id", "attributes"])
def test_one_long_text_for_every_row(column, biased, tmp_path, monkeypatch):
    entry = next(t for t in biased.manifest.tables if t.kind == "attributes")
    table = biased.attributes(entry.dataset, entry.name)
    text = "x" * (30_000_000 // len(table))
    index = table.schema.get_field_index(column)
    texts = pa.array([[text] if column == "attributes" else text] * len(table))
    data = parquet(table.set_column(index, column, texts), compression="zstd", use_dictionary=True)
    assert len(data) < 1 << 18
    for name, most in (("_SMALL", 1 << 20), ("_RATIO", 1 << 20), ("_LARGE", 25_000_000)):
        monkeypatch.setattr(f"fslbench_data.release.tables.{name}", most)
    folder = forge(biased, tmp_path / "r", entry.path, data)
    with pytest.raises(CorruptReleaseError, match="takes more than"):
        load_release(folder).attributes(entry.dataset, entry.name)


def test_what_is_no_parquet(toy, tmp_path):
    whole = (Path(toy.files.where) / OPEN).read_bytes()
    for number, data in enumerate((b"PAR1", b"x" * 100, whole[:-9] + b"PAR1", whole[:40])):
        folder = forge(toy, tmp_path / str(number), OPEN, data)
        with pytest.raises(CorruptReleaseError, match=OPEN):
            load_release(folder).task_set("cats", "open-2w1s2q")


@pytest.mark.parametrize("rows", [3, 5, 2**31 - 1, 2**62])
def test_rows_other_than_the_manifest_says(toy, tmp_path, rows):
    data = (Path(toy.files.where) / OPEN).read_bytes()
    folder = forge(toy, tmp_path / "r", OPEN, data, rows=rows)
    with pytest.raises(CorruptReleaseError, match="rows"):
        load_release(folder).task_set("cats", "open-2w1s2q")


@pytest.mark.parametrize(("says", "listed"), [(32, 32), (40, 40), (32, 40), (100, 100)])
def test_row_groups_have_the_rows_that_are_listed(tmp_path, says, listed):
    """The footer `says` so many rows, the manifest has `listed`, and there are two groups of 20."""
    file = Parquet.of(pa.table({"image_id": pa.array(range(40), pa.int32())}), row_group_size=20)
    put(file.footer, NUM_ROWS, says)
    (path := tmp_path / "x.parquet").write_bytes(file.build())
    entry = Table("x", "features", "d", "n", listed, 0, "", "", "", {})
    given = []
    if says == listed == 40:
        given.extend(read_groups(path, entry, id)[1])
        assert [len(group) for group in given] == [20, 20]
        return
    found = says if says != listed else 40
    with pytest.raises(CorruptReleaseError, match=f"x has {found} rows, not {listed}"):
        given.extend(read_groups(path, entry, id)[1])
    assert sum(map(len, given)) <= (listed if says == listed else 0)


@pytest.mark.parametrize("kind", [pa.list_(pa.int32(), 1), pa.list_(pa.int32())])
def test_row_groups_take_no_more_memory_than_a_whole_table(tmp_path, kind, monkeypatch):
    """Lists of fixed size are refused by what their rows will take, before a group is read."""
    rows = 1 << 20
    table = pa.table({"x": pa.array([[0]] * rows, kind)})
    (path := tmp_path / "x.parquet").write_bytes(parquet(table, row_group_size=rows // 4))
    entry = Table("x", "features", "d", "n", rows, 0, "", "", "", {})
    for name, most in (("_SMALL", 3 << 20), ("_RATIO", 0), ("_PACKAGE", tmp_path)):
        monkeypatch.setattr(f"fslbench_data.release.tables.{name}", most)
    given = []
    with pytest.raises(CorruptReleaseError, match="x takes more than 3 MiB"):
        given.extend(read_groups(path, entry, id)[1])
    assert len(given) == (0 if pa.types.is_fixed_size_list(kind) else 1)


def _column(name, change, kind=None):
    def edit(table):
        index, values = table.schema.get_field_index(name), table.column(name).to_pylist()
        values = change(values) or values
        return table.set_column(index, name, pa.array(values, kind or table.schema.types[index]))

    return edit


def _set(row, value):
    def change(values):
        at, in_row = values[row], isinstance(values[row], list)
        (at if in_row else values)[-1 if in_row else row] = value

    return change


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        (OPEN, _column("query", _set(0, -1)), "-1 among its query"),
        (OPEN, _column("query", _set(0, 24)), "24 among its query"),
        (OPEN, _column("support", _set(0, 2**31 - 1)), "2147483647 among its support"),
        (OPEN, _column("class_ids", _set(0, 4)), "4 among its class_ids"),
        (OPEN, _column("query_label", _set(0, 2)), "2 among its query_label"),
        (OPEN, _column("task_id", lambda v: v[::-1]), "another order"),
        (OPEN, _column("task_id", _set(2, None)), "nulls in column 'task_id'"),
        (OPEN, _column("query", _set(0, None)), "nulls in column 'query'"),
        (OPEN, _column("task_id", lambda v: v, pa.int64()), "of type int64"),
        (OPEN, _column("query", lambda v: v, pa.list_(pa.int32())), "of type list"),
        (OPEN, _column("query", lambda v: [[*q, 0] for q in v], pa.list_(pa.int32(), 5)), r"\[5\]"),
        ("classes/cats.parquet", _column("class_id", _set(0, 1)), "another order"),
        ("classes/cats.parquet", _column("n_images", _set(0, 0)), "numbers of images"),
        ("classes/cats.parquet", _column("n_images", _set(0, 7)), "numbers of images"),
        ("classes/cats.parquet", _column("first_image_id", _set(0, 1)), "class by class"),
        ("classes/cats.parquet", _column("class_name", _set(0, None)), "nulls in column"),
    ],
)
def test_values_that_no_release_has(toy, tmp_path, path, edit, what):
    release = _edited(toy, tmp_path / "r", path, edit)
    read = release.classes if path != OPEN else lambda of: release.task_set(of, "open-2w1s2q")
    with pytest.raises((ReleaseError, SchemaError), match=what):
        read("cats")


def _edited(release, folder, path, edit):
    table = pq.read_table(Path(release.files.where) / path, partitioning=None)
    return load_release(forge(release, folder, path, parquet(edit(table))))


FIRST, SECOND = (f"features/net/birds-0000{n}-of-00004.parquet" for n in (0, 1))
NONE = _column("feature", lambda v: [[]] * len(v), pa.list_(pa.float16(), 0))


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        (SECOND, _column("image_id", lambda v: v[::-1]), "does not go on with image 32"),
        (SECOND, _column("image_id", _set(0, None)), "does not go on with image 32"),
        (SECOND, _column("feature", lambda v: v, pa.list_(pa.float16())), "of type list"),
        (SECOND, NONE, r"\[0\]"),
        (SECOND, _column("feature", lambda v: [f[1:] for f in v], pa.list_(pa.float16(), 7)), "7]"),
        (SECOND, _column("feature", lambda v: v, pa.list_(pa.float64(), 8)), "element: double"),
        (SECOND, _column("feature", _set(0, None), pa.list_(pa.float16(), 8)), "lacks features"),
        (SECOND, _column("feature", lambda v: [None, *v[1:]]), "lacks features"),
        (FIRST, NONE, r"type fixed_size_list<.*>\[0\]"),  # after which all are of a kind
    ],
)
def test_features_that_no_release_has(sharded, tmp_path, path, edit, what):
    release = _edited(sharded, tmp_path / "r", path, edit)
    with pytest.raises((ReleaseError, SchemaError), match=what):
        release.features("birds", "net")


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("classes/cats.parquet", {"n_classes": 5}),
        (OPEN, {"n_images": 15}),
        ("classes/cats.parquet", {"rows": 2**40, "n_classes": 2**40}),
    ],
)
def test_numbers_of_the_manifest_that_contradict_each_other(toy, tmp_path, path, rows):
    data = (Path(toy.files.where) / path).read_bytes()
    with pytest.raises(CorruptReleaseError, match="the manifest lists"):
        load_release(forge(toy, tmp_path / "r", path, data, **rows))


def test_image_paths_stay_in_the_folder_of_images(embedded, tmp_path):
    path = "images/groceries.parquet"
    bad = ("/etc/passwd", "../../key.png", "a/../../b.png", "C:\\x.png")
    odd = ("a:dog/1.png", "a\\b.png", "a/..b.png", "...png")
    for number, name in enumerate((*bad, *odd)):
        release = _edited(embedded, tmp_path / str(number), path, _column("path", _set(3, name)))
        if name in odd:
            assert release.images("groceries")["path"][3].as_py() == name
            continue
        with pytest.raises(CorruptReleaseError, match="lead out of the folder of images"):
            release.images("groceries")


def test_results_are_those_of_their_method(toy, tmp_path):
    data = parquet(few(31, method=["other"] * 31))
    release = load_release(forge(toy, tmp_path / "r", "results/mine.parquet", data, rows=31))
    with pytest.raises(CorruptReleaseError, match="results of other methods"):
        release.references()


@pytest.mark.slow
def test_every_table_of_the_package_is_small_beside_its_bounds(embedded):
    for entry in embedded.manifest.tables:
        if not entry.drawn:
            table = read_table(embedded.files.path(entry), entry, lambda table: None)
            assert table.nbytes < 32 * entry.bytes
