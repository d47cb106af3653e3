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
from builders.release_build import build_release
from builders.release_spec import read_spec
from builders.verify import verify
from fslbench_data.release import load_release


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
