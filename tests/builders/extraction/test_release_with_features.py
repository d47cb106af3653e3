"""A release whose features are a network's: canaries, projections, heads, and going on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tiny_features import ABOUT, TINY

from benchmark_spec.errors import SpecError
from builders.cli import main
from builders.features import Settings
from builders.release_build import build_release
from builders.release_spec import ReleaseSpec, read_spec
from builders.verify import verify
from fslbench_data.release import load_release

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
features = ["{backbone}", "{backbone}-pca8"]
heads = ["NCC"]
[dataset.options]
{options}
"""


def _spec(folder: Path, pictures: Path, backbone: str = TINY, name: str = "tiny") -> ReleaseSpec:
    options = "\n".join(f'{key} = "{value}"' for key, value in ABOUT.items())
    text = SPEC.format(folder=pictures.name, backbone=backbone, options=options)
    path = folder / "spec.toml"
    path.write_text(text.replace('name = "tiny"', f'name = "{name}"'))
    return read_spec(path)


@pytest.fixture(scope="module")
def settings(weights: Path) -> Settings:
    return Settings(weights=weights, block=16, batch=8, threads=1, workers=0)


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
    doctor = ["doctor", "--features"]
    np.save(tmp_path / "own.npy", release.features("canaries", TINY))
    own = [str(tmp_path / "own.npy"), "--backbone", TINY, "--release", str(folder)]
    result = CliRunner().invoke(main, [*doctor, *own])
    assert result.exit_code == 0, result.output

    class Stop(Exception):
        pass

    def stop(step: str) -> None:
        if "48 of 76" in step:
            raise Stop

    again = tmp_path / "again"
    with pytest.raises(Stop):
        build_release(spec, again, raw=pictures.parent, settings=settings, progress=stop)
    assert len(list(again.rglob("*.npy"))) == 3
    seen: list[str] = []
    other = build_release(spec, again, raw=pictures.parent, settings=settings, progress=seen.append)
    assert other == made
    assert not any(" 16 of 76" in step for step in seen)
    for path in folder.rglob("*"):
        if path.is_file():
            assert (again / path.relative_to(folder)).read_bytes() == path.read_bytes()


def test_without_features_there_are_no_canaries(pictures: Path, tmp_path: Path) -> None:
    spec = _spec(tmp_path, pictures)
    from dataclasses import replace

    bare = replace(spec, datasets=(replace(spec.datasets[0], features=(), heads=()),))
    build_release(bare, tmp_path / "release", raw=pictures.parent)
    assert load_release(tmp_path / "release").datasets == ("tiny",)


def test_what_cannot_be_in_a_release(
    pictures: Path, weights: Path, settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match="holds a data set 'canaries'"):
        build_release(
            _spec(tmp_path, pictures, name="canaries"), tmp_path / "a", raw=pictures.parent
        )
    with pytest.raises(SpecError, match="none can be skipped"):
        build_release(
            _spec(tmp_path, pictures), tmp_path / "b", settings=Settings(skip_corrupt=True)
        )
    path = f"timm:test_vit@{weights / 'tiny.safetensors'}"
    with pytest.raises(SpecError, match=f"a release calls it '{TINY}'"):
        build_release(
            _spec(tmp_path, pictures, path), tmp_path / "c", raw=pictures.parent, settings=settings
        )


def test_the_command(pictures: Path, weights: Path, tmp_path: Path) -> None:
    _spec(tmp_path, pictures)
    arguments = ["release", str(tmp_path / "spec.toml"), "-o", str(tmp_path / "release")]
    arguments += ["--raw", str(pictures.parent), "--weights", str(weights), "--batch", "16"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    tables = load_release(tmp_path / "release").manifest.tables
    batches = {t.provenance["batch"] for t in tables if t.kind == "features"}
    assert batches == {16}
