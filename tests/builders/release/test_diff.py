"""What differs between two releases, and which version number that raises."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from biased_release import write_biased
from click.testing import CliRunner
from msgspec import structs
from specs import HEAD, spec_in
from tiny_features import ABOUT, write_pictures

from builders.cli import main
from builders.release.build import build_release
from builders.release.diff import diff
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.release.writer import ReleaseWriter
from builders.sources.image_set import About
from fslbench_data.release.release import load_release

SpecOf = Callable[..., ReleaseSpec]


def test_task_sets_made_with_attributes(tmp_path: Path) -> None:
    for folder, tasks in (("a", 15), ("b", 20)):
        write_biased(tmp_path / folder, ["random_words", "biased_words"], biased_words=tasks)
    found = diff(load_release(tmp_path / "a"), load_release(tmp_path / "b"))
    (change,) = [each for each in found.changes if each.level == "major"]
    assert change.what.endswith("15 tasks became 20, of which the first 15 are equal")


def test_additions_removals_and_texts(built: Path, tmp_path: Path, spec_of: SpecOf) -> None:
    dtd = '[[dataset]]\nname = "dtd"\nsource = "catalogue"\nsuites = ["open"]\n'
    build_release(spec_of(tmp_path, "1.1.0", more=dtd), tmp_path / "more")
    old, new = load_release(built), load_release(tmp_path / "more")
    up, down = diff(old, new), diff(new, old)
    assert {c.level for c in up.changes} == {"minor"}
    assert [c.where for c in up.changes] == [
        "dtd",
        "classes/dtd.parquet",
        "tasks/open-3w2s2q/dtd.parquet",
        "tasks/open-5w1s1q/dtd.parquet",
    ]
    assert (up.needed, up.raised, up.too_large) == ("minor", "minor", ())
    assert (down.needed, down.raised, bool(down.too_large)) == ("major", None, True)
    other = structs.replace(spec_of(tmp_path, "1.0.1"), description="another text")
    build_release(other, tmp_path / "text")
    texts = diff(old, load_release(tmp_path / "text"))
    assert [(c.level, c.what) for c in texts.changes] == [("patch", "the description differs")]
    assert not texts.too_large
    for first, second, code in ((built, tmp_path / "more", 0), (tmp_path / "more", built, 1)):
        run = CliRunner().invoke(main, ["diff", str(first), str(second)])
        assert run.exit_code == code
        assert ("which is enough" in run.output) == (code == 0)


def _features(
    folder: Path, shard: int, patch: pytest.MonkeyPatch, *, change: float = 0, **provenance: object
) -> Path:
    patch.setattr("benchmark_spec.manifest.SHARD_IMAGES", shard)
    writer = ReleaseWriter(folder, "small", "1.0.0", "x")
    about = About("t", "h", "l", "c")
    writer.add_dataset("one", about, ["a", "b"], [12, 8])
    kind = np.int8 if "scale" in provenance else np.float16
    values = np.arange(60).reshape(20, 3).astype(kind)
    values[17, 0] += change
    writer.add_features("one", "net", [values], provenance)
    writer.finish()
    return folder


def test_features_in_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = load_release(_features(tmp_path / "old", 8, monkeypatch))
    last, first = (f"features/net/one-0000{i}-of-00003.parquet" for i in (2, 0))
    one = "features/net/one-00000-of-00001.parquet"
    for name, shard, change, found in (
        ("same", 8, 0, []),
        ("changed", 8, 1, [("minor", last, "other content: 4 rows became 4 rows")]),
        ("one", 99, 0, [("patch", one, "same content, 3 shards became 1")]),
        (
            "one-changed",
            99,
            1,
            [("minor", one, "other content: 20 rows became 20 rows, 3 shards became 1")],
        ),
    ):
        new = load_release(_features(tmp_path / name, shard, monkeypatch, change=change))
        assert [(c.level, c.where, c.what) for c in diff(old, new).changes] == found
    spec = HEAD + '[[dataset]]\nname = "dtd"\nsource = "catalogue"\n'
    build_release(spec_in(tmp_path, spec), tmp_path / "none")
    gone = [c for c in diff(old, load_release(tmp_path / "none")).changes if "features" in c.where]
    assert [(c.level, c.where, c.what) for c in gone] == [("major", first, "gone: 20 rows")]


def test_pictures_that_changed_are_named(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    from PIL import Image, ImageOps

    write_pictures(tmp_path / "raw/tiny", 3)
    tiny = DatasetSpec("tiny", source="image_folder", folder="tiny", options=ABOUT)
    spec = ReleaseSpec("small", "1.0.0", "x", (tiny,))
    build_release(spec, tmp_path / "old", raw=tmp_path / "raw")
    changed = sorted((tmp_path / "raw/tiny").rglob("*.png"))[1]
    path = changed.relative_to(tmp_path / "raw/tiny")
    with Image.open(changed) as picture:
        mirrored = ImageOps.mirror(picture.convert("RGB"))
    mirrored.save(changed)
    build_release(spec, tmp_path / "new", raw=tmp_path / "raw")
    old, new = (load_release(tmp_path / name) for name in ("old", "new"))
    (change,) = (c for c in diff(old, new).changes if c.where == "images/tiny.parquet")
    assert change.level == "major"
    assert change.what == f"other content: 12 rows became 12 rows; changed or gone: {path}"


def test_what_was_made_otherwise_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who builds again with other batches has the same data, and reads what differs."""
    hows = ({"batch": 32, "packages": {"torch": "1", "x": "1"}}, {"batch": 8, "threads": 2})
    old, new = (
        load_release(_features(tmp_path / str(i), 99, monkeypatch, **how))
        for i, how in enumerate(hows)
    )
    assert old.manifest.digest == new.manifest.digest
    (change,) = diff(old, new).changes
    assert (change.level, change.what) == (
        "patch",
        "same content and digest, but recorded as made with batch 32 (now 8), packages.torch '1' "
        "(now none), packages.x '1' (now none), threads none (now 2)",
    )


@pytest.mark.parametrize("shard", [8, 99])
def test_another_scale_is_another_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard: int
) -> None:
    old = load_release(_features(tmp_path / "old", 8, monkeypatch, scale=0.5))
    new = load_release(_features(tmp_path / "new", shard, monkeypatch, scale=0.25))
    found = diff(old, new)
    assert found.needed == "minor"
    assert all(c.what.startswith("other content") for c in found.changes)
