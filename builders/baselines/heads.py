"""Heads on frozen features, as in section 4 of Lafargue et al. (TMLR 2024).

Heads compute many tasks at once from unit feature vectors, on a CPU or a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import cos, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SpecError, UnknownNameError
from benchmark_spec.extras import require
from builders.training.logistic import Tensor, logistic_regression

MOST_TASKS = 64
"""Tasks at once on a CPU: more do not fit into its cache."""

CPU_BYTES, GPU_BYTES = 2**25, 2**31
"""Bytes of features that a group of tasks may gather."""

_BLOCK_BYTES = 2**22
"""Bytes of features that become unit vectors at a time."""


def unit_vectors(features: NDArray[Any], device: str = "cpu", *, double: bool = True) -> Tensor:
    """Divide features (N, D) by their lengths, in float64; a zero vector stays zero."""
    torch = require("torch")
    if features.ndim != 2 or features.dtype.kind != "f":
        raise SpecError(
            f"features are of type {features.dtype} and shape {features.shape}",
            expected="floating-point numbers (N, D)",
        )
    dtype = torch.float64 if double else torch.float32
    unit = torch.empty(features.shape, dtype=dtype, device=device)
    step = max(1, _BLOCK_BYTES // (8 * max(1, features.shape[1])))
    for start in range(0, len(features), step):
        rows = torch.from_numpy(features[start : start + step].astype(np.float64)).to(device)
        length = rows.norm(dim=1, keepdim=True)
        if not bool(torch.isfinite(length).all()):
            first = start + int((~torch.isfinite(length[:, 0])).nonzero()[0, 0])
            raise SpecError(f"the features of image {first} are not finite")
        unit[start : start + step] = rows / torch.where(length > 0, length, 1.0)
    return unit


def gather(unit: Tensor, ids: Tensor) -> Tensor:
    """Take the rows of unit vectors (N, D) at ids (B, n): (B, n, D)."""
    rows = unit.index_select(0, ids.reshape(-1))
    return rows.view(*ids.shape, unit.shape[1])


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute products of float32 in float32, even if torch is set to be less exact."""
    torch = require("torch")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def ncc(unit: Tensor, support: Tensor, query: Tensor) -> Tensor:
    """Compute NCC's cosines, as :attr:`builders.baselines.heads.Head.scores`."""
    torch = require("torch")
    sums = _sums(unit, support)
    if support.shape[2] > 1:  # a single vector has length 1 already
        length = sums.norm(dim=-1, keepdim=True)
        sums = sums / torch.where(length > 0, length, 1.0)
    return torch.bmm(gather(unit, query), sums.mT)


def matching_net(unit: Tensor, support: Tensor, query: Tensor) -> Tensor:
    """Compute MatchingNet's mean cosines, as :attr:`builders.baselines.heads.Head.scores`."""
    sums = _sums(unit, support)
    return require("torch").bmm(gather(unit, query), sums.mT) / support.shape[2]


def _sums(unit: Tensor, support: Tensor) -> Tensor:
    """Sum each class's support vectors to (B, K, D), without copying them first."""
    bag = require("torch").nn.functional.embedding_bag
    sums = bag(support.reshape(-1, support.shape[2]), unit, mode="sum")
    return sums.view(*support.shape[:2], unit.shape[1])


STEPS, MOMENTUM, RATE = 30, 0.9, 0.1


def cosine_decay(step: int) -> float:
    """Return the factor of the learning rate at a step 0..STEPS-1."""
    return (1.0 + cos(pi * step / STEPS)) / 2.0


def linear_probe(unit: Tensor, support: Tensor, query: Tensor) -> Tensor:
    """Compute the queries' logits in float64, up to a constant that all classes share.

    W = 1 + A X at every step, where A (K, n) follows SGD's recursion on R/n, R = P - Y (K, n): only
    the products of the support features are needed (docs/features.md).
    """
    torch = require("torch")
    tasks, way, shot = support.shape
    x = gather(unit, support.reshape(tasks, -1))
    gram = torch.bmm(x, x.mT)
    target = torch.eye(way, dtype=x.dtype, device=x.device).repeat_interleave(shot, dim=1)
    coefficients = torch.zeros_like(target).expand(tasks, -1, -1)
    intercept = coefficients.sum(dim=2, keepdim=True)
    velocity, drift = coefficients, intercept
    for step in range(STEPS):
        logits = torch.bmm(coefficients, gram) + intercept
        residual = (logits.softmax(dim=1) - target) / (way * shot)
        velocity = MOMENTUM * velocity + residual
        drift = MOMENTUM * drift + residual.sum(dim=2, keepdim=True)
        rate = RATE * cosine_decay(step)
        coefficients = coefficients - rate * velocity
        intercept = intercept - rate * drift
    weights = torch.bmm(coefficients, x)
    return (torch.bmm(weights, gather(unit, query).mT) + intercept).mT


