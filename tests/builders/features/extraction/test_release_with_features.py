"""A release whose features are a network's: canaries, projections, heads, and going on."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from stopping import Stop, content, stopping
from tiny_features import ABOUT, TINY, read_pictures, write_pictures

from benchmark_spec.errors import FSLBenchError, SourceError, SpecError
from builders.cli import main
from builders.features import Settings
from builders.features.precomputed import write_precomputed
from builders.release.build import build_release
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import read_spec
from builders.release.verify import verify
from fslbench_data.release.release import load_release
from fslbench_data.submission.model import Submission

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


def _spec(
    folder: Path, pictures: Path, backbone: str = TINY, name: str = "tiny", methods: str = METHODS
) -> ReleaseSpec:
    options = "\n".join(f'{key} = "{value}"' for key, value in ABOUT.items())
    methods = methods.format(backbone)
    text = SPEC.format(folder=pictures.name, methods=methods, options=options)
    path = folder / "spec.toml"
    path.write_text(text.replace('name = "tiny"', f'name = "{name}"'))
    return read_spec(path)


@pytest.mark.slow
def test_it_has_the_features_and_those_of_the_canaries(
    pictures: Path, settings: Settings, tmp_path: Path, plain: np.ndarray[Any, Any]
) -> None:
    steps: list[str] = []
    spec = _spec(tmp_path, pictures)
    folder = tmp_path / "release"
    made = build_release(
        spec, folder, raw=pictures.parent, settings=settings, progress=steps.append
    )
    assert not verify(folder).problems
    assert not (folder / ".extracting").exists()
    release = load_release(folder)
    assert release.datasets == ("tiny", "canaries")
    np.testing.assert_array_equal(release.features("tiny", TINY), plain)
    assert release.features("tiny", f"{TINY}-pca8").shape == (76, 8)
    assert release.features("canaries", TINY).shape == (32, 64)
    assert set(release.methods) == {f"{TINY}/NCC", f"{TINY}-pca8/NCC"}
    assert any("32 of 76 images, " in step and "images/s" in step for step in steps)

    again, stop = tmp_path / "again", stopping(lambda step: "48 of 76" in step)
    with pytest.raises(Stop):
        build_release(spec, again, raw=pictures.parent, settings=settings, progress=stop)
    assert len(list(again.rglob("*.npy"))) == 3
    seen: list[str] = []
    other = build_release(spec, again, raw=pictures.parent, settings=settings, progress=seen.append)
    assert other == made
    assert not any(" 16 of 76" in step for step in seen)
    assert content(again) == content(folder)


def test_what_cannot_be_in_a_release(
    pictures: Path, weights: Path, settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match="none can be skipped"):
        build_release(
            _spec(tmp_path, pictures), tmp_path / "b", settings=Settings(skip_corrupt=True)
        )
    path = f"timm:test_vit@{weights / 'tiny.safetensors'}"
    with pytest.raises(SpecError, match=f"a release calls it '{TINY}'"):
        build_release(
            _spec(tmp_path, pictures, path), tmp_path / "c", raw=pictures.parent, settings=settings
        )


@pytest.mark.slow
def test_the_command(pictures: Path, weights: Path, tmp_path: Path) -> None:
    _spec(tmp_path, pictures)
    arguments = ["release", str(tmp_path / "spec.toml"), "-o", str(tmp_path / "release")]
    arguments += ["--raw", str(pictures.parent), "--weights", str(weights), "--batch", "16"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    tables = load_release(tmp_path / "release").manifest.tables
    batches = {t.provenance["batch"] for t in tables if t.kind == "features"}
    assert batches == {16}


LEAN = """
features = ["{0}-pca8"]
backbones = ["{0}"]
heads = ["NCC"]
fine_tuning = {{ backbones = ["{0}"], task_sets = ["open-3w2s2q"], max_tasks = 2 }}
"""


def _results(folder: Path) -> dict[str, Submission]:
    """Reference results by method."""
    return {next(iter(found.methods)): found for found in load_release(folder).references()}


@pytest.mark.slow
def test_results_on_features_that_it_does_not_hold(
    pictures: Path, settings: Settings, tmp_path: Path
) -> None:
    whole, lean = _spec(tmp_path, pictures), _spec(tmp_path, pictures, methods=LEAN)
    build_release(whole, tmp_path / "whole", raw=pictures.parent, settings=settings)
    build_release(lean, tmp_path / "lean", raw=pictures.parent, settings=settings)
    assert not verify(tmp_path / "lean").problems
    full, small = _results(tmp_path / "whole"), _results(tmp_path / "lean")
    release = load_release(tmp_path / "lean")
    assert release.datasets_with("features", TINY) == ("canaries",)
    assert set(small) == {f"{TINY}/NCC", f"{TINY}-pca8/NCC", f"{TINY}/FT"}
    for method, found in full.items():
        assert small[method].table.equals(found.table)
    tuned = small[f"{TINY}/FT"]
    assert [binding.tasks for binding in tuned.bindings.values()] == [2]
    provenance = {t.name: t.provenance for t in release.manifest.tables if t.kind == "results"}
    assert provenance[f"{TINY}/NCC"]["extraction"]["batch"] == 8
    assert provenance[f"{TINY}-pca8/NCC"] == {"head": "NCC", "features": f"{TINY}-pca8"}
    assert provenance[f"{TINY}/FT"]["network"]["weights"]["sha256"]

    seen: list[str] = []

    def stop_at_the_first_new_step(step: str) -> None:
        if step not in seen and "images/s" not in step:
            seen.append(step)
            raise Stop

    for _ in range(40):
        with suppress(Stop):
            build_release(
                lean,
                tmp_path / "again",
                raw=pictures.parent,
                settings=settings,
                progress=stop_at_the_first_new_step,
            )
            break
    assert any(step == f"{TINY}/FT on tiny" for step in seen)
    assert content(tmp_path / "again") == content(tmp_path / "lean")


@pytest.mark.slow
def test_features_that_were_extracted_before(
    pictures: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _spec(tmp_path, pictures, methods=LEAN.replace("fine_tuning", "# "))
    given = write_precomputed(read_pictures(pictures), TINY, tmp_path / "given", settings)

    def nothing_is_extracted(*_: object) -> None:
        raise AssertionError

    with monkeypatch.context() as context:
        context.setattr("builders.release.features.features_of", nothing_is_extracted)
        context.setattr("builders.release.features.write_precomputed", nothing_is_extracted)
        arguments = ["release", str(tmp_path / "spec.toml"), "--raw", str(pictures.parent)]
        arguments += ["-o", str(tmp_path / "release"), "--features", str(given.folder)]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
    release = load_release(tmp_path / "release")
    assert np.array_equal(release.features("canaries", TINY), given.features("canaries"))
    assert release.features("tiny", f"{TINY}-pca8").shape == (76, 8)
    whole = _spec(tmp_path, pictures)
    build_release(whole, tmp_path / "whole", raw=pictures.parent, features=[given])
    held = load_release(tmp_path / "whole")
    assert np.array_equal(held.features("tiny", TINY), given.features("tiny"))
    mine, theirs = _results(tmp_path / "whole"), _results(tmp_path / "release")
    assert mine[f"{TINY}/NCC"].table.equals(theirs[f"{TINY}/NCC"].table)


@pytest.mark.slow
def test_given_features_of_other_images_or_not_of_all(
    pictures: Path, settings: Settings, tmp_path: Path
) -> None:
    import json

    spec = _spec(tmp_path, pictures)
    others = read_pictures(write_pictures(tmp_path / "others", 20))
    given = write_precomputed(others, TINY, tmp_path / "given", settings)
    with pytest.raises(SourceError, match="of other images than tiny"):
        build_release(spec, tmp_path / "a", raw=pictures.parent, features=[given])
    assert (tmp_path / "a/images/tiny.parquet").exists()
    assert not (tmp_path / "a/tasks").exists()  # told before anything is drawn
    right = write_precomputed(read_pictures(pictures), TINY, tmp_path / "right", settings)
    listed = tmp_path / "right/features.json"
    content = json.loads(listed.read_text())
    content["tables"][0]["provenance"]["left_out"] = {"3": "it is damaged"}
    listed.write_text(json.dumps(content))
    from builders.features.precomputed import read_precomputed

    with pytest.raises(SpecError, match="of whole images, and 1 were left out"):
        build_release(
            spec, tmp_path / "b", raw=pictures.parent, features=[read_precomputed(right.folder)]
        )


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ('backbones = ["{0}"]', "backbones are for reference methods"),
        ('backbones = ["{0}-pca8"]\nheads = ["NCC"]', "is a projection"),
        ('backbones = ["tiny"]\nheads = ["NCC"]', "unknown backbone 'tiny'"),
        ('fine_tuning = {{ backbones = ["{0}"], task_sets = ["open"] }}', "unknown task set"),
    ],
)
def test_methods_that_cannot_be_run(
    pictures: Path, tmp_path: Path, methods: str, message: str
) -> None:
    with pytest.raises(FSLBenchError, match=message):
        build_release(_spec(tmp_path, pictures, methods=methods), tmp_path / "r")
