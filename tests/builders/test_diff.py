"""What differs between two releases, and which version number that raises."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from builders.cli import main
from builders.diff import diff
from builders.release_build import build_release
from builders.release_spec import ReleaseSpec, read_spec
from fslbench_data.release import load_release

SpecOf = Callable[..., ReleaseSpec]


def test_two_builds_of_one_specification_say_the_same(
    built: Path, tmp_path: Path, spec_of: SpecOf
) -> None:
    build_release(spec_of(tmp_path), tmp_path / "again")
    found = diff(load_release(built), load_release(tmp_path / "again"))
    assert (found.changes, found.needed, found.enough) == ((), None, True)
    run = CliRunner().invoke(main, ["diff", str(built), str(tmp_path / "again")])
    assert run.exit_code == 0
    assert "say the same" in run.output


@pytest.mark.parametrize(
    ("version", "enough"), [("1.0.0", False), ("1.0.1", False), ("1.1.0", False), ("2.0.0", True)]
)
def test_other_tasks_are_a_major_change(
    built: Path, tmp_path: Path, spec_of: SpecOf, version: str, enough: bool
) -> None:
    build_release(spec_of(tmp_path, version=version, closed=50), tmp_path / "b")
    run = CliRunner().invoke(main, ["diff", str(built), str(tmp_path / "b")])
    assert run.exit_code == (0 if enough else 1)
    assert run.output.count("major") >= 2
    assert (
        "major  tasks/closed-5w1s1q/vgg_flower.parquet: other content: "
        "40 tasks became 50, of which the first 40 are equal" in run.output
    )
    assert ("which is enough" in run.output) == enough


def test_additions_removals_and_texts(built: Path, tmp_path: Path, spec_text: str) -> None:
    text = spec_text.format(version="1.1.0", seed=0, closed=40)
    path = tmp_path / "more.toml"
    path.write_text(text + '[[dataset]]\nname = "dtd"\nsource = "catalogue"\nsuites = ["open"]\n')
    build_release(read_spec(path), tmp_path / "more")
    old, new = load_release(built), load_release(tmp_path / "more")
    up, down = diff(old, new), diff(new, old)
    assert {c.level for c in up.changes} == {"minor"}
    assert [c.where for c in up.changes] == [
        "dtd",
        "classes/dtd.parquet",
        "tasks/open-3w2s2q/dtd.parquet",
        "tasks/open-5w1s1q/dtd.parquet",
    ]
    assert (up.needed, up.raised, up.enough) == ("minor", "minor", True)
    assert (down.needed, down.raised, down.enough) == ("major", None, False)
    path.write_text(text.replace('"d"', '"another text"').replace("1.1.0", "1.0.1"))
    build_release(read_spec(path), tmp_path / "text")
    texts = diff(old, load_release(tmp_path / "text"))
    assert [(c.level, c.what) for c in texts.changes] == [("patch", "the description differs")]
    assert texts.enough
