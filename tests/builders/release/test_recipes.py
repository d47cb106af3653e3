"""Specifications of the data sets of few-shot papers: what they name is there."""

from pathlib import Path

import pytest
from few_shot_folders import all_classes, shrink, write_few_shot

from benchmark_spec.errors import FSLBenchError
from builders.features import Settings
from builders.release import preflight
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import find_spec, read_spec
from builders.sources import FEW_SHOT

pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
CLIP, DINO = "open_clip:ViT-B-16/openai", "timm:vit_base_patch14_dinov2.lvd142m"


def _recipe(name: str) -> ReleaseSpec:
    return read_spec(find_spec(Path(name)))


@pytest.mark.parametrize("name", FEW_SHOT)
def test_a_recipe_passes_preflight(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, 30)
    weights: list[str] = []
    monkeypatch.setattr(preflight, "check_weights", lambda of, folder: weights.append(of))
    spec = _recipe(name)
    (dataset,) = spec.datasets
    assert (spec.name, dataset.name, dataset.source, dataset.folder) == (name,) * 4
    preflight.check_spec(spec, Settings())
    with pytest.raises(FSLBenchError, match=f"is not the raw folder of {name}"):
        preflight.check_there(spec, tmp_path, Settings())
    write_few_shot(name, tmp_path / name, {"novel": all_classes(name, 30)["novel"]})
    weights.clear()
    preflight.check_there(spec, tmp_path, Settings())
    assert weights == [CLIP, DINO]


@pytest.mark.parametrize("name", ["eurosat", "miniimagenet"])
def test_a_folder_that_is_not_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What --allow-missing leaves out is not asked for before anything is read."""
    shrink(monkeypatch, 30)
    monkeypatch.setattr(preflight, "check_weights", lambda of, folder: None)
    classes = dict(all_classes(name, 30)["novel"])
    write_few_shot(name, tmp_path / name, {"novel": classes | {min(classes): 29}})
    with pytest.raises(FSLBenchError, match="--allow-missing leaves out and records what is miss"):
        preflight.check_there(_recipe(name), tmp_path, Settings())
    preflight.check_there(_recipe(name), tmp_path, Settings(), allow_missing=True)


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
