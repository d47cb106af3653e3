"""The interface of trained methods: a network, its loss and the scores of a task.

A task has K ways, S shots and M queries; an episode has Q queries of each class, ordered by class.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import torch
from torch import Tensor, device, nn
from torch.nn import functional

if TYPE_CHECKING:
    from builders.training.networks import Network

Trained = Literal["episodes", "classes", "both"]


@dataclass(frozen=True)
class Episode:
    """A task to train on: support (K, S, C, H, W) and queries (K, Q, C, H, W), float32.

    `classes` (K,) are the positions of its classes among all training classes.
    """

    support: Tensor
    query: Tensor
    classes: Tensor

    @property
    def target(self) -> Tensor:
        """The position of each query's class in the episode, int64 (K·Q,)."""
        way, query = self.query.shape[:2]
        return self.classes.new_tensor(range(way)).repeat_interleave(query)

    def to(self, where: device) -> Episode:
        """Return it on a device; copied only if it is not there."""
        return Episode(self.support.to(where), self.query.to(where), self.classes.to(where))


@dataclass(frozen=True)
class Labelled:
    """Images of any classes, float32 (B, C, H, W), with their classes' positions, int64 (B,)."""

    images: Tensor
    classes: Tensor

    def to(self, where: device) -> Labelled:
        """Return them on a device; copied only if they are not there."""
        return Labelled(self.images.to(where), self.classes.to(where))


Batch = TypeVar("Batch", Episode, Labelled)


class Method(nn.Module):
    """A few-shot method.

    In addition to its settings it may take `classes` (the number of training classes), `side` (of
    images, in pixels) and `way` (K, of all tasks).

    Attributes
    ----------
    trained_by
        Whether :meth:`loss` takes an episode, labelled images or both.
    adapts
        Whether weights change with each task: such a method skips closed sets of thousands.
    keeps_way
        Whether its last layer has an output for each class of a training task.
    """

    trained_by: ClassVar[Trained] = "episodes"
    adapts: ClassVar[bool] = False
    keeps_way: bool = False

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the loss, a scalar, of the input that :attr:`trained_by` names.

        By default it is the mean cross-entropy of an episode's queries.
        """
        task = needed(episode)
        return episode_loss(self.scores(task.support, task.query.flatten(0, 1)), task)

    @abstractmethod
    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute scores (M, K) of support images (K, S, C, H, W) and queries (M, C, H, W).

        The class with the highest score is predicted.
        """

    def _both(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Make maps of support images (K, S, D, h, w) and queries (M, D, h, w), in one batch."""
        way, shot = support.shape[:2]
        maps = self.network(torch.cat([support.flatten(0, 1), query]))
        return maps[: way * shot].unflatten(0, (way, shot)), maps[way * shot :]


def needed(batch: Batch | None) -> Batch:
    """Return the episode or labelled images that a loss needs; TypeError if there are none."""
    if batch is None:
        raise TypeError("this method's loss needs what its `trained_by` says")
    return batch


def support_target(support: Tensor) -> Tensor:
    """Return the class of each support image (K, S, ...) in their order, int64 (K·S,)."""
    way, shot = support.shape[:2]
    return torch.arange(way, device=support.device).repeat_interleave(shot)


def episode_loss(scores: Tensor, episode: Episode) -> Tensor:
    """Compute the mean cross-entropy of an episode's queries by their scores (K·Q, K)."""
    return functional.cross_entropy(scores, episode.target)
