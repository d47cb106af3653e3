"""Accuracies of tasks and of their worst classes, as means over the runs of a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analysis_sql.bias.spurious_bias import interval_of
from analysis_sql.bias.worst_class import worst_class
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.suites import IntervalKind
from fslbench_data.release.release import Release
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate

LEVEL = 0.95
_KEY = "method", "task_set", "run"


@dataclass(frozen=True, eq=False)
class Answered:
    """A method's answers to a task set.

    Attributes
    ----------
    kind
        Of intervals about other tasks.
    queries
        Of each class of a task.
    counts : int (R, T, K)
        Correct queries of each class of each task, run by run.
    """

    kind: IntervalKind
    queries: int
    counts: NDArray[np.int64]

    @property
    def accuracy(self) -> Floats:
        """Compute accuracies (T,) in percent, means over runs."""
        return 100 * self.counts.mean(axis=(0, 2)) / self.queries

    @property
    def worst(self) -> Floats:
        """Compute wAcc (T,) in percent: the mean over runs of a run's worst class."""
        each = [worst_class(counts, self.queries) for counts in self.counts]
        return 100 * np.mean(each, axis=0)

    def of(self, measure: str) -> Floats:
        """Return `accuracy` or `worst`."""
        return self.accuracy if measure == "accuracy" else self.worst

    def spread(self, measure: str) -> float | None:
        """Compute the standard deviation between runs; None below two."""
        runs = [Answered(self.kind, self.queries, one[None]) for one in self.counts]
        if len(runs) < 2:
            return None
        return float(np.std([run.of(measure).mean() for run in runs], ddof=1))

    def interval(self, values: Floats) -> Interval:
        """Compute the interval of a mean of values (T,) of these tasks."""
        return interval_of(values, self.kind, LEVEL)


By = Mapping[str, Mapping[str, Answered]]
"""By method, such as ``RFS-5w5s``, and task set."""


def read(folder: Path, release: Release, dataset: str) -> By:
    """Read the results of a folder; raises the errors of a submission that does not fit."""
    whole = merge([Submission.read(path) for path in sorted(folder.glob("*.parquet"))])
    validate(whole, release)
    sets = {str(info.name): info for info in release.task_sets if info.dataset == dataset}
    table = whole.table.sort_by([(name, "ascending") for name in (*_KEY, "task_id")])
    starts = np.flatnonzero(table["task_id"].to_numpy() == 0)
    runs: dict[str, dict[str, list[NDArray[np.int64]]]] = {}
    for start, end in pairwise([*starts, table.num_rows]):
        method, name = (str(table[column][start]) for column in _KEY[:2])
        counts = table["class_correct"].slice(start, end - start).combine_chunks()
        way = sets[name].protocol.way
        of_run = counts.flatten().to_numpy().astype(np.int64).reshape(-1, way)
        runs.setdefault(method, {}).setdefault(name, []).append(of_run)
    return {
        method: {
            name: Answered(sets[name].name.interval, sets[name].protocol.query, np.stack(counts))
            for name, counts in by_set.items()
        }
        for method, by_set in runs.items()
    }


def difference(one: Answered, other: Answered, measure: str) -> Interval:
    """Compute the paired interval of how much one is above another."""
    return one.interval(one.of(measure) - other.of(measure))


def means(by: By, methods: Sequence[str], task_set: str, measure: str) -> Floats:
    """Stack a measure of methods on a task set: (M, T)."""
    return np.array([by[method][task_set].of(measure) for method in methods])
