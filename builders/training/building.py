"""Networks and methods as a training's settings name them."""

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
_OF_DATA = ("classes", "side", "way")
"""What a method may take in addition to its settings."""


def method_class(name: str) -> type[Method]:
    """Return the class of a method: one of ours, or one that ``MODULE:CLASS`` imports."""
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
    """Raise UnknownNameError or SpecError if there is no such method or setting of it."""
    kind = method_class(settings.method)
    takes = signature(kind).parameters
    names = set(takes) - {"network", *_OF_DATA}
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
                expected=f"{error.expected}, such as {takes[name].default}",
            ) from None


def build_method(settings: RunSettings, classes: int) -> Method:
    """Make a method with new weights, which follow from the seed, for so many `classes`."""
    check_method(settings)
    kind = method_class(settings.method)
    takes = signature(kind).parameters
    of_data = (classes, settings.data.side, settings.training.protocol.way)
    needed: dict[str, Any] = {n: v for n, v in zip(_OF_DATA, of_data, strict=True) if n in takes}
    torch.manual_seed(settings.seed)
    try:
        return kind(build_network(settings), **needed, **settings.settings)
    except FSLBenchError:
        raise
    except Exception as error:  # of a method of one's own, or of torch for want of memory
        raise SpecError(
            f"{settings.method} cannot be made with these settings: {type(error).__name__}: "
            f"{printable(str(error))}"
        ) from error


def build_network(settings: RunSettings) -> Network:
    """Make a network with new weights."""
    how, inputs = settings.network, settings.data.inputs
    if how.name == "resnet12":
        drops: dict[str, Any] = {n: getattr(how, n) for n in ("drop", "drop_block", "drop_ramp")}
        network: Network = ResNet12(pools=how.pools, inputs=inputs, **drops)
    else:
        network = Conv4(how.channels, how.pools, how.slope, inputs)
    network.mixed = settings.training.precision == "bfloat16"
    return network


def code_of(method: str) -> str:
    """Return the SHA-256 of the file of a method of one's own; '' for one of ours."""
    file = inspect.getsourcefile(method_class(method)) if ":" in method else None
    return sha256_of(Path(file)) if file else ""
