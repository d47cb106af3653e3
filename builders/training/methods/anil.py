"""ANIL: almost no inner loop (Raghu et al., ICLR 2020)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from builders.training.inner_loop import check_way, descend, support_target
from builders.training.method import Episode, Labelled, Method, episode_loss, needed
from builders.training.networks import Network


class ANIL(Method):
    """A linear layer that a few gradient steps fit to the support images, from a learnt start.

    The network stays as it is within a task; through the steps the loss of
    queries reaches both, with gradients of second order.  In training, batch normalisation takes
    the statistics of a task's images together; in ``eval`` mode its running statistics, so that
    no answer depends on other queries.  FewSTAB's released code does so in its first test task
    alone: that leaves the network in training mode.

    Parameters
    ----------
    network
        Its maps are made flat.
    way
        K, of all tasks: the layer has an output for each class.
    side
        Of images, in pixels.
    rate
        Of inner steps; this and their numbers as in FewSTAB's released settings.
    steps, test_steps
        In :meth:`loss`, in :meth:`scores`.
    """

    adapts = True
    keeps_way = True

    def __init__(
        self,
        network: Network,
        *,
        way: int = 5,
        side: int = 28,
        rate: float = 0.01,
        steps: int = 5,
        test_steps: int = 10,
    ) -> None:
        super().__init__(network)
        self.head = nn.Linear(network.channels * network.size(side) ** 2, way)
        self.rate, self.steps, self.test_steps = rate, steps, test_steps

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of queries after `steps` steps."""
        task = needed(episode)
        scores = self._adapted(task.support, task.query.flatten(0, 1), self.steps, meta=True)
        return episode_loss(scores, task)

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute outputs (M, K) after `test_steps` steps.

        Raises
        ------
        SpecError
            Where a task has other ways than the layer has outputs.
        """
        return self._adapted(support, query, self.test_steps, meta=False)

    def _adapted(self, support: Tensor, query: Tensor, steps: int, meta: bool) -> Tensor:
        check_way("ANIL", self.head.out_features, support)
        target = support_target(support)
        maps = self._both(support, query)
        of_support, of_query = maps[0].flatten(0, 1).flatten(1), maps[1].flatten(1)
        start: dict[str, Tensor] = dict(self.head.named_parameters())
        head = descend(
            lambda w: functional.cross_entropy(functional.linear(of_support, **w), target),
            start,
            dict.fromkeys(start, self.rate),
            steps,
            meta,
        )
        return functional.linear(of_query, **head)
