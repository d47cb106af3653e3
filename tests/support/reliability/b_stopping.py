"""Stopping and prefixes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import fslbench_data as fb
from fslbench_data.submission.bindings import Stopping
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
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


@attempt("a method that is nearly always right, on the first 40 of 176 tasks")
def _(world: World) -> str:
    answers = _good(world, "digits", "open-5w1s1q", 40)
    report = fb.score(answers, world.embedded)
    verdicts = "".join(c.verdict for c in report.comparisons)
    return f"`{verdicts}`: {report.comparisons[0].reason}"


@attempt("the same, with `--summary`")
def _(world: World) -> str:
    _good(world, "digits", "open-5w1s1q", 40).write(world.folder / "part.parquet")
    return world.fslbench("score", world.folder / "part.parquet", "--summary")


@attempt("the same, with `compare --fail-if-worse` from the other side")
def _(world: World) -> str:
    from click.testing import CliRunner

    from fslbench_data.cli import main

    _good(world, "digits", "open-5w1s1q", 40).write(world.folder / "part.parquet")
    judged = ["compare", "pixels/LR", str(world.folder / "part.parquet"), "--fail-if-worse"]
    return f"exit code {CliRunner().invoke(main, judged).exit_code}"


@attempt("equal methods, each with its best prefix of ten tasks or more, 100 times")
def _(world: World) -> str:
    rng = np.random.default_rng(0)
    info = world.embedded.task_set_info("digits", "open-5w1s1q")
    said = set()
    for _ in range(100):
        own, other = rng.binomial(5, 0.6, (2, info.n_tasks))
        mean = np.cumsum(own - other) / np.arange(1, info.n_tasks + 1)
        both = []
        for name, counts in (("own", own[: 10 + int(mean[9:-1].argmax())]), ("other", other)):
            recorder = Recorder(name)
            recorder.add_counts(info, counts)
            both.append(recorder.submission())
        (found,) = fb.score(
            merge(both), world.embedded, against="other", references=False
        ).comparisons
        said.add(found.verdict.value)
    return f"every verdict is `{''.join(said)}`"
