"""Backbones of a few numbers."""

import hashlib
import json
from typing import Any

import pytest

from benchmark_spec.errors import BackboneError
from builders.features.backbone import Backbone, Preprocessing
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
