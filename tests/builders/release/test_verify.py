"""Releases verified, so that nothing forged gets through, and compared; with superclasses."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from biased_release import write_biased
from commands import build as called
from commands import printed
from forged import change_entry, holding, rewrite
from msgspec import structs
from specs import HEAD, spec_in
from stopping import Stop, stopping
from tiny_features import ABOUT, write_pictures

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import CorruptReleaseError, SchemaError, SourceError
from benchmark_spec.manifest import CARD_FILE
from benchmark_spec.protocol import FAMILIES, SUITES
from builders.release.build import build_release
from builders.release.diff import diff
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sampling import SAMPLERS
from builders.sources.image_set import About
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import load_release
from fslbench_data.render.card import dataset_card

Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


def _set(name, at, value):
    """Put a value, or what a function makes of all values (T, n), into a column of lists."""

    def edit(table):
        field = table.schema.field(name)
        flat = table.column(name).combine_chunks().flatten().to_numpy()
        values = flat.reshape(len(table), -1).copy()
        values[at] = value(values) if callable(value) else value
        array = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=field.type)
        return table.set_column(table.column_names.index(name), field, array)

    return edit


OPEN, CLOSED = (f"tasks/{name}/vgg_flower.parquet" for name in ("open-5w1s1q", "closed-3w2s2q"))
CLASSES = "classes/cub.parquet"


@pytest.fixture
def folder(built, tmp_path):
    return Path(shutil.copytree(built, tmp_path / "release"))


def _of_7_dimensions(table):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(len(table) * 7), pa.float16()), 7)
    return pa.table({"image_id": table.column("image_id"), "feature": lists})


SHARD = "features/net/birds-0000{}-of-00004.parquet"
STEPS = "features/net-pca4/birds-00000-of-00004.parquet"


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
        (CLASSES, holding("n_images", [59] * 30), "first image ids are not the sums"),
        (CLASSES, lambda t: t.slice(0, 29), "the manifest says 30 of 1770"),
        (CLASSES, lambda t: t.drop_columns("n_images"), "expected: class_id"),
        (CLASSES, holding("n_images", [-5] * 30), "classes without images"),
        (CLASSES, holding("class_name", [""] * 30), "class names are missing, empty or not diff"),
        (OPEN, lambda t: t.slice(0, 0), "has no tasks"),
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
def test_forged_with_their_digests(built, sharded, tmp_path, path, edit, what):
    whole = sharded.files.where if path.startswith("features") else built
    folder = Path(shutil.copytree(whole, tmp_path / "release"))
    rewrite(folder, path, edit)
    problems = verify(folder).problems
    where = SHARD.format(3) if "image 98" in what else path
    assert any(p.path == where and what in p.what for p in problems), problems


@pytest.mark.parametrize("suite", ["biased_words", "other_style"])
def test_task_sets_of_every_kind_are_drawn_again(tmp_path, suite):
    assert {*SUITES, *FAMILIES} == {*SAMPLERS}
    write_biased(tmp_path / "x", [suite])
    path = f"tasks/{suite}-3w2s3q/things.parquet"
    rewrite(tmp_path / "x", path, _set("query", 3, lambda v: v[3, ::-1]))
    problems = [p.what for p in verify(tmp_path / "x").problems if p.path == path]
    assert "the tasks drawn again from its provenance are others" in problems


def test_files_that_are_not_what_the_manifest_says(folder):
    (folder / CLASSES).unlink()
    data = bytearray((folder / OPEN).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / OPEN).write_bytes(data)
    (folder / "tasks/stray.parquet").write_bytes(b"x")
    (folder / "README.md").write_text("x")
    run = called(1, "verify", folder)
    for line in (
        "classes/cub.parquet: cannot be read",
        f"{OPEN}: is not the file that was released",
        "tasks/open-5w1s1q/cub.parquet: cannot be checked without the classes of cub",
        "tasks/stray.parquet: is not in the manifest",
        "README.md: is not the card of this manifest",
        "problems",
    ):
        assert line in run.output


def test_a_card_is_that_of_its_version(folder, monkeypatch):
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
def test_untrue_provenance(folder, path, change, what):
    (entry,) = (t for t in read_manifest(folder)[1].tables if t.path == path)
    change_entry(folder, path, provenance={**entry.provenance, **change})
    (problem,) = (p for p in verify(folder).problems if p.path != CARD_FILE)
    assert what in problem.what


def test_images_that_cannot_be(tmp_path):
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
        rewrite(folder, "images/digits.parquet", holding(column, values))
        assert any(what in p.what for p in verify(folder).problems)


def test_shards_of_other_provenance_or_without_a_scale(sharded, tmp_path):
    folder = Path(shutil.copytree(sharded.files.where, tmp_path / "release"))
    for path, provenance, what in (
        (SHARD.format(2), {"backbone": "other"}, "another provenance than the first of its shards"),
        (STEPS, {}, "gives scale None"),
    ):
        change_entry(folder, path, provenance=provenance)
        assert any(p.path == path and what in p.what for p in verify(folder).problems)


# ---- superclasses: from a source or the catalogue into a release, and out of it again ------------
KINDS = ["animal", "animal", "plant"]
TINY_CLASSES = "classes/tiny.parquet"
LISTED = 'superclasses = "kinds.csv"\n'
SPEC = f"""{HEAD}
[[dataset]]
name = "tiny"
source = "image_folder"
suites = ["open"]
protocols = ["2w1s1q"]
[dataset.options]
{LISTED}{"".join(f'{key} = "{value}"' + chr(10) for key, value in ABOUT.items())}
"""


@pytest.fixture
def raw(tmp_path):
    tiny = write_pictures(tmp_path / "raw/tiny", 4, classes=3)
    names = sorted(path.name for path in tiny.iterdir())
    lines = [f"{name},{kind}\n" for name, kind in zip(names, KINDS, strict=True)]
    (tiny / "kinds.csv").write_text("class,superclass\n" + "".join(lines))
    return tmp_path / "raw"


@pytest.fixture
def spec(tmp_path):
    return spec_in(tmp_path, SPEC)


@pytest.fixture
def tiny(tmp_path, raw, spec):
    build_release(spec, tmp_path / "r", raw=raw)
    return tmp_path / "r"


def test_a_release_gives_the_superclass_of_each_class(tiny, raw, tmp_path):
    assert load_release(tiny).superclasses("tiny") == tuple(KINDS)
    page = (tiny / CARD_FILE).read_text()
    assert "| name | data set | classes | superclasses | images |" in page
    assert "| tiny | [Tiny](https://example.org) | 3 | 2 | 12 |" in page
    build_release(spec_in(tmp_path, SPEC.replace(LISTED, "")), tmp_path / "without", raw=raw)
    changes = diff(load_release(tmp_path / "without"), load_release(tiny)).changes
    assert [change.where for change in changes if change.level == "major"] == [TINY_CLASSES]


def test_forged_superclasses(tiny):
    for column, what in (
        (pa.array(["animal", None, "plant"]), "nulls in column 'superclass'"),
        (pa.array([0, 1, 1], pa.int32()), "column 'superclass' is of type int32"),
        (pa.array(["", "a", "a"]), ""),  # which verify alone refuses
        (pa.array(["a", "b", "c"]), "has 3 superclasses"),
    ):
        rewrite(tiny, TINY_CLASSES, lambda t, new=column: t.set_column(4, "superclass", new))
        assert "superclass" in " ".join(problem.what for problem in verify(tiny).problems)
        if what:
            with pytest.raises((CorruptReleaseError, SchemaError), match=what):
                load_release(tiny).superclasses("tiny")


def test_the_catalogue_gives_them(tmp_path):
    named = [f'[[dataset]]\nname = "{n}"\nsource = "catalogue"\n' for n in ("omniglot", "cub")]
    build_release(spec_in(tmp_path, HEAD + "".join(named)), tmp_path / "r")
    release = load_release(tmp_path / "r")
    assert release.superclasses("omniglot") == lookup("omniglot").of_classes
    assert release.superclasses("cub") is None


def test_a_list_that_changed(tiny, raw, spec, tmp_path):
    assert verify(tiny, raw=raw, spec=spec).problems == ()
    listed = raw / "tiny/kinds.csv"
    listed.write_text(listed.read_text().replace("plant", "tree"))
    (problem,) = verify(tiny, raw=raw, spec=spec).problems
    assert "superclasses of the classes in" in problem.what
    run = called(0, "source", "tiny", raw / "tiny", "--spec", tmp_path / "spec.toml")
    assert run.output == "tiny: 3 classes of 4 images, 12 images, 2 superclasses\n"


def test_a_build_keeps_to_its_superclasses(tmp_path, raw, spec):
    at_tasks = stopping(lambda step: step.startswith("tiny/open"))
    with pytest.raises(Stop):
        build_release(spec, tmp_path / "r", raw=raw, progress=at_tasks)
    listed = raw / "tiny/kinds.csv"
    before = listed.read_text()
    listed.write_text(before.replace("plant", "tree"))
    with pytest.raises(SourceError, match="superclasses of its classes changed since"):
        build_release(spec, tmp_path / "r", raw=raw)
    listed.write_text(before)
    build_release(spec, tmp_path / "r", raw=raw)
    shutil.rmtree(raw)
    assert load_release(tmp_path / "r").superclasses("tiny") == tuple(KINDS)


def test_sql_has_superclasses_of_the_data_sets_that_have_them():
    query = (
        "SELECT dataset, count(DISTINCT superclass), count(superclass), count(*) FROM classes "
        "WHERE dataset IN ('cub', 'omniglot') GROUP BY ALL ORDER BY ALL"
    )
    rows = printed("sql", query, "--format", "csv").splitlines()[1:]
    assert rows == ["cub,0,0,30", "omniglot,20,659,659"]


# ---- what differs between two releases, and which version number that raises ---------------------
def test_task_sets_made_with_attributes(tmp_path):
    for folder, tasks in (("a", 15), ("b", 20)):
        write_biased(tmp_path / folder, ["random_words", "biased_words"], biased_words=tasks)
    found = diff(load_release(tmp_path / "a"), load_release(tmp_path / "b"))
    (change,) = [each for each in found.changes if each.level == "major"]
    assert change.what.endswith("15 tasks became 20, of which the first 15 are equal")


def test_additions_removals_and_texts(built, tmp_path, spec_of):
    dtd = '[[dataset]]\nname = "dtd"\nsource = "catalogue"\nsuites = ["open"]\n'
    build_release(spec_of(tmp_path, "1.1.0", more=dtd), tmp_path / "more")
    old, new = load_release(built), load_release(tmp_path / "more")
    up, down = diff(old, new), diff(new, old)
    assert {c.level for c in up.changes} == {"minor"}
    tables = [f"{of}/dtd.parquet" for of in ("classes", "tasks/open-3w2s2q", "tasks/open-5w1s1q")]
    assert [c.where for c in up.changes] == ["dtd", *tables]
    assert (up.needed, up.raised, up.too_large) == ("minor", "minor", ())
    assert (down.needed, down.raised, bool(down.too_large)) == ("major", None, True)
    other = structs.replace(spec_of(tmp_path, "1.0.1"), description="another text")
    build_release(other, tmp_path / "text")
    texts = diff(old, load_release(tmp_path / "text"))
    assert [(c.level, c.what) for c in texts.changes] == [("patch", "the description differs")]
    assert not texts.too_large
    for first, second, code in ((built, tmp_path / "more", 0), (tmp_path / "more", built, 1)):
        assert ("which is enough" in called(code, "diff", first, second).output) == (code == 0)


def _features(folder, shard, patch, change=0, **provenance):
    patch.setattr("benchmark_spec.manifest.SHARD_IMAGES", shard)
    writer = ReleaseWriter(folder, "small", "1.0.0", "x")
    writer.add_dataset("one", About("t", "h", "l", "c"), ["a", "b"], [12, 8])
    kind = np.int8 if "scale" in provenance else np.float16
    values = np.arange(60).reshape(20, 3).astype(kind)
    values[17, 0] += change
    writer.add_features("one", "net", [values], provenance)
    writer.finish()
    return load_release(folder)


def test_features_in_shards(tmp_path, monkeypatch):
    old = _features(tmp_path / "old", 8, monkeypatch)
    last, first = (f"features/net/one-0000{i}-of-00003.parquet" for i in (2, 0))
    one = "features/net/one-00000-of-00001.parquet"
    for shard, change, *found in (
        (8, 0),
        (8, 1, ("minor", last, "other content: 4 rows became 4 rows")),
        (99, 0, ("patch", one, "same content, 3 shards became 1")),
        (99, 1, ("minor", one, "other content: 20 rows became 20 rows, 3 shards became 1")),
    ):
        new = _features(tmp_path / f"{shard}-{change}", shard, monkeypatch, change)
        assert [(c.level, c.where, c.what) for c in diff(old, new).changes] == found
    spec = HEAD + '[[dataset]]\nname = "dtd"\nsource = "catalogue"\n'
    build_release(spec_in(tmp_path, spec), tmp_path / "none")
    gone = [c for c in diff(old, load_release(tmp_path / "none")).changes if "features" in c.where]
    assert [(c.level, c.where, c.what) for c in gone] == [("major", first, "gone: 20 rows")]


def test_pictures_that_changed_are_named(tmp_path):
    write_pictures(tmp_path / "raw/tiny", 3)
    tiny = DatasetSpec("tiny", source="image_folder", folder="tiny", options=ABOUT)
    spec = ReleaseSpec("small", "1.0.0", "x", (tiny,))
    build_release(spec, tmp_path / "old", raw=tmp_path / "raw")
    changed = sorted((tmp_path / "raw/tiny").rglob("*.png"))[1]
    path = changed.relative_to(tmp_path / "raw/tiny")
    Image.new("RGB", (20, 20), (1, 2, 3)).save(changed)
    build_release(spec, tmp_path / "new", raw=tmp_path / "raw")
    old, new = (load_release(tmp_path / name) for name in ("old", "new"))
    (change,) = (c for c in diff(old, new).changes if c.where == "images/tiny.parquet")
    assert change.level == "major"
    assert change.what == f"other content: 12 rows became 12 rows; changed or gone: {path}"


def test_what_was_made_otherwise_is_said(tmp_path, monkeypatch):
    """Who builds again with other batches has the same data, and reads what differs."""
    old = _features(tmp_path / "old", 99, monkeypatch, batch=32, packages={"torch": "1", "x": "1"})
    new = _features(tmp_path / "new", 99, monkeypatch, batch=8, threads=2)
    assert old.manifest.digest == new.manifest.digest
    (change,) = diff(old, new).changes
    assert (change.level, change.what) == (
        "patch",
        "same content and digest, but recorded as made with batch 32 (now 8), packages.torch '1' "
        "(now none), packages.x '1' (now none), threads none (now 2)",
    )


@pytest.mark.parametrize("shard", [8, 99])
def test_scales_are_content(tmp_path, monkeypatch, shard):
    old = _features(tmp_path / "old", 8, monkeypatch, scale=0.5)
    found = diff(old, _features(tmp_path / "new", shard, monkeypatch, scale=0.25))
    assert found.needed == "minor"
    assert all(c.what.startswith("other content") for c in found.changes)


def test_the_release_in_the_package_is_verified_by_its_name(monkeypatch, tmp_path):
    monkeypatch.setattr("fslbench_data.release.folder.embedded_folder", lambda: tmp_path)
    assert str(tmp_path) in called(2, "verify", "embedded").stderr
