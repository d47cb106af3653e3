"""Task sets of any number of queries from one data set's features, or from part of its images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.planning.query_size import MIN_TASKS, SetEstimate, estimate_set
from benchmark_spec.errors import SamplingError, SpecError, UnknownNameError
from benchmark_spec.protocol import SUITES, Protocol, TaskSetName
from builders.baselines.heads import Predictor, head_of
from builders.sampling import Groups, Stream, count_tasks, draw_task_set, groups_of
from fslbench_data.release.release import Release
from fslbench_data.tasks import TaskSet, TaskSetInfo

DRAWABLE = tuple(
    name for name, suite in SUITES.items() if suite.interval == "open" and name != "published"
)
"""Suites without replacement that can be drawn with any seed."""


@dataclass(frozen=True, eq=False)
class QuerySets:
    """What stays the same while the number of queries changes.

    `head` and `features` are as for :class:`builders.baselines.heads.Predictor`, with images in
    class order; there are `groups` (N,) only for the suite `grouped`.
    """

    dataset: str
    suite: str
    way: int
    shot: int
    head: str
    features: NDArray[Any]
    sizes: tuple[int, ...]
    groups: Groups | None

    @classmethod
    def of(
        cls,
        release: Release,
        dataset: str,
        backbone: str,
        head: str,
        *,
        way: int,
        shot: int,
        suite: str,
    ) -> QuerySets:
        """Take what stays the same, for a head and a suite given by name."""
        head_of(head)
        if suite not in DRAWABLE:
            raise UnknownNameError("suite to draw without replacement", suite, DRAWABLE)
        sizes = release.classes(dataset).column("n_images").to_pylist()
        features = release.features(dataset, backbone)
        groups = groups_of(release.images(dataset)) if suite == "grouped" else None
        return cls(dataset, suite, way, shot, head, features, tuple(sizes), groups)

    def draw(self, query: int, seed: int) -> TaskSet:
        """Draw the task set of one Q and seed."""
        name = TaskSetName(self.suite, Protocol(self.way, self.shot, query))
        table, _ = draw_task_set(self.dataset, name, self.sizes, seed=seed, groups=self.groups)
        return TaskSet.from_table(TaskSetInfo(self.dataset, name, len(table), ""), table)

    def tasks(self, query: int, seed: int) -> int:
        """Count the tasks that :meth:`draw` gives, in much less time; 0 where it can draw none."""
        name = TaskSetName(self.suite, Protocol(self.way, self.shot, query))
        try:
            return count_tasks(self.dataset, name, self.sizes, seed=seed, groups=self.groups)
        except SamplingError:
            return 0

    def can_draw(self, query: int) -> bool:
        """Whether there are images enough for a task of this Q."""
        return self.tasks(query, 0) > 0

    def counts(self, task_set: TaskSet) -> NDArray[np.int64]:
        """Count the correct queries of each class of each task, int64 (T, K)."""
        right = self._predict(task_set.support, task_set.query) == task_set.query_label
        by_class = [(right & (task_set.query_label == k)).sum(axis=1) for k in range(self.way)]
        return np.stack(by_class, axis=1).astype(np.int64)

    @cached_property
    def _predict(self) -> Predictor:
        return Predictor(self.head, self.features)

    def parts(self, number: int) -> NDArray[np.int64]:
        """Say which of `number` parts each image belongs to, int64 (N,).

        Every class is spread evenly over the parts, in random order; with groups, these are
        spread, none of them divided.
        """
        stream = Stream("query-size", self.dataset, "parts")
        most = min(*self.sizes, self._units()[1])
        if number > most:
            raise SpecError(
                f"{number} parts of the images of {self.dataset} are more than its smallest class "
                "has images" + ("" if self.groups is None else ", or than there are groups"),
                expected=f"0 parts, or 3 to {most}",
            )
        if self.groups is None:
            by_class = [stream.permutations(1, n)[0] % number for n in self.sizes]
            return np.concatenate(by_class).astype(np.int64)
        unit, units = self._units()
        part: NDArray[np.int64] = stream.permutations(1, units)[0] % number
        return part[unit]

    def _units(self) -> tuple[NDArray[np.int64], int]:
        """Number what is not divided, a group or else an image; of each image, and of all."""
        if self.groups is None:
            return np.arange(sum(self.sizes), dtype=np.int64), sum(self.sizes)
        alone = self.groups.max() + 1 + np.arange(self.groups.size)
        _, unit = np.unique(np.where(self.groups < 0, alone, self.groups), return_inverse=True)
        return unit.astype(np.int64), int(unit.max()) + 1

    def only(self, keep: NDArray[np.bool_]) -> QuerySets:
        """Keep some images (N,) only."""
        class_of = np.repeat(np.arange(len(self.sizes)), self.sizes)
        sizes = np.bincount(class_of[keep], minlength=len(self.sizes)).tolist()
        groups = None if self.groups is None else self.groups[keep]
        return replace(self, features=self.features[keep], sizes=tuple(sizes), groups=groups)


def estimates(counts: Sequence[tuple[int, NDArray[Any]]], seed: int) -> list[SetEstimate]:
    """Estimate one seed's variances from its (Q, counts), for those Q at which they exist."""
    enough = [(x, query) for query, x in counts if query >= 2 and len(x) >= MIN_TASKS]
    if not enough:
        have = ", ".join(f"{len(x)} at Q = {query}" for query, x in counts)
        raise SamplingError(
            f"no variance can be estimated from these task sets: tasks are {have} (seed {seed})",
            expected=f"some Q of at least 2 with at least {MIN_TASKS} tasks",
            fix="sweep other numbers of queries, or ask for fewer ways or shots",
        )
    return [estimate_set(x, query) for x, query in enough]
