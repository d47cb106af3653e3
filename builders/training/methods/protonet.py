"""Prototypical networks (Snell et al., NeurIPS 2017)."""

from __future__ import annotations

from torch import Tensor

from builders.training.method import Episode, Labelled, Method, episode_loss, needed


class ProtoNet(Method):
    """The nearest class mean by the squared Euclidean distance of flat maps (Eq. 1 and 2)."""

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of an episode's queries."""
        task = needed(episode)
        return episode_loss(self.scores(task.support, task.query.flatten(0, 1)), task)

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute minus the squared distance of each query to each class's mean: (M, K)."""
        of_support, of_query = self._both(support, query)
        means = of_support.flatten(2).mean(dim=1)
        difference = of_query.flatten(1)[:, None] - means[None]
        return -difference.square().sum(dim=2)
