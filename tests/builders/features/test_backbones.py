"""Backbones of a few numbers, and names."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.errors import BackboneError, MissingPackageError, SourceError, UnknownNameError
from builders.features.backbone import Backbone, Preprocessing
from builders.features.backbones import BACKBONES, load_backbone
from builders.training import state_sha256

HOW = Preprocessing((8, 8), (8, 8), "bilinear", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def test_the_digest_of_weights_is_of_names_shapes_and_numbers(torch: Any) -> None:
    state = {"b": torch.tensor([[1.0, -2.0]]), "a": torch.tensor(3)}
    text = b"a int64 \n" + (3).to_bytes(8, "little") + b"b float32 1x2\n\0\0\x80?\0\0\0\xc0"
    assert state_sha256(state) == hashlib.sha256(text).hexdigest()
    turned = {"a": state["a"], "b": torch.tensor([[1.0], [-2.0]]).T}  # the same, not contiguous
    assert state_sha256(turned) == state_sha256(state)
    assert state_sha256({**state, "b": state["b"].T}) != state_sha256(state)
    assert state_sha256({"b": state["b"].bfloat16()}) != state_sha256({"b": state["b"]})


def test_a_module_without_a_file_has_a_digest_and_features_without_gradients(torch: Any) -> None:
    nn = torch.nn
    module = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 4))
    backbone = Backbone.of("mean", module, HOW)
    assert backbone.weights_sha256 == state_sha256(module.state_dict())
    features = backbone.features(torch.rand(5, 3, 8, 8))
    assert not features.requires_grad
    assert not features.is_inference()  # they can be trained on


def test_what_gives_no_vector_is_refused(torch: Any) -> None:
    with pytest.raises(BackboneError, match=r"gives no features: \(1, 2, 8, 8\)"):
        Backbone.of("map", torch.nn.Conv2d(3, 2, 1), HOW)
    with pytest.raises(BackboneError, match=r"takes no pictures of \(8, 8\)"):
        Backbone.of("grey", torch.nn.Conv2d(1, 2, 1), HOW)


def test_unknown_ones_are_told_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'efficientnet_lite0'") as caught:
        load_backbone("efficientnet_lit0")
    for name in (*BACKBONES, "open_clip:ARCH/TAG_OR_FILE", "timm:MODEL[@FILE]"):
        assert name in caught.value.expected
    for name in ("pixels", "clip:ViT-B-16", "timm", ""):
        with pytest.raises(UnknownNameError, match="unknown backbone"):
            load_backbone(name)
    with pytest.raises(UnknownNameError, match="unknown backbone") as caught:
        load_backbone("mobilenet_v2+paper")
    assert "+paper goes with" in caught.value.fix


@pytest.mark.parametrize("name", BACKBONES)
def test_weights_that_were_not_fetched(name: str, tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match=f"fslbench-build fetch {name} -o DIR"):
        load_backbone(name)
    with pytest.raises(SourceError, match=f"fslbench-build fetch {name} -o {tmp_path}"):
        load_backbone(name, tmp_path)


@pytest.mark.parametrize("family", ["timm", "open_clip"])
def test_a_library_that_is_not_installed(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, family, None)
    with pytest.raises(MissingPackageError, match=rf"{family}(.|\n)*\[builders\]"):
        load_backbone(f"{family}:x/y")
