"""Releases verified: nothing forged gets through."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from forged import change_entry, rewrite
from specs import HEAD, spec_in

from benchmark_spec.errors import CorruptReleaseError
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE
from builders.cli import main
from builders.release.build import build_release
from builders.release.verify import verify
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import Release, load_release


@pytest.mark.slow
def test_features_and_reference_results_are_verified(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    text = f'{HEAD}[[dataset]]\nname = "digits"\nfeatures = ["pixels"]\nheads = ["NCC"]\n'
    spec = spec_in(tmp_path, text + 'suites = ["open"]\nprotocols = ["5w5s5q"]\n')
    folder = tmp_path / "release"
    build_release(spec, folder)
    assert load_release(folder).methods == ("pixels/NCC",)
    assert load_release(folder).manifest.datasets[0].redistribution == "features"
    assert verify(folder).problems == ()
    results = "results/pixels-NCC.parquet"
    rewrite(folder, results, lambda t: t.slice(0, 20))
    features = "features/pixels/digits-00000-of-00001.parquet"
    rewrite(folder, features, _set("feature", (3, 0), np.nan))
    found = {p.path: p.what for p in verify(folder).problems}
    assert "holds values that are not finite" in found[features]
    assert "tasks" in found[results]


def test_a_release_that_is_whole(built: Path) -> None:
    found = verify(built)
    assert found.problems == ()
    assert found.drawn_again == 12
    assert {d.redistribution for d in found.manifest.datasets} == {"tables"}


Edit = Callable[[pa.Table], pa.Table]


def _set(name: str, at: Any, value: Any) -> Edit:
    """Put a value, or what a function makes of all values (T, n), into a column of lists."""

    def edit(table: pa.Table) -> pa.Table:
        field = table.schema.field(name)
        flat = table.column(name).combine_chunks().flatten().to_numpy()
        values = flat.reshape(len(table), -1).copy()
        values[at] = value(values) if callable(value) else value
        array = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=field.type)
        return table.set_column(table.column_names.index(name), field, array)

    return edit


def _all(name: str, values: list[Any]) -> Edit:
    """Put other values into a column."""

    def edit(table: pa.Table) -> pa.Table:
        field = table.schema.field(name)
        at = table.column_names.index(name)
        return table.set_column(at, field, pa.array(values, field.type))

    return edit


OPEN = "tasks/open-5w1s1q/vgg_flower.parquet"


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        (OPEN, lambda t: t.slice(0, 20), "drawn again from its provenance are others"),
        (OPEN, lambda t: t.take(list(range(19, -1, -1))), "task ids do not count from 0"),
        (OPEN, _set("class_ids", (3, 0), lambda v: v[3, 1]), "task 3: a class twice"),
        (OPEN, _set("class_ids", (3, 0), 16), "names classes beyond 16"),
        (OPEN, _set("query", (0, 0), 1425), "names images beyond 1425"),
        (OPEN, _set("support", 7, lambda v: v[7, ::-1]), "task 7: support images of other classes"),
        (OPEN, _set("query_label", 8, lambda v: v[8, ::-1]), "task 8: mislabelled queries"),
        (
            OPEN,
            _set("query_label", (2, 0), lambda v: v[2, 1]),
            "task 2: not 1 queries of each class",
        ),
        (OPEN, _set("query", 1, lambda v: v[0]), "images are used twice in the set"),
        (
            "tasks/closed-3w2s2q/vgg_flower.parquet",
            _set("support", (5, 1), lambda v: v[5, 0]),
            "task 5: an image twice, perhaps on both sides",
        ),
        ("classes/cub.parquet", _all("n_images", [59] * 30), "first image ids are not the sums"),
        ("classes/cub.parquet", lambda t: t.slice(0, 29), "the manifest says 30 of 1770"),
        ("classes/cub.parquet", lambda t: t.drop_columns("n_images"), "expected: class_id"),
        ("classes/cub.parquet", _all("n_images", [-5] * 30), "classes without images"),
        (
            "classes/cub.parquet",
            _all("class_name", [""] * 30),
            "class names are missing, empty or not different",
        ),
        (OPEN, lambda t: t.slice(0, 0), "has no tasks"),
    ],
)
def test_a_release_forged_with_its_digests(
    built: Path, tmp_path: Path, path: str, edit: Edit, what: str
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(built, folder)
    rewrite(folder, path, edit)
    problems = verify(folder).problems
    assert any(p.path == path and what in p.what for p in problems), problems


def test_files_that_are_not_what_the_manifest_says(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(built, folder)
    (folder / "classes/cub.parquet").unlink()
    data = bytearray((folder / OPEN).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / OPEN).write_bytes(data)
    (folder / "tasks/stray.parquet").write_bytes(b"x")
    (folder / "README.md").write_text("x")
    run = CliRunner().invoke(main, ["verify", str(folder)])
    assert run.exit_code == 1
    for line in (
        "classes/cub.parquet: cannot be read",
        f"{OPEN}: is not the file that was released",
        "tasks/open-5w1s1q/cub.parquet: cannot be checked without the classes of cub",
        "tasks/stray.parquet: is not in the manifest",
        "README.md: is not the card of this manifest",
        "problems",
    ):
        assert line in run.output


def test_a_card_of_something_else(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(built, folder)
    (folder / "README.md").write_text("x")
    assert [p.what for p in verify(folder).problems] == ["is not the card of this manifest"]


@pytest.mark.slow
def test_provenance_that_is_not_true(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(built, folder)
    true = dict(next(t for t in read_manifest(folder)[1].tables if t.path == OPEN).provenance)
    for change, what in (
        ({"seed": 5}, "the tasks drawn again from its provenance are others"),
        ({"seed": None}, "gives seed None"),
        ({"seed": 3.0}, "gives seed 3.0"),
        ({"max_tasks": 4.5}, "number of tasks 4.5"),
        ({"max_tasks": "4"}, "number of tasks '4'"),
        ({"suite": "balanced"}, "is not that of a set of this suite"),
    ):
        change_entry(folder, OPEN, provenance=true | change)
        (problem,) = (p for p in verify(folder).problems if p.path != CARD_FILE)
        assert what in problem.what
    change_entry(folder, OPEN, provenance=true)
    closed = OPEN.replace("open", "closed")
    true = dict(next(t for t in read_manifest(folder)[1].tables if t.path == closed).provenance)
    change_entry(folder, closed, provenance=true | {"tasks": 10**9})
    (problem,) = (p for p in verify(folder).problems if p.path != CARD_FILE)
    assert "it has 40 tasks, its provenance says 1000000000" in problem.what


def test_images_that_cannot_be(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    whole = tmp_path / "whole"
    build_release(spec_in(tmp_path, f'{HEAD}[[dataset]]\nname = "digits"\n'), whole)
    for column, values, what in (
        ("class_name", ["zzz"] * 1797, "class names are not those of the classes"),
        ("path", ["../../etc/passwd"] * 1797, "leads out of the raw folder"),
        ("path", ["a"] * 1797, "two images have the same path"),
        ("sha256", ["hello"] * 1797, "not 64 hexadecimal digits"),
        ("group", [7] * 1797, "not numbered from 0"),
    ):
        folder = tmp_path / f"{column}-{what[:5]}"
        shutil.copytree(whole, folder)

        rewrite(folder, "images/digits.parquet", _all(column, values))
        assert any(what in p.what for p in verify(folder).problems)


def test_the_command_says_what_was_drawn_again(built: Path) -> None:
    run = CliRunner().invoke(main, ["verify", str(built)])
    assert run.exit_code == 0
    assert "14 tables, 12 of 12 task sets drawn again with equal digests, no problems" in run.output


SHARD = "features/net/birds-0000{}-of-00004.parquet"
STEPS = "features/net-pca4/birds-00000-of-00004.parquet"


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        (SHARD.format(1), lambda t: t.slice(0, 31), None),
        (SHARD.format(2), lambda t: t.slice(0, 31), "ends with image 98"),
        (SHARD.format(3), lambda t: pa.concat_tables([t, t]), "not one row for each of 100"),
        (SHARD.format(1), lambda t: t.take(list(range(31, -1, -1))), "from 32 on, in order"),
        (SHARD.format(1), _all("image_id", [*range(32)]), "from 32 on, in order"),
        (SHARD.format(1), _all("image_id", [*range(64, 96)]), "from 32 on, in order"),
        (SHARD.format(0), lambda t: t.slice(0, 0), None),
        (SHARD.format(2), _set("feature", (3, 0), np.inf), "not finite"),
        (SHARD.format(2), lambda t: _other_values(t, pa.int8(), 8), "holds fixed_size_list<"),
        (SHARD.format(2), lambda t: _other_values(t, pa.float16(), 7), "[7], the first of its"),
        (SHARD.format(2), lambda t: t.rename_columns(["a", "b"]), "columns are a, b"),
        (STEPS, _set("feature", (3, 0), 0.01), "not -127 to 127 steps of 0.0625"),
        (STEPS, _set("feature", (3, 0), 8.0), "not -127 to 127 steps of 0.0625"),
    ],
)
def test_shards_forged_with_their_digests(
    sharded: Release, tmp_path: Path, path: str, edit: Edit, what: str | None
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sharded.files.where, folder)
    assert verify(folder).problems == ()
    rewrite(folder, path, edit)
    problems = verify(folder).problems
    last = SHARD.format(3)
    if what is None:  # then the next ones do not go on where it ends
        assert {p.path for p in problems} >= {SHARD.format(2), last}
    elif "98" in what:
        assert any(p.path == last and what in p.what for p in problems), problems
    else:
        assert any(p.path == path and what in p.what for p in problems), problems


def _other_values(table: pa.Table, kind: pa.DataType, dimensions: int) -> pa.Table:
    values = pa.array(np.zeros(len(table) * dimensions), kind)
    lists = pa.FixedSizeListArray.from_arrays(values, dimensions)
    return pa.table({"image_id": table.column("image_id"), "feature": lists})


def test_shards_of_different_provenance_or_without_a_scale(
    sharded: Release, tmp_path: Path
) -> None:
    for path, provenance, what in (
        (SHARD.format(2), {"backbone": "other"}, "another provenance than the first of its shards"),
        (SHARD.format(0), {"backbone": "net", "scale": 1.0}, "with a scale"),
        (STEPS, {}, "gives scale None"),
    ):
        folder = tmp_path / what
        shutil.copytree(sharded.files.where, folder)
        change_entry(folder, path, provenance=provenance)
        assert any(p.path == path and what in p.what for p in verify(folder).problems)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda t: t[:2] + t[3:], "missing"),
        (lambda t: [*t[:3], t[2], *t[3:]], "would share|twice"),
        (lambda t: [t[0], t[2], t[1], *t[3:]], "not each once in order"),
    ],
)
def test_a_shard_missing_doubled_or_misplaced(
    sharded: Release, tmp_path: Path, change: Any, what: str
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sharded.files.where, folder)
    _, manifest = read_manifest(folder)
    shards = [table for table in manifest.tables if table.name == "net"]
    others = [table for table in manifest.tables if table.name != "net"]
    tables = (*others, *change(shards))
    (folder / MANIFEST_FILE).write_text(replace(manifest, tables=tables).to_json())
    with pytest.raises(CorruptReleaseError, match=what):
        verify(folder)
    run = CliRunner().invoke(main, ["verify", str(folder)])
    assert run.exit_code == 2


def test_files_of_shards_missing_or_exchanged(sharded: Release, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sharded.files.where, folder)
    first, second = folder / SHARD.format(1), folder / SHARD.format(2)
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    found = {(p.path, p.what.split(":")[0]) for p in verify(folder).problems}
    for path in (SHARD.format(1), SHARD.format(2)):
        assert (path, "is not the file that was released") in found
    first.unlink()
    assert any(
        p.path == SHARD.format(1) and "cannot be read" in p.what for p in verify(folder).problems
    )
