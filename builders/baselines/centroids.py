"""Heads without training: a class is the mean of its support images.

Features are unit vectors.  With s_k the sum of the support vectors of class k and q a query,

    NCC          cos(q, s_k) = q·s_k/|s_k|      the nearest class centroid
    MatchingNet  mean over i of q·x_ki = q·s_k/S      the mean cosine to the class's support images

so both take one product of queries and sums.  A factor common to all classes (the length of q, S)
changes no prediction.  At one shot the two are the same, |s_k| being 1.
"""

from __future__ import annotations

from benchmark_spec.extras import require
from builders.baselines.tables import Tensor, gather


def ncc(unit: Tensor, support: Tensor, query: Tensor) -> Tensor:
    """Compute NCC's cosines, as :attr:`builders.baselines.heads.Head.scores`."""
    torch = require("torch")
    sums = _sums(unit, support)
    if support.shape[2] > 1:  # one vector has its length already
        length = sums.norm(dim=-1, keepdim=True)
        sums = sums / torch.where(length > 0, length, 1.0)
    return torch.bmm(gather(unit, query), sums.mT)


def matching_net(unit: Tensor, support: Tensor, query: Tensor) -> Tensor:
    """Compute MatchingNet's mean cosines, as :attr:`builders.baselines.heads.Head.scores`."""
    sums = _sums(unit, support)
    return require("torch").bmm(gather(unit, query), sums.mT) / support.shape[2]


def _sums(unit: Tensor, support: Tensor) -> Tensor:
    """Add up each class's support vectors to (B, K, D); none is copied first."""
    bag = require("torch").nn.functional.embedding_bag
    sums = bag(support.reshape(-1, support.shape[2]), unit, mode="sum")
    return sums.view(*support.shape[:2], unit.shape[1])
