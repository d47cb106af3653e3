"""Training of few-shot methods on images of classes that no task has."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from benchmark_spec.extras import require


def state_sha256(state: Mapping[str, Any]) -> str:
    """Compute the SHA-256 of weights that come from no file.

    For each name, in alphabetical order: name, type and shape as text ending in a line feed, then
    the numbers, little-endian in C order.
    """
    torch = require("torch")
    digest = hashlib.sha256()
    for name in sorted(state):
        values = state[name].detach().cpu().contiguous()
        shape = "x".join(map(str, values.shape))
        digest.update(f"{name} {str(values.dtype).removeprefix('torch.')} {shape}\n".encode())
        digest.update(values.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def shapes_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shape and the type of each of the weights, by name."""
    return {name: (tuple(values.shape), values.dtype) for name, values in state.items()}
