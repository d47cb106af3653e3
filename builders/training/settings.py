"""What a training is: its method, network, images, and how it is trained and validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmark_spec.protocol import Protocol

EPISODE = Protocol(5, 5, 15)
"""Of training and of validation, unless they say otherwise."""


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
