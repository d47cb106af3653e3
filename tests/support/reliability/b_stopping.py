"""Stopping and prefixes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import fslbench_data as fb
from fslbench_data.submission.model import Stopping, Submission
from fslbench_data.submission.recorder import Recorder
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt


def _good(world: World, dataset: str, task_set: str, tasks: int | None = None) -> Submission:
    """A method that is right nearly always, on all tasks or the first ones."""
    info = world.embedded.task_set_info(dataset, task_set)
    recorder = Recorder("mine")
    counts = np.full(tasks or info.n_tasks, info.protocol.n_query)
    counts[::9] -= 1
    recorder.add_counts(info, counts)
    return recorder.submission()


def _declaring(submission: Submission, rule: Stopping) -> Submission:
    bindings = {key: replace(b, stopping=rule) for key, b in submission.bindings.items()}
    return replace(submission, bindings=bindings)


@attempt("a run on groceries/open-5w1s1q, whose classes drift, that stops when conclusive")
def _(world: World) -> str:
    run = fb.evaluate(
        lambda support, query, rng: rng.integers(0, 5, len(query)),
        world.embedded,
        name="mine",
        datasets="groceries",
        features="efficientnet_lite0-pca128",
        task_sets="open-5w1s1q",
        stop_when_conclusive="efficientnet_lite0-pca128/NCC",
    )
    return f"{run}"


@attempt("the same rule declared in a file's metadata, after the run")
def _(world: World) -> str:
    rule = Stopping("efficientnet_lite0-pca128/NCC", 0.95)
    path = world.folder / "mine.parquet"
    _declaring(_good(world, "groceries", "open-5w1s1q"), rule).write(path)
    return world.fslbench("validate", path)


@attempt("a rule of level 0.01 declared in the metadata, read at 0.95")
def _(world: World) -> str:
    answers = _declaring(_good(world, "digits", "open-5w1s1q", 40), Stopping("pixels/LR", 0.01))
    (found,) = fb.score(answers, world.embedded, against="pixels/LR").comparisons
    return f"`{found.verdict}`: {found.reason}"
