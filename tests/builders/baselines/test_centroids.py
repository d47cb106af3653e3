"""NCC and MatchingNet by hand, and against easyfsl and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from builders.baselines import Predictor
from builders.baselines.heads import matching_net, ncc, unit_vectors
from fslbench_data.release.release import Release

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


def test_unit_vectors() -> None:
    x = unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0]], np.float16))
    assert_allclose(x, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-15)
    assert unit_vectors(np.ones((2, 3)), double=False).dtype == torch.float32


def test_ncc_by_hand() -> None:
    # class 0 points along x, class 1 along the diagonal; lengths must not matter
    support = [[1.0, 0.0], [10.0, 0.0], [1.0, 1.0], [0.0, 5.0]]
    # class 1's centroid: (0.7071, 0.7071) and (0, 1), mean (0.3536, 0.8536): at 67.5 degrees
    query = [[9.0, 1.0], [1.0, 1.0], [0.1, 3.0], [1.0, 0.65]]
    # 33.75 degrees is half way: (1, 0.65) is at 33.0 degrees, (1, 1) at 45
    predict = Predictor("NCC", np.array(support + query))
    found = predict(np.array([[[0, 1], [2, 3]]]), np.array([[4, 5, 6, 7]]))
    assert found.tolist() == [[0, 1, 1, 0]]


def test_matching_net_by_hand() -> None:
    # a class of two opposite directions has a centroid far from either, and mean cosine 0.5
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])
    ids, queries = torch.tensor([[[0, 1], [2, 3]]]), torch.tensor([[0, 1, 3]])
    scores = matching_net(unit_vectors(features), ids, queries)
    r = np.sqrt(0.5)
    assert_allclose(scores[0], [[0.5, 0.0], [0.5, r], [0.0, 0.5]], atol=1e-15)
    found = Predictor("MatchingNet", features)(ids.numpy(), queries.numpy())
    assert found.tolist() == [[0, 1, 1]]


def test_at_one_shot_they_are_the_same(embedded: Release) -> None:
    features = embedded.features("digits", "pixels")
    tasks = embedded.task_set("digits", "open-5w1s1q")
    unit = unit_vectors(features, double=False)
    ids = [torch.from_numpy(each.astype(np.int64)) for each in (tasks.support, tasks.query)]
    assert_array_equal(ncc(unit, *ids), matching_net(unit, *ids))


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
