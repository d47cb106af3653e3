"""Methods that take gradient steps on a task's support images: ANIL, BOIL and LEO."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Self

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from benchmark_spec.errors import SpecError
from builders.training.method import Episode, Labelled, Method, episode_loss, needed, support_target
from builders.training.networks import Network

Weights = dict[str, Tensor]


def descend(
    loss: Callable[[Weights], Tensor],
    weights: Weights,
    rates: Mapping[str, float],
    steps: int,
    meta: bool,
) -> Weights:
    """Take `steps` of gradient descent on `loss`, a scalar; only weights with `rates` change.

    With `meta`, gradients flow through the steps, those of second order too; without it no graph
    outlasts a step, and this works under ``torch.no_grad``.
    """
    with torch.enable_grad():
        for _ in range(steps):
            if not meta:
                weights = {n: w.detach().requires_grad_(n in rates) for n, w in weights.items()}
            changing = [weights[name] for name in rates]
            gradients = torch.autograd.grad(loss(weights), changing, create_graph=meta)
            weights = dict(weights)
            for (name, rate), gradient in zip(rates.items(), gradients, strict=True):
                weights[name] = weights[name] - rate * gradient
    return weights if meta else {name: weight.detach() for name, weight in weights.items()}


def by_own_statistics(network: nn.Module, weights: Weights, images: Tensor) -> Tensor:
    """Run a network with other weights, normalising by the statistics of these images."""
    buffers = {name: buffer.clone() for name, buffer in network.named_buffers()}
    layers = [layer for layer in network.modules() if isinstance(layer, _BatchNorm)]
    modes = [layer.training for layer in layers]
    try:
        for layer in layers:
            layer.training = True
        maps: Tensor = functional_call(network, {**weights, **buffers}, (images,))
    finally:
        for layer, mode in zip(layers, modes, strict=True):
            layer.training = mode
    return maps


class _WithHead(Method):
    """A method that adapts a linear layer with an output for each way, or the network below it."""

    adapts = True
    keeps_way = True

    def __init__(self, network: Network, way: int, side: int) -> None:
        super().__init__(network)
        self.head = nn.Linear(network.width(side), way)

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of queries after the steps."""
        task = needed(episode)
        scores = self._adapted(task.support, task.query.flatten(0, 1), meta=True)
        return episode_loss(scores, task)

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute outputs (M, K) after the steps; SpecError for a task of other ways."""
        return self._adapted(support, query, meta=False)

    def _check_way(self, support: Tensor) -> None:
        ways, name = self.head.out_features, type(self).__name__
        if len(support) != ways:
            raise SpecError(
                f"{name} was made for {ways} ways and a task has {len(support)}",
                expected=f"tasks of {ways} ways: its last layer has an output for each",
                fix=f"train it anew with way={len(support)}",
            )

    @abstractmethod
    def _adapted(self, support: Tensor, query: Tensor, meta: bool) -> Tensor:
        """Compute the queries' outputs after steps on the support images."""


class ANIL(_WithHead):
    """A linear layer that a few gradient steps fit to the support images, from a learnt start.

    Almost no inner loop (Raghu et al., ICLR 2020), with gradients of second order.  Batch
    normalisation takes the statistics of a task's images together in training, and its running
    statistics in ``eval`` mode.  :meth:`loss` takes `steps` inner steps and :meth:`scores`
    `test_steps`, at `rate`, all as in FewSTAB's released settings.
    """

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
        super().__init__(network, way, side)
        self.rate, self.steps, self.test_steps = rate, steps, test_steps

    def _adapted(self, support: Tensor, query: Tensor, meta: bool) -> Tensor:
        self._check_way(support)
        support_maps, query_maps = self._both(support, query)
        start: Weights = dict(self.head.named_parameters())

        def loss(head: Weights) -> Tensor:
            outputs = functional.linear(support_maps.flatten(0, 1).flatten(1), **head)
            return functional.cross_entropy(outputs, support_target(support))

        steps = self.steps if meta else self.test_steps
        head = descend(loss, start, dict.fromkeys(start, self.rate), steps, meta)
        return functional.linear(query_maps.flatten(1), **head)


