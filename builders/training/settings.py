"""The settings of a training, from its TOML file or the description of a finished one."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from benchmark_spec.declared import MisfitError, declared, read_toml
from benchmark_spec.errors import quoted
from benchmark_spec.protocol import Protocol

MOST_SEED = 2**64 - 1
"""The largest that torch takes."""

_MOST = 10**9


def _to(most: int) -> Meta:
    return Meta(ge=1, le=most, description=f"a whole number from 1 to {most:,}")


_Count = Annotated[int, _to(_MOST)]
_Batch = Annotated[int, _to(10**5)]
_AtLeast0 = Annotated[float, Meta(ge=0, le=_MOST, description=f"a number from 0 to {_MOST:,}")]
_Above0 = Annotated[float, Meta(gt=0, le=_MOST, description=f"a number above 0, at most {_MOST:,}")]
_Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
_Side = Annotated[int, Meta(ge=0, le=1024, description="a whole number from 0 to 1,024")]


class NetworkSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which network; `channels` and `slope` are of ``conv4``, and what drops of ``resnet12``.

    `start` names, without its seed, the training that has the network this one starts from.
    """

    name: Literal["conv4", "resnet12"] = "conv4"
    channels: Annotated[int, _to(4096)] = 64  # more are some gigabytes
    pools: Annotated[
        tuple[bool, bool, bool, bool], Meta(description="a list of four truth values")
    ] = (True, True, True, True)
    slope: _AtLeast0 = 0.0
    drop: Annotated[float, Meta(ge=0, lt=1, description="a number from 0, below 1")] = 0.0
    drop_block: Annotated[int, _to(1024)] = 5
    drop_ramp: _Count = 40_000
    start: Annotated[
        str,
        Meta(
            max_length=200,
            pattern=r"^[^/\\\x00]*$",
            description="the name of a folder, of at most 200 characters",
        ),
    ] = ""


class DataSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which images: the options of a source for the two parts, and what is made of pictures.

    `channels` of 1 makes pictures grey, of 3 keeps colours; unless given pictures must be grey.
    `fit` makes them `resize` pixels square: ``squeeze`` whatever their shape, ``crop`` by the
    shorter side and the middle of the longer; unless given they must be so already.  Of that the
    middle `side` is taken, in training as by :class:`AugmentationSettings`.  Then `mean` is
    subtracted and the rest divided by `std`, of each channel, where white is 1.
    """

    source: Annotated[str, Meta(description='source = "glyphs"')]
    side: Annotated[int, _to(1024)] = 28  # more are some gigabytes
    folder: str = ""
    train: Mapping[str, Any] = {}
    validate: Mapping[str, Any] = {}
    channels: Annotated[Literal[1, 3] | None, Meta(description="1 or 3")] = None
    fit: Literal["", "squeeze", "crop"] = ""
    resize: _Side = 0
    mean: tuple[_AtLeast0, ...] = ()
    std: tuple[_Above0, ...] = ()

    @property
    def inputs(self) -> int:
        """How many channels images have."""
        return self.channels or 1

    @property
    def kept(self) -> int:
        """How many pixels the sides of pictures have before `side` is cut out."""
        return self.resize or self.side


class AugmentationSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The random changes of images in training, independent for each.

    `crop` cuts out `side` pixels: ``random`` anywhere after `padding` black ones were added around,
    ``resized`` a part of a share `scale` of the area, made `side` pixels square.  `flip` is the
    share that is mirrored; `jitter` is of brightness, contrast, saturation and hue.
    """

    crop: Literal["", "random", "resized"] = ""
    padding: _Side = 0
    scale: tuple[_Share, _Share] = (0.08, 1.0)
    flip: _Share = 0.0
    jitter: tuple[_AtLeast0, _AtLeast0, _AtLeast0, _AtLeast0] = (0.0, 0.0, 0.0, 0.0)


class _Episodes(Struct, frozen=True, forbid_unknown_fields=True):
    """What has episodes; a SpecError if their protocol is none."""

    episode: Annotated[str, Meta(description='such as "5w5s15q"')] = "5w5s15q"

    def __post_init__(self) -> None:
        Protocol.parse(self.episode)

    @property
    def protocol(self) -> Protocol:
        """The protocol of the episodes."""
        return Protocol.parse(self.episode)


