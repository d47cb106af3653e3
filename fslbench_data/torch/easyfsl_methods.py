"""Methods of the package easyfsl, run on frozen tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class EasyFSLMethod:
    """Call a few-shot classifier of easyfsl with the tensors of one task.

    The random numbers of PyTorch are seeded from the task's generator while it answers, on the
    CPU and on the task's device, and left as they were.
    """

    def __init__(self, classifier: Any) -> None:
        self._classifier = classifier.eval()
        self.__name__ = type(classifier).__name__
        self.transductive = bool(classifier.is_transductive())

    def __call__(self, support: Any, query: Any, rng: np.random.Generator) -> torch.Tensor:
        """Predict positions (K·Q,) from support (K, S, ...) and query (K·Q, ...)."""
        support, query = torch.as_tensor(support), torch.as_tensor(query)
        classifier, device = self._classifier.to(support.device), support.device
        labels = torch.arange(len(support), device=device).repeat_interleave(support.shape[1])
        on_device = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(on_device), torch.no_grad():
            torch.manual_seed(int(rng.integers(2**63)))
            classifier.process_support_set(support.flatten(0, 1), labels)
            scores: torch.Tensor = classifier(query)
        return scores.argmax(dim=1)
