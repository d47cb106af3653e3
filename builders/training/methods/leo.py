"""LEO: latent embedding optimisation (Rusu et al., ICLR 2019)."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from builders.training.inner_loop import descend, support_target
from builders.training.method import Episode, Labelled, Method, episode_loss, needed
from builders.training.networks import Network

TINY = 1e-20


class _Normals(NamedTuple):
    """Independent normal distributions, a row of each class."""

    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, numbers: Tensor) -> _Normals:
        """Take the halves of each row: means, and standard deviations as they are."""
        return cls(*numbers.chunk(2, dim=-1))

    def at(self, noise: Tensor | float) -> Tensor:
        """Return values that lie `noise` standard deviations from the means."""
        return self.mean + self.deviation * noise

    def divergence(self, noise: Tensor) -> Tensor:
        """Estimate their mean KL divergence from the standard normal by the values at `noise`.

        Standardised values are the noise itself: to subtract the mean again would lose digits.
        """
        spread = self.deviation + TINY
        standardised = noise * self.deviation / spread
        return ((self.at(noise).square() - standardised.square()) / 2 - spread.log()).mean()


class LEO(Method):
    """A linear classifier decoded from codes of classes; gradient steps move the codes.

    Codes come from pairs of support images, a classifier's weights from codes; a few steps move
    the codes, a few more the weights.  As in the paper and in FewSTAB's released code the features
    are frozen: another method has trained the network, which stays as it is, in ``eval`` mode and
    without gradients.  Codes and weights are drawn in :meth:`loss`, from PyTorch's default
    generator; :meth:`scores` takes means, as the code of the paper's authors, and is the same each
    time; that of FewSTAB draws.

    Where FewSTAB's released code differs from the paper, the paper holds:

    - Gradients flow through the steps; there they stop at each.
    - The penalty on how far codes move takes the moved codes as constants; there it does not.
    - Latent dimensions of the decoder are to be orthogonal; there its outputs, of which there are
      more than can be.
    - In training its network normalises by the statistics of each batch, and keeps them.

    Where the paper leaves it open, as in that code: a linear encoder and decoder with intercept,
    a relation network of three layers without, each followed by a rectifier, and standard
    deviations that are used as they come.

    Parameters
    ----------
    network
        Trained; its maps are made flat.
    side
        Of images, in pixels.
    latent
        The length of a code; this and what follows as in FewSTAB's released settings.
    rate, steps
        Of steps on codes.
    finetune_rate, finetune_steps
        Of steps on the classifier's weights.
    kl_weight, encoder_weight, orthogonality_weight
        Of what is added to the loss of the queries.
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
        features = network.channels * network.size(side) ** 2
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
        """Compute the mean cross-entropy of queries and the weighted penalties."""
        task = needed(episode)
        of_support, of_query = self._frozen(task.support, task.query.flatten(0, 1))
        codes = self._codes(of_support)
        noise = torch.randn_like(codes.mean)
        start = codes.at(noise)
        moved = self._moved(of_support, start, meta=True)
        weights = self._fitted(of_support, moved, meta=True)
        return (
            episode_loss(of_query @ weights.T, task)
            + self.kl_weight * codes.divergence(noise)
            + self.encoder_weight * (moved.detach() - start).square().mean()
            + self.orthogonality_weight * correlation(self.decoder.weight.T)
        )

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute the fitted classifier's outputs (M, K)."""
        of_support, of_query = self._frozen(support, query)
        start = self._codes(of_support).mean
        moved = self._moved(of_support, start, meta=False)
        return of_query @ self._fitted(of_support, moved, meta=False).T

    def _frozen(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Make flat maps (K, S, D) and (M, D)."""
        with torch.no_grad():
            of_support, of_query = self._both(support, query)
        return of_support.flatten(2), of_query.flatten(1)

    def _codes(self, support: Tensor) -> _Normals:
        """Compute distributions of codes: the mean of a class's images beside all."""
        way, shot = support.shape[:2]
        hidden = self.encoder(support).flatten(0, 1)
        images = len(hidden)
        pairs = torch.cat(
            [hidden[:, None].expand(-1, images, -1), hidden[None].expand(images, -1, -1)], dim=2
        )
        related = self.relation(pairs).unflatten(0, (way, shot))
        return _Normals.of(related.mean(dim=(1, 2)))

    def _moved(self, support: Tensor, codes: Tensor, meta: bool) -> Tensor:
        """Take steps on codes (K, latent); weights are drawn anew for each."""
        return descend(
            lambda w: self._support_loss(support, self._decoded(w["codes"], meta)),
            {"codes": codes},
            {"codes": self.rate},
            self.steps,
            meta,
        )["codes"]

    def _fitted(self, support: Tensor, codes: Tensor, meta: bool) -> Tensor:
        """Take steps on the weights (K, D) decoded from codes."""
        return descend(
            lambda w: self._support_loss(support, w["weights"]),
            {"weights": self._decoded(codes, meta)},
            {"weights": self.finetune_rate},
            self.finetune_steps,
            meta,
        )["weights"]

    def _decoded(self, codes: Tensor, sampled: bool) -> Tensor:
        weights = _Normals.of(self.decoder(codes))
        return weights.at(torch.randn_like(weights.mean)) if sampled else weights.mean

    @staticmethod
    def _support_loss(support: Tensor, weights: Tensor) -> Tensor:
        outputs = support.flatten(0, 1) @ weights.T
        return functional.cross_entropy(outputs, support_target(support))


def correlation(rows: Tensor) -> Tensor:
    """Compute the mean square of cosines between rows, less those with themselves."""
    unit = rows / (rows.norm(dim=1, keepdim=True) + TINY)
    cosines: Tensor = unit @ unit.T - torch.eye(len(rows)).to(rows)
    return cosines.square().mean()
