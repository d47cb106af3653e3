"""Relational embedding network, RENet (Kang et al., ICCV 2021)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, einsum, nn
from torch.nn.functional import cosine_similarity, cross_entropy, linear, normalize, unfold

from builders.training.method import Episode, Labelled, Method, Trained, episode_loss, needed
from builders.training.networks import Network

REACH = 5
"""Rows and columns of the neighbourhood that a place is correlated with."""

AT_ONCE = 3
"""Queries compared at once in ``eval`` mode: more would not fit a processor's caches."""

ALIKE = 1e-5
"""Added to variances when correlations are standardised."""


class RENet(Method):
    """Cosines of what a query and a class attend to in each other's self-correlational maps.

    Within an image, each place is correlated with its neighbours and layers read the result (SCR).
    Between two, correlations of all places are refined by 4D convolutions, and each place is
    weighed by how well it is matched (CCA).  The loss is that of all classes, on queries and on
    labelled images, and `lambda_epi` times the episode's.  As the authors' code has it: maps are
    rectified before they are correlated with themselves and after SCR, and lose their mean over
    channels before CCA; 4D convolutions are separable and run on the correlations and on the same
    transposed; variances are divided by one less than their number.  `temperature` is of the
    cosines (τ), `temperature_attn` of the attention (γ); `hidden` are channels within SCR, and of
    what is correlated between images.
    """

    trained_by: ClassVar[Trained] = "both"

    def __init__(
        self,
        network: Network,
        *,
        classes: int,
        temperature: float = 0.2,
        temperature_attn: float = 5.0,
        lambda_epi: float = 0.25,
        hidden: int = 64,
    ) -> None:
        super().__init__(SelfCorrelation(network, hidden))
        self.temperature, self.lambda_epi = temperature, lambda_epi
        self.attention = CrossCorrelation(network.channels, hidden, temperature_attn)
        self.classifier = nn.Linear(network.channels, classes)

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the sum of the anchors of queries and labelled images and the episode's part."""
        task, images = needed(episode), needed(labelled)
        support, query = self._centred(task.support, task.query.flatten(0, 1))
        nearest = episode_loss(self._compared(support, query), task)
        of_query = cross_entropy(self.classifier(query.mean(dim=(2, 3))), task.classes[task.target])
        pooled = self.network(images.images).mean(dim=(2, 3))
        of_images = cross_entropy(self.classifier(pooled), images.classes)
        return of_images + of_query + self.lambda_epi * nearest

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute cosines (M, K) of attended means, divided by the temperature."""
        of_support, of_query = self._centred(support, query)
        step = len(of_query) if self.training else AT_ONCE
        parts = (of_query[start : start + step] for start in range(0, len(of_query), step))
        return torch.cat([self._compared(of_support, part) for part in parts])

    def _centred(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        of_support, of_query = self._both(support, query)
        return (
            of_support - of_support.mean(dim=2, keepdim=True),
            of_query - of_query.mean(dim=1, keepdim=True),
        )

    def _compared(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute scores of centred maps (K, S, D, h, w) and (M, D, h, w)."""
        flat = support.flatten(0, 1)
        to_support, to_query = self.attention(flat, query)
        of_support = einsum("ndp,mnp->mnd", flat.flatten(2), to_support)
        of_query = einsum("mdp,mnp->mnd", query.flatten(2), to_query)
        shape = (*of_support.shape[:1], *support.shape[:2], -1)
        first, second = of_support.reshape(shape), of_query.reshape(shape)
        return cosine_similarity(first.mean(dim=2), second.mean(dim=2), dim=2) / self.temperature


