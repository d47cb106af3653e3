"""Specifications of the data sets of few-shot papers: what they name is there, and one is built."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from few_shot_folders import all_classes, shrink, write_few_shot
from tiny_features import TINY, write_checkpoint

from builders.cli import main
from builders.features import Settings
from builders.release import preflight
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import find_spec, read_spec
from builders.sources import FEW_SHOT
from fslbench_data.release.release import load_release

pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
CLIP, DINO = "open_clip:ViT-B-16/openai", "timm:vit_base_patch14_dinov2.lvd142m"


def _recipe(name: str) -> ReleaseSpec:
    return read_spec(find_spec(Path(name)))


@pytest.mark.parametrize("name", FEW_SHOT)
def test_a_recipe_passes_preflight(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, 20)
    weights: list[str] = []
    monkeypatch.setattr(preflight, "check_weights", lambda of, folder: weights.append(of))
    spec = _recipe(name)
    (dataset,) = spec.datasets
    assert (spec.name, dataset.name, dataset.source, dataset.folder) == (name,) * 4
    preflight.check_spec(spec, Settings())
    (missing,) = preflight.refusals(spec, tmp_path, Settings())
    assert f"is not the raw folder of {name}" in str(missing)
    write_few_shot(name, tmp_path / name, {"novel": all_classes(name, 20)["novel"]})
    weights.clear()
    assert list(preflight.refusals(spec, tmp_path, Settings())) == []
    assert weights == [CLIP, DINO]


def test_a_folder_of_the_same_name_is_not_taken_for_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "miniimagenet").mkdir()
    monkeypatch.chdir(tmp_path)
    assert _recipe("miniimagenet").name == "miniimagenet"


def test_the_networks_are_known_to_their_packages() -> None:
    clip = pytest.importorskip("open_clip")
    assert "openai" in clip.list_pretrained_tags_by_model("ViT-B-16")
    timm = pytest.importorskip("timm")
    assert timm.list_pretrained(DINO.removeprefix("timm:"))
    assert {of for name in FEW_SHOT for d in _recipe(name).datasets for of in d.features} == {
        CLIP,
        DINO,
    }


@pytest.mark.slow
def test_a_release_of_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tiny pictures of miniImageNet's 20 classes, with a tiny network in place of both."""
    pil = pytest.importorskip("PIL.Image")
    name, of_each, raw = "miniimagenet", 24, tmp_path / "raw"
    novel = shrink(monkeypatch, of_each)[name].parts["novel"]
    chance = np.random.default_rng(0)
    for label in novel:
        colour, place = chance.integers(40, 216, 3), raw / name / "test" / label
        place.mkdir(parents=True)
        for n in range(of_each):
            pixels = colour + chance.integers(-40, 40, (4, 4, 3))
            pil.fromarray(pixels.astype(np.uint8)).save(place / f"{label}{n:08d}.png")
    text = find_spec(Path(name)).read_text(encoding="utf-8")
    text = text.replace(f'"{CLIP}", "{DINO}"', f'"{TINY}"').replace('["NCC", "LR"]', '["NCC"]')
    text = text.replace("closed = 600", "closed = 20").replace('"closed", "pooled"', '"closed"')
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    spec, release = str(tmp_path / "small.toml"), str(tmp_path / "release")
    weights = write_checkpoint(tmp_path)
    for command in (
        ["release", spec, "--raw", str(raw), "--weights", str(weights), "-o", release],
        ["verify", release, "--raw", str(raw), "--spec", spec],
    ):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
    made = load_release(release)
    (dataset,) = made.manifest.datasets
    assert (dataset.name, len(made.classes(name))) == (name, 20)
    sets = {str(info.name) for info in made.task_sets}
    assert {"closed-5w1s15q", "closed-5w5s15q"} < sets
    assert sum(text.startswith("open-5w") for text in sets) == 2
    assert made.features(name, TINY).shape == (480, 64)
