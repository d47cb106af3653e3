"""Heads as plain as their definitions, one task at a time, in float64.

Each takes support (K, S, D) and query (M, D) and gives scores (M, K).
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def normalised(features: Array) -> Array:
    x = features.astype(np.float64)
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.where(length > 0, length, 1.0)


def ncc(support: Array, query: Array) -> Array:
    centroids = normalised(normalised(support).mean(axis=1))
    return np.asarray(normalised(query) @ centroids.T)


def matching_net(support: Array, query: Array) -> Array:
    cosine = np.einsum("qd,ksd->qks", normalised(query), normalised(support))
    return np.asarray(cosine.mean(axis=2))


def logistic_regression(support: Array, query: Array, strength: float = 1.0) -> Array:
    """scikit-learn, run to the end; the mean of each query's logits is 0."""
    from sklearn.linear_model import LogisticRegression

    way, shot, dimensions = support.shape
    solver = "newton-cholesky" if way * dimensions < 600 else "newton-cg"
    model = LogisticRegression(C=strength, max_iter=10_000, solver=solver, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a line search that has nothing left to gain
        model.fit(normalised(support).reshape(-1, dimensions), np.repeat(np.arange(way), shot))
    logits = model.decision_function(normalised(query))
    if way == 2:
        logits = np.stack([-logits, logits], axis=1) / 2
    return np.asarray(logits - logits.mean(axis=1, keepdims=True))


def linear_probe(support: Array, query: Array) -> Array:
    """With autograd and the optimiser and schedule of PyTorch."""
    import torch

    way, shot, dimensions = support.shape
    x = torch.from_numpy(normalised(support)).reshape(-1, dimensions)
    layer = torch.nn.Linear(dimensions, way, dtype=torch.float64)
    torch.nn.init.constant_(layer.weight, 1.0)
    torch.nn.init.constant_(layer.bias, 0.0)
    target = torch.arange(way).repeat_interleave(shot)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=30)
    for _ in range(30):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(layer(x), target).backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        return np.asarray(layer(torch.from_numpy(normalised(query))).numpy())


def ridge(support: Array, query: Array, weight: float = 1.0) -> Array:
    """By the normal equations of the weights."""
    way, shot, dimensions = support.shape
    x = normalised(support).reshape(-1, dimensions)
    target = np.repeat(np.eye(way), shot, axis=0)
    weights = np.linalg.solve(x.T @ x + weight * np.eye(dimensions), x.T @ target)
    return np.asarray(normalised(query) @ weights)


HEADS: dict[str, Callable[[Array, Array], Array]] = {
    "NCC": ncc,
    "MatchingNet": matching_net,
    "LR": logistic_regression,
    "LinearProbe": linear_probe,
    "RidgeRegression": ridge,
}


def margins(scores: Array) -> Array:
    ordered = np.sort(scores, axis=-1)
    return np.asarray(ordered[..., -1] - ordered[..., -2])
