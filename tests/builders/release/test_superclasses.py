"""Superclasses: from a source or the catalogue into a release, and out of it again."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from forged import rewrite
from specs import HEAD, spec_in
from stopping import Stop, stopping
from tiny_features import ABOUT, write_pictures

from benchmark_spec.catalogue import lookup
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import CorruptReleaseError, SchemaError, SourceError, SpecError
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE
from benchmark_spec.protocol import TaskSetName
from builders.cli import main
from builders.release.build import build_release
from builders.release.diff import diff
from builders.release.spec import ReleaseSpec
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About
from fslbench_data.cli import main as client
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import load_release

SIZES, NAMES, KINDS = [4, 4, 4], ["cat", "dog", "oak"], ["animal", "animal", "plant"]
OPEN = TaskSetName.parse("open-2w1s1q")
SPEC = f"""{HEAD}
[[dataset]]
name = "tiny"
source = "image_folder"
suites = ["open"]
protocols = ["2w1s1q"]
folder = "tiny"
[dataset.options]
superclasses = "kinds.csv"
{"".join(f'{key} = "{value}"' + chr(10) for key, value in ABOUT.items())}
"""


def _write(folder: Path, superclasses: list[str] | None, version: str = "1.0.0") -> Path:
    writer = ReleaseWriter(folder, "small", version, "x")
    about = About("t", "h", "l", "c")
    writer.add_dataset("one", about, NAMES, SIZES, superclasses=superclasses)
    writer.add_tasks("one", OPEN, *draw_task_set("one", OPEN, SIZES))
    writer.finish()
    return folder


CLASSES = "classes/one.parquet"


def _with_superclasses(column: pa.Array) -> Callable[[pa.Table], pa.Table]:
    """Put other superclasses in the place of those of a table of classes."""
    return lambda t: t.drop_columns("superclass").append_column("superclass", column)


def test_a_release_gives_the_superclass_of_each_class(tmp_path: Path) -> None:
    release = load_release(_write(tmp_path / "r", KINDS))
    assert release.superclasses("one") == tuple(KINDS)
    assert release.manifest.datasets[0].n_superclasses == 2
    assert verify(tmp_path / "r").problems == ()
    page = (tmp_path / "r" / CARD_FILE).read_text()
    assert "| name | data set | classes | superclasses | images |" in page
    assert "| one | t | 3 | 2 | 12 |" in page
    run = CliRunner().invoke(client, ["info", str(tmp_path / "r"), "--format", "json"])
    assert json.loads(run.output)["datasets"][0]["n_superclasses"] == 2
    run = CliRunner().invoke(client, ["info", str(tmp_path / "r"), "--format", "markdown"])
    assert "superclasses" in run.output


def test_without_superclasses_nothing_is_other_than_it_was(tmp_path: Path) -> None:
    """Digest of the table as it was before there were superclasses; the task set's with them."""
    plain, kinds = (load_release(_write(tmp_path / str(i), k)) for i, k in enumerate((None, KINDS)))
    assert plain.superclasses("one") is None
    columns = {
        "class_id": pa.array([0, 1, 2], pa.int32()),
        "class_name": NAMES,
        "n_images": pa.array(SIZES, pa.int32()),
        "first_image_id": pa.array([0, 4, 8], pa.int32()),
    }
    (entry,) = (t for t in plain.manifest.tables if t.kind == "classes")
    assert entry.digest == content_digest(pa.table(columns))
    assert "superclass" not in (tmp_path / "0" / MANIFEST_FILE).read_text()
    assert "superclass" not in (tmp_path / "0" / CARD_FILE).read_text()
    assert plain.task_sets == kinds.task_sets


def test_superclasses_make_a_new_major_version(tmp_path: Path) -> None:
    old = load_release(_write(tmp_path / "a", None))
    new = load_release(_write(tmp_path / "b", KINDS, "2.0.0"))
    (change,) = diff(old, new).changes
    assert (change.level, change.where) == ("major", CLASSES)


def test_superclasses_that_are_not_one_for_each_class(tmp_path: Path) -> None:
    for wrong in (["animal"], ["animal", "animal", ""]):
        with pytest.raises(SpecError, match="classes need one superclass each"):
            _write(tmp_path / str(len(wrong)), wrong)


