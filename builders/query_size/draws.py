"""Task sets of any number of queries, drawn from classes of given sizes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from analysis_sql.planning.query_size import MIN_TASKS
from benchmark_spec.errors import SamplingError, UnknownNameError
from benchmark_spec.protocol import SUITES, Protocol, TaskSetName
from builders.sampling import draw_task_set
from builders.sampling.balanced import kept_images, most_tasks
from fslbench_data.release.release import Release
from fslbench_data.sampling.draw import checked_sizes, count_until_exhausted
from fslbench_data.tasks import Groups, TaskSet, TaskSetInfo, groups_of

DRAWABLE = tuple(
    name for name, suite in SUITES.items() if suite.interval == "open" and name != "published"
)
"""Suites without replacement that can be drawn with any seed."""


@dataclass(frozen=True, eq=False)
class Draws:
    """All that a data set's task sets are drawn from, except Q and the seed.

    `sizes` are the numbers of images of the classes; `groups` has the group of each image and is
    for the suite `grouped`.
    """

    dataset: str
    suite: str
    way: int
    shot: int
    sizes: tuple[int, ...]
    groups: Groups | None = None

    def __post_init__(self) -> None:
        if self.suite not in DRAWABLE:
            raise UnknownNameError("suite to draw without replacement", self.suite, DRAWABLE)

    @classmethod
    def of(cls, release: Release, dataset: str, suite: str, way: int, shot: int) -> Draws:
        """Take the class sizes of a data set, and its groups if the suite needs them."""
        sizes = tuple(release.classes(dataset).column("n_images").to_pylist())
        groups = groups_of(release.images(dataset)) if suite == "grouped" else None
        return cls(dataset, suite, way, shot, sizes, groups)

    def name(self, query: int) -> TaskSetName:
        """Name the task set of one Q."""
        return TaskSetName(self.suite, Protocol(self.way, self.shot, query))

    def draw(self, query: int, seed: int) -> TaskSet:
        """Draw the task set of one Q and seed."""
        name = self.name(query)
        table, _ = draw_task_set(self.dataset, name, self.sizes, seed=seed, groups=self.groups)
        return TaskSet.from_table(TaskSetInfo(self.dataset, name, len(table), ""), table)

    def tasks(self, query: int, seed: int) -> int:
        """Count the tasks that :meth:`draw` returns, in much less time; 0 if it can draw none."""
        protocol = self.name(query).protocol
        key = (self.suite, self.dataset, str(protocol), seed)
        try:
            if self.suite == "grouped" and self.groups is not None:
                _, sizes = kept_images(self.sizes, protocol, self.dataset, key, self.groups)
            else:
                sizes = checked_sizes(self.sizes, protocol, self.dataset)
        except SamplingError:
            return 0
        if self.suite == "balanced":
            return most_tasks(sizes, protocol)
        return count_until_exhausted(sizes, protocol, key)

    @property
    def estimates_variances(self) -> bool:
        """Whether the images suffice for enough tasks of two queries to estimate variances."""
        return self.tasks(2, 0) >= MIN_TASKS

    def check_variances(self, where: str) -> None:
        """Raise a SamplingError if the images are too few to choose a number of queries."""
        if self.estimates_variances:
            return
        protocol = f"{self.way}w{self.shot}s"
        raise SamplingError(
            f"no number of queries can be chosen for {protocol}",
            where=where,
            expected=f"images of {self.dataset} for {MIN_TASKS} tasks of two queries a class",
            fix="ask for fewer ways or shots, or write the number: "
            f"{protocol}1q in place of {protocol}",
        )


BEYOND, AT_LEAST = 3, 30
"""Q are compared up to this many times the largest swept, and up to this many in any case."""


def tasks_of_each_query(
    draws: Draws, last_swept: int, seeds: int
) -> tuple[dict[int, list[int]], bool]:
    """Count the tasks of each seed for every Q compared, and return whether larger Q have tasks.

    Q are the whole numbers for which tasks can be drawn, up to a last one.
    """
    last = max(BEYOND * last_swept, AT_LEAST)
    drawable = takewhile(lambda query: draws.tasks(query, 0) > 0, range(1, last + 1))
    tasks = {query: [draws.tasks(query, seed) for seed in range(seeds)] for query in drawable}
    return tasks, min(tasks.get(last, [0])) >= 2
