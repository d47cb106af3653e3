"""Methods that are trained on labelled images, and keep their network as it is on a task."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from builders.training.method import Episode, Labelled, Method, Trained, needed
from builders.training.networks import Network


class Transfer(Method):
    """A network trained with a classifier of all classes; a task has a classifier of its own.

    Parameters
    ----------
    side
        Of images, in pixels.
    pooled
        Whether an image's vector is the mean of its map's places, or the map, flat.

    Attributes
    ----------
    width
        D: how many numbers an image's vector has.
    classifier
        Of all classes: from vectors (B, D) to scores.
    """

    trained_by: ClassVar[Trained] = "classes"
    classifier: nn.Module

    def __init__(self, network: Network, side: int, *, pooled: bool) -> None:
        super().__init__(network)
        self._pooled = pooled
        self.width = network.channels * (1 if pooled else network.size(side) ** 2)

    def loss(self, episode: Episode | None, labelled: Labelled | None) -> Tensor:
        """Compute the mean cross-entropy of labelled images."""
        batch = needed(labelled)
        scores = self.classifier(self._vectors(self.network(batch.images)))
        return functional.cross_entropy(scores, batch.classes)

    def _vectors(self, maps: Tensor) -> Tensor:
        """Make vectors (..., D) of maps (..., C, h, w)."""
        return maps.mean(dim=(-2, -1)) if self._pooled else maps.flatten(-3)

    @torch.no_grad()
    def _task(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Make vectors of support images (K, S, D) and queries (M, D), of the frozen network."""
        of_support, of_query = self._both(support, query)
        return self._vectors(of_support), self._vectors(of_query)
