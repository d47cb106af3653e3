"""The linear head of fine-tuning by itself, trained on frozen features, many tasks at once.

It is what the paper's FT does to its head, with a backbone that stays as it is: features of length
1, W of ones and b of zeros at the start, 30 steps of SGD with momentum 0.9 on the mean
cross-entropy of the whole support set, the learning rate falling from 0.1 along half a cosine,

    lr_t = 0.1 · (1 + cos(π t/30))/2,   t = 0..29
    v <- 0.9 v + φ'      (W, b) <- (W, b) - lr_t v

The gradient is R X/n for the weights, R = P - Y (K, n), so that W = 1 + A X at all times with
A (K, n) following the same recursion on R/n: only the products of the support features are needed.
The ones add the same to all classes' logits, which changes neither P nor a prediction.
"""

from __future__ import annotations

from math import cos, pi

from benchmark_spec.extras import require
from builders.baselines.tables import Tensor, gather

STEPS, MOMENTUM, RATE = 30, 0.9, 0.1


def cosine_decay(step: int, steps: int = STEPS) -> float:
    """Return the share of the learning rate at a step 0..steps-1."""
    return (1.0 + cos(pi * step / steps)) / 2.0


def linear_probe(unit: Tensor, support: Tensor, query: Tensor) -> Tensor:
    """Compute the queries' logits in float64, less what all classes share.

    Shapes are those of :attr:`builders.baselines.heads.Head.scores`.
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
