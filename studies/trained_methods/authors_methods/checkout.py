"""The authors' modules and weights, from a checkout."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

FOLDERS = ("", "model", "model/backbone", "model/finetuning", "model/meta", "model/metric", "utils")


class Checkout:
    """Modules of a checkout, without what their packages import besides (tensorboard, others)."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "core/model/metric/dn4.py").is_file():
            raise FileNotFoundError(f"{folder} has no core/model: give a clone of gtzheng/FewSTAB")
        for name in FOLDERS:
            package = ModuleType(".".join(["core", *name.split("/")]) if name else "core")
            package.__path__ = [str(folder / "core" / name)]
            sys.modules[package.__name__] = package
        utils: Any = sys.modules["core.utils"]
        kinds: Any = importlib.import_module("core.utils.enum_type")
        utils.ModelType, utils.SaveType = kinds.ModelType, kinds.SaveType
        of_utils: Any = importlib.import_module("core.utils.utils")
        utils.accuracy = of_utils.accuracy

    def module(self, name: str) -> Any:
        """Import a module of ``core``, such as ``model.metric.dn4``."""
        return importlib.import_module(f"core.{name}")


@contextmanager
def on_the_processor() -> Iterator[None]:
    """Let their ``.cuda()`` return the tensor itself."""
    with patch.object(Tensor, "cuda", lambda self: self):
        yield


@contextmanager
def eight_bytes() -> Iterator[None]:
    """Make new tensors float64, so that only differences of formulas remain."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def load_same(ours: nn.Module, theirs: Sequence[nn.Module]) -> list[tuple[Tensor, Tensor]]:
    """Copy weights and statistics, and return pairs of parameters: ours and theirs.

    `theirs` are modules whose tensors, one after the other, are ours in our order.  Shapes may
    differ by axes of length 1.
    """
    target = list(ours.state_dict(keep_vars=True).values())
    source = [tensor for module in theirs for tensor in module.state_dict(keep_vars=True).values()]
    if len(target) != len(source):
        raise ValueError(f"{len(source)} tensors of theirs for {len(target)} of ours")
    with torch.no_grad():
        for own, other in zip(target, source, strict=True):
            if [n for n in own.shape if n != 1] != [n for n in other.shape if n != 1]:
                raise ValueError(f"theirs has shape {[*other.shape]}, ours {[*own.shape]}")
            own.copy_(other.reshape(own.shape))
    pairs = zip(target, source, strict=True)
    return [(own, other) for own, other in pairs if isinstance(own, nn.Parameter)]


def shuffle_statistics(module: nn.Module, seed: int = 0) -> None:
    """Give batch norms weights and statistics that are not those of the start."""
    generator = torch.Generator().manual_seed(seed)
    for layer in module.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            for tensor in (layer.weight, layer.running_var):
                assert tensor is not None
                tensor.data.uniform_(0.5, 1.5, generator=generator)
            for tensor in (layer.bias, layer.running_mean):
                assert tensor is not None
                tensor.data.uniform_(-0.2, 0.2, generator=generator)


def apart(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest absolute difference."""
    return float((ours.detach() - theirs.detach().reshape(ours.shape)).abs().max())


def gradients_apart(pairs: Sequence[tuple[Tensor, Tensor]]) -> float:
    """Return the largest difference of gradients, divided by the tensor's largest if over 1."""
    return max(
        apart(own.grad, other.grad) / max(1.0, float(other.grad.abs().max()))
        for own, other in pairs
        if own.grad is not None and other.grad is not None
    )
