"""Logistic regression by hand, and against scikit-learn run to the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference_heads
from numpy.testing import assert_allclose, assert_array_equal
from reference_heads import margins

from benchmark_spec.errors import MethodFailedError
from builders.baselines.heads import unit_vectors
from builders.training import logistic
from builders.training.logistic import logistic_regression

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")

Array = np.ndarray[Any, Any]


def logits_of(features: Array, support: Array, query: Array, strength: float = 1.0) -> Array:
    """Logits (B, M, K) with the mean 0 over classes."""
    found = logistic_regression(
        unit_vectors(features),
        torch.from_numpy(support),
        torch.from_numpy(query),
        strength=strength,
    ).numpy()
    return np.asarray(found - found.mean(axis=2, keepdims=True))


def make(kind: str, rng: np.random.Generator, way: int, shot: int, dimensions: int) -> Array:
    """Features (K·S + 40, D) of a task's support, class by class, and of queries."""
    number = way * shot
    mean = rng.normal(size=(way, dimensions)) + rng.normal(size=dimensions)
    support = np.repeat(mean, shot, axis=0) + 0.5 * rng.normal(size=(number, dimensions))
    if kind == "noise":
        support = rng.normal(size=(number, dimensions))
    elif kind == "apart":  # the classes' own images are all but equal
        support = np.repeat(rng.normal(size=(way, dimensions)), shot, axis=0)
        support += 1e-6 * rng.normal(size=support.shape)
    elif kind == "doubles":  # within classes and between them
        support = support[rng.integers(0, max(2, number // 3), number)]
    elif kind == "zeros":
        support[rng.random(number) < 0.4] = 0.0
    elif kind == "one":
        support[:] = support[0]
    query = mean[rng.integers(0, way, 40)] + rng.normal(size=(40, dimensions))
    query[:2] = 0.0
    return np.concatenate([support, query])


KINDS = ("classes", "noise", "apart", "doubles", "zeros", "one")
SHAPES = ((2, 1, 3), (2, 20, 8), (3, 2, 1), (5, 1, 64), (5, 5, 16), (5, 5, 40), (10, 10, 24),
          (20, 1, 12), (20, 20, 6))  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "way", "shot", "dimensions"),
    [
        *((KINDS[(i + j) % 6], *shape) for i, shape in enumerate(SHAPES) for j in (0, 1, 3)),
        ("classes", 5, 5, 768),  # the paper's
    ],
)
def test_it_is_scikit_learns(kind: str, way: int, shot: int, dimensions: int) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    seed = [KINDS.index(kind), way, shot, dimensions]
    features = make(kind, np.random.default_rng(seed), way, shot, dimensions)
    number = way * shot
    support, query = np.arange(number).reshape(way, shot), np.arange(number, number + 40)
    found = logits_of(features, support[None], query[None])[0]
    expected = reference_heads.logistic_regression(features[support], features[query])
    assert_allclose(found, expected, atol=1e-7)
    clear = margins(expected) > 1e-6
    assert_array_equal(found.argmax(axis=1)[clear], expected.argmax(axis=1)[clear])


@pytest.mark.parametrize("strength", [1e-3, 0.1, 100.0, 1e4])
def test_other_strengths(strength: float) -> None:
    """With hardly any penalty steps must be cut short."""
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    features = make("classes", np.random.default_rng(5), 4, 3, 6)
    support, query = np.arange(12).reshape(4, 3), np.arange(12, 52)
    found = logits_of(features, support[None], query[None], strength)[0]
    expected = reference_heads.logistic_regression(features[support], features[query], strength)
    assert_allclose(found, expected, atol=1e-6 * max(1.0, strength))


@pytest.mark.parametrize(("way", "shot"), [(2, 1), (3, 1), (3, 2)])
def test_tasks_that_are_solved_wait_for_those_beside_them(way: int, shot: int) -> None:
    """Images that are nearly equal are done at once, others after many steps: all end."""
    rng = np.random.default_rng(0)
    apart = 10.0 ** rng.uniform(-4, 0.5, (120, 1)) * rng.normal(size=(120, 16))
    features = rng.normal(size=16) + apart
    support = np.stack([rng.permutation(120)[: way * shot].reshape(way, shot) for _ in range(64)])
    query = rng.integers(0, 120, (64, 6))
    together = logits_of(features, support, query)
    for task in range(0, 64, 8):
        alone = logits_of(features, support[task : task + 1], query[task : task + 1])
        assert_allclose(together[task], alone[0], atol=1e-8)


def test_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logistic, "_NEWTON_STEPS", 1)
    with pytest.raises(MethodFailedError, match="did not converge"):
        logits_of(np.eye(3), np.arange(3).reshape(1, 3, 1), np.arange(3)[None])
