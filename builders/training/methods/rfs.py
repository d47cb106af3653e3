"""RFS-simple: a good embedding is all you need (Tian et al., ECCV 2020).

A network and a linear classifier are trained with cross-entropy.  On a task, logistic regression is
fitted to features of the frozen network, divided by their lengths (section 3.2 of the paper).

==================  ============================================================================
loss                The paper's.  FewSTAB's ``rfs.yaml`` halves it (its weight beside distillation,
                    0.5, stays where distillation is off).
distillation        Left out, as in that file.
features            The paper averages maps of either network.  FewSTAB's files take Conv4's flat
                    and average ResNet-12's; so does this: 7 x 7 places of 32 channels would leave
                    but 32 numbers.
regression          Both: scikit-learn's, C = 1, multinomial.  Here its exact minimum
                    (:mod:`builders.training.logistic`) where scikit-learn stops at a gradient of
                    1e-4.  With two classes this is scikit-learn's model of today; when
                    ``multi_class="multinomial"`` was still asked for, C counted double there.
==================  ============================================================================
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from builders.training.logistic import logistic_regression
from builders.training.networks import Network
from builders.training.transfer import Transfer


class RFS(Transfer):
    """Logistic regression on unit vectors.

    Parameters
    ----------
    classes
        How many classes it is trained on.
    side
        Of images, in pixels.
    pooled
        Whether maps are averaged: give True for ResNet-12.
    strength
        C.
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
        of_support, of_query = self._task(support, query)
        way, shot, _ = of_support.shape
        vectors = torch.cat([of_support.flatten(0, 1), of_query]).double()
        rows = torch.arange(len(vectors), device=vectors.device)
        logits: Tensor = logistic_regression(
            functional.normalize(vectors, dim=1),
            rows[: way * shot].reshape(1, way, shot),
            rows[None, way * shot :],
            strength=self._strength,
        )[0]
        return logits
