"""Protocols (way, shot, query) and the names of task sets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmark_spec.errors import SpecError, shown
from benchmark_spec.suites import OWN, IntervalKind, suite_of, suites_of

_PROTOCOL = re.compile(r"([1-9][0-9]{0,8})w(0|[1-9][0-9]{0,8})s([1-9][0-9]{0,8})q")
MAX_WAY = 127
"""Query labels are int8, so a task has at most 127 classes."""

MAX_QUERIES = 32767
"""Counts of correct queries are int16."""


@dataclass(frozen=True, order=True)
class Protocol:
    """The size of a task: `way` classes, `shot` support and `query` query images of each.

    ``str(Protocol(5, 1, 1))`` is ``"5w1s1q"``, and :meth:`parse` reads it back.
    """

    way: int
    shot: int
    query: int

    def __post_init__(self) -> None:
        if not (
            2 <= self.way <= MAX_WAY
            and self.shot >= 1
            and self.query >= 1
            and self.way * self.query <= MAX_QUERIES
        ):
            raise SpecError(
                f"no such protocol: {self.way} ways, {self.shot} shots, {self.query} queries",
                expected=f"2 to {MAX_WAY} ways, at least 1 shot and 1 query per class, and at most "
                f"{MAX_QUERIES} queries in all",
            )

    @classmethod
    def parse(cls, text: str) -> Protocol:
        """Read a protocol from its name, such as ``5w5s5q``."""
        match = _PROTOCOL.fullmatch(text)
        if not match:
            raise SpecError(
                f"{shown(text)} is not a protocol",
                expected="<ways>w<shots>s<queries per class>q, such as 5w1s1q",
            )
        return cls(*(int(number) for number in match.groups()))

    def __str__(self) -> str:
        return f"{self.way}w{self.shot}s{self.query}q"

    @property
    def n_query(self) -> int:
        """Queries in a task: K·Q."""
        return self.way * self.query

    @property
    def n_support(self) -> int:
        """Support images in a task: K·S."""
        return self.way * self.shot

    @property
    def per_class(self) -> int:
        """Images that a task uses of each of its classes: S+Q."""
        return self.shot + self.query


@dataclass(frozen=True, order=True)
class LoggedProtocol(Protocol):
    """The size of tasks that were drawn elsewhere: of any number of ways and queries.

    `shot` is 0, and `query` all images of a class, where nothing says which of them are support.
    """

    def __post_init__(self) -> None:
        """Take every size that a log has."""


PUBLISHED_PROTOCOLS = (Protocol(5, 1, 1), Protocol(5, 5, 5), Protocol(5, 10, 7))
"""5-way at 1, 5 and 10 shots with the optimal number of queries (Lafargue et al., TMLR 2024)."""


def task_sets_of(name: str, where: str = "") -> tuple[str, ...]:
    """List the task sets that a name such as ``open_ladder_titles-5w5s5q`` stands for."""
    suite, dash, protocol = name.rpartition("-")
    names = [f"{one}-{protocol}" for one in suites_of(suite, where)] if dash else [name]
    return tuple(str(TaskSetName.parse(whole)) for whole in names)


@dataclass(frozen=True, order=True)
class TaskSetName:
    """Name of a task set: a suite and a protocol, such as ``open-5w5s5q``."""

    suite: str
    protocol: Protocol

    def __post_init__(self) -> None:
        suite_of(self.suite)

    @classmethod
    def parse(cls, text: str) -> TaskSetName:
        """Read a task set's name, such as ``open-5w5s5q``."""
        suite, dash, protocol = text.rpartition("-")
        if not dash:
            raise SpecError(
                f"{shown(text)} is not the name of a task set",
                expected="<suite>-<protocol>, such as open-5w5s5q",
            )
        return cls(suite, (LoggedProtocol if suite == OWN.name else Protocol).parse(protocol))

    def __str__(self) -> str:
        return f"{self.suite}-{self.protocol}"

    @property
    def interval(self) -> IntervalKind:
        """The interval that results on this task set carry."""
        return suite_of(self.suite).interval

    def declared_tasks(self, tasks: int) -> tuple[int, ...]:
        """Return how many first tasks verdicts are for: all, and half of those drawn uniformly."""
        return (tasks // 2, tasks) if suite_of(self.suite).uniform and tasks > 1 else (tasks,)

    @property
    def attributes(self) -> str:
        """Name of the attributes of images that its tasks are made with; empty without any."""
        return suite_of(self.suite).attributes

    @property
    def closed_twin(self) -> TaskSetName:
        """The set of the same protocol that reuses images, with which the field would compare."""
        suite = suite_of(self.suite)
        twin = self.suite.removeprefix("open_") if suite.attributes else "closed"
        return TaskSetName(twin, self.protocol)
