"""BOIL: body only update in the inner loop (Oh et al., ICLR 2021)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from builders.training.inner_loop import (
    Weights,
    by_own_statistics,
    check_way,
    descend,
    support_target,
)
from builders.training.method import Episode, Labelled, Method, episode_loss, needed
from builders.training.networks import Network

BODY = "network."


class BOIL(Method):
    """A network that one gradient step fits to the support images, below a linear layer that stays.

    Gradients of second order reach both.  Batch normalisation takes the statistics of the support
    images while the network is fitted and those of all queries together while it answers, in
    training and in tests, as in the code of the paper's authors: running statistics would be of
    other weights.  So an answer depends on the other queries (transductive), as with MAML.

    Where FewSTAB's released code differs from the paper, the paper holds:

    - Its rate of 0 for the layer never acts: it looks for "Linear" in names of weights that have
      none.  ``head_rate=0.5`` is what it does.
    - Its tests fit nothing.  ``nil=True`` is what it does: cosines with the means of classes, by
      the network as it was trained, of any number of ways.

    Parameters
    ----------
    network
        Its maps are made flat.
    way
        K, of all tasks: the layer has an output for each class.
    side
        Of images, in pixels.
    rate, head_rate
        Of inner steps, of the network and of the layer.
    steps
        In :meth:`loss` and in :meth:`scores`.
    nil
        Whether :meth:`scores` does without the layer, and without any step.
    """

    adapts = True

    def __init__(
        self,
        network: Network,
        *,
        way: int = 5,
        side: int = 28,
        rate: float = 0.5,
        head_rate: float = 0.0,
        steps: int = 1,
        nil: bool = False,
    ) -> None:
        super().__init__(network)
        self.head = nn.Linear(network.channels * network.size(side) ** 2, way)
        self.rate, self.head_rate, self.steps, self.nil = rate, head_rate, steps, nil
        self.keeps_way = not nil

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of queries after `steps` steps."""
        task = needed(episode)
        return episode_loss(self._adapted(task.support, task.query.flatten(0, 1), True), task)

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute outputs (M, K) after `steps` steps, or cosines if `nil`.

        Raises
        ------
        SpecError
            Where a task has other ways than the layer has outputs, unless `nil`.
        """
        if not self.nil:
            return self._adapted(support, query, False)
        weights: dict[str, Tensor] = dict(self.named_parameters())
        of_support = self._flat(weights, support.flatten(0, 1))
        means = of_support.view(*support.shape[:2], -1).mean(dim=1)
        of_query = self._flat(weights, query)
        return functional.cosine_similarity(of_query[:, None], means[None], dim=2)

    def _adapted(self, support: Tensor, query: Tensor, meta: bool) -> Tensor:
        check_way("BOIL", self.head.out_features, support)
        target, images = support_target(support), support.flatten(0, 1)
        start: dict[str, Tensor] = dict(self.named_parameters())
        rates = {name: self.rate if name.startswith(BODY) else self.head_rate for name in start}
        moved = {name: rate for name, rate in rates.items() if rate}
        weights = descend(
            lambda w: functional.cross_entropy(self._outputs(w, images), target),
            start,
            moved,
            self.steps,
            meta,
        )
        return self._outputs(weights, query)

    def _outputs(self, weights: Weights, images: Tensor) -> Tensor:
        flat = self._flat(weights, images)
        return functional.linear(flat, weights["head.weight"], weights["head.bias"])

    def _flat(self, weights: Weights, images: Tensor) -> Tensor:
        body = {n.removeprefix(BODY): w for n, w in weights.items() if n.startswith(BODY)}
        return by_own_statistics(self.network, body, images).flatten(1)
