"""Run the reference methods on the task sets of a release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmark_spec.errors import UnknownNameError
from benchmark_spec.extras import require
from builders.baselines.fine_tuning import FineTuner
from builders.baselines.heads import HEADS, Predictor, head_of
from builders.execution.engine import Engine, LocalEngine, Work, reproducible
from builders.features.backbone import Backbone
from builders.features.processor import default_threads
from builders.training.logistic import Tensor
from fslbench_data.evaluation.loop import evaluate
from fslbench_data.pictures import decode
from fslbench_data.release.features import Features
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from fslbench_data.tasks import Episodes, TaskSet

TASKS = 512
"""Tasks of a range; range r of a set has the tasks from 512·r on."""

Range = tuple[int, int]
"""The position of a task set, and the first task of the range in it."""

Sets = Sequence[tuple[NDArray[Any], NDArray[Any]]]
"""The image ids of each task set's support (T, K, S) and queries (T, M)."""


@dataclass(frozen=True)
class TaskRanges:
    """A job that predicts ranges of tasks by a head on a data set's features (N, D).

    A prediction is the best two classes of each query.
    """

    head: str
    features: NDArray[Any] = field(repr=False)
    sets: Sets = field(repr=False)
    device: str
    threads: int

    def start(self) -> Work[Range, NDArray[np.int64]]:
        """Put the features onto the head's device."""
        with reproducible(self.threads):
            predict = Predictor(self.head, self.features, self.device)

        def work(ranges: Iterable[Range]) -> Iterator[NDArray[np.int64]]:
            for number, first in ranges:
                support, query = self.sets[number]
                tasks = slice(first, first + TASKS)
                with reproducible(self.threads):
                    yield predict.best(support[tasks], query[tasks])

        return work


def predictions(
    head: str,
    features: NDArray[Any],
    sets: Sets,
    *,
    device: str = "cpu",
    engine: Engine | None = None,
    threads: int | None = None,
) -> list[NDArray[np.int64]]:
    """Predict the tasks of each set by a head: positions 0..K-1 of classes, int64 (T, M, 2).

    They are the two classes with the highest scores, the best first.
    """
    job = TaskRanges(head, features, sets, device, threads or default_threads())
    ranges = [
        (number, first)
        for number, (support, _) in enumerate(sets)
        for first in range(0, len(support), TASKS)
    ]
    predicted: list[list[NDArray[np.int64]]] = [[] for _ in sets]
    for (number, _), best in (engine or LocalEngine()).run(job, ranges):
        predicted[number].append(best)
    return [np.concatenate(parts) for parts in predicted]


def run_head(
    release: Release,
    head: str,
    backbone: str,
    datasets: Sequence[str],
    *,
    task_sets: Sequence[str] = (),
    features: Callable[[str], Features] | None = None,
    device: str = "cpu",
    engine: Engine | None = None,
    threads: int | None = None,
) -> Submission:
    """Run a head on every task set of some data sets, on the features of `backbone`.

    The submission has predictions and the counts of each class.  `features` returns those (N, D) of
    a data set; by default they are the release's.
    """
    description = head_of(head).description
    recorder = Recorder(f"{backbone}/{head}", description=description, backbone=backbone)
    for dataset in datasets:
        inputs = release.features(dataset, backbone) if features is None else features(dataset)
        sets: list[TaskSet] = []
        for info in release.task_sets:
            if info.dataset == dataset and (not task_sets or str(info.name) in task_sets):
                tasks = release.task_set(dataset, str(info.name))
                if isinstance(tasks, Episodes):
                    recorder.add_task_set(tasks, _predict_episodes(head, inputs, tasks, threads))
                else:
                    sets.append(tasks)
        arrays = [(tasks.support, tasks.query) for tasks in sets]
        predicted = predictions(head, inputs, arrays, device=device, engine=engine, threads=threads)
        for tasks, best in zip(sets, predicted, strict=True):
            # intervals for new classes need the second-best class in tasks of all classes
            whole = tasks.info.name.whole and tasks.info.protocol.way > 2
            recorder.add_task_set(tasks, best[..., 0], best[..., 1] if whole else None)
    return recorder.submission()


def _predict_episodes(
    head: str, features: NDArray[Any], tasks: Episodes, threads: int | None
) -> list[NDArray[np.int64]]:
    """Predict episodes one by one; classes with fewer shots get zero vectors."""
    if not head_of(head).uneven:
        names = [name for name, known_head in HEADS.items() if known_head.uneven]
        raise UnknownNameError("head for classes of different shots", head, names)
    zero_row = len(features)
    predicted = []
    with reproducible(threads or default_threads()):
        predict = Predictor(head, np.concatenate([features, np.zeros_like(features[:1])]))
        for task in tasks:
            support = np.full((1, len(task.support), max(map(len, task.support))), zero_row)
            for position, ids in enumerate(task.support):
                support[0, position, : len(ids)] = ids
            predicted.append(predict(support, task.query[None])[0])
    return predicted


def run_ft(
    release: Release,
    backbone: Backbone,
    images: str | Path,
    dataset: str,
    task_sets: str | Sequence[str] = (),
    *,
    max_tasks: int | None = None,
    device: str = "cpu",
    journal: str | Path | None = None,
    show_progress: bool = False,
) -> Submission:
    """Fine-tune a backbone on every task of some task sets, or on the first few.

    Parameters and errors are those of :func:`fslbench_data.evaluate`.
    """
    tune, read = FineTuner(backbone.module, device), backbone.preprocessing.reference

    def inputs(paths: Sequence[Path]) -> Tensor:
        """Make the network's input (B, 3, H, W)."""
        pixels = np.stack([read(decode(path, str(path))) for path in paths])
        return require("torch").from_numpy(pixels)

    def predict(
        support: Sequence[Sequence[Path]], query: Sequence[Path], _: np.random.Generator
    ) -> NDArray[np.int64]:
        return tune(require("torch").stack(list(map(inputs, support))), inputs(query))

    submission = evaluate(
        predict,
        release,
        name=f"{backbone.name}/FT",
        datasets=dataset,
        task_sets=task_sets,
        images=images,
        max_tasks=max_tasks,
        description="whole network fine-tuned on each task, 30 steps of SGD with momentum",
        journal=journal,
        show_progress=show_progress,
    )
    methods = {
        name: replace(method, backbone=backbone.name) for name, method in submission.methods.items()
    }
    return replace(submission, methods=methods)
