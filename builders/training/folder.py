"""The folder of a training: what lies in it while it goes on, and when it is finished.

``checkpoint.pt`` is what a stopped one goes on from.  A finished one has ``weights.pt``,
``curve.csv`` and ``trained.json``, which says how they were made.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmark_spec.errors import SpecError
from builders.training.building import code_sha256
from builders.training.digest import state_sha256
from builders.training.images import TrainingImages
from builders.training.method import Method
from builders.training.settings import RunSettings, of_description
from fslbench_data.files import whole_file, write_whole

CHECKPOINT, WEIGHTS, CURVE, ABOUT = "checkpoint.pt", "weights.pt", "curve.csv", "trained.json"
_OF_TRAINING = ("settings", "images", "start")
_OF_BITS = ("threads", "device", "code")
"""What other bits come of, so that one training has one of each."""


@dataclass
class Progress:
    """How far a training is.

    Attributes
    ----------
    curve
        Of each validation: step, mean loss since the last, accuracy.
    best
        The weights with the highest accuracy so far, the first of equals.
    """

    step: int = 0
    losses: list[float] = field(default_factory=list)
    curve: list[tuple[int, float, float]] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)


def describe(
    settings: RunSettings, images: TrainingImages, validation: TrainingImages, device: str
) -> dict[str, Any]:
    """Tell what a training's weights depend on, as values of JSON."""
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
    """Return what ``trained.json`` says; None where no training has been finished."""
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return about


def begun(folder: Path) -> dict[str, Any] | None:
    """Tell how a training was begun that lies in a folder, finished or not; None for no training.

    SpecError if its checkpoint cannot be read.
    """
    about = finished(folder)
    if about is None and (folder / CHECKPOINT).exists():
        about = json.loads(_checkpoint(folder)["about"])
    return about


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


def save(
    folder: Path,
    about: Mapping[str, Any],
    method: Method,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
) -> None:
    """Write what a stopped training goes on from."""
    kept = {
        "about": json.dumps(about),
        "method": method.state_dict(),
        "optimizer": optimizer.state_dict(),
        "progress": vars(progress),
    }
    with whole_file(folder / CHECKPOINT) as file:
        torch.save(kept, file)


def resume(
    folder: Path, about: Mapping[str, Any], method: Method, optimizer: torch.optim.Optimizer
) -> Progress:
    """Load where a training was stopped; a new one starts at step 0.

    SpecError if it was begun as something else, or where other bits come of.
    """
    if not (folder / CHECKPOINT).exists():
        return Progress()
    kept = _checkpoint(folder)
    then = {"device": "cpu", **json.loads(kept["about"])}
    check_same(then, about, folder)
    for name in _OF_BITS:
        if then.get(name) != about.get(name):
            raise SpecError(
                f"{folder} was begun with {name} {then.get(name)}, not {about.get(name)}",
                where=str(folder),
                expected="the same to the end: other weights would come of it",
                fix="put the method's code back, or name a new folder"
                if name == "code"
                else f"give --{name} {then.get(name)}, or name a new folder",
            )
    method.load_state_dict(kept["method"])
    optimizer.load_state_dict(kept["optimizer"])
    return Progress(**kept["progress"])


def finish(folder: Path, about: Mapping[str, Any], progress: Progress) -> str:
    """Write what a finished training leaves; gives the digest of its weights."""
    digest = state_sha256(progress.best)
    with whole_file(folder / WEIGHTS) as file:
        torch.save(progress.best, file)
    kept = max(progress.curve, key=lambda row: row[2])
    of_weights = {"step": kept[0], "accuracy": kept[2], "weights_sha256": digest}
    write_whole(folder / ABOUT, json.dumps({**about, **of_weights}, indent=2) + "\n")
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return digest


def write_curve(folder: Path, progress: Progress) -> None:
    """Write the validations so far."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["step", "loss", "accuracy"])
    writer.writerows([(step, f"{loss:.6f}", f"{acc:.4f}") for step, loss, acc in progress.curve])
    write_whole(folder / CURVE, lines.getvalue())


def _checkpoint(folder: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = torch.load(
            folder / CHECKPOINT, map_location="cpu", weights_only=True
        )
    except Exception as error:  # torch has no kind of its own for a file that is none of its
        raise SpecError(
            f"{folder / CHECKPOINT} cannot be read: {type(error).__name__}",
            where=str(folder),
            expected="what a stopped training left",
            fix="remove it, and the training begins anew",
        ) from None
    return kept


def _differences(then: Any, now: Any, name: str = "") -> Iterator[str]:
    """Name what differs between two values of JSON, such as ``training.steps 5, now 6``."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*then, *now]):
            yield from _differences(then.get(key), now.get(key), f"{name}.{key}".strip("."))
    elif then != now:
        yield f"{name} {json.dumps(then)}, now {json.dumps(now)}"
