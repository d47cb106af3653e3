"""Methods that compare a query with classes: ProtoNet, DN4, R2D2 and CAN."""

from __future__ import annotations

import torch
from torch import Tensor, einsum, nn
from torch.nn import functional
from torch.nn.functional import cross_entropy, normalize

from builders.training.method import Episode, Labelled, Method, needed, support_target
from builders.training.networks import Network


class CAN(Method):
    """Cosines of a query's and a class's maps after each has attended to the other.

    The correlation layer compares the places of both maps; the meta fusion layer weighs the places
    of each.  The loss is the classifier's of all classes at every place, plus `weight` (λ) times
    the nearest neighbour's.  As in the authors' code, the fusion is a mean over places, its hidden
    layer is normalised by batch and has as many units as the map has rows, and cosines are
    multiplied by `scale_cls`.
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
        """Compute the mean loss of all classes plus `weight` times the nearest neighbour's."""
        task = needed(episode)
        means, queries = self._attended(task.support, task.query.flatten(0, 1))
        target = task.target
        cosines = einsum("mkd,mkdq->mkq", normalize(means, dim=2), normalize(queries, dim=2))
        target_by_place = target[:, None].expand(-1, cosines.shape[2])
        nearest_loss = cross_entropy(self.scale_cls * cosines, target_by_place)
        to_true_class = queries[target.new_tensor(range(len(target))), target].transpose(1, 2)
        logits = self.classifier(to_true_class).flatten(0, 1)  # classes last: faster
        class_loss = cross_entropy(logits, task.classes[target_by_place].flatten())
        return class_loss + self.weight * nearest_loss

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute `scale_cls` times the cosine of each pair's mean places: (M, K)."""
        means, queries = self._attended(support, query)
        cosines = normalize(means, dim=2) * normalize(queries.mean(dim=3), dim=2)
        return self.scale_cls * cosines.sum(dim=2)

    def _attended(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Compute attended classes' mean places (M, K, D) and attended queries (M, K, D, h·w)."""
        support_maps, query_maps = self._both(support, query)
        classes, queries = support_maps.mean(dim=1).flatten(2), query_maps.flatten(2)
        cosines = einsum("kdp,mdq->mkpq", normalize(classes, dim=1), normalize(queries, dim=1))
        class_weights = self.fusion(cosines)
        query_weights = self.fusion(cosines.transpose(2, 3))
        means = einsum("kdp,mkp->mkd", classes, class_weights) / classes.shape[2]
        return means, queries[:, None] * query_weights[:, :, None]


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
        """Compute 1 + shares (M, K, p), which sum to 1, of cosines (M, K, p, q)."""
        pooled = cosines.mean(dim=2)
        hidden = self.norm(self.enter(pooled.flatten(0, 1))).relu()
        kernel = self.leave(hidden).view_as(pooled)
        fused = (cosines * kernel[:, :, None]).mean(dim=3)
        shares: Tensor = (fused / self.temperature).softmax(dim=2)
        return 1 + shares


class ProtoNet(Method):
    """The nearest class mean by the squared Euclidean distance of flat maps.

    Prototypical networks (Snell et al., NeurIPS 2017), Eq. 1 and 2; `temperature`, which divides
    the distances, is not in the paper.
    """

    def __init__(self, network: Network, *, temperature: float = 1.0) -> None:
        super().__init__(network)
        self.temperature = temperature

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute minus the squared distance of each query to each class's mean: (M, K)."""
        support_maps, query_maps = self._both(support, query)
        means = support_maps.flatten(2).mean(dim=1)
        differences = query_maps.flatten(1)[:, None] - means[None]
        return -differences.square().sum(dim=2) / self.temperature


class DN4(Method):
    """The image-to-class measure of local descriptors (Li et al., CVPR 2019).

    A class's score is the sum, over the descriptors (places) of a query, of their cosines with the
    `n_k` nearest of all descriptors of the class's support images.
    """

    def __init__(self, network: Network, *, n_k: int = 3) -> None:
        super().__init__(network)
        self.n_k = n_k

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute sums of cosines (M, K), each at most `n_k` times the number of places."""
        support_maps, query_maps = self._both(support, query)
        support_descriptors = normalize(support_maps.flatten(3), dim=2)
        query_descriptors = normalize(query_maps.flatten(2), dim=1)
        cosines = einsum("mdp,ksdq->mkpsq", query_descriptors, support_descriptors).flatten(3)
        return cosines.topk(self.n_k, dim=3).values.sum(dim=(2, 3))


class R2D2(Method):
    """Ridge regression of one-hot classes on flat maps, without intercept.

    Bertinetto et al., ICLR 2019, in its dual form.  Scale `alpha`, shift `beta` and penalty `gamma`
    begin as released and are learnt with the network; as in FewSTAB's released code, nothing keeps
    the penalty above zero.
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
        support_maps, query_maps = self._both(support, query)
        x, queries = support_maps.flatten(0, 1).flatten(1), query_maps.flatten(1)
        classes = functional.one_hot(support_target(support), len(support)).to(x.dtype)
        penalty = self.gamma * torch.eye(len(x)).to(x)
        dual = torch.linalg.solve(x @ x.T + penalty, classes)
        scores: Tensor = self.alpha * (queries @ (x.T @ dual)) + self.beta
        return scores
