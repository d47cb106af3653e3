"""The settings of a training, read from its TOML file or its ``trained.json``."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from benchmark_spec.declared import MisfitError, declared, read_toml
from benchmark_spec.errors import quoted
from benchmark_spec.protocol import Protocol

MOST_SEED = 2**64 - 1
"""The largest seed that torch takes."""

_MOST = 10**9


def _one_to(most: int) -> Meta:
    return Meta(ge=1, le=most, description=f"a whole number from 1 to {most:,}")


_Count = Annotated[int, _one_to(_MOST)]
_Batch = Annotated[int, _one_to(10**5)]
_AtLeast0 = Annotated[float, Meta(ge=0, le=_MOST, description=f"a number from 0 to {_MOST:,}")]
_Above0 = Annotated[float, Meta(gt=0, le=_MOST, description=f"a number above 0, at most {_MOST:,}")]
_Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
_Side = Annotated[int, Meta(ge=0, le=1024, description="a whole number from 0 to 1,024")]


class NetworkSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A network; `channels` and `slope` are of ``conv4``, `drop` and what follows of ``resnet12``.

    `start` names, without its seed, the training whose network this one starts from.
    """

    name: Literal["conv4", "resnet12"] = "conv4"
    channels: Annotated[int, _one_to(4096)] = 64  # more are some gigabytes
    pools: Annotated[
        tuple[bool, bool, bool, bool], Meta(description="a list of four truth values")
    ] = (True, True, True, True)
    slope: _AtLeast0 = 0.0
    drop: Annotated[float, Meta(ge=0, lt=1, description="a number from 0, below 1")] = 0.0
    drop_block: Annotated[int, _one_to(1024)] = 5
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
    """The images: options of a source for the two parts, and how pictures become input.

    `channels` of 1 makes pictures grey, of 3 keeps colours; without it pictures must be grey.
    `fit` makes them `resize` pixels square: ``squeeze`` changes their shape, ``crop`` scales the
    shorter side and cuts out the middle of the longer; without it they must be square already.
    Then the middle `side` pixels are cut out, in training as :class:`AugmentationSettings` says.
    Each channel, where white is 1, loses its `mean` and is divided by its `std`.
    """

    source: Annotated[str, Meta(description='source = "glyphs"')]
    side: Annotated[int, _one_to(1024)] = 28  # more are some gigabytes
    folder: str = ""
    train: Mapping[str, Any] = {}
    validate: Mapping[str, Any] = {}
    channels: Annotated[Literal[1, 3] | None, Meta(description="1 or 3")] = None
    fit: Literal["", "squeeze", "crop"] = ""
    resize: _Side = 0
    mean: tuple[_AtLeast0, ...] = ()
    std: tuple[_Above0, ...] = ()

    @property
    def raw_name(self) -> str:
        """The name of the images' folder among the raw folders."""
        return self.folder or self.source

    @property
    def inputs(self) -> int:
        """How many channels images have."""
        return self.channels or 1

    @property
    def kept(self) -> int:
        """How many pixels the sides of pictures have before `side` pixels are cut out."""
        return self.resize or self.side


class AugmentationSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The random changes of images in training, independent for each.

    `crop` cuts out `side` pixels: ``random`` anywhere, after a border of `padding` black ones was
    added; ``resized`` a part whose share of the area lies in `scale`, made `side` pixels square.
    `flip` is the share that is mirrored; `jitter` has brightness, contrast, saturation and hue.
    """

    crop: Literal["", "random", "resized"] = ""
    padding: _Side = 0
    scale: tuple[_Share, _Share] = (0.08, 1.0)
    flip: _Share = 0.0
    jitter: tuple[_AtLeast0, _AtLeast0, _AtLeast0, _AtLeast0] = (0.0, 0.0, 0.0, 0.0)


class _Episodes(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings with episodes; SpecError if `episode` is no protocol."""

    episode: Annotated[str, Meta(description='such as "5w5s15q"')] = "5w5s15q"

    def __post_init__(self) -> None:
        Protocol.parse(self.episode)

    @property
    def protocol(self) -> Protocol:
        """The protocol of the episodes."""
        return Protocol.parse(self.episode)


class TrainingSettings(_Episodes, frozen=True, forbid_unknown_fields=True):
    """The optimisation.

    The rate rises over `warmup` steps, then follows PyTorch's `schedule`: ``step`` multiplies it by
    `gamma` after every `step_size` steps, ``multistep`` at `milestones`.
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
    """How often, and on how many tasks, weights are validated."""

    tasks: Annotated[int, _one_to(10**6)] = 200
    every: _Count = 500


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a training."""

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
    """Read a training's file; an error names the file, the field and what was expected."""
    return settings_in(path, str(path))


