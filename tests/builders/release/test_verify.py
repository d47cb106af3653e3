"""Releases verified: nothing forged gets through."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from forged import change_entry, rewrite
from specs import HEAD, spec_in

from benchmark_spec.manifest import CARD_FILE
from builders.cli import main
from builders.release.build import build_release
from builders.release.verify import verify
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.card import dataset_card

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


OPEN, CLOSED = (f"tasks/{name}/vgg_flower.parquet" for name in ("open-5w1s1q", "closed-3w2s2q"))
CLASSES = "classes/cub.parquet"


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy of the release, to do with as one likes."""
    return Path(shutil.copytree(built, tmp_path / "release"))


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
        (OPEN, _set("query_label", (2, 0), lambda v: v[2, 1]), "task 2: not 1 queries of each"),
        (OPEN, _set("query", 1, lambda v: v[0]), "images are used twice in the set"),
        (CLOSED, _set("support", (5, 1), lambda v: v[5, 0]), "task 5: an image twice"),
        (CLASSES, _all("n_images", [59] * 30), "first image ids are not the sums"),
        (CLASSES, lambda t: t.slice(0, 29), "the manifest says 30 of 1770"),
        (CLASSES, lambda t: t.drop_columns("n_images"), "expected: class_id"),
        (CLASSES, _all("n_images", [-5] * 30), "classes without images"),
        (CLASSES, _all("class_name", [""] * 30), "class names are missing, empty or not different"),
        (OPEN, lambda t: t.slice(0, 0), "has no tasks"),
    ],
)
def test_a_release_forged_with_its_digests(folder: Path, path: str, edit: Edit, what: str) -> None:
    rewrite(folder, path, edit)
    problems = verify(folder).problems
    assert any(p.path == path and what in p.what for p in problems), problems


def test_files_that_are_not_what_the_manifest_says(folder: Path) -> None:
    (folder / CLASSES).unlink()
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


def test_a_card_is_compared_with_that_of_its_version(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, card = load_release(folder), folder / CARD_FILE
    published = dataset_card(release.manifest, release, "lab/cats")
    card.write_text(published)
    assert verify(folder).problems == ()  # wherever it is published
    card.write_text(published.replace("lab/cats", "lab/dogs", 1))
    assert [problem.path for problem in verify(folder).problems] == [CARD_FILE]
    monkeypatch.setattr("builders.release.verify.MADE_WITH", "fslbench 99.0.0")
    assert verify(folder).problems == ()  # another version's words are not ours
    card.unlink()
    assert [problem.path for problem in verify(folder).problems] == [CARD_FILE]


@pytest.mark.parametrize(
    ("path", "change", "what"),
    [
        (OPEN, {"seed": 5}, "the tasks drawn again from its provenance are others"),
        (OPEN, {"seed": None}, "gives seed None"),
        (OPEN, {"seed": 3.0}, "gives seed 3.0"),
        (OPEN, {"max_tasks": 4.5}, "number of tasks 4.5"),
        (OPEN, {"max_tasks": "4"}, "number of tasks '4'"),
        (OPEN, {"suite": "balanced"}, "is not that of a set of this suite"),
        (CLOSED, {"tasks": 10**9}, "it has 40 tasks, its provenance says 1000000000"),
    ],
)
def test_provenance_that_is_not_true(
    folder: Path, path: str, change: dict[str, Any], what: str
) -> None:
    (entry,) = (t for t in read_manifest(folder)[1].tables if t.path == path)
    change_entry(folder, path, provenance={**entry.provenance, **change})
    (problem,) = (p for p in verify(folder).problems if p.path != CARD_FILE)
    assert what in problem.what


def test_images_that_cannot_be(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    folder = tmp_path / "release"
    build_release(spec_in(tmp_path, f'{HEAD}[[dataset]]\nname = "digits"\n'), folder)
    for column, values, what in (
        ("class_name", ["zzz"] * 1797, "class names are not those of the classes"),
        ("path", ["../../etc/passwd"] * 1797, "leads out of the raw folder"),
        ("path", ["a"] * 1797, "two images have the same path"),
        ("sha256", ["hello"] * 1797, "not 64 hexadecimal digits"),
        ("group", [7] * 1797, "not numbered from 0"),
    ):
        rewrite(folder, "images/digits.parquet", _all(column, values))
        assert any(what in p.what for p in verify(folder).problems)


def _of_7_dimensions(table: pa.Table) -> pa.Table:
    values = pa.array(np.zeros(len(table) * 7), pa.float16())
    lists = pa.FixedSizeListArray.from_arrays(values, 7)
    return pa.table({"image_id": table.column("image_id"), "feature": lists})


SHARD = "features/net/birds-0000{}-of-00004.parquet"
STEPS = "features/net-pca4/birds-00000-of-00004.parquet"


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        (SHARD.format(2), lambda t: t.slice(0, 31), "ends with image 98"),
        (SHARD.format(3), lambda t: pa.concat_tables([t, t]), "not one row for each of 100"),
        (SHARD.format(1), lambda t: t.take(list(range(31, -1, -1))), "from 32 on, in order"),
        (SHARD.format(2), _set("feature", (3, 0), np.inf), "not finite"),
        (SHARD.format(2), _of_7_dimensions, "[7], the first of its"),
        (SHARD.format(2), lambda t: t.rename_columns(["a", "b"]), "columns are a, b"),
        (STEPS, _set("feature", (3, 0), 0.01), "not -127 to 127 steps of 0.0625"),
        (STEPS, _set("feature", (3, 0), 8.0), "not -127 to 127 steps of 0.0625"),
    ],
)
def test_shards_forged_with_their_digests(
    sharded: Release, tmp_path: Path, path: str, edit: Edit, what: str
) -> None:
    folder = Path(shutil.copytree(sharded.files.where, tmp_path / "release"))
    rewrite(folder, path, edit)
    problems = verify(folder).problems
    where = SHARD.format(3) if "98" in what else path
    assert any(p.path == where and what in p.what for p in problems), problems


def test_shards_of_different_provenance_or_without_a_scale(
    sharded: Release, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(sharded.files.where, tmp_path / "release"))
    for path, provenance, what in (
        (SHARD.format(2), {"backbone": "other"}, "another provenance than the first of its shards"),
        (STEPS, {}, "gives scale None"),
    ):
        change_entry(folder, path, provenance=provenance)
        assert any(p.path == path and what in p.what for p in verify(folder).problems)