RIDGE = 1.0
"""The weight of ridge regression's penalty, for features of length 1."""


def ridge(unit: Tensor, support: Tensor, query: Tensor) -> Tensor:
    """Compute the scores of ridge regression on one-hot classes, without intercepts."""
    torch = require("torch")
    tasks, way, shot = support.shape
    x = gather(unit, support.reshape(tasks, -1))
    gram = torch.bmm(x, x.mT) + RIDGE * torch.eye(way * shot, dtype=x.dtype, device=x.device)
    target = torch.eye(way, dtype=x.dtype, device=x.device).repeat_interleave(shot, dim=0)
    dual = torch.linalg.solve(gram, target.expand(tasks, -1, -1))
    return torch.bmm(gather(unit, query), torch.bmm(x.mT, dual))


CLOSE = 5e-6
"""The difference of two cosines in float32 below which float64 decides which is larger.

Errors of float32 are up to 4e-7 at 768 dimensions, 6e-7 at 2048.
"""


@dataclass(frozen=True)
class Head:
    """A head on frozen features.

    ``scores(unit, support, query)`` computes scores (B, M, K) from unit or zero vectors (N, D) and
    the row numbers, int64, of B tasks' support images (B, K, S) and queries (B, M).  A head that
    does not need float64 (`double`) is computed in float32 where that decides.  If zero vectors in
    the support change nothing (`uneven`), classes may differ in shots.
    """

    description: str
    scores: Callable[[Tensor, Tensor, Tensor], Tensor]
    double: bool = True
    uneven: bool = False


HEADS: Mapping[str, Head] = {
    "NCC": Head("nearest class centroid, cosine", ncc, double=False, uneven=True),
    "MatchingNet": Head("mean cosine to the support images of a class", matching_net, double=False),
    "LR": Head("multinomial logistic regression (C = 1), solved to 1e-10", logistic_regression),
    "LinearProbe": Head(
        "linear layer on frozen features, 30 steps of SGD with momentum", linear_probe
    ),
    "RidgeRegression": Head(
        "ridge regression on classes, weight 1, no intercepts", ridge, uneven=True
    ),
}


def head_of(name: str) -> Head:
    """Return the head of that name; UnknownNameError if there is none."""
    if name not in HEADS:
        raise UnknownNameError("head", name, HEADS)
    return HEADS[name]


class Predictor:
    """A head, one of :data:`HEADS`, on one data set's features (N, D)."""

    def __init__(self, head: str, features: NDArray[Any], device: str = "cpu") -> None:
        self._head, self._features, self._device = head_of(head), features, device
        self._unit = unit_vectors(features, device, double=self._head.double)

    def __call__(self, support: NDArray[Any], query: NDArray[Any]) -> NDArray[np.int64]:
        """Predict positions of classes, int64 (T, M), of image ids (T, K, S) and (T, M)."""
        return self.best(support, query)[..., 0]

    def best(self, support: NDArray[Any], query: NDArray[Any]) -> NDArray[np.int64]:
        """Return the two classes with the highest scores, int64 (T, M, 2), the best first."""
        predicted, close = _best(self._head, self._unit, support, query)
        again = np.flatnonzero(close.any(axis=1))
        if again.size:
            support, query = support[again], query[again]
            used = np.unique(np.concatenate([support.reshape(-1), query.reshape(-1)]))
            unit = unit_vectors(self._features[used], self._device)
            rows = np.searchsorted(used, support), np.searchsorted(used, query)
            predicted[again], _ = _best(replace(self._head, double=True), unit, *rows)
        return predicted


def _best(
    head: Head, unit: Tensor, support: NDArray[Any], query: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the best two classes (T, M, 2), and whether float32 leaves them undecided (T, M)."""
    torch = require("torch")
    support_ids, query_ids = (
        torch.from_numpy(ids.astype(np.int64)).to(unit.device) for ids in (support, query)
    )
    predicted = torch.empty((*query.shape, 2), dtype=torch.int64)
    close = torch.zeros(query.shape, dtype=torch.bool)
    images_of_task = support[:1].size + query[:1].size
    bytes_of_task = max(1, images_of_task * unit.shape[1] * unit.element_size())
    if unit.device.type == "cpu":
        tasks = min(MOST_TASKS, CPU_BYTES // bytes_of_task)
    else:
        tasks = GPU_BYTES // bytes_of_task
    step = max(1, tasks)
    with torch.no_grad(), full_precision():
        for start in range(0, len(query), step):
            group = slice(start, start + step)
            scores = head.scores(unit, support_ids[group], query_ids[group])
            if head.double:  # the first of equal scores is the best
                order = scores.argsort(dim=-1, descending=True, stable=True)
            else:
                best, order = scores.topk(min(3, scores.shape[-1]), dim=-1)
                close[group] = (best.diff(dim=-1) > -CLOSE).any(dim=-1)
            predicted[group] = order[..., :2]
    return predicted.numpy(), close.numpy()
