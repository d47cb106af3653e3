"""What ``trained.json``, or a checkpoint, says of a training: what its weights depend on.

A folder may come from somebody else, or be damaged: whatever stands there is checked first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import torch
from msgspec import Meta, Struct

from benchmark_spec.declared import declared, parsed_json
from benchmark_spec.errors import SpecError
from builders.training.images import TrainingImages
from builders.training.own_code import code_of
from builders.training.settings import RunSettings
from builders.training.settings_file import of_description
from fslbench_data.files.kept import read_regular

ABOUT = "trained.json"
_OF_TRAINING = ("settings", "images", "start")
_MOST_BYTES = 2**24
"""Of ``trained.json``, which has some hundred."""
_Hex = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="64 hexadecimal digits")]
_Count = Annotated[int, Meta(ge=1, le=2**53, description="a whole number above 0")]


class _Images(Struct, forbid_unknown_fields=True):
    """Digests of what is trained on, and of what is validated on."""

    train: str
    validate: str


class Begun(Struct):
    """What is said of a training, also of one that is not finished; older ones say less."""

    settings: dict[str, Any]
    images: _Images
    classes: _Count
    device: str = ""
    threads: _Count = 1
    torch: str = ""
    code: _Hex = ""
    module: str = ""
    start: _Hex = ""


class _Finished(Begun, kw_only=True):
    """What is said of a finished one, too."""

    weights_sha256: _Hex
    step: _Count = 1
    accuracy: float = 0.0


def describe(
    settings: RunSettings, images: TrainingImages, validation: TrainingImages, device: str
) -> dict[str, Any]:
    """Tell what a training's weights depend on, as values of JSON."""
    return {
        "settings": settings.describe(),
        "images": {"train": images.digest, "validate": validation.digest},
        "classes": int(images.class_sizes.size),
        **code_of(settings.method),
        "device": device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def finished(folder: Path) -> dict[str, Any] | None:
    """Return what ``trained.json`` says; None where no training has been finished.

    SpecError if it is not what a training writes.
    """
    try:
        about = parsed_json(read_regular(folder / ABOUT, _MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise damaged(folder / ABOUT, getattr(error, "strerror", None) or str(error)) from None
    return checked(about, _Finished, folder / ABOUT)


def checked(about: Any, kind: type[Begun], path: Path) -> dict[str, Any]:
    """Return what a file says of a training; SpecError if a training does not say such things."""
    try:
        of_description(declared(about, kind).settings)
    except ValueError as error:
        raise damaged(path, str(error)) from None
    return dict(about)


def check_same(then: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Refuse a folder that was begun with other settings or images."""
    then = {**then, "settings": of_description(then["settings"]).describe()}
    for name in _OF_TRAINING:
        if name not in now:
            continue
        before, today = json.loads(json.dumps([then[name], now[name]]))
        if before != today:
            differing = list(_differences(before, today))
            raise SpecError(
                f"{folder} was begun with other {name}: {'; '.join(differing[:8])}",
                where=str(folder),
                expected="the settings and images that it was begun with",
                fix="name a new folder, or give the training's file another name",
            )


def damaged(path: Path, what: str) -> SpecError:
    """Return the error about a file of a training that cannot be read."""
    return SpecError(
        f"{path} cannot be read: {what}",
        where=str(path.parent),
        expected="what a training wrote",
        fix="remove it, and the training begins anew",
    )


def _differences(then: Any, now: Any, name: str = "") -> Iterator[str]:
    """Name what differs between two values of JSON, such as ``training.steps 5, now 6``."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*then, *now]):
            yield from _differences(then.get(key), now.get(key), f"{name}.{key}".strip("."))
    elif then != now:
        yield f"{name} {json.dumps(then)}, now {json.dumps(now)}"
