"""Heads by hand, and against scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from builders.baselines.heads import HEADS, matching_net, ncc, normalised
from fslbench_data.release import Release


def test_normalised() -> None:
    x = normalised(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(x, [[0.6, 0.8], [0.0, 0.0]])


def test_ncc_by_hand() -> None:
    # class 0 points along x, class 1 along the diagonal; lengths must not matter
    support = np.array([[[1.0, 0.0], [10.0, 0.0]], [[1.0, 1.0], [0.0, 5.0]]])
    # class 1's centroid: (0.7071, 0.7071) and (0, 1), mean (0.3536, 0.8536): at 67.5 degrees
    query = np.array([[9.0, 1.0], [1.0, 1.0], [0.1, 3.0], [1.0, 0.65]])
    # 33.75 degrees is half way: (1, 0.65) is at 33.0 degrees, (1, 1) at 45
    assert ncc(support, query).tolist() == [0, 1, 1, 0]


def test_matching_net_by_hand() -> None:
    # a class of two opposite directions has a centroid far from either, and mean cosine 0.5
    support = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [-1.0, 1.0]]])
    query = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
    # mean cosines: (0.5, 0), (0.5, 0.7071), (0, 0.5)
    assert matching_net(support, query).tolist() == [0, 1, 1]


def test_at_one_shot_ncc_and_matching_net_are_the_same(embedded: Release) -> None:
    features = embedded.features("digits", "pixels").astype(float)
    for task in embedded.task_set("digits", "open-5w1s1q"):
        support, query = features[task.support], features[task.query]
        assert_array_equal(ncc(support, query), matching_net(support, query))


def test_ncc_is_scikit_learns_nearest_centroid(embedded: Release) -> None:
    neighbors = pytest.importorskip("sklearn.neighbors", reason="needs scikit-learn")
    features = embedded.features("digits", "pixels").astype(float)
    for task in embedded.task_set("digits", "open-5w5s5q"):
        support, query = features[task.support], features[task.query]
        centroids = normalised(normalised(support).mean(axis=1))
        model = neighbors.KNeighborsClassifier(1, metric="cosine").fit(centroids, range(5))
        assert_array_equal(ncc(support, query), model.predict(query))


def test_lr_is_scikit_learns_default_solver_run_to_the_end(embedded: Release) -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="needs scikit-learn")
    features = embedded.features("digits", "pixels").astype(float)
    for task in list(embedded.task_set("digits", "open-5w5s5q"))[:10]:
        support, query = normalised(features[task.support]), normalised(features[task.query])
        model = linear.LogisticRegression(C=1.0, max_iter=10_000, tol=1e-10)
        model.fit(support.reshape(25, 64), np.repeat(np.arange(5), 5))
        expected = model.decision_function(query)
        ordered = np.sort(expected, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > 1e-5
        found = HEADS["LR"](features[task.support], features[task.query])
        assert clear.mean() > 0.9
        assert_array_equal(found[clear], expected.argmax(axis=1)[clear])