@pytest.mark.parametrize(
    ("column", "number", "what"),
    [
        (KINDS, 3, "has 2 superclasses"),
        (KINDS, 0, "has 2 superclasses"),
        (["animal", None, "plant"], 2, "nulls in column 'superclass'"),
    ],
)
def test_forged_superclasses(
    tmp_path: Path, column: list[str | None], number: int, what: str
) -> None:
    folder = _write(tmp_path / "r", KINDS)
    rewrite(folder, CLASSES, _with_superclasses(pa.array(column, pa.string())))
    _, manifest = read_manifest(folder)
    datasets = (replace(manifest.datasets[0], n_superclasses=number),)
    (folder / MANIFEST_FILE).write_text(replace(manifest, datasets=datasets).to_json())
    with pytest.raises(CorruptReleaseError, match=what):
        load_release(folder).superclasses("one")
    assert "superclass" in " ".join(problem.what for problem in verify(folder).problems)


def test_an_empty_superclass_and_one_that_is_no_text(tmp_path: Path) -> None:
    folder = _write(tmp_path / "r", KINDS)
    rewrite(folder, CLASSES, _with_superclasses(pa.array(["", "a", "a"])))
    (problem,) = (p for p in verify(folder).problems if p.path != CARD_FILE)
    assert problem.what == "superclasses are missing or empty"
    rewrite(folder, CLASSES, _with_superclasses(pa.array([0, 1, 1], pa.int32())))
    with pytest.raises(SchemaError, match="column 'superclass' is of type int32"):
        load_release(folder).classes("one")


def test_the_catalogue_gives_them(tmp_path: Path) -> None:
    sets = "".join(
        f'[[dataset]]\nname = "{name}"\nsource = "catalogue"\n' for name in ("omniglot", "cub")
    )
    build_release(spec_in(tmp_path, HEAD + sets), tmp_path / "r")
    release = load_release(tmp_path / "r")
    assert release.superclasses("omniglot") == lookup("omniglot").of_classes
    assert release.superclasses("cub") is None


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Pictures of three classes, with a list of their kinds."""
    folder = tmp_path / "raw/tiny"
    write_pictures(folder, 4, classes=3)
    names = sorted(path.name for path in folder.iterdir())
    lines = [f"{name},{kind}\n" for name, kind in zip(names, KINDS, strict=True)]
    (folder / "kinds.csv").write_text("class,superclass\n" + "".join(lines))
    return tmp_path / "raw"


@pytest.fixture
def spec(tmp_path: Path) -> ReleaseSpec:
    return spec_in(tmp_path, SPEC)


def test_a_folder_of_images_says_them_in_a_list(
    tmp_path: Path, raw: Path, spec: ReleaseSpec
) -> None:
    build_release(spec, tmp_path / "r", raw=raw)
    release = load_release(tmp_path / "r")
    assert release.superclasses("tiny") == tuple(KINDS)
    assert verify(tmp_path / "r", raw=raw, spec=spec).problems == ()
    listed = raw / "tiny/kinds.csv"
    listed.write_text(listed.read_text().replace("plant", "tree"))
    (problem,) = verify(tmp_path / "r", raw=raw, spec=spec).problems
    assert "superclasses of the classes in" in problem.what
    arguments = ["source", "tiny", str(raw / "tiny"), "--spec", str(tmp_path / "spec.toml")]
    run = CliRunner().invoke(main, arguments)
    assert run.output == "tiny: 3 classes of 4 to 4 images, 12 images, 2 superclasses\n"


def test_a_build_goes_on_only_with_the_same_superclasses(
    tmp_path: Path, raw: Path, spec: ReleaseSpec
) -> None:
    def build(progress: Callable[[str], None] = lambda step: None) -> None:
        build_release(spec, tmp_path / "r", raw=raw, progress=progress)

    with pytest.raises(Stop):
        build(stopping(lambda step: step.startswith("tiny/open")))
    listed = raw / "tiny/kinds.csv"
    before = listed.read_text()
    listed.write_text(before.replace("plant", "tree"))
    with pytest.raises(SourceError, match="superclasses of its classes changed since"):
        build()
    listed.write_text(before)
    build()
    shutil.rmtree(raw)
    assert load_release(tmp_path / "r").superclasses("tiny") == tuple(KINDS)


def test_sql_has_superclasses_of_the_data_sets_that_have_them(tmp_path: Path) -> None:
    writer = ReleaseWriter(tmp_path / "r", "small", "1.0.0", "x")
    for name, superclasses in (("one", KINDS), ("two", None)):
        writer.add_dataset(name, About("t", "h", "l", "c"), NAMES, SIZES, superclasses=superclasses)
        writer.add_tasks(name, OPEN, *draw_task_set(name, OPEN, SIZES))
    writer.finish()
    query = "SELECT dataset, superclass, count(*) FROM classes GROUP BY ALL ORDER BY ALL"
    result = CliRunner().invoke(
        client, ["sql", query, "--release", str(tmp_path / "r"), "--format", "csv"]
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1:] == ["one,animal,2", "one,plant,1", "two,,3"]
