"""A training, in a folder that it goes on in when it was stopped.

What step t does follows from the seed and t alone, and from the state before it; so a training
that was killed and goes on ends in the same weights as one that was not, on the same machine with
the same number of threads.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import cos, pi
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmark_spec.errors import SpecError
from builders.execution.folder_lock import lock_folder, make_folder
from builders.training.building import build_method
from builders.training.digest import state_sha256
from builders.training.episodes import draw_episode, draw_labelled, generator
from builders.training.images import TrainingImages
from builders.training.method import Method
from builders.training.settings import RunSettings, TrainingSettings
from fslbench_data.files import whole_file, write_whole

CHECKPOINT, WEIGHTS, CURVE, ABOUT = "checkpoint.pt", "weights.pt", "curve.csv", "trained.json"
SECONDS = 60
"""Between two checkpoints, at most: what a kill costs."""
_STEP, _VALIDATION, _INNER = range(3)
"""What a generator is of, beside the seed and the number of the step or task."""


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


def train(
    settings: RunSettings,
    images: TrainingImages,
    validation: TrainingImages,
    folder: Path,
    told: Callable[[str], None] = lambda _: None,
) -> str:
    """Train a method, or go on with it; gives the digest of its weights.

    The folder gets ``weights.pt``, ``curve.csv`` and ``trained.json``, which says how they were
    made.  A finished one is left as it is.

    Raises
    ------
    SpecError
        If the folder was begun with other settings or images, or classes are too small.
    OutputError
        If another training runs in the folder.
    """
    make_folder(folder)
    with lock_folder(folder, ".training.lock", "training"):
        about = _about(settings, images, validation)
        if (folder / ABOUT).exists():
            _check_same(json.loads((folder / ABOUT).read_text(encoding="utf-8")), about, folder)
            return str(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["weights_sha256"])
        method = build_method(settings, images.class_sizes.size)
        optimizer = _optimizer(method, settings.training)
        progress = _resumed(folder, about, method, optimizer)
        judged = time.monotonic()
        while progress.step < settings.training.steps:
            progress.losses.append(_step(method, optimizer, settings, images, progress.step))
            progress.step += 1
            end = progress.step == settings.training.steps
            if end or progress.step % settings.validation.every == 0:
                told(_judge(method, settings, validation, progress))
                write_whole(folder / CURVE, _curve(progress))
            if end or time.monotonic() - judged > SECONDS:
                _save(folder, about, method, optimizer, progress)
                judged = time.monotonic()
        return _finish(folder, about, progress)


def accuracy(method: Method, settings: RunSettings, images: TrainingImages, tasks: int) -> float:
    """Compute the mean accuracy, in per cent, of validation tasks: the same for every training."""
    protocol = settings.validation.episode
    eligible, right = images.classes_for(protocol), 0
    with _answering(method):
        for number in range(tasks):
            task = draw_episode(images, eligible, protocol, generator(_VALIDATION, number))
            answers = method.scores(task.support, task.query.flatten(0, 1)).argmax(dim=1)
            right += int((answers == task.target).sum())
    return 100 * right / (tasks * protocol.way * protocol.query)


def _step(
    method: Method,
    optimizer: torch.optim.Optimizer,
    settings: RunSettings,
    images: TrainingImages,
    step: int,
) -> float:
    """Do one step; gives its loss."""
    how = settings.training
    for group in optimizer.param_groups:
        group["lr"] = how.rate * (1 + cos(pi * step / how.steps)) / 2
    rng = generator(_STEP, settings.seed, step)
    torch.manual_seed(int(generator(_INNER, settings.seed, step).integers(2**62)))
    eligible = images.classes_for(how.episode)
    optimizer.zero_grad()
    total = 0.0
    for _ in range(how.episodes):
        episode = labelled = None
        if method.trained_by != "classes":
            episode = draw_episode(images, eligible, how.episode, rng)
        if method.trained_by != "episodes":
            labelled = draw_labelled(images, how.batch, rng)
        loss = method.loss(episode, labelled) / how.episodes
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    optimizer.step()
    return total


def _judge(
    method: Method, settings: RunSettings, validation: TrainingImages, progress: Progress
) -> str:
    """Validate; keep the weights if they are the best so far; gives a line about it."""
    accurate = accuracy(method, settings, validation, settings.validation.tasks)
    if not progress.curve or accurate > max(row[2] for row in progress.curve):
        progress.best = {name: t.detach().clone() for name, t in method.state_dict().items()}
    loss = sum(progress.losses) / len(progress.losses)
    progress.curve.append((progress.step, loss, accurate))
    progress.losses.clear()
    steps = settings.training.steps
    return f"step {progress.step:,} of {steps:,}: loss {loss:.4f}, validation {accurate:.2f} %"


def _optimizer(method: Method, how: TrainingSettings) -> torch.optim.Optimizer:
    if how.optimizer == "sgd":
        return torch.optim.SGD(
            method.parameters(),
            how.rate,
            how.momentum,
            weight_decay=how.decay,
            nesterov=how.momentum > 0,
        )
    return torch.optim.Adam(method.parameters(), how.rate, weight_decay=how.decay)


@contextmanager
def _answering(method: Method) -> Iterator[None]:
    """Put a method into evaluation, and back into training."""
    method.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        method.train()


def _about(
    settings: RunSettings, images: TrainingImages, validation: TrainingImages
) -> dict[str, Any]:
    return {
        "settings": settings.describe(),
        "images": {"train": images.digest, "validate": validation.digest},
        "classes": int(images.class_sizes.size),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def _check_same(then: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """Refuse a folder that was begun as something else."""
    for name in ("settings", "images"):
        if then[name] != json.loads(json.dumps(now[name])):
            raise SpecError(
                f"{folder} was begun with other {name}",
                where=str(folder),
                expected="the settings and images that it was begun with",
                fix="name a new folder",
            )


def _save(
    folder: Path,
    about: dict[str, Any],
    method: Method,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
) -> None:
    kept = {
        "about": json.dumps(about),
        "method": method.state_dict(),
        "optimizer": optimizer.state_dict(),
        "progress": vars(progress),
    }
    with whole_file(folder / CHECKPOINT) as file:
        torch.save(kept, file)


def _resumed(
    folder: Path, about: dict[str, Any], method: Method, optimizer: torch.optim.Optimizer
) -> Progress:
    """Load where a training was stopped; a new one starts at step 0."""
    if not (folder / CHECKPOINT).exists():
        return Progress()
    kept = torch.load(folder / CHECKPOINT, weights_only=True)
    _check_same(json.loads(kept["about"]), about, folder)
    method.load_state_dict(kept["method"])
    optimizer.load_state_dict(kept["optimizer"])
    return Progress(**kept["progress"])


def _finish(folder: Path, about: dict[str, Any], progress: Progress) -> str:
    digest = state_sha256(progress.best)
    with whole_file(folder / WEIGHTS) as file:
        torch.save(progress.best, file)
    kept = max(progress.curve, key=lambda row: row[2])
    of_weights = {"step": kept[0], "accuracy": kept[2], "weights_sha256": digest}
    write_whole(folder / ABOUT, json.dumps({**about, **of_weights}, indent=2) + "\n")
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return digest


def _curve(progress: Progress) -> str:
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["step", "loss", "accuracy"])
    writer.writerows([(step, f"{loss:.6f}", f"{acc:.4f}") for step, loss, acc in progress.curve])
    return lines.getvalue()
