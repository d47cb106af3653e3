"""R2D2: ridge regression in closed form (Bertinetto et al., ICLR 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from builders.training.inner_loop import support_target
from builders.training.method import Episode, Labelled, Method, episode_loss, needed
from builders.training.networks import Network


class R2D2(Method):
    """Ridge regression of one-hot classes on flat maps, without intercept.

    Solved in its dual form, of K·S unknowns; scores are scaled and shifted by numbers learnt with
    the network, as the penalty is; nothing keeps it above zero, as in FewSTAB's released code.

    Parameters
    ----------
    network
        Its maps are made flat.
    alpha, beta, gamma
        Where scale, shift and penalty begin, as released.
    """

    def __init__(
        self, network: Network, *, alpha: float = 1.0, beta: float = 0.0, gamma: float = 50.0
    ) -> None:
        super().__init__(network)
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.beta = nn.Parameter(torch.tensor(beta))
        self.gamma = nn.Parameter(torch.tensor(gamma))

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of an episode's queries."""
        task = needed(episode)
        return episode_loss(self.scores(task.support, task.query.flatten(0, 1)), task)

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute scaled and shifted regressions (M, K)."""
        maps = self._both(support, query)
        of_support, of_query = maps[0].flatten(0, 1).flatten(1), maps[1].flatten(1)
        classes = functional.one_hot(support_target(support), len(support)).to(of_support.dtype)
        penalty = self.gamma * torch.eye(len(of_support)).to(of_support)
        dual = torch.linalg.solve(of_support @ of_support.T + penalty, classes)
        scores: Tensor = self.alpha * (of_query @ (of_support.T @ dual)) + self.beta
        return scores
