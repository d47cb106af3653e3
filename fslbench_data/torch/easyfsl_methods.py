"""Methods of the package easyfsl, run on frozen tasks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmark_spec.errors import FSLBenchWarning, SpecError


def set_evaluation_mode(method: Any, name: str) -> None:
    """Put a method's networks in evaluation mode, and warn if one was in training mode.

    Finds the method itself, its attributes, and lists and mappings among them; not what a function
    closes over.  Networks without parameters and buffers cause no warning.

    Parameters
    ----------
    method
        The callable; a bound method stands for its object, a partial for its parts.
    name
        The method's name in the warning.
    """
    training = [net for net in _networks(method) if any(part.training for part in net.modules())]
    for network in training:
        network.eval()
    if names := [type(net).__name__ for net in training if [*net.parameters(), *net.buffers()]]:
        warnings.warn(
            f"{name}: {', '.join(dict.fromkeys(names))} was left in training mode and is now in "
            "evaluation mode (eval()): else dropout, and statistics of the batch, would answer",
            FSLBenchWarning,
            stacklevel=3,
        )


def _networks(method: Any) -> Iterator[torch.nn.Module]:
    if isinstance(method, partial):
        for part in (method.func, *method.args, *method.keywords.values()):
            yield from _networks(part)
        return
    method = getattr(method, "__self__", method)
    values = [method, *getattr(method, "__dict__", {}).values()]
    if isinstance(method, torch.nn.Module):
        values = [method]
    for value in values:
        parts = list(value.values()) if isinstance(value, dict) else value
        parts = parts if isinstance(parts, list | tuple) else [value]
        yield from (part for part in parts if isinstance(part, torch.nn.Module))


class EasyFSLMethod:
    """Call a few-shot classifier of easyfsl with the tensors of one task.

    While it predicts, PyTorch's generators, of the CPU and of the task's device, are seeded from
    the task's generator; then their state is restored.
    """

    def __init__(self, classifier: Any) -> None:
        self.__name__ = type(classifier).__name__
        set_evaluation_mode(classifier, self.__name__)
        self._classifier = classifier
        self.transductive = bool(classifier.is_transductive())

    def __call__(self, support: Any, query: Any, rng: np.random.Generator) -> torch.Tensor:
        """Predict positions (K·Q,) from support (K, S, ...) and query (K·Q, ...)."""
        if not hasattr(support, "shape") or support.shape[2:] != query.shape[1:]:
            shape = getattr(support, "shape", None)
            raise SpecError(
                f"{self.__name__} got a support of {'files' if shape is None else tuple(shape)}",
                expected="numbers of one task: support (K, S, ...), query (K·Q, ...)",
                fix="run it on features, or on images with transform=; without a batch",
            )
        support, query = torch.as_tensor(support), torch.as_tensor(query)
        device = support.device
        labels = torch.arange(len(support), device=device).repeat_interleave(support.shape[1])
        classifier = self._classifier.to(device)
        cuda, seed = [device.index] if device.type == "cuda" else [], int(rng.integers(2**63))
        with torch.random.fork_rng(cuda), torch.no_grad():
            on_device = [torch.cuda.default_generators[index] for index in cuda]
            for generator in (torch.default_generator, *on_device):
                generator.manual_seed(seed)
            classifier.process_support_set(support.flatten(0, 1), labels)
            scores: torch.Tensor = classifier(query)
        return scores.argmax(dim=1)
