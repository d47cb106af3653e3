"""Deep nearest neighbour neural network, DN4 (Li et al., CVPR 2019)."""

from __future__ import annotations

from torch import Tensor, einsum
from torch.nn.functional import normalize

from builders.training.method import Episode, Labelled, Method, episode_loss, needed
from builders.training.networks import Network


class DN4(Method):
    """The image-to-class measure of local descriptors.

    A descriptor is a place of a map.  A class's score is the sum, over the descriptors of a query,
    of their cosines with the `n_k` nearest of all descriptors of the class's support images.  The
    authors' code and the paper agree.

    Parameters
    ----------
    n_k
        Neighbours of each descriptor: 3 of the paper.
    """

    def __init__(self, network: Network, *, n_k: int = 3) -> None:
        super().__init__(network)
        self.n_k = n_k

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of an episode's queries."""
        task = needed(episode)
        return episode_loss(self.scores(task.support, task.query.flatten(0, 1)), task)

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute sums of cosines (M, K), each at most `n_k` times the number of places."""
        of_support, of_query = self._both(support, query)
        theirs = normalize(of_support.flatten(3), dim=2)
        own = normalize(of_query.flatten(2), dim=1)
        cosines = einsum("mdp,ksdq->mkpsq", own, theirs).flatten(3)
        return cosines.topk(self.n_k, dim=3).values.sum(dim=(2, 3))
