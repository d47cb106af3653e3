"""Features as unit vectors on a device, and how many tasks are taken at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SpecError
from benchmark_spec.extras import require

Tensor = Any
"""A ``torch.Tensor``."""

MOST_TASKS = 64
"""Tasks at once on a CPU: what more of them gather falls out of its cache."""

CPU_BYTES, GPU_BYTES = 2**25, 2**31
"""How much a group of tasks may gather."""

_BLOCK_BYTES = 2**22
"""Of features that are made unit vectors at a time."""


def unit_vectors(features: NDArray[Any], device: str = "cpu", *, double: bool = True) -> Tensor:
    """Divide features by their lengths, computed in float64; a zero vector stays zero.

    Parameters
    ----------
    features : float (N, D)
        Of any type of floating-point numbers.
    double
        Whether as float64 or as float32.
    """
    torch = require("torch")
    if features.ndim != 2 or features.dtype.kind != "f":
        raise SpecError(
            f"features are of type {features.dtype} and shape {features.shape}",
            expected="floating-point numbers (N, D)",
        )
    kind = torch.float64 if double else torch.float32
    unit = torch.empty(features.shape, dtype=kind, device=device)
    step = max(1, _BLOCK_BYTES // (8 * max(1, features.shape[1])))
    for start in range(0, len(features), step):
        rows = torch.from_numpy(features[start : start + step].astype(np.float64)).to(device)
        length = rows.norm(dim=1, keepdim=True)
        if not bool(torch.isfinite(length).all()):
            first = start + int((~torch.isfinite(length[:, 0])).nonzero()[0, 0])
            raise SpecError(f"the features of image {first} are not finite")
        unit[start : start + step] = rows / torch.where(length > 0, length, 1.0)
    return unit


def groups(tasks: int, rows: int, unit: Tensor) -> Iterator[slice]:
    """Yield which tasks are taken at once: each gathers `rows` rows of the unit vectors (N, D)."""
    of_task = max(1, rows * unit.shape[1] * unit.element_size())
    on_cpu = unit.device.type == "cpu"
    step = max(1, min(MOST_TASKS, CPU_BYTES // of_task) if on_cpu else GPU_BYTES // of_task)
    for start in range(0, tasks, step):
        yield slice(start, min(start + step, tasks))


def gather(unit: Tensor, ids: Tensor) -> Tensor:
    """Take the rows of unit vectors (N, D) that ids (B, n) name: (B, n, D)."""
    rows = unit.index_select(0, ids.reshape(-1))
    return rows.view(*ids.shape, unit.shape[1])


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute products of float32 in float32, also where torch was told to be less exact."""
    torch = require("torch")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
