"""A training, in a folder that it goes on in when it was stopped.

What step t does follows from the seed and t alone, and from the state before it; so a training
that was killed and goes on ends in the same weights as one that was not, on the same machine with
the same number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import cos, pi
from pathlib import Path

import torch

from benchmark_spec.errors import FSLBenchError, MethodFailedError
from builders.execution.steps import lock_folder, make_folder
from builders.training.about import check_same, describe, finished
from builders.training.building import build_method
from builders.training.episodes import draw_episode, draw_labelled, generator
from builders.training.folder import Progress, finish, resume, save, write_curve
from builders.training.images import TrainingImages
from builders.training.method import Method
from builders.training.settings import RunSettings, TrainingSettings
from builders.training.start import load_start
from fslbench_data.evaluation.calling import lines_of

SECONDS = 60
"""Between two checkpoints, at most: what a kill costs.  Each validation has one, too."""
_STEP, _VALIDATION, _INNER = range(3)
"""What a generator is of, beside the seed and the number of the step or task."""


def train(
    settings: RunSettings,
    images: TrainingImages,
    validation: TrainingImages,
    folder: Path,
    told: Callable[[str], None] = lambda _: None,
    device: str = "cpu",
) -> str:
    """Train a method, or go on with it; gives the digest of its weights.

    The folder gets what :mod:`builders.training.folder` says.  A finished one is left as it is.

    Parameters
    ----------
    device
        ``cpu`` or ``cuda``: where the method and the images of a step are.  New weights are made
        on the CPU, and kept as of the CPU.

    Raises
    ------
    SpecError
        If the folder was begun with other settings or images, or classes are too small; if a
        stopped one was begun on another device, or with as many threads or code of one's own;
        if the training whose network it starts from is not finished.
    OutputError
        If another training runs in the folder.
    MethodFailedError
        If the method raises.
    """
    make_folder(folder)
    with lock_folder(folder, ".training.lock", "training"):
        about = describe(settings, images, validation, device)
        if (before := finished(folder)) is not None:
            check_same(before, about, folder)
            return str(before["weights_sha256"])
        method = build_method(settings, images.class_sizes.size)
        if settings.network.start:
            about["start"] = load_start(method, settings, folder.parent)
        method.to(device)
        optimizer = _optimizer(method, settings.training)
        progress = resume(folder, about, method, optimizer)
        if progress.step:
            told(f"goes on after step {progress.step:,}")
        saved = time.monotonic()
        while progress.step < settings.training.steps:
            with _of_method(settings, progress.step):
                progress.losses.append(_step(method, optimizer, settings, images, progress.step))
            progress.step += 1
            end = progress.step == settings.training.steps
            judged = end or progress.step % settings.validation.every == 0
            if judged:
                with _of_method(settings, progress.step):
                    told(_judge(method, settings, validation, progress))
                write_curve(folder, progress)
            if judged or time.monotonic() - saved > SECONDS:
                save(folder, about, method, optimizer, progress)
                saved = time.monotonic()
        return finish(folder, about, progress)


def accuracy(method: Method, settings: RunSettings, images: TrainingImages, tasks: int) -> float:
    """Compute the mean accuracy, in per cent, of validation tasks: the same for every training."""
    protocol = settings.validation.protocol
    eligible, right = images.classes_for(protocol), 0
    with _answering(method):
        for number in range(tasks):
            task = draw_episode(images, eligible, protocol, generator(_VALIDATION, number))
            task = task.to(_device(method))
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
    eligible = images.classes_for(how.protocol)
    optimizer.zero_grad()
    total = 0.0
    for _ in range(how.episodes):
        episode = labelled = None
        if method.trained_by != "classes":
            episode = draw_episode(images, eligible, how.protocol, rng).to(_device(method))
        if method.trained_by != "episodes":
            labelled = draw_labelled(images, how.batch, rng).to(_device(method))
        loss = method.loss(episode, labelled) / how.episodes
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    if how.clip:
        torch.nn.utils.clip_grad_norm_(method.parameters(), how.clip)
    optimizer.step()
    return total


def _judge(
    method: Method, settings: RunSettings, validation: TrainingImages, progress: Progress
) -> str:
    """Validate; keep the weights if they are the best so far; gives a line about it."""
    accurate = accuracy(method, settings, validation, settings.validation.tasks)
    if not progress.curve or accurate > max(row[2] for row in progress.curve):
        state = method.state_dict()
        progress.best = {name: t.detach().cpu().clone() for name, t in state.items()}
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


def _device(method: Method) -> torch.device:
    """Tell where a method's weights are."""
    return next(method.parameters()).device


@contextmanager
def _of_method(settings: RunSettings, step: int) -> Iterator[None]:
    """Turn what a method raises, such as for images that are too small, into an error of ours."""
    try:
        yield
    except FSLBenchError:
        raise
    except Exception as error:
        raise MethodFailedError(
            f"{settings.method} raised {type(error).__name__}: {error}",
            where=f"step {step + 1}, {lines_of(error)}",
            fix="see whether network, side, episode and settings fit the method",
        ) from error


@contextmanager
def _answering(method: Method) -> Iterator[None]:
    """Put a method into evaluation, and back into training."""
    method.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        method.train()
