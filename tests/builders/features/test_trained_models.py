"""``trained:FOLDER`` as a backbone: the maps of the network, of the pictures as in training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark_spec.errors import BackboneError, SourceError
from benchmark_spec.protocol import Protocol

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

from builders.features import precomputed  # noqa: E402
from builders.features.backbones import check_weights, load_backbone  # noqa: E402
from builders.features.extraction import Settings  # noqa: E402
from builders.sources.read import read_source  # noqa: E402
from builders.training.folder import ABOUT, WEIGHTS  # noqa: E402
from builders.training.images import (  # noqa: E402
    Inputs,
    TrainingImages,
    levels_in,
)
from builders.training.run import train  # noqa: E402
from builders.training.settings import (  # noqa: E402
    DataSettings,
    NetworkSettings,
    RunSettings,
    TrainingSettings,
    ValidationSettings,
)
from builders.training.trained import load_trained  # noqa: E402

TASK = Protocol(2, 1, 2)
ABOUT_PICTURES = {"title": "t", "homepage": "h", "licence": "l", "citation": "c"}
CASES = {
    "grey, three times the side": (DataSettings("none", 8), (24, 24), "L"),
    "grey as they are": (DataSettings("none", 24), (24, 24), "L"),
    "colours, the middle": (
        DataSettings("none", 16, channels=3, resize=24, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4)),
        (24, 24),
        "RGB",
    ),
    "squeezed, made grey": (DataSettings("none", 8, channels=1, fit="squeeze"), (25, 20), "RGB"),
    "cropped": (DataSettings("none", 9, channels=3, resize=12, fit="crop"), (29, 20), "RGB"),
}


def _settings(data: DataSettings) -> RunSettings:
    return RunSettings(
        "ProtoNet",
        data,
        network=NetworkSettings(channels=4, pools=(True, True, False, False)),
        training=TrainingSettings(str(TASK), steps=2),
        validation=ValidationSettings(str(TASK), tasks=2, every=2),
    )


def _images(folder: Path, size: tuple[int, int], mode: str) -> Any:
    """Three classes of four pictures of noise."""
    rng = np.random.default_rng(0)
    for name in "abc":
        (folder / name).mkdir(parents=True)
        for number in range(4):
            levels = rng.integers(0, 256, (*size[::-1], *([3] if mode == "RGB" else [])), np.uint8)
            Image.fromarray(levels).save(folder / name / f"{number}.png")
    return read_source("image_folder", folder, name="noise", options=ABOUT_PICTURES)


def _trained(images: Any, data: DataSettings, folder: Path) -> tuple[Path, Any]:
    """The folder of a training, and the levels that it was trained on."""
    if data.kept == 8 and data.channels is None:  # as glyphs: means of 3 x 3 pixels
        shown = [np.asarray(images.open(i).convert("L"), np.float32) for i in range(12)]
        means = np.stack(shown).reshape(12, 1, 8, 3, 8, 3).mean(axis=(3, 5))
        levels = np.floor(means + 0.5).astype(np.uint8)
    else:
        levels = levels_in(images, data)
    small = TrainingImages(levels, np.array([4, 4, 4]), "digest")
    train(_settings(data), small, small, folder)
    return folder, levels


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    images = _images(folder / "raw", (24, 24), "L")
    return _trained(images, DataSettings("none", 24), folder / "proto-0")[0]


@pytest.mark.parametrize(("data", "size", "mode"), CASES.values(), ids=CASES)
def test_features_are_the_maps_of_the_network(
    data: DataSettings, size: tuple[int, int], mode: str, tmp_path: Path
) -> None:
    images = _images(tmp_path / "raw", size, mode)
    folder, levels = _trained(images, data, tmp_path / "proto-0")
    settings = Settings(threads=1, workers=0)
    precomputed.write_precomputed(images, f"trained:{folder}", tmp_path / "f", settings)
    features = precomputed.read_precomputed(tmp_path / "f").features("noise")
    with torch.no_grad():
        maps = load_trained(folder).method.network(Inputs(data).plain(levels)).flatten(1).numpy()
    assert maps.std() > 0.01
    np.testing.assert_allclose(np.asarray(features, np.float32), maps, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("data", "size", "mode", "words"),
    [
        (DataSettings("none", 24), (24, 24), "RGB", "has colours"),
        (
            DataSettings("none", 24),
            (30, 24),
            "L",
            "0.png. cannot be shown: 30 x 24 pixels, not 24 x 24 or 72 x 72",
        ),
        (DataSettings("none", 24, channels=3), (72, 72), "RGB", "72 x 72 pixels, not 24 x 24"),
    ],
)
def test_pictures_that_no_setting_is_for(
    data: DataSettings, size: tuple[int, int], mode: str, words: str, tmp_path: Path
) -> None:
    fitting = _images(tmp_path / "fitting", (24, 24), "L")
    folder, _ = _trained(fitting, data, tmp_path / "proto-0")
    images = _images(tmp_path / "raw", size, mode)
    with pytest.raises(SourceError, match=words):
        precomputed.write_precomputed(
            images, f"trained:{folder}", tmp_path / "f", Settings(threads=1, workers=0)
        )


def test_it_says_which_weights_they_are(trained: Path) -> None:
    about = json.loads((trained / ABOUT).read_text())
    for name, weights in ((f"trained:{trained}", None), ("trained:proto-0", trained.parent)):
        described = load_backbone(name, weights).describe()
        assert described["backbone"] == "trained:proto-0"
        assert described["weights"]["sha256"] == about["weights_sha256"]
        assert described["weights"]["method"] == "ProtoNet-conv4-2w1s"


def test_what_is_refused(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match="no finished training"):
        check_weights(f"trained:{tmp_path}")
    with pytest.raises(BackboneError, match="its own preprocessing"):
        load_backbone(f"trained:{trained}+paper")
    for file in (ABOUT, WEIGHTS):
        (tmp_path / file).write_bytes((trained / file).read_bytes())
    state = torch.load(tmp_path / WEIGHTS, weights_only=True)
    state["network.blocks.0.weight"].view(-1)[0] += 1e-6
    torch.save(state, tmp_path / WEIGHTS)
    with pytest.raises(BackboneError, match="not those that its"):
        load_backbone(f"trained:{tmp_path}")
