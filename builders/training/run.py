"""Train a method, in a folder where the training continues after an interruption.

A step depends only on the seed, its number and the state before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from math import cos, isfinite, pi
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
"""The most seconds between two checkpoints.  Each validation also writes one."""
_STEP, _VALIDATION, _INNER, _CHANGES = range(4)
"""The first number of a generator's seed; that of the training and of the step or task follow."""


def _draw_episode(
    images: TrainingImages,
    eligible: Positions,
    protocol: Protocol,
    rng: np.random.Generator,
    load: Callable[[NDArray[np.uint8]], Tensor],
) -> Episode:
    """Draw K classes uniformly, and S + Q images of each without replacement.

    `load` turns their levels into a network's input.
    """
    classes = rng.choice(eligible, protocol.way, replace=False)
    shot, count = protocol.shot, protocol.shot + protocol.query
    within = [rng.choice(size, count, replace=False) for size in images.class_sizes[classes]]
    loaded = load(images.pixels[images.starts[classes][:, None] + np.stack(within)])
    return Episode(loaded[:, :shot], loaded[:, shot:], torch.from_numpy(classes))


def train(
    settings: RunSettings,
    images: TrainingImages,
    validation: TrainingImages,
    folder: Path,
    report: Callable[[str], None] = lambda _: None,
    device: str = "cpu",
) -> str:
    """Train a method, or continue its training; returns the digest of its weights.

    A finished training is not changed; SpecError for a folder begun with other settings or images.
    New weights are made on the CPU, whatever the device (``cpu`` or ``cuda``), and kept as of the
    CPU.
    """
    make_folder(folder)
    lock = lock_folder(folder, ".training.lock", "training")
    try:
        about = describe(settings, images, validation, device)
        if (trained := finished(folder)) is not None:
            check_same(trained, about, folder)
            return str(trained["weights_sha256"])
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
            step = progress.step + 1
            validates = step == settings.training.steps or step % settings.validation.every == 0
            try:
                progress.losses.append(_step(method, optimizer, settings, images, progress.step))
                progress.step = step
                if validates:
                    report(_validate(method, settings, validation, progress))
            except FSLBenchError:
                raise
            except Exception as error:  # of the method, such as for images that are too small
                raise MethodFailedError.of(
                    settings.method,
                    error,
                    where=f"step {step}, {lines_of(error)}",
                    fix="see whether network, side, episode and settings fit the method",
                ) from error
            if validates:
                write_curve(folder, progress)
            if validates or time.monotonic() - saved > SECONDS:
                save(folder, about, method, optimizer, progress)
                saved = time.monotonic()
        return finish(folder, about, progress)
    finally:
        lock.release()


def accuracy(method: Method, settings: RunSettings, images: TrainingImages, tasks: int) -> float:
    """Compute the mean accuracy, in per cent, of validation tasks: the same for every training."""
    protocol, load = settings.validation.protocol, Inputs(settings.data).plain
    eligible, correct = images.classes_for(protocol, "[validation] episode"), 0
    method.eval()
    try:
        for number in range(tasks):
            rng = np.random.default_rng((_VALIDATION, number))
            task = _draw_episode(images, eligible, protocol, rng, load).to(_device(method))
            with torch.no_grad():
                predicted = method.scores(task.support, task.query.flatten(0, 1)).argmax(dim=1)
            correct += int((predicted == task.target).sum())
    finally:
        method.train()
    return 100 * correct / (tasks * protocol.way * protocol.query)


def _step(
    method: Method,
    optimizer: torch.optim.Optimizer,
    settings: RunSettings,
    images: TrainingImages,
    step: int,
) -> float:
    """Take one step; returns its loss."""
    training = settings.training
    changes = np.random.default_rng((_CHANGES, settings.seed, step))
    load = partial(Inputs(settings.data, settings.augmentation).changed, rng=changes)
    rng = np.random.default_rng((_STEP, settings.seed, step))
    torch.manual_seed(int(np.random.default_rng((_INNER, settings.seed, step)).integers(2**62)))
    protocol, device = training.protocol, _device(method)
    eligible = images.classes_for(protocol, "[training] episode")
    optimizer.zero_grad()
    total = 0.0
    for _ in range(training.episodes):
        episode = labelled = None
        if method.trained_by != "classes":
            episode = _draw_episode(images, eligible, protocol, rng, load).to(device)
        if method.trained_by != "episodes":
            chosen = rng.integers(len(images.pixels), size=training.batch)
            classes = torch.from_numpy(np.searchsorted(images.starts, chosen, side="right") - 1)
            labelled = Labelled(load(images.pixels[chosen]), classes).to(device)
        loss = method.loss(episode, labelled) / training.episodes
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    if not isfinite(total):
        raise MethodFailedError(
            f"the loss of {settings.method} is {total}, not a number",
            where=f"step {step + 1}",
            fix="train with a lower rate, clip gradients, or see whether side and network fit",
        )
    if training.clip:
        torch.nn.utils.clip_grad_norm_(method.parameters(), training.clip)
    optimizer.step()
    return total


def _validate(
    method: Method, settings: RunSettings, validation: TrainingImages, progress: Progress
) -> str:
    """Validate, and keep the weights if they are the best so far; returns a line to report."""
    percent = accuracy(method, settings, validation, settings.validation.tasks)
    if not progress.curve or percent > max(row[2] for row in progress.curve):
        state = method.state_dict()
        progress.best = {name: t.detach().cpu().clone() for name, t in state.items()}
    loss = sum(progress.losses) / len(progress.losses)
    progress.curve.append((progress.step, loss, percent))
    progress.losses.clear()
    steps = settings.training.steps
    return f"step {progress.step:,} of {steps:,}: loss {loss:.4f}, validation {percent:.2f} %"


def _optimizer(method: Method, training: TrainingSettings) -> torch.optim.Optimizer:
    weights, rate, decay = method.parameters(), training.rate, training.decay
    if training.optimizer == "adam":
        return torch.optim.Adam(weights, rate, weight_decay=decay)
    momentum = training.momentum
    return torch.optim.SGD(weights, rate, momentum, weight_decay=decay, nesterov=momentum > 0)


def _rates(training: TrainingSettings) -> Iterator[float]:
    """Yield the learning rate of each step, as PyTorch's schedulers compute it."""
    optimizer = torch.optim.SGD([torch.zeros(1)], training.rate)
    steps_after_warmup = training.steps - training.warmup
    scheduler: LRScheduler
    match training.schedule:
        case "cosine":
            scheduler = LambdaLR(
                optimizer, lambda step: (1 + cos(pi * step / steps_after_warmup)) / 2
            )
        case "step":
            scheduler = StepLR(optimizer, training.step_size, training.gamma)
        case "multistep":
            scheduler = MultiStepLR(optimizer, training.milestones, training.gamma)
        case "constant":
            scheduler = LambdaLR(optimizer, lambda _: 1.0)
    if training.warmup:
        warmup = LinearLR(optimizer, 1 / (training.warmup + 1), total_iters=training.warmup)
        scheduler = SequentialLR(optimizer, [warmup, scheduler], [training.warmup])
    for _ in range(training.steps):
        yield float(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()


def _device(method: Method) -> torch.device:
    return next(method.parameters()).device
