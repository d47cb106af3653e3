"""Methods trained on labelled images, whose network tasks do not change: RFS, Baseline++."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from builders.training.logistic import logistic_regression
from builders.training.method import Episode, Labelled, Method, Trained, needed, support_target
from builders.training.networks import Network

Optimiser = Literal["Adam", "SGD"]
_TINY = 1e-5


class Transfer(Method):
    """A network trained with a classifier of all classes; each task has its own classifier.

    An image's vector has D = `width` numbers: the mean over its map's places if `pooled`, else the
    flat map.
    """

    trained_by: ClassVar[Trained] = "classes"
    classifier: nn.Module

    def __init__(self, network: Network, side: int, *, pooled: bool) -> None:
        super().__init__(network)
        self._pooled = pooled
        self.width = network.channels if pooled else network.width(side)

    def loss(self, episode: Episode | None, labelled: Labelled | None = None) -> Tensor:
        """Compute the mean cross-entropy of labelled images."""
        batch = needed(labelled)
        scores = self.classifier(self._vectors(self.network(batch.images)))
        return functional.cross_entropy(scores, batch.classes)

    def _vectors(self, maps: Tensor) -> Tensor:
        """Make vectors (..., D) of maps (..., C, h, w)."""
        return maps.mean(dim=(-2, -1)) if self._pooled else maps.flatten(-3)

    @torch.no_grad()
    def _frozen(self, support: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Make vectors of support images (K, S, D) and queries (M, D) with the frozen network."""
        support_maps, query_maps = self._both(support, query)
        return self._vectors(support_maps), self._vectors(query_maps)


class RFS(Transfer):
    """Logistic regression on unit vectors: RFS-simple (Tian et al., ECCV 2020).

    The regression is scikit-learn's with C = `strength`, solved to its exact minimum
    (:mod:`builders.training.logistic`), without distillation.  The paper averages maps (`pooled`);
    FewSTAB's files flatten Conv4's.
    """

    def __init__(
        self,
        network: Network,
        *,
        classes: int,
        side: int,
        pooled: bool = False,
        strength: float = 1.0,
    ) -> None:
        super().__init__(network, side, pooled=pooled)
        self.classifier = nn.Linear(self.width, classes)
        self._strength = strength

    @torch.no_grad()
    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute the regression's logits (M, K), in float64."""
        support_vectors, query_vectors = self._frozen(support, query)
        way, shot, _ = support_vectors.shape
        vectors = torch.cat([support_vectors.flatten(0, 1), query_vectors]).double()
        rows = torch.arange(len(vectors), device=vectors.device)
        logits: Tensor = logistic_regression(
            functional.normalize(vectors, dim=1),
            rows[: way * shot].reshape(1, way, shot),
            rows[None, way * shot :],
            strength=self._strength,
        )[0]
        return logits


class CosineClassifier(nn.Module):
    """Scores by the cosine with each class's direction, times the class's length, times `scale`.

    With `lengths`, a length is learnt for each class, as in the authors' code and FewSTAB's but not
    in the paper's equation.  The constants are those of both codes.
    """

    def __init__(
        self,
        width: int,
        classes: int,
        *,
        lengths: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        bound = width**-0.5
        weights = torch.empty(classes, width).uniform_(-bound, bound, generator=generator)
        self.directions = nn.Parameter(weights)
        first_lengths = weights.norm(dim=1) if lengths else torch.ones(classes)
        self.lengths = nn.Parameter(first_lengths, requires_grad=lengths)
        self.scale = 2.0 if classes <= 200 else 10.0

    def forward(self, vectors: Tensor) -> Tensor:
        """Compute scores (B, classes) of vectors (B, D)."""
        unit = vectors / (vectors.norm(dim=1, keepdim=True) + _TINY)
        weights = self.directions * (self.lengths / self.directions.norm(dim=1))[:, None]
        scores: Tensor = self.scale * unit @ weights.T
        return scores


class BaselinePlusPlus(Transfer):
    """A cosine classifier for all classes, then one trained on each task (Chen et al., ICLR 2019).

    As in both codes, the paper's 100 iterations with batches of 4 are passes over the support set.
    Adam is FewSTAB's optimiser, ``"SGD"`` the authors'.  A task's first weights and the order of
    its images follow from `seed`.  A task takes 0.1 to 0.4 s of one core, so `adapts` stays False.
    """

    def __init__(
        self,
        network: Network,
        *,
        classes: int,
        side: int,
        pooled: bool = False,
        lengths: bool = True,
        passes: int = 100,
        batch: int = 4,
        optimiser: Optimiser = "Adam",
        rate: float = 1e-2,
        seed: int = 0,
    ) -> None:
        super().__init__(network, side, pooled=pooled)
        self.classifier = CosineClassifier(self.width, classes, lengths=lengths)
        self._lengths, self._passes, self._batch = lengths, passes, batch
        self._optimiser, self._rate, self._seed = optimiser, rate, seed

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Train a classifier on the support set, and compute the queries' scores (M, K)."""
        support_vectors, query_vectors = self._frozen(support, query)
        with torch.inference_mode(False), torch.enable_grad():
            classifier = self._trained_classifier(support_vectors.clone())
        with torch.no_grad():
            scores: Tensor = classifier(query_vectors)
        return scores

    def _trained_classifier(self, support: Tensor) -> CosineClassifier:
        """Train a new classifier on vectors (K, S, D)."""
        way, shot, width = support.shape
        generator = torch.Generator().manual_seed(self._seed)
        classifier = CosineClassifier(width, way, lengths=self._lengths, generator=generator)
        classifier.to(support)
        vectors = support.flatten(0, 1)
        target = support_target(support)
        learnt = [weights for weights in classifier.parameters() if weights.requires_grad]
        optimiser: torch.optim.Optimizer = torch.optim.Adam(learnt, lr=self._rate)
        if self._optimiser == "SGD":
            optimiser = torch.optim.SGD(
                learnt, lr=self._rate, momentum=0.9, dampening=0.9, weight_decay=1e-3
            )
        for _ in range(self._passes):
            order = torch.randperm(way * shot, generator=generator).to(support.device)
            for start in range(0, len(order), self._batch):
                chosen = order[start : start + self._batch]
                optimiser.zero_grad()
                loss = functional.cross_entropy(classifier(vectors[chosen]), target[chosen])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        return classifier
