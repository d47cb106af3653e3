"""Heads by hand, against others' code and plain ones, and what they have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference_heads
from numpy.testing import assert_allclose, assert_array_equal

from benchmark_spec.errors import SpecError, UnknownNameError
from builders.baselines import HEADS, Predictor
from builders.baselines import heads as heads_module
from builders.baselines.heads import linear_probe, matching_net, ncc, unit_vectors

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")

Array = np.ndarray[Any, Any]


def draw(
    rng: np.random.Generator, way: int, shot: int, dimensions: int, *, tasks: int = 4
) -> tuple[Array, Array, Array]:
    """Features float16 (N, D) of noisy classes with a common direction, support and query ids."""
    classes, each = way + 2, shot + 8
    mean = rng.normal(size=(classes, dimensions)) * 0.5 + 2 * rng.normal(size=dimensions)
    features = np.repeat(mean, each, axis=0) + rng.normal(size=(classes * each, dimensions))
    chosen = np.stack([rng.choice(classes, way, replace=False) for _ in range(tasks)])
    images = rng.permuted(np.tile(np.arange(each), (tasks, way, 1)), axis=2)
    ids = chosen[..., None] * each + images
    return features.astype(np.float16), ids[..., :shot], ids[..., shot:].reshape(tasks, -1)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("way", "shot", "dimensions"), [(2, 1, 3), (5, 5, 40), (20, 3, 16)])
def test_the_best_two_classes_are_those_of_plain_heads(
    head: str, way: int, shot: int, dimensions: int
) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    features, support, query = draw(np.random.default_rng(way), way, shot, dimensions)
    predict = Predictor(head, features)
    found = predict.best(support, query, 2)
    assert (found.dtype, found.shape) == (np.int64, (*query.shape, 2))
    assert_array_equal(found[..., 0], predict(support, query))
    for task in range(len(support)):
        scores = reference_heads.HEADS[head](features[support[task]], features[query[task]])
        clear = np.diff(np.sort(scores, axis=1)[:, -3:], axis=1).min(axis=1) > 1e-6
        assert clear.mean() > 0.8
        assert_array_equal(found[task, clear], np.argsort(-scores, axis=1)[clear, :2])


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_it_does_not_matter_how_many_tasks_are_taken_at_once(
    head: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, support, query = draw(np.random.default_rng(0), 5, 2, 32, tasks=7)
    expected = Predictor(head, features)(support, query)
    monkeypatch.setattr(heads_module, "MOST_TASKS", most)
    assert_array_equal(Predictor(head, features)(support, query), expected)
    monkeypatch.setattr(heads_module, "CPU_BYTES", 1)
    assert_array_equal(Predictor(head, features)(support, query), expected)
    assert Predictor(head, features)(support[:0], query[:0]).shape == (0, query.shape[1])


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_lengths_and_types_of_features_change_nothing(head: str, kind: type) -> None:
    features, support, query = draw(np.random.default_rng(1), 4, 3, 24)
    expected = Predictor(head, features)(support, query)
    longer = features * np.random.default_rng(2).choice([0.5, 2.0, 4.0], (len(features), 1))
    assert_array_equal(Predictor(head, longer.astype(kind))(support, query), expected)


@pytest.mark.parametrize("head", ["NCC", "MatchingNet"])
def test_float64_decides_what_float32_cannot(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes 1e-9 apart are the same in float32."""
    features = np.array([[1.0, 1.0], [1.0, 1 + 1e-9], [1.0, 1 + 2e-9], [-1.0, 1.0], [1.0, -1.0]])
    support = np.array([[[0], [1], [2]], [[1], [2], [0]]])
    query = np.array([[3, 4], [4, 3]])
    predict = Predictor(head, features)
    assert predict(support, query).tolist() == [[2, 0], [2, 1]]
    assert predict(support[:1], query[:1]).tolist() == [[2, 0]]
    monkeypatch.setattr(heads_module, "CLOSE", 0.0)
    assert predict(support, query).tolist() != [[2, 0], [2, 1]]


@pytest.mark.parametrize("head", HEADS)
def test_equal_classes_and_zero_features(head: str) -> None:
    """One of the equal classes; of vectors of zeros, the first ones."""
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    found = Predictor(head, features)(np.array([[[0], [3], [1]]]), np.array([[0, 1, 3]]))
    assert found[0, 1] == 2
    assert found[0, 0] in (0, 1)
    assert found[0, 2] in (0, 1)
    nothing = Predictor(head, np.zeros((4, 4), np.float16))
    task = np.array([[[0], [1], [2]]]), np.array([[3]])
    assert nothing(*task).tolist() == [[0]]
    assert nothing.best(*task, 2).tolist() == [[[0, 1]]]


def test_refusals() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'NCC'"):
        Predictor("ncc", np.zeros((2, 2)))
    for features, said in (
        (np.zeros((2, 2), int), "int64"),
        (np.zeros(2), r"\(2,\)"),
        (np.array([[0.0], [np.inf]]), "image 1 are not finite"),
        (np.array([[np.nan], [0.0]]), "image 0 are not finite"),
    ):
        with pytest.raises(SpecError, match=said):
            Predictor("NCC", features)


def test_settings_of_the_process_are_left_alone() -> None:
    torch.set_float32_matmul_precision("high")
    try:
        features, support, query = draw(np.random.default_rng(3), 3, 1, 8)
        Predictor("NCC", features)(support, query)
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_matching_net_by_hand() -> None:
    # a class of two opposite directions has a centroid far from either, and mean cosine 0.5
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])
    ids, queries = torch.tensor([[[0, 1], [2, 3]]]), torch.tensor([[0, 1, 3]])
    scores = matching_net(unit_vectors(features), ids, queries)
    r = np.sqrt(0.5)
    assert_allclose(scores[0], [[0.5, 0.0], [0.5, r], [0.0, 0.5]], atol=1e-15)
    found = Predictor("MatchingNet", features)(ids.numpy(), queries.numpy())
    assert found.tolist() == [[0, 1, 1]]


def test_centroids_are_easyfsls_prototypes() -> None:
    methods = pytest.importorskip("easyfsl.methods", reason="needs easyfsl")
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 12)) + 1
    support, query = rng.choice(60, (3, 5, 4)), rng.choice(60, (3, 20))
    unit = unit_vectors(features)
    scores = ncc(unit, torch.from_numpy(support), torch.from_numpy(query))
    peer = methods.PrototypicalNetworks(torch.nn.Identity(), feature_normalization=2.0)
    for task in range(3):
        images = torch.from_numpy(features[support[task]]).flatten(0, 1)
        peer.process_support_set(images, torch.arange(5).repeat_interleave(4))
        cosines = peer.cosine_distance_to_prototypes(torch.from_numpy(features[query[task]]))
        lengths = torch.from_numpy(np.linalg.norm(features[query[task]], axis=1, keepdims=True))
        assert_allclose(scores[task], cosines, atol=1e-14)
        assert lengths.min() > 0


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
