"""Fine-tune the whole network for each task: FT of Lafargue et al., TMLR 2024.

docs/features.md has the details.  In the first step the network gets no gradient, since all
classes' weights in the last layer are equal.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SpecError
from benchmark_spec.extras import require
from builders.baselines.heads import MOMENTUM, RATE, STEPS, cosine_decay, full_precision
from builders.training.logistic import Tensor

BACKBONE_RATE = 1e-4
_QUERIES_AT_ONCE = 100


class FineTuner:
    """Fine-tunes a copy of a network, in float32.

    `module` is a ``torch.nn.Module`` from images (B, 3, H, W) to features (B, D); `rate` is the
    network's first learning rate.
    """

    def __init__(self, module: Any, device: str = "cpu", *, rate: float = BACKBONE_RATE) -> None:
        self._rate, self._device = rate, device
        self._module = deepcopy(module).to(device).float().eval().requires_grad_(True)

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute the logits (M, K) of a task of images (K, S, 3, H, W) and (M, 3, H, W)."""
        torch = require("torch")
        linear = torch.nn.functional.linear
        way, shot = support.shape[:2]
        module = deepcopy(self._module)
        with _repeatable(self._device):
            layer = self._train(module, support.flatten(0, 1).to(self._device), way, shot)
            with torch.no_grad():
                logits = [
                    linear(unit_features(module, images.to(self._device)), *layer)
                    for images in query.split(_QUERIES_AT_ONCE)
                ]
        return torch.cat(logits)

    def __call__(self, support: Tensor, query: Tensor) -> NDArray[np.int64]:
        """Predict int64 (M,), positions 0..K-1 of classes; see :meth:`scores`."""
        predicted: NDArray[np.int64] = self.scores(support, query).argmax(dim=1).cpu().numpy()
        return predicted

    def _train(self, module: Any, images: Tensor, way: int, shot: int) -> tuple[Tensor, Tensor]:
        """Train on images (K·S, 3, H, W); returns the layer's weights (K, D) and biases (K,)."""
        torch = require("torch")
        target = torch.arange(way, device=self._device).repeat_interleave(shot)
        with torch.enable_grad():
            features = unit_features(module, images)
            weights = features.new_ones(way, features.shape[1], requires_grad=True)
            biases = features.new_zeros(way, requires_grad=True)
            optimiser = torch.optim.SGD(
                [
                    {"params": list(module.parameters()), "lr": self._rate},
                    {"params": [weights, biases], "lr": RATE},
                ],
                momentum=MOMENTUM,
            )
            for step in range(STEPS):
                if step:
                    features = unit_features(module, images)
                logits = torch.nn.functional.linear(features, weights, biases)
                loss = torch.nn.functional.cross_entropy(logits, target)
                optimiser.zero_grad()
                loss.backward()
                for group, rate in zip(optimiser.param_groups, (self._rate, RATE), strict=True):
                    group["lr"] = rate * cosine_decay(step)
                optimiser.step()
        return weights, biases


def unit_features(module: Any, images: Tensor) -> Tensor:
    """Compute a network's features (B, D) of length 1."""
    features = module(images)
    if features.ndim != 2:
        raise SpecError(
            f"the network gives {tuple(features.shape)} of {len(images)} images",
            expected="one vector of each, (B, D)",
        )
    return require("torch").nn.functional.normalize(features, dim=1)


@contextmanager
def _repeatable(device: str) -> Iterator[None]:
    """Make results repeatable, on a GPU as far as torch's deterministic settings do."""
    torch = require("torch")
    if torch.device(device).type == "cpu":
        yield
        return
    enabled_before = torch.are_deterministic_algorithms_enabled()
    warn_only_before = torch.is_deterministic_algorithms_warn_only_enabled()
    exact = {"enabled": True, "benchmark": False, "deterministic": True, "allow_tf32": False}
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.backends.cudnn.flags(**exact), full_precision(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*deterministic")
            yield
    finally:
        torch.use_deterministic_algorithms(enabled_before, warn_only=warn_only_before)
