"""Heads on frozen features, as section 4 of Lafargue et al. (TMLR 2024) has them.

All of them take features of length 1, and all tasks of a task set at once, on a CPU or a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import UnknownNameError
from benchmark_spec.extras import require
from builders.baselines.centroids import matching_net, ncc
from builders.baselines.linear_probe import linear_probe
from builders.baselines.tables import Tensor, full_precision, groups, unit_vectors
from builders.training.logistic import logistic_regression

CLOSE = 5e-6
"""Of two cosines (at most 1) in float32 that differ by less, float64 decides which is larger.

Float32 is off by up to 4e-7 at 768 dimensions, 6e-7 at 2048.
"""


@dataclass(frozen=True)
class Head:
    """A head on frozen features.

    Attributes
    ----------
    description
        For those who read its results.
    scores
        ``scores(unit, support, query)``: of unit or zero vectors (N, D), and as int64 the row
        numbers of B tasks' support images (B, K, S) and of their queries (B, M), makes scores
        (B, M, K), of which the largest counts.
    double
        Whether it needs float64; otherwise it is computed in float32 where that decides.
    """

    description: str
    scores: Callable[[Tensor, Tensor, Tensor], Tensor]
    double: bool = True


HEADS: Mapping[str, Head] = {
    "NCC": Head("nearest class centroid, cosine", ncc, double=False),
    "MatchingNet": Head("mean cosine to the support images of a class", matching_net, double=False),
    "LR": Head("multinomial logistic regression (C = 1), solved to 1e-10", logistic_regression),
    "LinearProbe": Head(
        "linear layer on frozen features, 30 steps of SGD with momentum", linear_probe
    ),
}


def head_of(name: str) -> Head:
    """Return the head of a name; raises UnknownNameError if there is none."""
    if name not in HEADS:
        raise UnknownNameError("head", name, HEADS)
    return HEADS[name]


class Predictor:
    """A head on one data set's features.

    Parameters
    ----------
    head
        One of :data:`HEADS`.
    features : float (N, D)
        Row i is image i.
    device
        As torch names it, such as ``cpu`` or ``cuda``.

    Raises
    ------
    UnknownNameError, SpecError
        If there is no such head, or the features are no such array, or not finite.
    """

    def __init__(self, head: str, features: NDArray[Any], device: str = "cpu") -> None:
        self._head, self._features, self._device = head_of(head), features, device
        self._unit = unit_vectors(features, device, double=self._head.double)

    def __call__(self, support: NDArray[Any], query: NDArray[Any]) -> NDArray[np.int64]:
        """Predict int64 (T, M), positions 0..K-1 of classes.

        Parameters
        ----------
        support : int (T, K, S)
            Image ids of T tasks' support images.
        query : int (T, M)
            Image ids of their queries.
        """
        predicted, close = _predictions(self._head, self._unit, support, query)
        again = np.flatnonzero(close.any(axis=1))
        if again.size:
            support, query = support[again], query[again]
            used, place = np.unique(
                np.concatenate([support.reshape(-1), query.reshape(-1)]), return_inverse=True
            )
            rows = place.reshape(-1)
            predicted[again], _ = _predictions(
                replace(self._head, double=True),
                unit_vectors(self._features[used], self._device),
                rows[: support.size].reshape(support.shape),
                rows[support.size :].reshape(query.shape),
            )
        return predicted


def _predictions(
    head: Head, unit: Tensor, support: NDArray[Any], query: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Predict (T, M), and say which of them (T, M) float32 does not decide."""
    torch = require("torch")
    at = [torch.from_numpy(ids.astype(np.int64)).to(unit.device) for ids in (support, query)]
    predicted = torch.empty(query.shape, dtype=torch.int64)
    close = torch.zeros(query.shape, dtype=torch.bool)
    rows = support[:1].size + query[:1].size
    with torch.no_grad(), full_precision():
        for some in groups(len(query), rows, unit):
            scores = head.scores(unit, *(ids[some] for ids in at))
            if head.double:
                predicted[some] = scores.argmax(dim=-1)
            else:
                best = scores.topk(2, dim=-1)
                predicted[some] = best.indices[..., 0]
                close[some] = best.values[..., 0] - best.values[..., 1] < CLOSE
    return predicted.numpy(), close.numpy()
