"""Releases verified: nothing forged gets through."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from benchmark_spec.digest import content_digest, fingerprint
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE
from builders.cli import main
from builders.release.build import build_release
from builders.release.spec_file import read_spec
from builders.release.verify import verify
from fslbench_data.release.release import Release, load_release


@pytest.mark.slow
def test_features_and_reference_results_are_verified(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    path = tmp_path / "spec.toml"
    path.write_text(
        'name = "r"\nversion = "1.0.0"\ndescription = "d"\n[[dataset]]\nname = "digits"\n'
        'suites = ["open"]\nprotocols = ["5w5s5q"]\nfeatures = ["pixels"]\nheads = ["NCC"]\n'
    )
    folder = tmp_path / "release"
    build_release(read_spec(path), folder)
    assert load_release(folder).methods == ("pixels/NCC",)
    assert load_release(folder).manifest.datasets[0].redistribution == "features"
    assert verify(folder).problems == ()
    results = "results/pixels-NCC.parquet"
    _rewrite(folder, results, lambda t: t.slice(0, 20))
    features = "features/pixels/digits-00000-of-00001.parquet"
    _rewrite(folder, features, lambda t: _column(t, "feature", lambda v: _set(v, (3, 0), np.nan)))
    found = {p.path: p.what for p in verify(folder).problems}
    assert "holds values that are not finite" in found[features]
    assert "tasks" in found[results]


def test_a_release_that_is_whole(built: Path) -> None:
    found = verify(built)
    assert found.problems == ()
    assert found.drawn_again == 12
    assert {d.redistribution for d in found.manifest.datasets} == {"tables"}


def _rewrite(folder: Path, path: str, edit: object) -> None:
    """Change a table and make the manifest agree with it, as a clumsy maintainer would."""
    file = folder / path
    table = pq.read_table(file)
    assert callable(edit)
    pq.write_table(edit(table), file)
    table = pq.read_table(file)
    from fslbench_data.files import sha256_of

    manifest = json.loads((folder / MANIFEST_FILE).read_text())
    for entry in manifest["tables"]:
        if entry["path"] == path:
            entry["sha256"], entry["digest"] = sha256_of(file), content_digest(table)
            entry["rows"], entry["bytes"] = table.num_rows, file.stat().st_size
            if entry["kind"] == "tasks":
                entry["fingerprint"] = fingerprint(entry["dataset"], entry["name"], entry["digest"])
    _sign(folder, manifest)


def _sign(folder: Path, manifest: dict[str, object]) -> None:
    """Write a manifest with the digest that it should have."""
    from benchmark_spec.manifest import Manifest, Table

    tables = tuple(Table(**t) for t in manifest["tables"])  # type: ignore[attr-defined]
    manifest["digest"] = Manifest(
        str(manifest["name"]), str(manifest["version"]), "", (), tables
    ).digest
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest))


def _column(table: pa.Table, name: str, edit: object) -> pa.Table:
    kind = table.schema.field(name).type
    values = table.column(name).combine_chunks().flatten().to_numpy().reshape(len(table), -1).copy()
    assert callable(edit)
    edit(values)
    array = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=kind)
    return table.set_column(table.column_names.index(name), table.schema.field(name), array)


def _set(values: np.ndarray, at: object, value: object) -> None:
    values[at] = value


OPEN = "tasks/open-5w1s1q/vgg_flower.parquet"


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        (OPEN, lambda t: t.slice(0, 20), "drawn again from its provenance are others"),
        (OPEN, lambda t: t.take(list(range(19, -1, -1))), "task ids do not count from 0"),
        (
            OPEN,
            lambda t: _column(t, "class_ids", lambda v: _set(v, (3, 0), v[3, 1])),
            "task 3: a class twice",
        ),
        (
            OPEN,
            lambda t: _column(t, "class_ids", lambda v: _set(v, (3, 0), 16)),
            "names classes beyond 16",
        ),
        (
            OPEN,
            lambda t: _column(t, "query", lambda v: _set(v, (0, 0), 1425)),
            "names images beyond 1425",
        ),
        (
            OPEN,
            lambda t: _column(t, "support", lambda v: _set(v, 7, v[7, ::-1].copy())),
            "task 7: support images of other classes",
        ),
        (
            OPEN,
            lambda t: _column(t, "query_label", lambda v: _set(v, 8, v[8, ::-1].copy())),
            "task 8: mislabelled queries",
        ),
        (
            OPEN,
            lambda t: _column(t, "query_label", lambda v: _set(v, (2, 0), v[2, 1])),
            "task 2: not 1 queries of each class",
        ),
        (
            OPEN,
            lambda t: _column(t, "query", lambda v: _set(v, 1, v[0])),
            "images are used twice in the set",
        ),
        (
            "tasks/closed-3w2s2q/vgg_flower.parquet",
            lambda t: _column(t, "support", lambda v: _set(v, (5, 1), v[5, 0])),
            "task 5: an image twice, perhaps on both sides",
        ),
        (
            "classes/cub.parquet",
            lambda t: t.set_column(2, "n_images", pa.array([59] * 30, pa.int32())),
            "first image ids are not the sums",
        ),
        ("classes/cub.parquet", lambda t: t.slice(0, 29), "the manifest says 30 of 1770"),
        ("classes/cub.parquet", lambda t: t.drop_columns("n_images"), "expected: class_id"),
        (
            "classes/cub.parquet",
            lambda t: t.set_column(2, "n_images", pa.array([-5] * 30, pa.int32())),
            "classes without images",
        ),
        (
            "classes/cub.parquet",
            lambda t: t.set_column(1, "class_name", pa.array([""] * 30)),
            "class names are missing, empty or not different",
        ),
        (OPEN, lambda t: t.slice(0, 0), "has no tasks"),
    ],
)
def test_a_release_forged_with_its_digests(
    built: Path, tmp_path: Path, path: str, edit: object, what: str
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(built, folder)
    _rewrite(folder, path, edit)
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
    manifest = json.loads((folder / MANIFEST_FILE).read_text())
    entry = next(t for t in manifest["tables"] if t["path"] == OPEN)
    true = dict(entry["provenance"])
    for change, what in (
        ({"seed": 5}, "the tasks drawn again from its provenance are others"),
        ({"seed": None}, "gives seed None"),
        ({"seed": 3.0}, "gives seed 3.0"),
        ({"max_tasks": 4.5}, "number of tasks 4.5"),
        ({"max_tasks": "4"}, "number of tasks '4'"),
        ({"suite": "balanced"}, "is not that of a set of this suite"),
    ):
        entry["provenance"] = true | change
        _sign(folder, manifest)
        (problem,) = (p for p in verify(folder).problems if p.path != CARD_FILE)
        assert what in problem.what
    entry["provenance"] = true
    closed = next(t for t in manifest["tables"] if "closed-5w1s1q" in t["path"])
    closed["provenance"]["tasks"] = 10**9
    _sign(folder, manifest)
    (problem,) = (p for p in verify(folder).problems if p.path != CARD_FILE)
    assert "it has 40 tasks, its provenance says 1000000000" in problem.what


def test_images_that_cannot_be(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    path = tmp_path / "spec.toml"
    path.write_text(
        'name = "r"\nversion = "1.0.0"\ndescription = "d"\n[[dataset]]\nname = "digits"\n'
    )
    whole = tmp_path / "whole"
    build_release(read_spec(path), whole)
    for column, values, what in (
        ("class_name", ["zzz"] * 1797, "class names are not those of the classes"),
        ("path", ["../../etc/passwd"] * 1797, "leads out of the raw folder"),
        ("path", ["a"] * 1797, "two images have the same path"),
        ("sha256", ["hello"] * 1797, "not 64 hexadecimal digits"),
        ("group", [7] * 1797, "not numbered from 0"),
    ):
        folder = tmp_path / f"{column}-{what[:5]}"
        shutil.copytree(whole, folder)

        def edit(table: pa.Table, column: str = column, values: Any = values) -> pa.Table:
            at, field = table.column_names.index(column), table.schema.field(column)
            return table.set_column(at, field, pa.array(values, field.type))

        _rewrite(folder, "images/digits.parquet", edit)
        assert any(what in p.what for p in verify(folder).problems)


def test_the_command_says_what_was_drawn_again(built: Path) -> None:
    run = CliRunner().invoke(main, ["verify", str(built)])
    assert run.exit_code == 0
    assert "14 tables, 12 of 12 task sets drawn again with equal digests, no problems" in run.output


SHARD = "features/net/birds-0000{}-of-00004.parquet"
STEPS = "features/net-pca4/birds-00000-of-00004.parquet"


def _ids_from(first: int) -> Any:
    def edit(table: pa.Table) -> pa.Table:
        ids = pa.array(range(first, first + len(table)), pa.int32())
        return table.set_column(0, table.schema.field("image_id"), ids)

    return edit


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        (SHARD.format(1), lambda t: t.slice(0, 31), None),
        (SHARD.format(2), lambda t: t.slice(0, 31), "ends with image 98"),
        (SHARD.format(3), lambda t: pa.concat_tables([t, t]), "not one row for each of 100"),
        (SHARD.format(1), lambda t: t.take(list(range(31, -1, -1))), "from 32 on, in order"),
        (SHARD.format(1), _ids_from(0), "from 32 on, in order"),
        (SHARD.format(1), _ids_from(64), "from 32 on, in order"),
        (SHARD.format(0), lambda t: t.slice(0, 0), None),
        (
            SHARD.format(2),
            lambda t: _column(t, "feature", lambda v: _set(v, (3, 0), np.inf)),
            "not finite",
        ),
        (SHARD.format(2), lambda t: _other_values(t, pa.int8(), 8), "holds fixed_size_list<"),
        (SHARD.format(2), lambda t: _other_values(t, pa.float16(), 7), "[7], the first of its"),
        (SHARD.format(2), lambda t: t.rename_columns(["a", "b"]), "columns are a, b"),
        (
            STEPS,
            lambda t: _column(t, "feature", lambda v: _set(v, (3, 0), 0.01)),
            "not -127 to 127 steps of 0.0625",
        ),
        (
            STEPS,
            lambda t: _column(t, "feature", lambda v: _set(v, (3, 0), 8.0)),
            "not -127 to 127 steps of 0.0625",
        ),
    ],
)
def test_shards_forged_with_their_digests(
    sharded: Release, tmp_path: Path, path: str, edit: object, what: str | None
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sharded.files.where, folder)
    assert verify(folder).problems == ()
    _rewrite(folder, path, edit)
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
        manifest = json.loads((folder / MANIFEST_FILE).read_text())
        (entry,) = (t for t in manifest["tables"] if t["path"] == path)
        entry["provenance"] = provenance
        _sign(folder, manifest)
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
    from benchmark_spec.errors import CorruptReleaseError

    folder = tmp_path / "release"
    shutil.copytree(sharded.files.where, folder)
    manifest = json.loads((folder / MANIFEST_FILE).read_text())
    tables = manifest["tables"]
    shards = [t for t in tables if t["name"] == "net"]
    manifest["tables"] = [t for t in tables if t["name"] != "net"] + change(shards)
    _sign(folder, manifest)
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
