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
"""Queries compared at once in ``eval`` mode: more would not fit into a processor's caches."""

ALIKE = 1e-5
"""Added to variances when correlations are standardised."""


class RENet(Method):
    """Cosines of what a query and a class attend to in each other's self-correlational maps.

    Within an image, each place is correlated with its neighbours and layers read the result (SCR).
    Between two images, 4D convolutions refine the correlations of all places, and each place is
    weighed by how well it is matched (CCA).  The loss is that of all classes, on queries and on
    labelled images, plus `lambda_epi` times the episode's.  As in the authors' code, maps are
    rectified before SCR's correlations and after SCR, and lose their mean over channels before CCA;
    4D convolutions are separable and run on the correlations and on their transpose; variances are
    unbiased.  `temperature` is the cosines' (τ), `temperature_attn` the attention's (γ); `hidden`
    is the number of channels within SCR, and of the maps that CCA correlates.
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
        """Compute the anchor losses of queries and labelled images plus the episode's part."""
        task, batch = needed(episode), needed(labelled)
        support, query = self._centred(task.support, task.query.flatten(0, 1))
        episode_part = episode_loss(self._compared(support, query), task)
        query_logits = self.classifier(query.mean(dim=(2, 3)))
        query_anchor = cross_entropy(query_logits, task.classes[task.target])
        batch_logits = self.classifier(self.network(batch.images).mean(dim=(2, 3)))
        batch_anchor = cross_entropy(batch_logits, batch.classes)
        return batch_anchor + query_anchor + self.lambda_epi * episode_part

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute cosines (M, K) of attended means, divided by the temperature."""
        support_maps, query_maps = self._centred(support, query)
        at_once = len(query_maps) if self.training else AT_ONCE
        parts = torch.split(query_maps, at_once)
        return torch.cat([self._compared(support_maps, part) for part in parts])

    def _centred(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Make maps as :meth:`_both` does, without their mean over channels."""
        support_maps, query_maps = self._both(support, query)
        return (
            support_maps - support_maps.mean(dim=2, keepdim=True),
            query_maps - query_maps.mean(dim=1, keepdim=True),
        )

    def _compared(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute scores of centred maps (K, S, D, h, w) and (M, D, h, w)."""
        way, shot = support.shape[:2]
        images = support.flatten(0, 1)
        to_support, to_query = self.attention(images, query)
        attended_support = einsum("ndp,mnp->mnd", images.flatten(2), to_support)
        attended_query = einsum("mdp,mnp->mnd", query.flatten(2), to_query)
        class_means = attended_support.reshape(len(query), way, shot, -1).mean(dim=2)
        query_means = attended_query.reshape(len(query), way, shot, -1).mean(dim=2)
        return cosine_similarity(class_means, query_means, dim=2) / self.temperature


class SelfCorrelation(Network):
    """A network's maps, plus what layers read in the neighbourhood of each place."""

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
        neighbours = unfold(unit, REACH, padding=REACH // 2).reshape(
            count, channels, REACH * REACH, -1
        )
        products = neighbours * unit.flatten(2)[:, :, None]
        by_place = products.permute(0, 3, 1, 2).reshape(-1, channels, REACH, REACH)
        features = self.read(by_place).reshape(count, -1, channels)
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

        The maps are (N, D, h, w) and (M, D, h, w); each attention sums to h·w.
        """
        support_unit = normalize(self.reduce(support), dim=1, eps=1e-8)
        query_unit = normalize(self.reduce(query), dim=1, eps=1e-8)
        cosines = einsum("ndij,mdkl->mnijkl", support_unit, query_unit)
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
        """Update the running statistics with a batch's; returns the factor of the batch.

        `variance` is divided by `count`, the running variance by `count` - 1, as in PyTorch.
        """
        with torch.no_grad():
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        return self.weight / (variance + self.eps).sqrt()


class _Separable4d(nn.Module):
    """A 4D convolution, separated into one along each image and one of channels alone.

    Each is normalised by batch, and the first rectified.  The norm of the second, the mixing of
    channels and its norm are computed as one linear map.
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
        """Fold both norms and the mixing of centred channels, by the batch's covariance.

        The shift of the norm before the mixing has no effect: the norm after it subtracts it.
        """
        mixing = self.mix.weight * self.norm_second.take(mean, covariance.diagonal(), count)
        shift = self.mix.weight @ self.norm_second.bias
        variance = ((mixing @ covariance) * mixing).sum(dim=1)
        scale = self.norm_mix.take(shift, variance, count)
        return mixing * scale[:, None], self.norm_mix.bias

    def _by_running(self) -> tuple[Tensor, Tensor]:
        """Fold both norms and the mixing, by running statistics."""
        before, after = self.norm_second, self.norm_mix
        mixing = self.mix.weight * (before.weight / (before.running_var + before.eps).sqrt())
        mean = mixing @ before.running_mean - self.mix.weight @ before.bias
        scale = after.weight / (after.running_var + after.eps).sqrt()
        return mixing * scale[:, None], after.bias - scale * (mean + after.running_mean)


def _convolved(layer: nn.Conv2d, pairs: Tensor) -> Tensor:
    """Convolve (..., h, w, C) along h and w; a single channel by a matrix, which is faster."""
    *_, rows, columns, channels = pairs.shape
    if channels == 1:
        places = rows * columns
        unit_images = torch.eye(places).to(pairs).view(-1, 1, rows, columns)
        matrix: Tensor = layer(unit_images).view(places, places)
        return (pairs.reshape(-1, places) @ matrix).view(pairs.shape)
    images = pairs.reshape(-1, rows, columns, channels).permute(0, 3, 1, 2)
    convolved: Tensor = layer(images)
    return convolved.permute(0, 2, 3, 1).reshape(pairs.shape)


def _plain(inputs: int, outputs: int, side: int) -> nn.Conv2d:
    """Make a convolution without padding or bias."""
    return nn.Conv2d(inputs, outputs, side, bias=False)


def _swapped(pairs: Tensor) -> Tensor:
    """Swap the two images of pairs (B, i, j, k, l, C)."""
    return pairs.permute(0, 3, 4, 1, 2, 5)
