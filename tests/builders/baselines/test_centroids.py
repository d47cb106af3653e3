"""NCC and MatchingNet by hand, and against easyfsl and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from builders.baselines import Predictor
from builders.baselines.heads import ncc, unit_vectors
from fslbench_data.release.release import Release

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


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


def test_ncc_is_scikit_learns_nearest_centroid(embedded: Release) -> None:
    neighbors = pytest.importorskip("sklearn.neighbors", reason="needs scikit-learn")
    features = embedded.features("digits", "pixels").astype(float)
    tasks = embedded.task_set("digits", "open-5w5s5q")
    found = Predictor("NCC", features)(tasks.support, tasks.query)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    for task in tasks:
        centroids = unit[task.support].mean(axis=1)
        model = neighbors.KNeighborsClassifier(1, metric="cosine").fit(centroids, range(5))
        assert_array_equal(found[task.task_id], model.predict(features[task.query]))
