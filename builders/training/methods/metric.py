"""Methods that are trained by the loss of their scores alone: ProtoNet, DN4 and R2D2."""

from __future__ import annotations

import torch
from torch import Tensor, einsum, nn
from torch.nn import functional
from torch.nn.functional import normalize

from builders.training.method import Episode, Labelled, Method, episode_loss, needed, support_target
from builders.training.networks import Network


class ByScores(Method):
    """A method that minimises the cross-entropy of queries by its scores."""

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of an episode's queries."""
        task = needed(episode)
        return episode_loss(self.scores(task.support, task.query.flatten(0, 1)), task)


class ProtoNet(ByScores):
    """The nearest class mean by the squared Euclidean distance of flat maps.

    Prototypical networks (Snell et al., NeurIPS 2017), Eq. 1 and 2.
    """

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute minus the squared distance of each query to each class's mean: (M, K)."""
        of_support, of_query = self._both(support, query)
        means = of_support.flatten(2).mean(dim=1)
        difference = of_query.flatten(1)[:, None] - means[None]
        return -difference.square().sum(dim=2)


class DN4(ByScores):
    """The image-to-class measure of local descriptors (Li et al., CVPR 2019).

    A class's score is the sum, over the descriptors (places) of a query, of their cosines with the
    `n_k` nearest of all descriptors of the class's support images.
    """

    def __init__(self, network: Network, *, n_k: int = 3) -> None:
        super().__init__(network)
        self.n_k = n_k

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute sums of cosines (M, K), each at most `n_k` times the number of places."""
        of_support, of_query = self._both(support, query)
        theirs = normalize(of_support.flatten(3), dim=2)
        own = normalize(of_query.flatten(2), dim=1)
        cosines = einsum("mdp,ksdq->mkpsq", own, theirs).flatten(3)
        return cosines.topk(self.n_k, dim=3).values.sum(dim=(2, 3))


class R2D2(ByScores):
    """Ridge regression of one-hot classes on flat maps, without intercept.

    Bertinetto et al., ICLR 2019, in its dual form; scale `alpha`, shift `beta` and penalty `gamma`
    begin as released and are learnt with the network; nothing keeps the penalty above zero, as in
    FewSTAB's released code.
    """

    def __init__(
        self, network: Network, *, alpha: float = 1.0, beta: float = 0.0, gamma: float = 50.0
    ) -> None:
        super().__init__(network)
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.beta = nn.Parameter(torch.tensor(beta))
        self.gamma = nn.Parameter(torch.tensor(gamma))

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute scaled and shifted regressions (M, K)."""
        maps = self._both(support, query)
        of_support, of_query = maps[0].flatten(0, 1).flatten(1), maps[1].flatten(1)
        classes = functional.one_hot(support_target(support), len(support)).to(of_support.dtype)
        penalty = self.gamma * torch.eye(len(of_support)).to(of_support)
        dual = torch.linalg.solve(of_support @ of_support.T + penalty, classes)
        scores: Tensor = self.alpha * (of_query @ (of_support.T @ dual)) + self.beta
        return scores
