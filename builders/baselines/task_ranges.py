"""Heads over fixed ranges of tasks, in this process or on a cluster: the same predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.baselines.heads import Predictor
from builders.execution.engine import Engine, LocalEngine, Work, job_name
from builders.execution.reproducible import reproducible
from builders.features.processor import default_threads

TASKS = 512
"""Tasks of a range; range r of a set is the tasks from 512·r."""

Range = tuple[int, int]
"""Which of the task sets, and the first of its tasks."""


@dataclass(frozen=True)
class TaskRanges:
    """The job that answers ranges of tasks with a head.

    Attributes
    ----------
    features : float (N, D)
        Of one data set's images.
    sets
        Support int (T, K, S) and queries int (T, M) of each task set, as image ids.
    """

    head: str
    features: NDArray[Any] = field(repr=False)
    sets: Sequence[tuple[NDArray[Any], NDArray[Any]]] = field(repr=False)
    device: str
    threads: int
    name: str = field(default_factory=job_name)

    @property
    def gpus(self) -> int:
        """GPUs of a process."""
        return int(self.device != "cpu")

    def start(self) -> Work[Range, NDArray[np.int64]]:
        """Put the features where the head works."""
        with reproducible(self.threads):
            predict = Predictor(self.head, self.features, self.device)

        def work(ranges: Iterable[Range]) -> Iterator[NDArray[np.int64]]:
            for number, first in ranges:
                support, query = self.sets[number]
                with reproducible(self.threads):
                    yield predict(support[first : first + TASKS], query[first : first + TASKS])

        return work


def predictions(
    head: str,
    features: NDArray[Any],
    sets: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    *,
    device: str = "cpu",
    engine: Engine | None = None,
    threads: int | None = None,
) -> list[NDArray[np.int64]]:
    """Predict, with a head, the tasks of each set: int64 (T, M), positions 0..K-1 of classes.

    Parameters
    ----------
    head, features, device
        As for :class:`builders.baselines.heads.Predictor`, which raises its errors.
    sets
        As for :class:`TaskRanges`.
    engine
        What computes: this process unless given.
    threads
        Of the processor: all unless given.
    """
    job = TaskRanges(head, features, list(sets), device, threads or default_threads())
    ranges = [
        (number, first)
        for number, (support, _) in enumerate(sets)
        for first in range(0, len(support), TASKS)
    ]
    predicted: list[list[NDArray[np.int64]]] = [[] for _ in sets]
    answers: NDArray[np.int64]
    for (number, _), answers in (engine or LocalEngine()).run(job, ranges):
        predicted[number].append(answers)
    return [np.concatenate(parts) for parts in predicted]