BODY = "network."


class BOIL(_WithHead):
    """A network that one gradient step fits to the support images, below a fixed linear layer.

    Body only update in the inner loop (Oh et al., ICLR 2021), with gradients of second order.  As
    in the authors' code, batch normalisation takes the statistics of the support images while the
    network is fitted, and those of all queries together in prediction, so that a prediction depends
    on the other queries (transductive).  `rate` is the network's and `head_rate` the layer's.  With
    `nil`, :meth:`scores` takes cosines with the means of classes, without layer or step.
    """

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
        super().__init__(network, way, side)
        self.rate, self.head_rate, self.steps, self.nil = rate, head_rate, steps, nil
        self.keeps_way = not nil

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute outputs (M, K) after `steps` steps, or cosines if `nil`."""
        if not self.nil:
            return super().scores(support, query)
        weights: Weights = dict(self.named_parameters())
        support_maps = self._flat_maps(weights, support.flatten(0, 1))
        means = support_maps.view(*support.shape[:2], -1).mean(dim=1)
        query_maps = self._flat_maps(weights, query)
        return functional.cosine_similarity(query_maps[:, None], means[None], dim=2)

    def _adapted(self, support: Tensor, query: Tensor, meta: bool) -> Tensor:
        self._check_way(support)
        start: Weights = dict(self.named_parameters())
        rates = {name: self.rate if name.startswith(BODY) else self.head_rate for name in start}
        rates = {name: rate for name, rate in rates.items() if rate}

        def loss(weights: Weights) -> Tensor:
            outputs = self._outputs(weights, support.flatten(0, 1))
            return functional.cross_entropy(outputs, support_target(support))

        return self._outputs(descend(loss, start, rates, self.steps, meta), query)

    def _outputs(self, weights: Weights, images: Tensor) -> Tensor:
        maps = self._flat_maps(weights, images)
        return functional.linear(maps, weights["head.weight"], weights["head.bias"])

    def _flat_maps(self, weights: Weights, images: Tensor) -> Tensor:
        body = {n.removeprefix(BODY): w for n, w in weights.items() if n.startswith(BODY)}
        return by_own_statistics(self.network, body, images).flatten(1)


TINY = 1e-20


class LEO(Method):
    """A linear classifier decoded from codes of classes; gradient steps change the codes.

    Latent embedding optimisation (Rusu et al., ICLR 2019).  Pairs of support images are encoded as
    codes of length `latent`, which are decoded into a classifier's weights.  `steps` steps at
    `rate` change the codes, then `finetune_steps` at `finetune_rate` the weights.  The network is
    frozen: another method has trained it.  :meth:`loss` draws codes and weights; :meth:`scores`
    takes their means, as the authors' code, where FewSTAB's draws.  What the paper leaves open, and
    the default settings, are those of FewSTAB's code.  `kl_weight`, `encoder_weight` and
    `orthogonality_weight` multiply the penalties that are added to the loss.
    """

    adapts = True

    def __init__(
        self,
        network: Network,
        *,
        side: int = 28,
        latent: int = 64,
        rate: float = 0.01,
        steps: int = 5,
        finetune_rate: float = 0.01,
        finetune_steps: int = 5,
        kl_weight: float = 1e-3,
        encoder_weight: float = 1e-9,
        orthogonality_weight: float = 1e-3,
    ) -> None:
        super().__init__(network)
        features = network.width(side)
        self.encoder = nn.Linear(features, latent)
        layers = [nn.Linear(2 * latent, 2 * latent, bias=False) for _ in range(3)]
        self.relation = nn.Sequential(*chain.from_iterable((layer, nn.ReLU()) for layer in layers))
        self.decoder = nn.Linear(latent, 2 * features)
        self.rate, self.steps = rate, steps
        self.finetune_rate, self.finetune_steps = finetune_rate, finetune_steps
        self.kl_weight, self.encoder_weight = kl_weight, encoder_weight
        self.orthogonality_weight = orthogonality_weight
        self.network.eval()

    def train(self, mode: bool = True) -> Self:
        """Set the mode of all but the network, which stays in ``eval`` mode."""
        super().train(mode)
        self.network.eval()
        return self

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of queries plus the weighted penalties."""
        task = needed(episode)
        support_maps, query_maps = self._frozen(task.support, task.query.flatten(0, 1))
        mean, deviation = self._codes(support_maps)
        noise = torch.randn_like(mean)
        start = mean + deviation * noise
        # the mean KL divergence of the codes from the standard normal, estimated by their values;
        # standardised these are the noise: to subtract the mean again would lose digits
        spread = deviation + TINY
        standardised = noise * deviation / spread
        divergence = ((start.square() - standardised.square()) / 2 - spread.log()).mean()
        codes = self._adapted_codes(support_maps, start, meta=True)
        weights = self._adapted_weights(support_maps, codes, meta=True)
        return (
            episode_loss(query_maps @ weights.T, task)
            + self.kl_weight * divergence
            + self.encoder_weight * (codes.detach() - start).square().mean()
            + self.orthogonality_weight * correlation(self.decoder.weight.T)
        )

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute the adapted classifier's outputs (M, K)."""
        support_maps, query_maps = self._frozen(support, query)
        start, _ = self._codes(support_maps)
        codes = self._adapted_codes(support_maps, start, meta=False)
        return query_maps @ self._adapted_weights(support_maps, codes, meta=False).T

    def _frozen(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Make flat maps (K, S, D) and (M, D)."""
        with torch.no_grad():
            support_maps, query_maps = self._both(support, query)
        return support_maps.flatten(2), query_maps.flatten(1)

    def _codes(self, support: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the mean and deviation of each class's code.

        They are averages over all pairs of one of its images with any support image.
        """
        way, shot = support.shape[:2]
        hidden = self.encoder(support).flatten(0, 1)
        images = len(hidden)
        first = hidden[:, None].expand(-1, images, -1)
        second = hidden[None].expand(images, -1, -1)
        related = self.relation(torch.cat([first, second], dim=2)).unflatten(0, (way, shot))
        mean, deviation = related.mean(dim=(1, 2)).chunk(2, dim=-1)
        return mean, deviation

    def _adapted_codes(self, support: Tensor, codes: Tensor, meta: bool) -> Tensor:
        """Take steps on codes (K, latent); with `meta`, each step draws the weights anew."""

        def loss(adapted: Weights) -> Tensor:
            return self._support_loss(support, self._decoded(adapted["codes"], meta))

        return descend(loss, {"codes": codes}, {"codes": self.rate}, self.steps, meta)["codes"]

    def _adapted_weights(self, support: Tensor, codes: Tensor, meta: bool) -> Tensor:
        """Take steps on the weights (K, D) decoded from codes."""

        def loss(adapted: Weights) -> Tensor:
            return self._support_loss(support, adapted["w"])

        start, rates = {"w": self._decoded(codes, meta)}, {"w": self.finetune_rate}
        return descend(loss, start, rates, self.finetune_steps, meta)["w"]

    def _decoded(self, codes: Tensor, draw: bool) -> Tensor:
        mean, deviation = self.decoder(codes).chunk(2, dim=-1)
        weights: Tensor = mean + deviation * torch.randn_like(mean) if draw else mean
        return weights

    @staticmethod
    def _support_loss(support: Tensor, weights: Tensor) -> Tensor:
        outputs = support.flatten(0, 1) @ weights.T
        return functional.cross_entropy(outputs, support_target(support))


def correlation(rows: Tensor) -> Tensor:
    """Compute the mean square of cosines between rows; that of a row with itself counts as 0."""
    unit = rows / (rows.norm(dim=1, keepdim=True) + TINY)
    cosines: Tensor = unit @ unit.T - torch.eye(len(rows)).to(rows)
    return cosines.square().mean()
