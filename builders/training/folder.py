"""Read and write the folder of a training: its checkpoint, or its finished files.

The folder may come from somebody else or be damaged: every file is checked when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import torch
from msgspec import Meta, Struct, convert
from msgspec.structs import asdict

from benchmark_spec.declared import declared, parsed_json
from benchmark_spec.errors import FSLBenchError, SpecError
from builders.execution.steps import differences
from builders.training import shapes_of, state_sha256
from builders.training.building import code_sha256
from builders.training.images import TrainingImages
from builders.training.method import Method
from builders.training.settings import RunSettings, settings_in
from fslbench_data.files import open_regular, whole_file, write_whole

ABOUT, CHECKPOINT, WEIGHTS, CURVE = "trained.json", "checkpoint.pt", "weights.pt", "curve.csv"
_SAME_TRAINING = ("settings", "images", "start")
"""The fields of a description that cannot change during a training."""
_SAME_BITS = ("threads", "device", "code")
"""The fields that cannot change either, because other weights would come of it."""
_MOST_BYTES = 2**24
"""The most bytes that are read of ``trained.json``, which has some hundred."""
_Hex = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="64 hexadecimal digits")]
_Count = Annotated[int, Meta(ge=1, le=2**53, description="a whole number above 0")]


class _Images(Struct, forbid_unknown_fields=True):
    """Digests of the images to train and to validate on."""

    train: str
    validate: str


class _Begun(Struct):
    """The description of a training, finished or not.

    `code` is the SHA-256 of the file of a method of one's own, `start` that of the weights that
    the training starts from.
    """

    settings: dict[str, Any]
    images: _Images
    classes: _Count
    device: str
    threads: _Count
    torch: str
    code: _Hex = ""
    start: _Hex = ""


class _Finished(_Begun, kw_only=True):
    """The description of a finished training."""

    weights_sha256: _Hex
    step: _Count
    accuracy: float


class Progress(Struct):
    """How far a training is.

    `curve` has a row for each validation: step, mean loss since the last, and accuracy.  `best` has
    the first weights with the highest accuracy so far.
    """

    step: int = 0
    losses: list[float] = []
    curve: list[tuple[int, float, float]] = []
    best: dict[str, Any] = {}


def describe(
    settings: RunSettings, images: TrainingImages, validation: TrainingImages, device: str
) -> dict[str, Any]:
    """Return what a training's weights depend on, as values of JSON."""
    code = code_sha256(settings.method)
    return {
        "settings": settings.describe(),
        "images": {"train": images.digest, "validate": validation.digest},
        "classes": int(images.class_sizes.size),
        **({"code": code} if code else {}),
        "device": device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def finished(folder: Path) -> dict[str, Any] | None:
    """Return the content of ``trained.json``; None where no training has been finished."""
    try:
        with open_regular(folder / ABOUT) as file:
            about = parsed_json(file.read(_MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _damaged(folder / ABOUT, getattr(error, "strerror", None) or str(error)) from None
    return _checked(about, _Finished, folder / ABOUT)


def begun(folder: Path) -> dict[str, Any] | None:
    """Return the description of a training, finished or not; None where none was begun."""
    about = finished(folder)
    if about is None and (folder / CHECKPOINT).exists():
        about = _checkpoint(folder)["about"]
    return about


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Refuse a folder that was begun with other settings or images than are in `now`."""
    before = {**before, "settings": settings_in(before["settings"]).describe()}
    for name in _SAME_TRAINING:
        if name not in now:
            continue
        old, new = json.loads(json.dumps([before[name], now[name]]))
        if old != new:
            differing = [
                f"{field} {json.dumps(old_value)}, now {json.dumps(new_value)}"
                for field, old_value, new_value in differences(old, new)
            ]
            raise SpecError(
                f"{folder} was begun with other {name}: {'; '.join(differing[:8])}",
                where=str(folder),
                expected="the settings and images that it was begun with",
                fix="name a new folder, or give the training's file another name",
            )


def save(
    folder: Path,
    about: Mapping[str, Any],
    method: Method,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
) -> None:
    """Write the checkpoint that a stopped training continues from."""
    checkpoint = {
        "about": json.dumps(about),
        "method": method.state_dict(),
        "optimizer": optimizer.state_dict(),
        "progress": asdict(progress),
    }
    _save(folder / CHECKPOINT, checkpoint)


def resume(
    folder: Path, about: Mapping[str, Any], method: Method, optimizer: torch.optim.Optimizer
) -> Progress:
    """Load the state in which a training was stopped; a new training starts at step 0."""
    if not (folder / CHECKPOINT).exists():
        return Progress()
    checkpoint = _checkpoint(folder)
    before = checkpoint["about"]
    check_same(before, about, folder)
    for name in _SAME_BITS:
        old, new = before.get(name), about.get(name)
        if old != new:
            change = "put the method's code back" if name == "code" else f"give --{name} {old}"
            raise SpecError(
                f"{folder} was begun with {name} {old}, not {new}",
                where=str(folder),
                expected="the same to the end: other weights would come of it",
                fix=f"{change}, or name a new folder",
            )
    try:
        method.load_state_dict(checkpoint["method"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        progress = convert(checkpoint["progress"], Progress)
        best_shapes = shapes_of(progress.best)
    except Exception as error:  # torch raises many kinds for a state of something else
        raise _damaged(folder / CHECKPOINT, f"{type(error).__name__}: {error}") from None
    steps = [0, *(step for step, _, _ in progress.curve)]
    if (
        steps != sorted(set(steps))
        or not max(1, steps[-1]) <= progress.step <= 2**53
        or best_shapes != (shapes_of(method.state_dict()) if progress.curve else {})
    ):
        raise _damaged(folder / CHECKPOINT, "steps or the best weights are no training's")
    return progress


def finish(folder: Path, about: Mapping[str, Any], progress: Progress) -> str:
    """Write the files of a finished training; returns the digest of its weights."""
    digest = state_sha256(progress.best)
    _save(folder / WEIGHTS, progress.best)
    step, _, accuracy = max(progress.curve, key=lambda row: row[2])
    trained = {**about, "step": step, "accuracy": accuracy, "weights_sha256": digest}
    write_whole(folder / ABOUT, json.dumps(trained, indent=2) + "\n", follow=False)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return digest


def write_curve(folder: Path, progress: Progress) -> None:
    """Write the validations so far as CSV."""
    rows = [f"{step},{loss:.6f},{accuracy:.4f}\n" for step, loss, accuracy in progress.curve]
    write_whole(folder / CURVE, "".join(["step,loss,accuracy\n", *rows]), follow=False)


def _checkpoint(folder: Path) -> dict[str, Any]:
    path = folder / CHECKPOINT
    try:
        with open_regular(path) as file:
            content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        return {**content, "about": _checked(parsed_json(content["about"]), _Begun, path)}
    except FSLBenchError:
        raise
    except Exception as error:  # torch raises many kinds for a file of something else
        raise _damaged(path, type(error).__name__) from None


def _checked(about: Any, kind: type[_Begun], path: Path) -> dict[str, Any]:
    """Return a file's description of a training; SpecError if it is not one."""
    try:
        settings_in(declared(about, kind).settings)
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    return dict(about)


def _save(path: Path, content: Mapping[str, Any]) -> None:
    """Write with torch into an open file: given a path, torch writes its name into the file."""
    with whole_file(path, follow=False) as temporary, temporary.open("wb") as file:
        torch.save(content, file)


def _damaged(path: Path, what: str) -> SpecError:
    return SpecError(
        f"{path} cannot be read: {what}",
        where=str(path.parent),
        expected="what a training wrote",
        fix="remove it, and the training begins anew",
    )
