"""Gradient steps on a task's support images, through which the loss of its queries flows back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from benchmark_spec.errors import SpecError

Weights = dict[str, Tensor]


def descend(
    loss: Callable[[Weights], Tensor],
    weights: Weights,
    rates: Mapping[str, float],
    steps: int,
    meta: bool,
) -> Weights:
    """Take `steps` of gradient descent.

    Parameters
    ----------
    loss
        A scalar, by weights of these names.
    weights
        Where it begins; nothing of it is changed.
    rates
        Of the weights that move.
    meta
        Whether gradients flow through the steps, those of second order too.  If not, no graph
        outlasts a step and none reaches back to `weights`; this works under ``torch.no_grad``.
    """
    moved = list(rates)
    with torch.enable_grad():
        for _ in range(steps):
            if not meta:
                weights = {n: w.detach().requires_grad_(n in rates) for n, w in weights.items()}
            gradients = torch.autograd.grad(
                loss(weights), [weights[name] for name in moved], create_graph=meta
            )
            steps_down = zip(moved, gradients, strict=True)
            weights = {**weights, **{n: weights[n] - rates[n] * g for n, g in steps_down}}
    return weights if meta else {name: weight.detach() for name, weight in weights.items()}


def by_own_statistics(network: nn.Module, weights: Weights, images: Tensor) -> Tensor:
    """Run a network with other weights, normalising by the mean and variance of these images.

    Running statistics are neither read nor changed, whatever the mode of the network.
    """
    kept = {name: buffer.clone() for name, buffer in network.named_buffers()}
    layers = [layer for layer in network.modules() if isinstance(layer, _BatchNorm)]
    modes = [layer.training for layer in layers]
    try:
        for layer in layers:
            layer.training = True
        out: Tensor = functional_call(network, {**weights, **kept}, (images,))
    finally:
        for layer, mode in zip(layers, modes, strict=True):
            layer.training = mode
    return out


def support_target(support: Tensor) -> Tensor:
    """Return the class of each support image (K, S, ...) in their order, int64 (K·S,)."""
    way, shot = support.shape[:2]
    return torch.arange(way, device=support.device).repeat_interleave(shot)


def check_way(method: str, outputs: int, support: Tensor) -> None:
    """Raise SpecError where a task has other ways than a head has outputs."""
    if len(support) != outputs:
        raise SpecError(
            f"{method} was made for {outputs} ways and a task has {len(support)}",
            expected=f"tasks of {outputs} ways: its last layer has an output for each",
            fix=f"train it anew with way={len(support)}",
        )
