"""Networks and methods as a training's settings name them."""

from __future__ import annotations

from inspect import signature
from typing import Annotated, Any

import torch
from msgspec import Meta

from benchmark_spec.declared import MisfitError, declared
from benchmark_spec.errors import FSLBenchError, SpecError, UnknownNameError, printable
from builders.training.method import Method
from builders.training.methods import METHODS
from builders.training.networks import Conv4, Network, ResNet12
from builders.training.settings import NetworkSettings, RunSettings
from fslbench_data.evaluation.adapters import load_object

OWN = "MODULE:CLASS, such as my_methods:MyMethod"
_OF_DATA = ("classes", "side", "way")
"""What a method may ask for beside its settings."""
_MOST = 10**9
_SHAPES: dict[type, Any] = {
    bool: bool,
    int: Annotated[int, Meta(ge=-_MOST, le=_MOST, description="a whole number")],
    float: Annotated[float, Meta(ge=-_MOST, le=_MOST, description="a number")],
    str: str,
}
"""What a setting of one of our methods is, by the type of its default."""


def method_class(name: str) -> type[Method]:
    """Return the class of a method: one of ours, or one that ``MODULE:CLASS`` imports.

    Raises
    ------
    UnknownNameError, SpecError
        If there is no such method, or module, or it is not a whole method.
    MethodFailedError
        If importing it fails.
    """
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
        raise error.saying(expected=f"a module that Python finds: {OWN}", fix=fix) from None
    if not (isinstance(kind, type) and issubclass(kind, Method)):
        raise SpecError(
            f"{name} is no method to train",
            expected="a subclass of builders.training.method.Method",
        )
    for needed in ("loss", "scores"):
        if getattr(kind, needed) is getattr(Method, needed):
            raise SpecError(f"{name} has no {needed}", expected="a method with loss and scores")
    return kind


def short_name(method: str) -> str:
    """Return the name of a method without its module."""
    return method.rpartition(":")[2]


def check_method(settings: RunSettings) -> None:
    """Raise UnknownNameError or SpecError if there is no such method or setting of it."""
    takes = signature(method_class(settings.method)).parameters
    names = set(takes) - {"network", *_OF_DATA}
    for name, value in settings.settings.items():
        if name not in names:
            raise UnknownNameError(f"setting of {settings.method}", name, names)
        shape = _SHAPES.get(type(takes[name].default))
        if shape is None or settings.method not in METHODS:
            continue
        try:
            declared(value, shape)
        except MisfitError as error:
            raise SpecError(
                f"{name} is {error.value}",
                where=f"settings of {settings.method}",
                expected=f"{error.expected}, such as {takes[name].default}",
            ) from None


def build_method(settings: RunSettings, classes: int) -> Method:
    """Make a method with new weights, which follow from the seed.

    Raises what :func:`method_class` and :func:`check_method` do.

    Parameters
    ----------
    classes
        How many are trained on.
    """
    check_method(settings)
    kind = method_class(settings.method)
    takes = signature(kind).parameters
    of_data = (classes, settings.data.side, settings.training.protocol.way)
    needed: dict[str, Any] = {n: v for n, v in zip(_OF_DATA, of_data, strict=True) if n in takes}
    torch.manual_seed(settings.seed)
    try:
        return kind(build_network(settings.network), **needed, **settings.settings)
    except FSLBenchError:
        raise
    except Exception as error:  # of a method of one's own, or of torch for want of memory
        raise SpecError(
            f"{settings.method} cannot be made with these settings: {type(error).__name__}: "
            f"{printable(str(error))}"
        ) from error


def build_network(settings: NetworkSettings) -> Network:
    """Make a network with new weights."""
    if settings.name == "resnet12":
        return ResNet12(pools=settings.pools)
    return Conv4(settings.channels, settings.pools, settings.slope)