class TrainingSettings(_Episodes, frozen=True, forbid_unknown_fields=True):
    """How it is trained.

    The rate rises over `warmup` steps, and then is `schedule` of PyTorch: of ``step`` it is
    multiplied by `gamma` after every `step_size` steps, of ``multistep`` at `milestones`.
    """

    steps: _Count = 5000
    episodes: _Batch = 1
    batch: _Batch = 128
    optimizer: Literal["adam", "sgd"] = "adam"
    rate: _Above0 = 0.001
    schedule: Literal["cosine", "step", "multistep", "constant"] = "cosine"
    warmup: Annotated[int, Meta(ge=0, le=_MOST, description="a whole number from 0")] = 0
    step_size: _Count = _MOST
    milestones: tuple[_Count, ...] = ()
    gamma: _Above0 = 0.1
    momentum: _AtLeast0 = 0.9
    decay: _AtLeast0 = 0.0
    clip: _AtLeast0 = 0.0
    precision: Literal["float32", "bfloat16"] = "float32"


class ValidationSettings(_Episodes, frozen=True, forbid_unknown_fields=True):
    """How often, and on what, weights are judged."""

    tasks: Annotated[int, _to(10**6)] = 200
    every: _Count = 500


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A training; :meth:`describe` is its description next to its weights."""

    method: Annotated[str, Meta(description="a text")]
    data: Annotated[DataSettings, Meta(description="a table")]
    seed: Annotated[int, Meta(ge=0, description=f"a whole number from 0 to {MOST_SEED:,}")] = 0
    settings: Mapping[str, Any] = {}
    network: NetworkSettings = NetworkSettings()
    augmentation: AugmentationSettings = AugmentationSettings()
    training: TrainingSettings = TrainingSettings()
    validation: ValidationSettings = ValidationSettings()

    def describe(self) -> dict[str, Any]:
        """Return all settings as values of JSON."""
        described: dict[str, Any] = to_builtins(self)
        return described


def read_settings(path: Path) -> RunSettings:
    """Read a training's file; an error names file, field and what was expected."""
    return settings_in(path, str(path))


def settings_in(source: Any, where: str = "settings of a training") -> RunSettings:
    """Read a file, or what :meth:`RunSettings.describe` returned, whoever may have changed it."""
    try:
        settings = declared(read_toml(source) if isinstance(source, Path) else source, RunSettings)
        _check_together(settings)
    except MisfitError as error:
        raise error.at(where) from None
    return settings


def _check_together(settings: RunSettings) -> None:
    """Refuse settings that do not go together, or that msgspec cannot refuse."""
    data, cut, how = settings.data, settings.augmentation, settings.training
    largest, white = f"a whole number up to {MOST_SEED:,}", "numbers up to 1, which is white"
    plain = "a table of texts, finite numbers, truth values, and lists and tables of them"
    a_channel = f"one number a channel, of which there are {data.inputs} (`channels`)"
    wrong = (
        (settings.seed > MOST_SEED, "", "seed", settings.seed, largest),
        (data.kept < data.side, "data", "resize", data.resize, f"0, or at least side, {data.side}"),
        (len(data.mean) not in (0, data.inputs), "data", "mean", data.mean, a_channel),
        (len(data.std) not in (0, data.inputs), "data", "std", data.std, a_channel),
        (max(data.mean, default=0) > 1, "data", "mean", data.mean, white),
        (max(data.std, default=0) > 1, "data", "std", data.std, white),
        (
            bool(cut.padding) and cut.crop != "random",
            "augmentation", "padding", cut.padding, 'crop = "random"',
        ),
        (cut.scale[0] > cut.scale[1], "augmentation", "scale", cut.scale, "a share, and one above"),
        (cut.jitter[3] > 0.5, "augmentation", "jitter", cut.jitter, "a hue of at most 0.5"),
        (
            how.schedule == "multistep" and not how.milestones,
            "training", "milestones", how.milestones, "steps after which the rate falls",
        ),
        (
            list(how.milestones) != sorted(set(how.milestones)),
            "training", "milestones", how.milestones, "steps in rising order",
        ),
        (
            how.schedule == "step" and how.step_size == _MOST,
            "training", "step_size", how.step_size, "steps after which the rate falls each time",
        ),
        (how.warmup >= how.steps, "training", "warmup", how.warmup, f"fewer than {how.steps}"),
        (not _is_plain(settings.settings), "", "settings", settings.settings, plain),
        (not _is_plain(data.train), "data", "train", data.train, plain),
        (not _is_plain(data.validate), "data", "validate", data.validate, plain),
    )  # fmt: skip
    for is_wrong, table, field, value, expected in wrong:
        if is_wrong:
            raise MisfitError([table, field] if table else [field], quoted(value), expected)


def _is_plain(value: Any, depth: int = 20) -> bool:
    """Return whether JSON has a value: TOML also has dates, NaN and infinity."""
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_plain(one, depth - 1) for one in inside)
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
