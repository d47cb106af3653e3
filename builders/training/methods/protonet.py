"""Prototypical networks (Snell et al., NeurIPS 2017)."""

from __future__ import annotations

from torch import Tensor

from builders.training.method import Episode, Labelled, Method, episode_loss


class ProtoNet(Method):
    """The nearest class mean by the squared Euclidean distance of flat maps (Eq. 1 and 2)."""

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of an episode's queries."""
        assert episode is not None
        return episode_loss(self.scores(episode.support, episode.query.flatten(0, 1)), episode)

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute minus the squared distance of each query to each class's mean: (M, K)."""
        of_support, of_query = self._both(support, query)
        means = of_support.flatten(2).mean(dim=1)
        difference = of_query.flatten(1)[:, None] - means[None]
        return -difference.square().sum(dim=2)
