"""Features of a network in a folder of their own, and in releases: made, gone on with, refused."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from stopping import Stop, content, stopping
from tiny_features import ABOUT, TINY, read_pictures, write_pictures

from benchmark_spec import errors
from benchmark_spec.schemas import check_features
from builders.cli import main
from builders.execution import parquet
from builders.features import Settings
from builders.features.precomputed import FILE, read_precomputed, write_precomputed
from builders.release.build import build_release
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import read_spec
from builders.release.verify import verify
from fslbench_data.release.release import load_release

SPEC = """
name = "small"
version = "1.0.0"
description = "d"
protocols = ["3w2s2q"]
[[dataset]]
name = "tiny"
source = "image_folder"
folder = "{folder}"
suites = ["open"]
{methods}
[dataset.options]
{options}
"""
METHODS = """
features = ["{0}", "{0}-pca8"]
heads = ["NCC"]
"""
LEAN = """
features = ["{0}-pca8"]
backbones = ["{0}"]
heads = ["NCC"]
fine_tuning = {{ backbones = ["{0}"], task_sets = ["open-3w2s2q"], max_tasks = 2 }}
"""

Array = np.ndarray[Any, Any]
Spec = Callable[..., ReleaseSpec]


@pytest.fixture
def spec(pictures, tmp_path):
    """Writes spec.toml and reads it."""

    def write(methods=METHODS, backbone=TINY):
        options = "\n".join(f'{key} = "{value}"' for key, value in ABOUT.items())
        methods, path = methods.format(backbone), tmp_path / "spec.toml"
        path.write_text(SPEC.format(folder=pictures.name, methods=methods, options=options))
        return read_spec(path)

    return write


@pytest.fixture
def build(pictures, settings):
    return partial(build_release, raw=pictures.parent, settings=settings)


def _called(exit_code, *words):
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exit_code == exit_code, result.output
    return result


@pytest.fixture(scope="module")
def written(tiny, settings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loose") / "features"
    write_precomputed(tiny, TINY, folder, settings)
    return folder


def test_it_is_never_edited_in_place(written, tiny, settings, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    for images, folder, how in (
        (replace(tiny, name="other"), written, settings),
        (replace(tiny, images=tiny.images.slice(0, 75)), written, settings),
        (tiny, written, replace(settings, dtype="bfloat16")),
        (tiny, tmp_path, settings),
    ):
        with pytest.raises(errors.OutputError, match="is not an empty folder"):
            write_precomputed(images, TINY, folder, how)


@pytest.mark.slow
def test_interrupted_while_shards_are_written(written, tiny, settings, tmp_path, monkeypatch):
    calls = []
    real = parquet.write_table

    def killed(table, path):
        calls.append(path.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(table, path)

    monkeypatch.setattr(parquet, "write_table", killed)
    with pytest.raises(KeyboardInterrupt):
        write_precomputed(tiny, TINY, tmp_path, settings)
    (tmp_path / "features/.tiny.parquet.abcd1234.writing").write_bytes(b"half")
    told = []
    write_precomputed(
        tiny, TINY, tmp_path, settings, lambda n, /, resumed=False: told.append((n, resumed))
    )
    assert told == [(76, True)]
    assert content(tmp_path) == content(written)


def test_it_holds_shards_and_stays_as_it_is(written, tiny, settings, tmp_path, plain):
    of = "features/timm-test_vit-tiny.safetensors"
    shards = [f"{of}/{name}-00000-of-00001.parquet" for name in ("canaries", "tiny")]
    assert sorted(content(written)) == [FILE, *shards]
    found = read_precomputed(written)
    assert (found.backbone, found.datasets) == (TINY, ("tiny", "canaries"))
    np.testing.assert_array_equal(found.features("tiny"), plain)
    assert found.features("canaries").shape == (32, 64)
    assert found.provenance("canaries")["batch"] == 8
    table = pq.read_table(written / shards[1])
    check_features(table, "")
    assert table.column("image_id").to_pylist() == list(range(76))

    folder = Path(shutil.copytree(written, tmp_path / "x"))
    (folder / ".extracting/half/removed").mkdir(parents=True)
    (folder / "features/.tiny.parquet.abcd1234.writing").write_bytes(b"half")
    assert write_precomputed(tiny, TINY, folder, settings) == read_precomputed(folder)
    assert content(folder) == content(written)
    assert not (folder / ".extracting").exists()
    next(folder.rglob("*.parquet")).write_bytes(b"PAR1")
    with pytest.raises(errors.CorruptReleaseError, match="is not the file that was written"):
        write_precomputed(tiny, TINY, folder, settings)


def test_damage_is_noticed(written, tmp_path):
    with pytest.raises(errors.ReleaseError, match="holds no features that can be read"):
        read_precomputed(tmp_path)
    listed = json.loads((written / FILE).read_text())
    first, *others = listed["tables"]
    for change in (
        {"path": "../../secret.parquet"},
        {"path": first["path"].replace("00000-of-00001", "00001-of-00002")},
        {"name": "other"},
    ):
        (tmp_path / FILE).write_text(json.dumps({**listed, "tables": [first | change, *others]}))
        with pytest.raises(errors.ReleaseError, match="holds no features that can be read"):
            read_precomputed(tmp_path)


@pytest.mark.slow
def test_the_command(spec, pictures, weights, tmp_path, plain):
    spec("")
    common = ["features", "tiny", "--backbone", TINY, "--weights", weights, "--workers", 1]
    common += ["--spec", tmp_path / "spec.toml", "--raw", pictures.parent, "-o"]
    out = tmp_path / "out"
    said = _called(0, *common, out, "--batch", "8", "--threads", "1")
    assert "64 dimensions, float32 on" in said.stderr
    assert "batches of 8" in said.stderr
    tiny, canaries = said.stdout.splitlines()
    assert tiny.startswith("tiny 76 images ")
    assert canaries.startswith("canaries 32 images ")
    np.testing.assert_allclose(read_precomputed(out).features("tiny"), plain, rtol=0.01, atol=0.002)
    (pictures / "class_1/0003.jpg").rename(tmp_path / "kept")
    (pictures / "class_1/0003.jpg").write_bytes(b"damaged")
    try:
        refused = _called(2, *common, tmp_path / "b")
        skipped = _called(0, *common, tmp_path / "c", "--skip-corrupt")
    finally:
        (tmp_path / "kept").replace(pictures / "class_1/0003.jpg")
    assert "class_1/0003.jpg is damaged: no image" in refused.stderr
    assert "zeros for image 22: no image of a known format" in skipped.stderr
    assert list(read_precomputed(tmp_path / "c").provenance("tiny")["left_out"]) == ["22"]


def test_pixels_need_no_network(tmp_path):
    for told in ("wrote", "is finished"):
        said = _called(0, "features", "digits", "--backbone", "pixels", "-o", tmp_path / "x")
        assert said.stdout.startswith("digits 1,797 images ")
        assert told in said.stderr
        assert {path.name for path in (tmp_path / "x").iterdir()} == {FILE, "features"}
    assert read_precomputed(tmp_path / "x").datasets == ("digits",)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("digits --backbone resnet", "unknown backbone 'resnet'"),
        ("nothing --backbone pixels", "unknown source 'nothing'"),
        ("digits --backbone pixels --address x:1", "--address goes with --engine ray"),
    ],
)
def test_what_the_command_refuses(words, problem, tmp_path):
    assert problem in _called(2, "features", *words.split(), "-o", tmp_path / "x").output


@pytest.mark.slow
def test_it_has_them_and_those_of_the_canaries(spec, build, tmp_path, plain):
    steps = []
    folder, again = tmp_path / "release", tmp_path / "again"
    made = build(spec(), folder, progress=steps.append)
    assert not verify(folder).problems
    assert not (folder / ".extracting").exists()
    release = load_release(folder)
    assert release.datasets == ("tiny", "canaries")
    np.testing.assert_array_equal(release.features("tiny", TINY), plain)
    assert release.features("tiny", f"{TINY}-pca8").shape == (76, 8)
    assert release.features("canaries", TINY).shape == (32, 64)
    assert set(release.methods) == {f"{TINY}/NCC", f"{TINY}-pca8/NCC"}
    assert any("32 of 76 images, " in step and "images/s" in step for step in steps)

    with pytest.raises(Stop):
        build(spec(), again, progress=stopping(lambda step: "48 of 76" in step))
    assert len(list(again.rglob("*.npy"))) == 3
    seen = []
    assert build(spec(), again, progress=seen.append) == made
    assert not any(" 16 of 76" in step for step in seen)
    assert content(again) == content(folder)


def test_what_cannot_be_in_a_release(spec, build, weights, tmp_path):
    with pytest.raises(errors.SpecError, match="none can be skipped"):
        build(spec(), tmp_path / "b", settings=Settings(skip_corrupt=True))
    named = spec(backbone=f"timm:test_vit@{weights / 'tiny.safetensors'}")
    with pytest.raises(errors.SpecError, match=f"a release calls it '{TINY}'"):
        build(named, tmp_path / "c")


@pytest.mark.slow
def test_the_command_of_releases(spec, pictures, weights, tmp_path):
    spec()
    words = ["release", tmp_path / "spec.toml", "-o", tmp_path / "release", "--batch", 16]
    _called(0, *words, "--raw", pictures.parent, "--weights", weights)
    tables = load_release(tmp_path / "release").manifest.tables
    assert {t.provenance["batch"] for t in tables if t.kind == "features"} == {16}


def _results(folder):
    """Reference results by method."""
    return {next(iter(found.methods)): found for found in load_release(folder).references()}


@pytest.mark.slow
def test_results_on_features_that_it_does_not_hold(spec, build, tmp_path):
    build(spec(), tmp_path / "whole")
    lean = spec(LEAN)
    build(lean, tmp_path / "lean")
    assert not verify(tmp_path / "lean").problems
    small, release = _results(tmp_path / "lean"), load_release(tmp_path / "lean")
    assert release.datasets_with("features", TINY) == ("canaries",)
    assert set(small) == {f"{TINY}/NCC", f"{TINY}-pca8/NCC", f"{TINY}/FT"}
    for method, found in _results(tmp_path / "whole").items():
        assert small[method].table.equals(found.table)
    assert [binding.tasks for binding in small[f"{TINY}/FT"].bindings.values()] == [2]
    provenance = {t.name: t.provenance for t in release.manifest.tables if t.kind == "results"}
    assert provenance[f"{TINY}/NCC"]["extraction"]["batch"] == 8
    assert provenance[f"{TINY}-pca8/NCC"] == {"head": "NCC", "features": f"{TINY}-pca8"}
    assert provenance[f"{TINY}/FT"]["network"]["weights"]["sha256"]

    seen = []

    def stop_at_the_first_new_step(step):
        if step not in seen and "images/s" not in step:
            seen.append(step)
            raise Stop

    for _ in range(40):
        with suppress(Stop):
            build(lean, tmp_path / "again", progress=stop_at_the_first_new_step)
            break
    assert f"{TINY}/FT on tiny" in seen
    assert content(tmp_path / "again") == content(tmp_path / "lean")


@pytest.mark.slow
def test_features_that_were_extracted_before(written, spec, build, tmp_path, pictures):
    def nothing_is_extracted(*_):
        raise AssertionError

    spec(LEAN.replace("fine_tuning", "# "))
    given, release = read_precomputed(written), tmp_path / "release"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("features_of", "write_precomputed"):
            patch.setattr(f"builders.release.features.{name}", nothing_is_extracted)
        words = ["release", tmp_path / "spec.toml", "--raw", pictures.parent]
        _called(0, *words, "-o", release, "--features", written)
    build(spec(), tmp_path / "whole", settings=None, features=[given])
    lean, whole = load_release(release), load_release(tmp_path / "whole")
    assert np.array_equal(lean.features("canaries", TINY), given.features("canaries"))
    assert lean.features("tiny", f"{TINY}-pca8").shape == (76, 8)
    assert np.array_equal(whole.features("tiny", TINY), given.features("tiny"))
    mine, theirs = (_results(at)[f"{TINY}/NCC"] for at in (tmp_path / "whole", release))
    assert mine.table.equals(theirs.table)


@pytest.mark.slow
def test_features_of_other_images_or_not_of_all(written, spec, build, settings, tmp_path):
    others = read_pictures(write_pictures(tmp_path / "others", 20))
    given = write_precomputed(others, TINY, tmp_path / "given", settings)
    with pytest.raises(errors.SourceError, match="of other images than tiny"):
        build(spec(), tmp_path / "a", features=[given])
    assert (tmp_path / "a/images/tiny.parquet").exists()
    assert not (tmp_path / "a/tasks").exists()  # told before anything is drawn
    partial = Path(shutil.copytree(written, tmp_path / "partial"))
    listed = json.loads((partial / FILE).read_text())
    listed["tables"][0]["provenance"]["left_out"] = {"3": "it is damaged"}
    (partial / FILE).write_text(json.dumps(listed))
    with pytest.raises(errors.SpecError, match="of whole images, and 1 were left out"):
        build(spec(), tmp_path / "b", features=[read_precomputed(partial)])


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ('backbones = ["{0}"]', "backbones are for reference methods"),
        ('backbones = ["{0}-pca8"]\nheads = ["NCC"]', "is a projection"),
        ('backbones = ["tiny"]\nheads = ["NCC"]', "unknown backbone 'tiny'"),
        ('fine_tuning = {{ backbones = ["{0}"], task_sets = ["open"] }}', "unknown task set"),
    ],
)
def test_methods_that_cannot_be_run(methods, message, spec, tmp_path):
    with pytest.raises(errors.FSLBenchError, match=message):
        build_release(spec(methods), tmp_path / "r")
