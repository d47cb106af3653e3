"""What a training is: its method, network, images, and how it is trained and validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from benchmark_spec.protocol import Protocol

MOST_SEED = 2**64 - 1
"""The largest that torch takes."""

_MOST = 10**9
_Count = Annotated[int, Meta(ge=1, le=_MOST, description=f"a whole number from 1 to {_MOST:,}")]
_Batch = Annotated[int, Meta(ge=1, le=10**5, description="a whole number from 1 to 100,000")]
_AtLeast0 = Annotated[float, Meta(ge=0, le=_MOST, description=f"a number from 0 to {_MOST:,}")]


class NetworkSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which network; `channels` and `slope` are of ``conv4``.

    Attributes
    ----------
    start
        The name, without its seed, of the training whose network this one starts from; empty for
        new weights.
    """

    name: Literal["conv4", "resnet12"] = "conv4"
    channels: Annotated[int, Meta(ge=1, le=4096, description="a whole number from 1 to 4,096")] = (
        64  # more are some gigabytes
    )
    pools: Annotated[
        tuple[bool, bool, bool, bool], Meta(description="a list of four truth values")
    ] = (True, True, True, True)
    slope: _AtLeast0 = 0.0
    start: Annotated[
        str,
        Meta(
            max_length=200,
            pattern=r"^[^/\\\x00]*$",
            description="the name of a folder, of at most 200 characters",
        ),
    ] = ""


class DataSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which images: the options of a source for the two parts, and pixels at a side."""

    source: Annotated[str, Meta(description='source = "glyphs"')]
    side: Annotated[int, Meta(ge=1, le=1024, description="a whole number from 1 to 1,024")] = (
        28  # more are some gigabytes
    )
    folder: str = ""
    train: Mapping[str, Any] = {}
    validate: Mapping[str, Any] = {}


class _Episodes(Struct, frozen=True, forbid_unknown_fields=True):
    """What has episodes; a SpecError if their protocol is none."""

    episode: Annotated[str, Meta(description='such as "5w5s15q"')] = "5w5s15q"

    def __post_init__(self) -> None:
        Protocol.parse(self.episode)

    @property
    def protocol(self) -> Protocol:
        """Of the episodes."""
        return Protocol.parse(self.episode)


class TrainingSettings(_Episodes, frozen=True, forbid_unknown_fields=True):
    """How it is trained."""

    steps: _Count = 5000
    episodes: _Batch = 1
    batch: _Batch = 128
    optimizer: Literal["adam", "sgd"] = "adam"
    rate: Annotated[
        float, Meta(gt=0, le=_MOST, description=f"a number above 0, at most {_MOST:,}")
    ] = 0.001
    momentum: _AtLeast0 = 0.9
    decay: _AtLeast0 = 0.0
    clip: _AtLeast0 = 0.0


class ValidationSettings(_Episodes, frozen=True, forbid_unknown_fields=True):
    """How often, and on what, weights are judged."""

    tasks: Annotated[
        int, Meta(ge=1, le=10**6, description="a whole number from 1 to 1,000,000")
    ] = 200
    every: _Count = 500


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A training; :meth:`describe` is what its weights say of it."""

    method: Annotated[str, Meta(description="a text")]
    data: Annotated[DataSettings, Meta(description="a table")]
    seed: Annotated[int, Meta(ge=0, description=f"a whole number from 0 to {MOST_SEED:,}")] = 0
    settings: Mapping[str, Any] = {}
    network: NetworkSettings = NetworkSettings()
    training: TrainingSettings = TrainingSettings()
    validation: ValidationSettings = ValidationSettings()

    def describe(self) -> dict[str, Any]:
        """Return all settings as values of JSON."""
        described: dict[str, Any] = to_builtins(self)
        return described
