"""Features projected onto their principal directions and rounded to int8 steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmark_spec.errors import SpecError
from builders.features.compress import base_of, pca_int8

Array = np.ndarray[Any, Any]


def _features(n: int = 300, d: int = 20, seed: int = 0) -> Array:
    """Rectified, with most of their variance in few directions."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + 0.1 * rng.random((n, d))
    return np.maximum(found + 1, 0).astype(np.float16)


def _unit(x: Array) -> Array:
    x = x.astype(np.float64)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def test_it_is_the_singular_value_decomposition() -> None:
    x = _features()
    values, scale, about = pca_int8(x, 6)
    assert (values.shape, values.dtype) == ((300, 6), np.int8)
    u, s, vt = np.linalg.svd(_unit(x), full_matrices=False)
    signs = np.sign(vt[np.arange(6), np.abs(vt[:6]).argmax(axis=1)])
    expected = (u * s)[:, :6] * signs
    assert np.abs(values * scale - expected).max() <= scale / 2 + 1e-9
    assert np.abs(values).max() == 127
    assert about["pca"]["kept"] == pytest.approx((s[:6] ** 2).sum() / (s**2).sum(), abs=1e-4)
    assert (about["scale"], about["dtype"], about["pca"]["from"]) == (scale, "float32", 20)
    assert float(np.float32(scale)) == scale


def test_blocks_and_scaled_images_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _features()
    values, scale, _ = pca_int8(x, 6)
    longer = (x.astype(np.float32) * np.float32(4)).astype(np.float16)
    assert np.array_equal(pca_int8(longer, 6)[0], values)
    monkeypatch.setattr("builders.features.compress._ROWS", 64)
    found, other, _ = pca_int8(x, 6)
    assert np.array_equal(found, values)
    assert other == scale


@pytest.mark.parametrize(
    ("features", "what"),
    [
        (_features(n=300, d=5), "at most 5"),
        (_features(n=4), "at most 4"),
        (np.zeros((0, 20)), "at most 0"),
        (np.zeros((30, 20)), "all zero"),
    ],
)
def test_what_cannot_be_projected(features: Array, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        pca_int8(features, 6)


def test_directions_without_any_image_are_zero() -> None:
    x = np.zeros((30, 8), np.float16)
    x[:, :2] = np.random.default_rng(0).random((30, 2))
    values, _, about = pca_int8(x, 5)
    assert not values[:, 2:].any()
    assert about["pca"]["kept"] == 1.0


def test_names() -> None:
    assert base_of("efficientnet_lite0-pca128") == ("efficientnet_lite0", 128)
    assert base_of("timm:vit_base-pca64") == ("timm:vit_base", 64)
    for name in ("efficientnet_lite0", "x-pca", "x-pca0", "x-pca128b", "-pca128"):
        assert base_of(name) == (name, None)
