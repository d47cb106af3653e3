"""Build the network and the method that a training's settings name."""

from __future__ import annotations

import inspect
from inspect import signature
from pathlib import Path
from typing import Any, get_type_hints

import torch

from benchmark_spec.declared import MisfitError, declared
from benchmark_spec.errors import (
    FSLBenchError,
    SpecError,
    UnknownNameError,
    printable,
)
from builders.training.method import Method
from builders.training.methods import METHODS
from builders.training.networks import Conv4, Network, ResNet12
from builders.training.settings import RunSettings
from fslbench_data.evaluation.adapters import load_object
from fslbench_data.files import sha256_of

OWN = "MODULE:CLASS, such as my_methods:MyMethod"
_FROM_DATA = ("classes", "side", "way")
"""The parameters that a method may have in addition to its settings."""


def method_class(name: str) -> type[Method]:
    """Return the class of a method: one of the package, or one imported from ``MODULE:CLASS``."""
    if ":" not in name:
        if name not in METHODS:
            raise UnknownNameError("method", name, METHODS, fix=f"or name one of your own: {OWN}")
        return METHODS[name]
    if ".py:" in name or "/" in name:
        raise SpecError(
            f"{name!r} names a file",
            expected=OWN,
            fix="name the module, and call from the folder that it lies in",
        )
    try:
        kind = load_object(name, OWN)
    except SpecError as error:
        fix = "call from the folder that the module lies in, or install it"
        raise error.with_advice(expected=f"a module that Python finds: {OWN}", fix=fix) from None
    if not (isinstance(kind, type) and issubclass(kind, Method)):
        raise SpecError(
            f"{name} is no method to train",
            expected="a subclass of builders.training.method.Method",
        )
    if kind.scores is Method.scores:
        raise SpecError(f"{name} has no scores", expected="a method that scores the queries")
    return kind


def check_method(settings: RunSettings) -> None:
    """Raise UnknownNameError or SpecError if the method or one of its settings does not exist."""
    kind = method_class(settings.method)
    parameters = signature(kind).parameters
    names = set(parameters) - {"network", *_FROM_DATA}
    types = get_type_hints(kind.__init__) if settings.method in METHODS else {}
    for name, value in settings.settings.items():
        if name not in names:
            raise UnknownNameError(f"setting of {settings.method}", name, names)
        try:
            declared(value, types.get(name, Any))
        except MisfitError as error:
            raise SpecError(
                f"{name} is {error.value}",
                where=f"settings of {settings.method}",
                expected=f"{error.expected}, such as {parameters[name].default}",
            ) from None


def build_method(settings: RunSettings, classes: int) -> Method:
    """Make a method for a number of training classes, with new weights drawn from the seed."""
    check_method(settings)
    kind = method_class(settings.method)
    values = (classes, settings.data.side, settings.training.protocol.way)
    from_data = dict(zip(_FROM_DATA, values, strict=True))
    taken: dict[str, Any] = {n: v for n, v in from_data.items() if n in signature(kind).parameters}
    torch.manual_seed(settings.seed)
    try:
        return kind(build_network(settings), **taken, **settings.settings)
    except FSLBenchError:
        raise
    except Exception as error:  # of a method of one's own, or of torch for want of memory
        raise SpecError(
            f"{settings.method} cannot be made with these settings: {type(error).__name__}: "
            f"{printable(str(error))}"
        ) from error


def build_network(settings: RunSettings) -> Network:
    """Make a network with new weights."""
    chosen, inputs = settings.network, settings.data.inputs
    if chosen.name == "resnet12":
        network: Network = ResNet12(
            pools=chosen.pools,
            inputs=inputs,
            drop=chosen.drop,
            drop_block=chosen.drop_block,
            drop_ramp=chosen.drop_ramp,
        )
    else:
        network = Conv4(chosen.channels, chosen.pools, chosen.slope, inputs)
    network.mixed = settings.training.precision == "bfloat16"
    return network


def code_sha256(method: str) -> str:
    """Return the SHA-256 of the file of a ``MODULE:CLASS``; '' for a method of the package."""
    file = inspect.getsourcefile(method_class(method)) if ":" in method else None
    return sha256_of(Path(file)) if file else ""
