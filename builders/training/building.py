"""Networks and methods as a training's settings name them."""

from __future__ import annotations

from inspect import signature
from typing import Any

import torch

from benchmark_spec.errors import SpecError, UnknownNameError
from builders.training.method import Method
from builders.training.methods import METHODS
from builders.training.networks import Conv4, Network, ResNet12
from builders.training.settings import NetworkSettings, RunSettings


def build_method(settings: RunSettings, classes: int) -> Method:
    """Make a method with new weights, which follow from the seed.

    Parameters
    ----------
    classes
        How many are trained on.

    Raises
    ------
    UnknownNameError
        If there is no such method, or it has no such setting.
    """
    if settings.method not in METHODS:
        raise UnknownNameError("method", settings.method, METHODS)
    kind = METHODS[settings.method]
    takes = set(signature(kind).parameters) - {"network"}
    of_data = {"classes": classes, "side": settings.data.side, "way": settings.training.episode.way}
    for name in settings.settings:
        if name not in takes - set(of_data):
            raise UnknownNameError(f"setting of {settings.method}", name, takes - set(of_data))
    needed: dict[str, Any] = {name: value for name, value in of_data.items() if name in takes}
    torch.manual_seed(settings.seed)
    try:
        return kind(build_network(settings.network), **needed, **settings.settings)
    except TypeError as error:
        raise SpecError(f"{settings.method} takes no such settings: {error}") from None


def build_network(settings: NetworkSettings) -> Network:
    """Make a network with new weights."""
    if settings.name == "resnet12":
        return ResNet12(pools=settings.pools)
    return Conv4(settings.channels, settings.pools, settings.slope)
