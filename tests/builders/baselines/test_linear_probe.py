"""The linear probe against autograd, and by hand."""

from __future__ import annotations

from math import cos, exp, pi

import numpy as np
import pytest
import reference_heads
from numpy.testing import assert_allclose

from builders.baselines.heads import cosine_decay, linear_probe, unit_vectors

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


@pytest.mark.parametrize(
    ("way", "shot", "dimensions"), [(2, 1, 3), (5, 5, 40), (20, 2, 8), (3, 10, 5)]
)
def test_it_is_what_autograd_and_pytorchs_optimiser_do(
    way: int, shot: int, dimensions: int
) -> None:
    rng = np.random.default_rng(way)
    features = rng.normal(size=(60, dimensions)) + 1
    features[3] = 0.0
    support, query = rng.choice(60, (3, way, shot)), rng.choice(60, (3, 25))
    unit = unit_vectors(features)
    found = linear_probe(unit, torch.from_numpy(support), torch.from_numpy(query)).numpy()
    for task in range(3):
        expected = reference_heads.linear_probe(features[support[task]], features[query[task]])
        shift = expected.mean(axis=1, keepdims=True) - found[task].mean(axis=1, keepdims=True)
        assert_allclose(found[task] + shift, expected, atol=1e-12)


def test_two_right_angles_by_hand() -> None:
    """By symmetry one number is left: logits ±a on the own and the other axis; biases stay 0."""
    a = v = 0.0
    for step in range(30):
        p = 1 / (1 + exp(-2 * a))
        v = 0.9 * v + (p - 1) / 2
        a -= 0.1 * (1 + cos(pi * step / 30)) / 2 * v
    found = linear_probe(
        unit_vectors(np.eye(2)), torch.tensor([[[0], [1]]]), torch.tensor([[0, 1]])
    )
    assert_allclose(found[0], [[a, -a], [-a, a]], atol=1e-14)


def test_learning_rates() -> None:
    assert [cosine_decay(step) for step in (0, 15)] == pytest.approx([1.0, 0.5])
    assert 0 < cosine_decay(29) < 0.003
