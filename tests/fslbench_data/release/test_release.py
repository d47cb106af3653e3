"""Releases in folders: damage is found, and what is asked for is given."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from benchmark_spec.errors import CorruptReleaseError
from fslbench_data.release import release as release_module
from fslbench_data.release.folder import embedded_folder
from fslbench_data.release.release import Release, load_release

KINDS = ("classes", "images", "features", "attributes", "tasks", "results")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the release in the package."""
    return Path(shutil.copytree(embedded_folder(), tmp_path / "release"))


def test_a_flipped_byte_in_a_table_of_any_kind_is_detected(copy: Path) -> None:
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
def test_a_table_missing_or_of_another_length(change: str, copy: Path) -> None:
    path = copy / "classes/cub.parquet"
    whole = path.read_bytes()
    path.unlink()
    if change != "remove":
        path.write_bytes(whole[:-1] if change == "cut" else whole + b"\0")
    with pytest.raises(CorruptReleaseError, match=r"classes/cub(.|\n)*get the release again"):
        load_release(copy)


def test_task_sets_as_arrays_and_task_by_task(embedded: Release) -> None:
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


def test_files_of_results_on_other_task_sets_are_not_read(
    embedded: Release, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
