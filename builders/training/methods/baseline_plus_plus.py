"""Baseline++: a cosine classifier for all classes, then one for each task (Chen et al., ICLR 2019).

A network is trained with a cosine classifier and cross-entropy.  On a task, a new cosine classifier
is trained on the support set, with the network frozen (section 3.2 of the paper).

==================  ============================================================================
classifier          The paper's equation has a constant times a cosine.  Its authors' code and
                    FewSTAB's learn a length for each class besides, by which the paper's figures
                    were made (the authors say so in issue 4 of their repository); so does this,
                    but with ``lengths=False``.  The constant is 2, for over 200 classes 10, as in
                    both codes; 1e-5 is added to the length of a feature.
steps               The paper says 100 iterations with batches of 4.  In both codes these are 100
                    passes over the support set; so here.
optimiser           The paper names none for a task.  FewSTAB's ``baseline++.yaml`` has Adam at
                    1e-2: the default.  The authors' code has SGD at 1e-2 with momentum 0.9,
                    dampening 0.9 and weight decay 1e-3: ``optimiser="SGD"``.
features            Conv4's maps flat, ResNet-12's averaged, as in both codes.
==================  ============================================================================
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from builders.training.networks import Network
from builders.training.transfer import Transfer

Optimiser = Literal["Adam", "SGD"]

_TINY = 1e-5
_MANY_CLASSES = 200


class CosineClassifier(nn.Module):
    """Scores by the cosine with each class's direction, times the class's length, times `scale`.

    Parameters
    ----------
    width
        D: how many numbers a vector has.
    lengths
        Whether lengths are learned; else they are 1.
    generator
        Of the first weights, which are those of a linear layer; torch's own by default.
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
        own = weights.norm(dim=1) if lengths else torch.ones(classes)
        self.lengths = nn.Parameter(own, requires_grad=lengths)
        self.scale = 2.0 if classes <= _MANY_CLASSES else 10.0

    def forward(self, vectors: Tensor) -> Tensor:
        """Compute scores (B, classes) of vectors (B, D)."""
        unit = vectors / (vectors.norm(dim=1, keepdim=True) + _TINY)
        weights = self.directions * (self.lengths / self.directions.norm(dim=1))[:, None]
        scores: Tensor = self.scale * unit @ weights.T
        return scores


class BaselinePlusPlus(Transfer):
    """A cosine classifier trained on each task.

    With 1,568 numbers a vector, 5 ways and one core a task takes 0.1 s of 1 shot and 0.4 s of 5,
    the network aside: 10,000 tasks take half an hour to over an hour, so `adapts` stays False.

    Parameters
    ----------
    classes
        How many classes it is trained on.
    side
        Of images, in pixels.
    pooled
        Whether maps are averaged: give True for ResNet-12.
    lengths
        Whether classes have lengths, in training and on tasks.
    passes, batch, optimiser, rate
        How a task's classifier is trained.
    seed
        Of a task's first weights and of the order of its images: the same in every task.
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
        of_support, of_query = self._task(support, query)
        with torch.inference_mode(False), torch.enable_grad():
            classifier = self._trained(of_support.clone())
        with torch.no_grad():
            scores: Tensor = classifier(of_query)
        return scores

    def _trained(self, support: Tensor) -> CosineClassifier:
        """Train a new classifier on vectors (K, S, D)."""
        way, shot, width = support.shape
        generator = torch.Generator().manual_seed(self._seed)
        classifier = CosineClassifier(width, way, lengths=self._lengths, generator=generator)
        classifier.to(support)
        vectors = support.flatten(0, 1)
        target = torch.arange(way, device=support.device).repeat_interleave(shot)
        optimiser = _optimiser(self._optimiser, classifier, self._rate)
        for _ in range(self._passes):
            order = torch.randperm(way * shot, generator=generator).to(support.device)
            for start in range(0, len(order), self._batch):
                chosen = order[start : start + self._batch]
                optimiser.zero_grad()
                loss = functional.cross_entropy(classifier(vectors[chosen]), target[chosen])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        return classifier


def _optimiser(name: Optimiser, module: nn.Module, rate: float) -> torch.optim.Optimizer:
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    if name == "Adam":
        return torch.optim.Adam(weights, lr=rate)
    return torch.optim.SGD(weights, lr=rate, momentum=0.9, dampening=0.9, weight_decay=1e-3)
