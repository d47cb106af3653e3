"""Networks and methods as a training's settings name them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import ModuleSpec
from inspect import signature
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import torch
from msgspec import Meta

from benchmark_spec.declared import MisfitError, declared
from benchmark_spec.errors import (
    BackboneError,
    FSLBenchError,
    SpecError,
    UnknownNameError,
    printable,
    quoted,
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
_MOST = 10**9
_SHAPES: dict[type, Any] = {
    bool: bool,
    int: Annotated[int, Meta(ge=-_MOST, le=_MOST, description="a whole number")],
    float: Annotated[float, Meta(ge=-_MOST, le=_MOST, description="a number")],
    str: str,
}
"""What a setting of one of our methods is, by the type of its default."""


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


def code_of(method: str) -> dict[str, str]:
    """Return what a training records of a method of one's own: the SHA-256 of its file.

    The file's module is added where it is not the one that ``MODULE:CLASS`` names.
    """
    if ":" not in method:
        return {}
    kind = method_class(method)
    file = inspect.getsourcefile(kind)
    if file is None:
        return {}
    code, named = sha256_of(Path(file)), method.rpartition(":")[0]
    return {"code": code, **({} if kind.__module__ == named else {"module": kind.__module__})}


def check_code(folder: Path, about: Mapping[str, Any], method: str) -> None:
    """Refuse a method if its code is not that of the training; it is imported after that."""
    module = about.get("module", method.rpartition(":")[0])
    file = source_of(module)
    if file is None:
        raise SpecError(
            f"there is no module {quoted(module)}",
            expected=f"a module that Python finds, in a file of its own: {OWN}",
            fix="call from the folder that the module lies in, or install it",
        )
    wanted, found = about.get("code"), sha256_of(file)
    if found == wanted:
        found = code_of(method).get("code", "")
    if found != wanted:
        raise BackboneError(
            f"the code of {quoted(method)} is not that which {folder} was trained with",
            where=str(file),
            expected=f"SHA-256 {wanted or 'in its trained.json'}; found {found}",
            fix="put the method's code back, or train again",
        )


def source_of(module: str) -> Path | None:
    """Find the file of a module as an import would, and run neither it nor its packages."""
    if module == "__main__":  # the script that is running
        return Path(getattr(sys.modules[module], "__file__", None) or "").absolute()
    places: list[str] | None = [str(Path.cwd()), *sys.path]
    found: ModuleSpec | None = None
    for name in accumulate(module.split("."), "{}.{}".format):
        specs = (finder.find_spec(name, places, None) for finder in sys.meta_path)
        try:
            found = next(filter(None, specs), None) if places is not None else None
        except (ImportError, ValueError, OSError):  # of no name, or in a damaged archive
            return None
        if found is None:
            return None
        inside: Iterable[str] | None = found.submodule_search_locations
        # a namespace's own list would look for its parent among the modules that are imported
        places = None if inside is None else list(getattr(inside, "_path", inside))
    file = Path(found.origin) if found and found.has_location and found.origin else None
    return file if file and file.is_file() else None
