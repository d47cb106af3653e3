"""Networks of a method that were left in training mode."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import torch

from benchmark_spec.errors import FSLBenchWarning


def set_evaluation_mode(method: Any, name: str) -> None:
    """Put the networks that a method is, or holds, in evaluation mode, and warn if one was not.

    Looks at a network, at an object's attributes, and lists and mappings among them; not at what a
    function closes over.  Of networks without parameters and buffers nothing is said.

    Parameters
    ----------
    method
        What is called; a bound method stands for its object, a partial for all that it holds.
    name
        What the warning calls it.
    """
    left = [net for net in _networks(method) if any(part.training for part in net.modules())]
    for network in left:
        network.eval()
    if told := [type(net).__name__ for net in left if any(_numbers(net))]:
        warnings.warn(
            f"{name}: {', '.join(dict.fromkeys(told))} was left in training mode and is now in "
            "evaluation mode (eval()): else dropout, and statistics of the batch, would answer",
            FSLBenchWarning,
            stacklevel=3,
        )


def _numbers(network: torch.nn.Module) -> Iterator[bool]:
    yield from (True for _ in chain(network.parameters(), network.buffers()))


def _networks(method: Any) -> Iterator[torch.nn.Module]:
    if isinstance(method, partial):
        for part in (method.func, *method.args, *method.keywords.values()):
            yield from _networks(part)
        return
    method = getattr(method, "__self__", method)
    held = [method, *getattr(method, "__dict__", {}).values()]
    if isinstance(method, torch.nn.Module):
        held = [method]
    for thing in held:
        parts = list(thing.values()) if isinstance(thing, dict) else thing
        parts = parts if isinstance(parts, list | tuple) else [thing]
        yield from (part for part in parts if isinstance(part, torch.nn.Module))
