"""A training as one TOML file says it, and as a finished one describes it.

.. code-block:: toml

    method = "ProtoNet"                # one of builders.training.methods
    seed = 0

    [settings]                         # of the method, where its defaults will not do

    [network]
    name = "conv4"
    channels = 32
    pools = [true, true, false, false]
    start = "RFS-5w5s"                 # weights of the training RFS-5w5s-SEED, in the same folder

    [data]
    source = "glyphs"
    side = 28                          # pixels; images are grey
    train = { part = "base" }          # options of the source for what is trained on,
    validate = { part = "val" }        # and for what decides which weights are kept

    [training]
    episode = "5w5s15q"
    steps = 5000
    episodes = 1                       # of a step; their losses are averaged
    batch = 128                        # labelled images of a step
    optimizer = "adam"
    rate = 0.001                       # falls along half a cosine to nothing
    clip = 0.0                         # the largest norm of a step's gradient; 0: any

    [validation]
    episode = "5w5s15q"
    tasks = 200
    every = 500                        # steps
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any

from benchmark_spec.declared import (
    TEXT,
    Expected,
    Wrong,
    fields_of,
    is_table,
    is_text,
    is_whole,
    parsed_toml,
)
from benchmark_spec.errors import SpecError, listing, shown
from benchmark_spec.protocol import Protocol
from builders.training.settings import (
    DataSettings,
    NetworkSettings,
    RunSettings,
    TrainingSettings,
    ValidationSettings,
)

MOST_SEED = 2**64 - 1
"""The largest that torch takes."""


def _whole(least: int, most: int) -> Expected:
    return Expected(
        f"a whole number from {least:,} to {most:,}", lambda value: is_whole(value, least, most)
    )


def _number(words: str, fits_0: bool) -> Expected:
    return Expected(
        words,
        lambda value: (
            type(value) in (int, float) and 0 <= value <= _MOST_NUMBER and (fits_0 or value > 0)
        ),
    )


_MOST_NUMBER = 10**9
_COUNT = _whole(1, 10**9)
_SEED = _whole(0, MOST_SEED)
_CHANNELS, _SIDE = _whole(1, 4096), _whole(1, 1024)  # some gigabytes of weights, or of images
_BATCH, _TASKS = _whole(1, 10**5), _whole(1, 10**6)
_PART = Expected("a table", is_table)
_TABLE = Expected(
    "a table of texts, finite numbers, truth values, and lists and tables of them",
    lambda value: is_table(value) and _is_plain(value),
)
_RATE = _number(f"a number above 0, at most {_MOST_NUMBER:,}", fits_0=False)
_AT_LEAST_0 = _number(f"a number from 0 to {_MOST_NUMBER:,}", fits_0=True)
_POOLS = Expected(
    "a list of four truth values",
    lambda value: isinstance(value, list | tuple) and [type(one) for one in value] == [bool] * 4,
)
_NETWORK = Expected('"conv4" or "resnet12"', lambda value: value in ("conv4", "resnet12"))
_OPTIMIZER = Expected('"adam" or "sgd"', lambda value: value in ("adam", "sgd"))
_PROTOCOL = Expected('such as "5w5s15q"', is_text)
_NAME = Expected(
    "the name of a folder, of at most 200 characters",
    lambda value: is_text(value) and len(value) <= 200 and not set(value) & set("/\\\0"),
)

_KINDS: dict[str, dict[str, Expected]] = {
    "network": {
        "name": _NETWORK, "channels": _CHANNELS, "pools": _POOLS, "slope": _AT_LEAST_0,
        "start": _NAME,
    },
    "data": {
        "source": TEXT, "side": _SIDE, "folder": TEXT, "train": _TABLE, "validate": _TABLE
    },
    "training": {
        "episode": _PROTOCOL, "steps": _COUNT, "episodes": _BATCH, "batch": _BATCH,
        "optimizer": _OPTIMIZER, "rate": _RATE, "momentum": _AT_LEAST_0, "decay": _AT_LEAST_0,
        "clip": _AT_LEAST_0,
    },
    "validation": {"episode": _PROTOCOL, "tasks": _TASKS, "every": _COUNT},
}  # fmt: skip
_PARTS: dict[str, Any] = {
    "network": NetworkSettings,
    "data": DataSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
_OF_RUN = {"method": TEXT, "seed": _SEED, "settings": _TABLE, **dict.fromkeys(_PARTS, _PART)}


def _is_plain(value: Any, depth: int = 20) -> bool:
    """Whether JSON can say a value: TOML also has dates, and numbers that are none."""
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_plain(one, depth - 1) for one in inside)
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))


def of_description(described: Any) -> RunSettings:
    """Read back what :meth:`RunSettings.describe` returned, whoever may have changed it since.

    What an earlier version did not say is as unless given.  SpecError for what is no description,
    or what only a later version can have said.
    """
    where = "settings of a training"
    if not is_table(described):
        raise SpecError(f"{where} are {shown(described)}", expected="a table")
    for name, part in {"": RunSettings, **_PARTS}.items():
        said = described.get(name, {}) if name else described
        known = [one.name for one in fields(part)]
        if is_table(said) and (later := [one for one in said if one not in known]):
            raise SpecError(
                f"this version knows no {listing(sorted(later))}",
                where=f"{where}, {name}" if name else where,
                expected=f"fields among {', '.join(known)}",
                fix="update fslbench: a later version trained it",
            )
    return _settings(described, where)


def read_settings(path: Path) -> RunSettings:
    """Read a training's file.

    SpecError or UnknownNameError, with file, field and what was expected, where it is not one.
    """
    where = str(path)
    try:
        raw = parsed_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror}", where=where) from None
    except ValueError as error:
        raise SpecError(f"{path} is not TOML: {error}", where=where) from None
    return _settings(raw, where)


def _settings(raw: Mapping[str, Any], where: str) -> RunSettings:
    declared = fields_of(raw, _OF_RUN, where, _wrong(where))
    for name in ("method", "data"):
        if name not in declared:
            raise SpecError(f"there is no {name}", where=where, expected=_OF_RUN[name].words)
    for name, part in _PARTS.items():
        if name in declared:
            declared[name] = _part(part, declared[name], _KINDS[name], f"{where}, {name}")
    return RunSettings(**declared)


def _part(part: Any, raw: dict[str, Any], kinds: Mapping[str, Expected], where: str) -> Any:
    declared = fields_of(raw, kinds, where, _wrong(where))
    if "episode" in declared:
        declared["episode"] = Protocol.parse(declared["episode"])
    if part is DataSettings and "source" not in declared:
        raise SpecError("there is no source", where=where, expected='source = "glyphs"')
    return part(**declared)


def _wrong(where: str) -> Wrong:
    return lambda name, value, expected: SpecError(
        f"{name} is {shown(value)}", where=where, expected=expected.words
    )
