"""Episodes of fixed numbers, and what methods are made of, by numpy."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray

from builders.training.method import Episode
from builders.training.networks import Network

Floats = NDArray[np.float64]


class Maps(Network):
    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        self.channels, self._side = channels, side

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images

    def size(self, side: int) -> int:
        return self._side


def fixed_episode(way: int, shot: int, query: int, *shape: int, seed: int = 0) -> Episode:
    """Draw float64 images of a shape; its classes are 1, 2, 3 and so on."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(way, shot + query, *shape, generator=generator, dtype=torch.float64)
    return Episode(images[:, :shot], images[:, shot:], torch.arange(1, way + 1))


def disturb_norms(module: torch.nn.Module) -> None:
    """Give batch norms weights and statistics that are not those of the start."""
    generator = torch.Generator().manual_seed(1)
    for layer in module.modules():
        if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm):
            for values in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                values.data.uniform_(0.5, 1.5, generator=generator)


@contextmanager
def unchanged(module: torch.nn.Module) -> Iterator[None]:
    """See that weights and statistics are then as they were."""
    before = {name: values.clone() for name, values in module.state_dict().items()}
    yield
    assert all(torch.equal(values, before[name]) for name, values in module.state_dict().items())


def numbers(tensor: torch.Tensor) -> Floats:
    return np.array(tensor.detach().numpy(), np.float64)


def softmax(scores: Floats, axis: int = -1) -> Floats:
    raised = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def cross_entropy(scores: Floats, target: list[int]) -> float:
    """Return the mean of -log of the target's share, of scores (B, K)."""
    return float(-np.log(softmax(scores)[np.arange(len(target)), target]).mean())


def by_class(way: int, count: int) -> list[int]:
    """Return 0, 0, ..., 1, 1, ...: the classes of images that are ordered by class."""
    return [one for one in range(way) for _ in range(count)]


def batch_normed(values: Floats, layer: torch.nn.Module, train: bool) -> Floats:
    """Normalise (B, D, ...) by its own statistics or the layer's."""
    axes = (0, *range(2, values.ndim))
    shape = (1, -1, *[1] * (values.ndim - 2))
    mean = values.mean(axis=axes) if train else numbers(layer.running_mean)
    variance = values.var(axis=axes) if train else numbers(layer.running_var)
    scale = numbers(layer.weight) / np.sqrt(variance + 1e-5)
    shift = numbers(layer.bias) - mean * scale
    return values * scale.reshape(shape) + shift.reshape(shape)


def cosine(first: Floats, second: Floats) -> float:
    return float(first @ second / np.sqrt((first @ first) * (second @ second)))
