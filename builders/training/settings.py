"""What a training is, as one TOML file says it.

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
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmark_spec.declared import (
    TEXT,
    Expected,
    Wrong,
    fields_of,
    is_table,
    is_whole,
    parsed_toml,
)
from benchmark_spec.errors import SpecError
from benchmark_spec.protocol import Protocol

EPISODE = Protocol(5, 5, 15)
"""Of training and of validation, unless they say otherwise."""

_COUNT = Expected("a whole number of at least 1", lambda value: is_whole(value, 1))
_SEED = Expected("a whole number of at least 0", lambda value: is_whole(value, 0))
_TABLE = Expected("a table", is_table)
_RATE = Expected(
    "a number above 0", lambda value: type(value) in (int, float) and 0 < value < float("inf")
)
_AT_LEAST_0 = Expected(
    "a number of at least 0",
    lambda value: type(value) in (int, float) and 0 <= value < float("inf"),
)
_POOLS = Expected(
    "a list of four truth values",
    lambda value: isinstance(value, list) and [type(one) for one in value] == [bool] * 4,
)
_NETWORK = Expected('"conv4" or "resnet12"', lambda value: value in ("conv4", "resnet12"))
_OPTIMIZER = Expected('"adam" or "sgd"', lambda value: value in ("adam", "sgd"))
_PROTOCOL = Expected('such as "5w5s15q"', lambda value: isinstance(value, str))


@dataclass(frozen=True)
class NetworkSettings:
    """Which network; `channels` and `slope` are of ``conv4``.

    Attributes
    ----------
    start
        The name, without its seed, of the training whose network this one starts from; empty for
        new weights.
    """

    name: str = "conv4"
    channels: int = 64
    pools: tuple[bool, ...] = (True, True, True, True)
    slope: float = 0.0
    start: str = ""


@dataclass(frozen=True)
class DataSettings:
    """Which images: the options of a source for the two parts, and pixels at a side."""

    source: str
    side: int = 28
    folder: str = ""
    train: Mapping[str, Any] = field(default_factory=dict)
    validate: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingSettings:
    """How it is trained."""

    episode: Protocol = EPISODE
    steps: int = 5000
    episodes: int = 1
    batch: int = 128
    optimizer: str = "adam"
    rate: float = 0.001
    momentum: float = 0.9
    decay: float = 0.0
    clip: float = 0.0


@dataclass(frozen=True)
class ValidationSettings:
    """How often, and on what, weights are judged."""

    episode: Protocol = EPISODE
    tasks: int = 200
    every: int = 500


@dataclass(frozen=True)
class RunSettings:
    """A training; :meth:`describe` is what its weights say of it."""

    method: str
    data: DataSettings
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    network: NetworkSettings = NetworkSettings()
    training: TrainingSettings = TrainingSettings()
    validation: ValidationSettings = ValidationSettings()

    def describe(self) -> dict[str, Any]:
        """Return all settings as values of JSON."""
        plain = asdict(self)
        for part in ("training", "validation"):
            plain[part]["episode"] = str(getattr(self, part).episode)
        return plain


_KINDS: dict[str, dict[str, Expected]] = {
    "network": {
        "name": _NETWORK, "channels": _COUNT, "pools": _POOLS, "slope": _AT_LEAST_0,
        "start": TEXT,
    },
    "data": {
        "source": TEXT, "side": _COUNT, "folder": TEXT, "train": _TABLE, "validate": _TABLE
    },
    "training": {
        "episode": _PROTOCOL, "steps": _COUNT, "episodes": _COUNT, "batch": _COUNT,
        "optimizer": _OPTIMIZER, "rate": _RATE, "momentum": _AT_LEAST_0, "decay": _AT_LEAST_0,
        "clip": _AT_LEAST_0,
    },
    "validation": {"episode": _PROTOCOL, "tasks": _COUNT, "every": _COUNT},
}  # fmt: skip
_PARTS = {
    "network": NetworkSettings,
    "data": DataSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}


def of_description(described: Mapping[str, Any]) -> RunSettings:
    """Read back what :meth:`RunSettings.describe` returned.

    What an earlier version did not say is as unless given.  SpecError for what only a later one
    can have said.
    """
    known = {"": RunSettings, **_PARTS}
    said = {"": described, **{name: described[name] for name in _PARTS}}
    for name, part in known.items():
        if later := set(said[name]) - {one.name for one in fields(part)}:
            raise SpecError(
                f"this version knows no {', '.join(sorted(later))}",
                where=f"settings of a training{', ' if name else ''}{name}",
                expected=f"fields among {', '.join(one.name for one in fields(part))}",
                fix="update fslbench: a later version trained it",
            )
    parts = {
        name: part(
            **{
                key: Protocol.parse(value) if key == "episode" else _frozen(value)
                for key, value in described[name].items()
            }
        )
        for name, part in _PARTS.items()
    }
    return RunSettings(**{**described, **parts})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


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
    of_run = {"method": TEXT, "seed": _SEED, "settings": _TABLE, **dict.fromkeys(_PARTS, _TABLE)}
    declared = fields_of(raw, of_run, where, _wrong(where))
    for name in ("method", "data"):
        if name not in declared:
            raise SpecError(f"there is no {name}", where=where, expected=of_run[name].words)
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
        f"{name} is {value!r}", where=where, expected=expected.words
    )
