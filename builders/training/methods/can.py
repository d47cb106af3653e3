"""Cross attention network, CAN (Hou et al., NeurIPS 2019), without transductive inference."""

from __future__ import annotations

from torch import Tensor, einsum, nn
from torch.nn.functional import cross_entropy, normalize

from builders.training.method import Episode, Labelled, Method, needed
from builders.training.networks import Network


class CAN(Method):
    """Cosines of a query's and a class's maps after each has attended to the other.

    The correlation layer compares the places of both, the meta fusion layer tells where each of the
    two is weighed more.  The loss is that of all classes at every place, and `weight` (λ) times the
    nearest neighbour's.  As the authors' code has it: the fusion is a mean over places; its hidden
    layer is normalised by batch and has as many units as the map has rows; cosines are multiplied
    by `scale_cls`.
    """

    def __init__(
        self,
        network: Network,
        *,
        classes: int,
        side: int,
        scale_cls: float = 7.0,
        temperature: float = 0.025,
        weight: float = 0.5,
    ) -> None:
        super().__init__(network)
        rows = network.size(side)
        self.scale_cls, self.weight = scale_cls, weight
        self.fusion = _Fusion(rows * rows, rows, temperature)
        self.classifier = nn.Linear(network.channels, classes)

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the loss of all classes and `weight` times the nearest neighbour's, means."""
        task = needed(episode)
        means, queries = self._attended(task.support, task.query.flatten(0, 1))
        target = task.target
        near = einsum("mkd,mkdq->mkq", normalize(means, dim=2), normalize(queries, dim=2))
        by_place = target[:, None].expand(-1, near.shape[2])
        nearest = cross_entropy(self.scale_cls * near, by_place)
        own = queries[target.new_tensor(range(len(target))), target].transpose(1, 2)
        classes = task.classes[by_place].flatten()
        whole = cross_entropy(self.classifier(own).flatten(0, 1), classes)  # classes last: faster
        return whole + self.weight * nearest

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute `scale_cls` times the cosine of each pair's mean places: (M, K)."""
        means, queries = self._attended(support, query)
        cosines = normalize(means, dim=2) * normalize(queries.mean(dim=3), dim=2)
        return self.scale_cls * cosines.sum(dim=2)

    def _attended(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Compute attended classes' mean places (M, K, D) and attended queries (M, K, D, h·w)."""
        of_support, of_query = self._both(support, query)
        classes, queries = of_support.mean(dim=1).flatten(2), of_query.flatten(2)
        cosines = einsum("kdp,mdq->mkpq", normalize(classes, dim=1), normalize(queries, dim=1))
        of_classes, of_queries = self.fusion(cosines), self.fusion(cosines.transpose(2, 3))
        means = einsum("kdp,mkp->mkd", classes, of_classes) / classes.shape[2]
        return means, queries[:, None] * of_queries[:, :, None]


class _Fusion(nn.Module):
    """Attention to the first map's places, from cosines of two maps' places."""

    def __init__(self, places: int, hidden: int, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature
        self.enter, self.leave = nn.Linear(places, hidden), nn.Linear(hidden, places)
        self.norm = nn.BatchNorm1d(hidden)
        for layer in (self.enter, self.leave):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, cosines: Tensor) -> Tensor:
        """Compute 1 + shares (M, K, p) that sum to 1, of cosines (M, K, p, q)."""
        pooled = cosines.mean(dim=2)
        hidden = self.norm(self.enter(pooled.flatten(0, 1))).relu()
        kernel = self.leave(hidden).view_as(pooled)
        fused = (cosines * kernel[:, :, None]).mean(dim=3)
        shares: Tensor = (fused / self.temperature).softmax(dim=2)
        return 1 + shares
