"""Heads on frozen features, as section 4 of Lafargue et al. (TMLR 2024) has them.

Each takes one task, ``head(support, query) -> predictions``: support float (K, S, D), query
float (K·Q, D), predictions int (K·Q,) in 0..K-1.  Features are L2-normalised first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.extras import require

Floats = NDArray[np.float64]
Head = Callable[[Floats, Floats], NDArray[np.int64]]


def normalised(features: NDArray[Any]) -> Floats:
    """Features (..., D) divided by their length; a zero vector stays zero."""
    x = features.astype(np.float64)
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.where(length > 0, length, 1.0)


def ncc(support: Floats, query: Floats) -> NDArray[np.int64]:
    """Nearest class centroid: cosine to the normalised mean of the normalised support."""
    centroids = normalised(normalised(support).mean(axis=1))
    return np.asarray((normalised(query) @ centroids.T).argmax(axis=1))


def matching_net(support: Floats, query: Floats) -> NDArray[np.int64]:
    """MatchingNet: mean cosine to each class's support images."""
    cosine = np.einsum("qd,ksd->qks", normalised(query), normalised(support))
    return np.asarray(cosine.mean(axis=2).argmax(axis=1))


def logistic_regression(support: Floats, query: Floats) -> NDArray[np.int64]:
    """Multinomial logistic regression, scikit-learn's objective with C = 1.

    Solved by Newton's method to a tight tolerance, so that the predictions are those of the
    objective and not of a solver stopped early.
    """
    way, shot, dimensions = support.shape
    model = require("sklearn.linear_model").LogisticRegression(
        C=1.0, max_iter=1000, solver="newton-cholesky", tol=1e-10
    )
    model.fit(normalised(support).reshape(-1, dimensions), np.repeat(np.arange(way), shot))
    return np.asarray(model.predict(normalised(query)), dtype=np.int64)


HEADS: Mapping[str, Head] = {
    "NCC": ncc,
    "MatchingNet": matching_net,
    "LR": logistic_regression,
}