def settings_in(source: Any, where: str = "settings of a training") -> RunSettings:
    """Read settings from a file, or from what :meth:`RunSettings.describe` returned."""
    try:
        settings = declared(read_toml(source) if isinstance(source, Path) else source, RunSettings)
        _check_together(settings)
    except MisfitError as error:
        raise error.at(where) from None
    return settings


def _check_together(settings: RunSettings) -> None:
    """Refuse settings that do not go together, or that msgspec cannot refuse."""
    data, augmentation, training = settings.data, settings.augmentation, settings.training
    white = "numbers up to 1, which is white"
    plain = "a table of texts, finite numbers, truth values, and lists and tables of them"
    a_channel = f"one number a channel, of which there are {data.inputs} (`channels`)"
    rows = (  # whether a field is wrong, its name, and what is expected
        (settings.seed > MOST_SEED, "seed", f"a whole number up to {MOST_SEED:,}"),
        (data.kept < data.side, "data.resize", f"0, or at least side, {data.side}"),
        (len(data.mean) not in (0, data.inputs), "data.mean", a_channel),
        (len(data.std) not in (0, data.inputs), "data.std", a_channel),
        (max(data.mean, default=0) > 1, "data.mean", white),
        (max(data.std, default=0) > 1, "data.std", white),
        (
            augmentation.padding > 0 and augmentation.crop != "random",
            "augmentation.padding", 'crop = "random"',
        ),
        (
            augmentation.scale[0] > augmentation.scale[1],
            "augmentation.scale", "a share, and one above",
        ),
        (augmentation.jitter[3] > 0.5, "augmentation.jitter", "a hue of at most 0.5"),
        (
            training.schedule == "multistep" and not training.milestones,
            "training.milestones", "steps after which the rate falls",
        ),
        (
            list(training.milestones) != sorted(set(training.milestones)),
            "training.milestones", "steps in rising order",
        ),
        (
            training.schedule == "step" and training.step_size == _MOST,
            "training.step_size", "steps after which the rate falls each time",
        ),
        (training.warmup >= training.steps, "training.warmup", f"fewer than {training.steps}"),
        *_without_effect(settings),
        (not _is_plain(settings.settings), "settings", plain),
        (not _is_plain(data.train), "data.train", plain),
        (not _is_plain(data.validate), "data.validate", plain),
    )  # fmt: skip
    for is_wrong, field, expected in rows:
        if is_wrong:
            raise MisfitError(field.split("."), quoted(attrgetter(field)(settings)), expected)


def _without_effect(settings: RunSettings) -> tuple[tuple[bool, str, str], ...]:
    """Return settings that others leave without effect, as rows of :func:`_check_together`."""
    training, network, changes = settings.training, settings.network, settings.augmentation
    default, schedule = TrainingSettings(), training.schedule
    late = training.milestones[-1:] > (training.steps,)
    return (
        (
            bool(training.milestones) and (schedule != "multistep" or late),
            "training.milestones", f'schedule = "multistep", and steps up to {training.steps:,}',
        ),
        (
            training.step_size != default.step_size and schedule != "step",
            "training.step_size", 'schedule = "step"',
        ),
        (
            training.gamma != default.gamma and schedule not in ("step", "multistep"),
            "training.gamma", 'schedule = "step" or "multistep"',
        ),
        (
            training.momentum != default.momentum and training.optimizer != "sgd",
            "training.momentum", 'optimizer = "sgd"',
        ),
        (
            changes.scale != AugmentationSettings().scale and changes.crop != "resized",
            "augmentation.scale", 'crop = "resized"',
        ),
        (
            settings.data.inputs == 1 and max(changes.jitter[2:]) > 0,
            "augmentation.jitter", "no saturation and hue, as pictures are grey",
        ),
        (network.drop > 0 and network.name != "resnet12", "network.drop", 'name = "resnet12"'),
        (network.slope > 0 and network.name != "conv4", "network.slope", 'name = "conv4"'),
    )  # fmt: skip


def _is_plain(value: Any, depth: int = 20) -> bool:
    """Return whether JSON can hold a value: TOML also has dates, NaN and infinity."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_plain(item, depth - 1) for item in items)
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
