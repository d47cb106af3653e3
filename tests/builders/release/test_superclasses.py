"""Superclasses: from a source or the catalogue into a release, and out of it again."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from forged import rewrite
from specs import HEAD, spec_in
from stopping import Stop, stopping
from tiny_features import ABOUT, write_pictures

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import CorruptReleaseError, SchemaError, SourceError, SpecError
from benchmark_spec.manifest import CARD_FILE
from builders.cli import main
from builders.release.build import build_release
from builders.release.diff import diff
from builders.release.spec import ReleaseSpec
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sources.image_set import About
from fslbench_data.cli import main as client
from fslbench_data.release.release import load_release

KINDS = ["animal", "animal", "plant"]
CLASSES = "classes/tiny.parquet"
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
def raw(tmp_path: Path) -> Path:
    """Pictures of three classes, with a list of their kinds."""
    folder = write_pictures(tmp_path / "raw/tiny", 4, classes=3)
    names = sorted(path.name for path in folder.iterdir())
    lines = [f"{name},{kind}\n" for name, kind in zip(names, KINDS, strict=True)]
    (folder / "kinds.csv").write_text("class,superclass\n" + "".join(lines))
    return tmp_path / "raw"


@pytest.fixture
def spec(tmp_path: Path) -> ReleaseSpec:
    return spec_in(tmp_path, SPEC)


@pytest.fixture
def folder(tmp_path: Path, raw: Path, spec: ReleaseSpec) -> Path:
    """The release of them."""
    build_release(spec, tmp_path / "r", raw=raw)
    return tmp_path / "r"


def test_a_release_gives_the_superclass_of_each_class(folder: Path) -> None:
    assert load_release(folder).superclasses("tiny") == tuple(KINDS)
    page = (folder / CARD_FILE).read_text()
    assert "| name | data set | classes | superclasses | images |" in page
    assert "| tiny | [Tiny](https://example.org) | 3 | 2 | 12 |" in page


def test_superclasses_make_a_new_major_version(folder: Path, raw: Path, tmp_path: Path) -> None:
    without = spec_in(tmp_path, SPEC.replace(LISTED, ""))
    build_release(without, tmp_path / "without", raw=raw)
    changes = diff(load_release(tmp_path / "without"), load_release(folder)).changes
    assert [change.where for change in changes if change.level == "major"] == [CLASSES]


def test_superclasses_that_are_not_one_for_each_class(tmp_path: Path) -> None:
    writer = ReleaseWriter(tmp_path / "r", "small", "1.0.0", "x")
    for wrong in (["animal"], ["animal", ""]):
        with pytest.raises(SpecError, match="classes need one superclass each"):
            writer.add_dataset(
                "one", About("t", "h", "l", "c"), ["a", "b"], [1, 1], superclasses=wrong
            )


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (pa.array(["animal", None, "plant"]), "nulls in column 'superclass'"),
        (pa.array([0, 1, 1], pa.int32()), "column 'superclass' is of type int32"),
        (pa.array(["", "a", "a"]), ""),  # which verify alone refuses
        (pa.array(["a", "b", "c"]), "has 3 superclasses"),
    ],
)
def test_forged_superclasses(folder: Path, column: Any, what: str) -> None:
    rewrite(folder, CLASSES, lambda table: table.set_column(4, "superclass", column))
    assert "superclass" in " ".join(problem.what for problem in verify(folder).problems)
    if what:
        with pytest.raises((CorruptReleaseError, SchemaError), match=what):
            load_release(folder).superclasses("tiny")


def test_the_catalogue_gives_them(tmp_path: Path) -> None:
    text = '[[dataset]]\nname = "{}"\nsource = "catalogue"\n'
    build_release(
        spec_in(tmp_path, HEAD + text.format("omniglot") + text.format("cub")), tmp_path / "r"
    )
    release = load_release(tmp_path / "r")
    assert release.superclasses("omniglot") == lookup("omniglot").of_classes
    assert release.superclasses("cub") is None


def test_a_list_that_changed_is_not_the_released_one(
    folder: Path, raw: Path, spec: ReleaseSpec, tmp_path: Path
) -> None:
    assert verify(folder, raw=raw, spec=spec).problems == ()
    listed = raw / "tiny/kinds.csv"
    listed.write_text(listed.read_text().replace("plant", "tree"))
    (problem,) = verify(folder, raw=raw, spec=spec).problems
    assert "superclasses of the classes in" in problem.what
    arguments = ["source", "tiny", str(raw / "tiny"), "--spec", str(tmp_path / "spec.toml")]
    run = CliRunner().invoke(main, arguments)
    assert run.output == "tiny: 3 classes of 4 to 4 images, 12 images, 2 superclasses\n"


def test_a_build_goes_on_only_with_the_same_superclasses(
    tmp_path: Path, raw: Path, spec: ReleaseSpec
) -> None:
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


def test_sql_has_superclasses_of_the_data_sets_that_have_them() -> None:
    query = (
        "SELECT dataset, count(DISTINCT superclass), count(superclass), count(*) FROM classes "
        "WHERE dataset IN ('cub', 'omniglot') GROUP BY ALL ORDER BY ALL"
    )
    result = CliRunner().invoke(client, ["sql", query, "--format", "csv"])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1:] == ["cub,0,0,30", "omniglot,20,659,659"]