class SelfCorrelation(Network):
    """A network's maps, and added to each place what layers read in its neighbourhood."""

    def __init__(self, network: Network, hidden: int) -> None:
        super().__init__()
        self.channels, self.inner = network.channels, network
        blocks: list[nn.Module] = []
        for inputs, side in ((self.channels, 1), (hidden, 3), (hidden, 3)):
            blocks += [_plain(inputs, hidden, side), nn.BatchNorm2d(hidden), nn.ReLU()]
        self.read = nn.Sequential(
            *blocks, _plain(hidden, self.channels, 1), nn.BatchNorm2d(self.channels)
        )

    def forward(self, images: Tensor) -> Tensor:
        """Compute maps, rectified."""
        maps = self.inner(images)
        unit = normalize(maps.relu(), dim=1)
        count, channels = maps.shape[:2]
        around = unfold(unit, REACH, padding=REACH // 2).reshape(count, channels, REACH * REACH, -1)
        products = around * unit.flatten(2)[:, :, None]
        of_places = products.permute(0, 3, 1, 2).reshape(-1, channels, REACH, REACH)
        features = self.read(of_places).reshape(count, -1, channels)
        result: Tensor = maps + features.transpose(1, 2).view_as(maps)
        return result.relu()

    def size(self, side: int) -> int:
        """Return h = w of maps of images with sides of `side` pixels."""
        return self.inner.size(side)


class CrossCorrelation(nn.Module):
    """Attention to the places of two images' maps, from the correlations of all their places."""

    def __init__(self, channels: int, hidden: int, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature
        self.reduce = nn.Sequential(_plain(channels, hidden, 1), nn.BatchNorm2d(hidden), nn.ReLU())
        self.refine = nn.Sequential(_Separable4d(1, 16), nn.ReLU(), _Separable4d(16, 1))

    def forward(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Compute attention to support images' places (M, N, h·w) and queries' (M, N, h·w).

        Of maps (N, D, h, w) and (M, D, h, w); each sums to h·w.
        """
        theirs, own = (normalize(self.reduce(maps), dim=1, eps=1e-8) for maps in (support, query))
        cosines = einsum("ndij,mdkl->mnijkl", theirs, own)
        pairs = cosines.flatten(0, 1)[..., None]
        refined = self.refine(pairs) + _swapped(self.refine(_swapped(pairs)))
        matches = refined.reshape(cosines.shape).flatten(4).flatten(2, 3)
        return self._shares(matches, 2).sum(dim=3), self._shares(matches, 3).sum(dim=2)

    def _shares(self, matches: Tensor, dim: int) -> Tensor:
        centred = matches - matches.mean(dim=dim, keepdim=True)
        deviation = (matches.var(dim=dim, keepdim=True) + ALIKE).sqrt()
        return (centred / deviation / self.temperature).softmax(dim=dim)


class _Norm(nn.BatchNorm1d):
    """A batch norm that is folded into the layer next to it."""

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    momentum: float

    def take(self, mean: Tensor, variance: Tensor, count: int) -> Tensor:
        """Take a batch's statistics into the running ones; return what the batch is multiplied by.

        `variance` is divided by `count`, the running one by one less, as PyTorch's.
        """
        with torch.no_grad():
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        return self.weight / (variance + self.eps).sqrt()


class _Separable4d(nn.Module):
    """A 3 x 3 x 3 x 3 convolution as one along the first image, one along the second and 1 x 1.

    Each is normalised by batch, and the first rectified; what follows the second is one linear map.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, inputs, 3, padding=1, bias=False)
        self.norm_first = nn.BatchNorm1d(inputs)
        self.second = nn.Conv2d(inputs, inputs, 3, padding=1, bias=False)
        self.norm_second = _Norm(inputs)
        self.mix = nn.Linear(inputs, outputs, bias=False)
        self.norm_mix = _Norm(outputs)

    def forward(self, pairs: Tensor) -> Tensor:
        """Compute (B, i, j, k, l, outputs) of (B, i, j, k, l, inputs)."""
        along_first = _convolved(self.first, _swapped(pairs))
        rectified = self.norm_first(along_first.flatten(0, 4)).relu_().view_as(along_first)
        flat = _convolved(self.second, _swapped(rectified)).flatten(0, 4)
        if self.training:
            mean = flat.sum(dim=0) / len(flat)
            flat = flat + (-mean)
            matrix, offset = self._by_batch(mean, flat.T @ flat / len(flat), len(flat))
        else:
            matrix, offset = self._by_running()
        return linear(flat, matrix, offset).view(*pairs.shape[:-1], -1)

    def _by_batch(self, mean: Tensor, covariance: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Fold both norms and the mixing of centred channels, by their covariance.

        The shift of the norm before the mixing has no effect: the one after takes it away.
        """
        mixing = self.mix.weight * self.norm_second.take(mean, covariance.diagonal(), count)
        shift = self.mix.weight @ self.norm_second.bias
        variance = ((mixing @ covariance) * mixing).sum(dim=1)
        scale = self.norm_mix.take(shift, variance, count)
        return mixing * scale[:, None], self.norm_mix.bias

    def _by_running(self) -> tuple[Tensor, Tensor]:
        """Fold both norms and the mixing, by running statistics."""
        second, after = self.norm_second, self.norm_mix
        mixing = self.mix.weight * (second.weight / (second.running_var + second.eps).sqrt())
        mean = mixing @ second.running_mean - self.mix.weight @ second.bias
        scale = after.weight / (after.running_var + after.eps).sqrt()
        return mixing * scale[:, None], after.bias - scale * (mean + after.running_mean)


def _convolved(layer: nn.Conv2d, pairs: Tensor) -> Tensor:
    """Convolve (..., h, w, C) along h and w; one channel by a matrix, which is faster."""
    *_, rows, columns, channels = pairs.shape
    if channels == 1:
        places = rows * columns
        ones = torch.eye(places).to(pairs).view(-1, 1, rows, columns)
        matrix: Tensor = layer(ones).view(places, places)
        return (pairs.reshape(-1, places) @ matrix).view(pairs.shape)
    images = pairs.reshape(-1, rows, columns, channels).permute(0, 3, 1, 2)
    out: Tensor = layer(images)
    return out.permute(0, 2, 3, 1).reshape(pairs.shape)


def _plain(inputs: int, outputs: int, side: int) -> nn.Conv2d:
    """Make a convolution without padding or bias."""
    return nn.Conv2d(inputs, outputs, side, bias=False)


def _swapped(pairs: Tensor) -> Tensor:
    return pairs.permute(0, 3, 4, 1, 2, 5)
