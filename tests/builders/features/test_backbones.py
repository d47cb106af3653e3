"""Backbones of a few numbers, and names."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.errors import BackboneError, MissingPackageError, SourceError, UnknownNameError
from builders.features import features_of
from builders.features.backbone import Backbone, Preprocessing
from builders.features.backbones import BACKBONES, load_backbone
from builders.training import state_sha256

HOW = Preprocessing((8, 8), (8, 8), "bilinear", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


@pytest.fixture
def mean_colour(torch: Any) -> Any:
    """(B, 3, H, W) to (B, 4): the mean of each colour through a layer, with dropout on the way."""
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.9), nn.Linear(3, 4))


def test_features(mean_colour: Any, torch: Any) -> None:
    backbone = Backbone.of("mean", mean_colour, HOW, weights={"file": "x"})
    assert (backbone.dimensions, backbone.parameters) == (4, 16)
    batch = torch.rand(5, 3, 8, 8)
    found = backbone.features(batch)
    layer = mean_colour[-1]
    expected = batch.mean(dim=(2, 3)) @ layer.weight.T + layer.bias
    torch.testing.assert_close(found, expected.detach())  # no dropout
    assert not found.requires_grad
    assert backbone.module(batch).requires_grad  # which can be trained
    assert not found.is_inference()  # and features can be trained on


def test_half_the_bits(mean_colour: Any, torch: Any) -> None:
    backbone = Backbone.of("mean", mean_colour, HOW)
    assert backbone.dtype == "float32"
    batch = torch.rand(5, 3, 8, 8)
    whole = backbone.features(batch)
    assert backbone.to(dtype="bfloat16") is backbone
    assert backbone.to().dtype == "bfloat16"
    half = backbone.features(batch)
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, whole, rtol=0.02, atol=0.02)
    assert not torch.equal(half, whole)


def test_description(mean_colour: Any) -> None:
    backbone = Backbone.of("mean", mean_colour, HOW, weights={"file": "x"}, weights_sha256="a1")
    found = json.loads(json.dumps(backbone.describe()))
    assert found.pop("preprocessing") == HOW.describe()
    assert found == {
        "backbone": "mean",
        "dimensions": 4,
        "parameters": 16,
        "weights": {"file": "x", "sha256": "a1"},
        "dtype": "float32",
    }


def test_the_digest_of_weights_is_of_names_shapes_and_numbers(torch: Any) -> None:
    state = {"b": torch.tensor([[1.0, -2.0]]), "a": torch.tensor(3)}
    text = b"a int64 \n" + (3).to_bytes(8, "little") + b"b float32 1x2\n\0\0\x80?\0\0\0\xc0"
    assert state_sha256(state) == hashlib.sha256(text).hexdigest()
    turned = {"a": state["a"], "b": torch.tensor([[1.0], [-2.0]]).T}  # the same, not contiguous
    assert state_sha256(turned) == state_sha256(state)
    assert state_sha256({**state, "b": state["b"].T}) != state_sha256(state)
    assert state_sha256({"b": state["b"].bfloat16()}) != state_sha256({"b": state["b"]})


def test_without_a_file_the_digest_is_of_the_weights(mean_colour: Any) -> None:
    assert Backbone.of("mean", mean_colour, HOW).weights_sha256 == state_sha256(
        mean_colour.state_dict()
    )


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


def test_pixels_are_still_extracted(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    from builders.sources.read import read_source

    digits = read_source("digits", None)
    with features_of("pixels", digits, tmp_path) as (pieces, provenance):
        assert sum(len(piece) for piece in pieces) == 1797
        assert provenance["backbone"] == "pixels"
    with (
        pytest.raises(UnknownNameError, match="did you mean 'pixels'"),
        features_of("pixel", digits, tmp_path),
    ):
        pass
    assert not list(tmp_path.iterdir())
