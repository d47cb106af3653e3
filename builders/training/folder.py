"""The folder of a training: what lies in it while it goes on, and when it is finished.

``checkpoint.pt`` is what a stopped one goes on from.  A finished one has ``weights.pt``,
``curve.csv`` and ``trained.json``, which says how they were made.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import FSLBenchError, SpecError
from builders.training.about import ABOUT, Begun, check_same, checked, damaged, finished
from builders.training.digest import shapes_of, state_sha256
from builders.training.method import Method
from fslbench_data.files import whole_file, write_whole
from fslbench_data.files.kept import open_regular

CHECKPOINT, WEIGHTS, CURVE = "checkpoint.pt", "weights.pt", "curve.csv"
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


def begun(folder: Path) -> dict[str, Any] | None:
    """Tell how a training was begun that lies in a folder, finished or not; None for no training.

    SpecError if its checkpoint cannot be read.
    """
    about = finished(folder)
    if about is None and (folder / CHECKPOINT).exists():
        about = _checkpoint(folder)["about"]
    return about


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
    _save(folder / CHECKPOINT, kept)


def resume(
    folder: Path, about: Mapping[str, Any], method: Method, optimizer: torch.optim.Optimizer
) -> Progress:
    """Load where a training was stopped; a new one starts at step 0.

    SpecError if it was begun as something else, or where other bits come of.
    """
    if not (folder / CHECKPOINT).exists():
        return Progress()
    kept = _checkpoint(folder)
    then = {"device": "cpu", **kept["about"]}
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
    try:
        method.load_state_dict(kept["method"])
        optimizer.load_state_dict(kept["optimizer"])
        progress = Progress(**kept["progress"])
        _check_progress(progress, method)
    except Exception as error:  # torch has no kind of its own for a state of something else
        raise damaged(folder / CHECKPOINT, f"{type(error).__name__}: {error}") from None
    return progress


def _check_progress(progress: Progress, method: Method) -> None:
    """Raise a ValueError for a progress that no training of the method has had."""
    rows = [(type(step), type(loss), type(right)) for step, loss, right in progress.curve]
    steps = [step for step, _, _ in progress.curve]
    if (
        type(progress.step) is not int
        or not 1 <= progress.step <= 2**53
        or any(type(loss) is not float for loss in progress.losses)
        or rows != [(int, float, float)] * len(rows)
        or steps != sorted(set(steps))
        or (steps and not 0 < steps[0] <= steps[-1] <= progress.step)
        or shapes_of(progress.best) != (shapes_of(method.state_dict()) if steps else {})
    ):
        raise ValueError("steps, losses or the best weights are not those of a training")


def finish(folder: Path, about: Mapping[str, Any], progress: Progress) -> str:
    """Write what a finished training leaves; gives the digest of its weights."""
    digest = state_sha256(progress.best)
    _save(folder / WEIGHTS, progress.best)
    kept = max(progress.curve, key=lambda row: row[2])
    of_weights = {"step": kept[0], "accuracy": kept[2], "weights_sha256": digest}
    text = json.dumps({**about, **of_weights}, indent=2) + "\n"
    write_whole(folder / ABOUT, text, follow=False)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return digest


def write_curve(folder: Path, progress: Progress) -> None:
    """Write the validations so far."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["step", "loss", "accuracy"])
    writer.writerows([(step, f"{loss:.6f}", f"{acc:.4f}") for step, loss, acc in progress.curve])
    write_whole(folder / CURVE, lines.getvalue(), follow=False)


def _save(path: Path, content: Mapping[str, Any]) -> None:
    """Write with torch, into a file: into what it makes of a path torch writes the path's name."""
    with whole_file(path, follow=False) as temporary, temporary.open("wb") as file:
        torch.save(content, file)


def _checkpoint(folder: Path) -> dict[str, Any]:
    path = folder / CHECKPOINT
    try:
        with open_regular(path) as file:
            kept: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        return {**kept, "about": checked(parsed_json(kept["about"]), Begun, path)}
    except FSLBenchError:
        raise
    except Exception as error:  # torch has no kind of its own for a file that is none of its
        raise damaged(path, type(error).__name__) from None
