"""A training, in a folder where it continues after an interruption.

What a step does follows from the seed, its number and the state before it alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from math import cos, pi
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.lr_scheduler import (
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiStepLR,
    SequentialLR,
    StepLR,
)

from benchmark_spec.errors import FSLBenchError, MethodFailedError
from benchmark_spec.protocol import Protocol
from builders.execution.steps import lock_folder, make_folder
from builders.training.building import build_method
from builders.training.folder import (
    Progress,
    check_same,
    describe,
    finish,
    finished,
    resume,
    save,
    write_curve,
)
from builders.training.images import Inputs, Positions, TrainingImages
from builders.training.method import Episode, Labelled, Method
from builders.training.settings import RunSettings, TrainingSettings
from builders.training.trained import load_start
from fslbench_data.evaluation.calling import lines_of

SECONDS = 60
"""The most between two checkpoints, which a kill costs.  Each validation has one, too."""
_STEP, _VALIDATION, _INNER, _CHANGES = range(4)
"""What a generator is of, before the seed and the number of the step or task."""


def _draw_episode(
    images: TrainingImages,
    eligible: Positions,
    protocol: Protocol,
    rng: np.random.Generator,
    load: Callable[[NDArray[np.uint8]], Tensor],
) -> Episode:
    """Draw K classes uniformly, and S + Q images of each, no image twice.

    `load` makes a network's input of their levels.
    """
    classes = rng.choice(eligible, protocol.way, replace=False)
    count = protocol.shot + protocol.query
    within = [rng.choice(images.class_sizes[c], count, replace=False) for c in classes]
    loaded = load(images.pixels[images.starts[classes][:, None] + np.stack(within)])
    shot = protocol.shot
    return Episode(loaded[:, :shot], loaded[:, shot:], torch.from_numpy(classes))


def train(
    settings: RunSettings,
    images: TrainingImages,
    validation: TrainingImages,
    folder: Path,
    report: Callable[[str], None] = lambda _: None,
    device: str = "cpu",
) -> str:
    """Train a method, or go on with it; gives the digest of its weights.

    A finished one is left as it is; one that was begun as something else is a SpecError.  New
    weights are made on the CPU, whatever the device (``cpu`` or ``cuda``), and kept as of the CPU.
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
            report(f"goes on after step {progress.step:,}")
        rates = islice(_rates(settings.training), progress.step, None)
        saved = time.monotonic()
        while progress.step < settings.training.steps:
            optimizer.param_groups[0]["lr"] = next(rates)
            begun = progress.step + 1
            judged = begun == settings.training.steps or begun % settings.validation.every == 0
            try:
                progress.losses.append(_step(method, optimizer, settings, images, progress.step))
                progress.step = begun
                if judged:
                    report(_judge(method, settings, validation, progress))
            except FSLBenchError:
                raise
            except Exception as error:  # of the method, such as for images that are too small
                raise MethodFailedError.of(
                    settings.method,
                    error,
                    where=f"step {begun}, {lines_of(error)}",
                    fix="see whether network, side, episode and settings fit the method",
                ) from error
            if judged:
                write_curve(folder, progress)
            if judged or time.monotonic() - saved > SECONDS:
                save(folder, about, method, optimizer, progress)
                saved = time.monotonic()
        return finish(folder, about, progress)


def accuracy(method: Method, settings: RunSettings, images: TrainingImages, tasks: int) -> float:
    """Compute the mean accuracy, in per cent, of validation tasks: the same for every training."""
    protocol, load = settings.validation.protocol, Inputs(settings.data).plain
    eligible, right = images.classes_for(protocol, "[validation] episode"), 0
    method.eval()
    try:
        for number in range(tasks):
            rng = np.random.default_rng((_VALIDATION, number))
            task = _draw_episode(images, eligible, protocol, rng, load).to(_device(method))
            with torch.no_grad():
                predicted = method.scores(task.support, task.query.flatten(0, 1)).argmax(dim=1)
            right += int((predicted == task.target).sum())
    finally:
        method.train()
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
    changes = np.random.default_rng((_CHANGES, settings.seed, step))
    load = partial(Inputs(settings.data, settings.augmentation).changed, rng=changes)
    rng = np.random.default_rng((_STEP, settings.seed, step))
    torch.manual_seed(int(np.random.default_rng((_INNER, settings.seed, step)).integers(2**62)))
    eligible = images.classes_for(how.protocol, "[training] episode")
    optimizer.zero_grad()
    total = 0.0
    for _ in range(how.episodes):
        episode = labelled = None
        if method.trained_by != "classes":
            episode = _draw_episode(images, eligible, how.protocol, rng, load).to(_device(method))
        if method.trained_by != "episodes":
            chosen = rng.integers(len(images.pixels), size=how.batch)
            of_chosen = torch.from_numpy(np.searchsorted(images.starts, chosen, side="right") - 1)
            labelled = Labelled(load(images.pixels[chosen]), of_chosen).to(_device(method))
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
    weights, rate, decay, momentum = method.parameters(), how.rate, how.decay, how.momentum
    if how.optimizer == "sgd":
        nesterov = momentum > 0
        return torch.optim.SGD(weights, rate, momentum, weight_decay=decay, nesterov=nesterov)
    return torch.optim.Adam(weights, rate, weight_decay=decay)


def _rates(how: TrainingSettings) -> Iterator[float]:
    """Give the rate of each step, as the schedulers of PyTorch do."""
    group = torch.optim.SGD([torch.zeros(1)], how.rate)
    left = how.steps - how.warmup
    after: LRScheduler
    match how.schedule:
        case "cosine":
            after = LambdaLR(group, lambda step: (1 + cos(pi * step / left)) / 2)
        case "step":
            after = StepLR(group, how.step_size, how.gamma)
        case "multistep":
            after = MultiStepLR(group, how.milestones, how.gamma)
        case "constant":
            after = LambdaLR(group, lambda _: 1.0)
    if how.warmup:
        rising = LinearLR(group, 1 / (how.warmup + 1), total_iters=how.warmup)
        after = SequentialLR(group, [rising, after], [how.warmup])
    for _ in range(how.steps):
        yield float(after.get_last_lr()[0])
        group.step()
        after.step()


def _device(method: Method) -> torch.device:
    """Return the device of a method's weights."""
    return next(method.parameters()).device
