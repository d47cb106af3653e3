"""``trained:FOLDER`` as a backbone: the maps of the network, of the pictures as in training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark_spec.errors import BackboneError
from benchmark_spec.protocol import Protocol

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

from builders.features import precomputed  # noqa: E402
from builders.features.backbones import check_weights, load_backbone  # noqa: E402
from builders.features.extraction import Settings  # noqa: E402
from builders.sources.read import read_source  # noqa: E402
from builders.training.folder import ABOUT, WEIGHTS  # noqa: E402
from builders.training.images import TrainingImages  # noqa: E402
from builders.training.run import train  # noqa: E402
from builders.training.settings import (  # noqa: E402
    DataSettings,
    NetworkSettings,
    RunSettings,
    TrainingSettings,
    ValidationSettings,
)
from builders.training.trained import load_trained  # noqa: E402

SIDE = 8
TASK = Protocol(2, 1, 2)
SETTINGS = RunSettings(
    "ProtoNet",
    DataSettings("none", SIDE),
    network=NetworkSettings(channels=4, pools=(True, True, False, False)),
    training=TrainingSettings(str(TASK), steps=2),
    validation=ValidationSettings(str(TASK), tasks=2, every=2),
)
ABOUT_PICTURES = {"title": "t", "homepage": "h", "licence": "l", "citation": "c"}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three classes of four grey pictures, each of three times the side."""
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for name in "abc":
        (folder / name).mkdir()
        for number in range(4):
            levels = rng.integers(0, 256, (3 * SIDE, 3 * SIDE), dtype=np.uint8)
            Image.fromarray(levels).save(folder / name / f"{number}.png")
    return read_source("image_folder", folder, name="noise", options=ABOUT_PICTURES)


@pytest.fixture(scope="module")
def trained(images: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "proto-0"
    small = TrainingImages.of(images, SIDE)
    train(SETTINGS, small, small, folder)
    return folder


def test_features_are_the_maps_of_the_network(images: Any, trained: Path, tmp_path: Path) -> None:
    settings = Settings(threads=1, workers=0)
    precomputed.write_precomputed(images, f"trained:{trained}", tmp_path / "f", settings)
    made = precomputed.read_precomputed(tmp_path / "f")
    features = np.asarray(made.features("noise"), np.float32)
    levels = np.stack(
        [
            np.asarray(images.open(i).convert("L"), np.float32).reshape(SIDE, 3, SIDE, 3)
            for i in range(len(images.images))
        ]
    ).mean(axis=(2, 4))
    grey = torch.from_numpy(np.round(levels).astype(np.float32) / 255)[:, None]
    with torch.no_grad():
        maps = load_trained(trained).method.network(grey).flatten(1).numpy()
    assert features.shape == maps.shape == (12, 4 * 2 * 2)
    assert maps.std() > 0.01
    np.testing.assert_allclose(features, maps, rtol=2e-3, atol=2e-3)  # of float16


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
    whole = (trained / WEIGHTS).read_bytes()
    (tmp_path / WEIGHTS).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BackboneError, match="cannot be read"):
        load_backbone(f"trained:{tmp_path}")
