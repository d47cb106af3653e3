"""Suites, protocols (way, shot, query) and the names of task sets."""

from __future__ import annotations

import re
from typing import Literal, get_args

from msgspec import Struct

from benchmark_spec.errors import SpecError, UnknownNameError, quoted

IntervalKind = Literal[
    "closed", "open", "class-aware", "superclass-aware", "images", "classes", "superclasses"
]

About = Literal["new images", "new classes", "new superclasses", "closed"]
"""The estimands of half-widths; ``closed`` is new tasks of the same images."""

ABOUTS: tuple[About, ...] = get_args(About)


class Suite(Struct, frozen=True):
    """How the tasks of a task set were drawn.

    Attributes
    ----------
    interval
        The primary kind of interval: ``open`` where no image is used twice, so that tasks are a
        sample of new images; ``closed`` where images recur, so that an interval is only about new
        tasks of the same images.
    family, step, attributes
        Of a suite made with attributes of images: one of :data:`FAMILIES`, its step, and the name
        of the attributes; else empty.
    uniform
        Whether every task is an independent uniform draw of classes and of images (or groups of
        images) of each, so that leave-one-out intervals are valid.
    whole
        Whether every task has all classes, and as queries all images that are not support.
    """

    name: str
    interval: IntervalKind
    description: str
    family: str = ""
    step: str = ""
    attributes: str = ""
    uniform: bool = False
    whole: bool = False


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "open",
            "open",
            "drawn without replacement until the data set is exhausted: no image is used twice "
            "(Algorithm 2 of Lafargue et al., TMLR 2024)",
        ),
        Suite(
            "closed",
            "closed",
            "drawn independently of each other: images recur from task to task "
            "(Algorithm 1 of Lafargue et al., TMLR 2024; the field's habit)",
            uniform=True,
        ),
        Suite(
            "pooled",
            "closed",
            "drawn as closed, so many that leaving one image or class out shows what others would "
            "change; of images in groups, one of each group drawn",
            uniform=True,
        ),
        Suite(
            "published",
            "open",
            "the very tasks behind the per-task accuracies released by Lafargue et al., "
            "TMLR 2024: Algorithm 2 with their generator and seed, stopped at 2000 tasks",
        ),
        Suite(
            "balanced",
            "open",
            "as many tasks as the images allow, no image used twice, and each class used as evenly "
            "as its size allows",
        ),
        Suite(
            "grouped",
            "open",
            "as open, from one image of each group (a burst of photos, a track, one drawing in "
            "several styles): no two images of a group are in the set",
        ),
        Suite(
            "allway",
            "closed",
            "draws of the support with all classes at once, each with the test part or all other "
            "images for queries, as CLIP adapters and linear probes are evaluated",
            uniform=True,
            whole=True,
        ),
        Suite(
            "episodes",
            "closed",
            "tasks of different numbers of classes and images, as Meta-Dataset draws ways and "
            "shots (Triantafillou et al., ICLR 2020): images recur from task to task",
            uniform=True,
        ),
    )
}


OWN = Suite("own", "closed", "drawn elsewhere: images recur from task to task", uniform=True)
"""The suite of tasks in a log; no release has such sets."""

OWN_OPEN = Suite("own_open", "open", "drawn elsewhere: no image is in two tasks")
"""The same of tasks that share no image."""

_OF_LOGS = {suite.name: suite for suite in (OWN, OWN_OPEN)}

EPISODES = SUITES["episodes"]
"""Tasks that differ in shape; names of such sets have the most ways, shots and queries."""

LADDER = {
    "random": "support and queries are random images of the class",
    "support": "support images share an attribute a_c of their class and have none of the other "
    "classes' attributes; queries are random",
    "intra": "as support, and queries lack a_c",
    "inter": "as intra, and queries have the attribute of another class",
    "biased": "as inter, and of these the queries whose attributes are the least usual: the tasks "
    "of FewSTAB (Zheng et al., ECCV 2024)",
}
"""The steps of attribute-biased suites, which have the same classes, task by task."""

COUNTERFACTUAL = {
    "same": "queries have the value that the support images of their class have",
    "any": "the same objects as queries, with any value",
    "other": "the same objects as queries, with the value of another class's support images",
}
"""The steps of suites of objects that exist with several values of an attribute."""

ABLATION = {
    "sc1": "queries as biased; support images are random ones of the class",
    "sc2": "queries as biased; support images share a_c, and may have other classes' attributes",
}
"""The support ablation of FewSTAB; the queries are those of ``biased``."""

FEWSTAB = {
    "matched": "random images of the classes of released, task by task",
    "released": "tasks as the released code of FewSTAB (Zheng et al., ECCV 2024) draws them: "
    "attributes first, then classes that share them",
}
"""The tasks of FewSTAB's released code, which differ from the paper's, and random tasks of the same
classes."""

FAMILIES = {
    "ladder": LADDER,
    "counterfactual": COUNTERFACTUAL,
    "ablation": ABLATION,
    "fewstab": FEWSTAB,
}
"""The steps of suites made with attributes, by family; all steps have different names."""

INTER_CLASS = ("inter", "biased", *ABLATION, "released")
"""Steps whose queries have the attribute of another class, where there are enough."""

_FAMILY_OF = {step: family for family, steps in FAMILIES.items() for step in steps}
ALONE = ("ladder", "counterfactual")
"""Families that can also be drawn with no image used twice."""

_WITH_ATTRIBUTES = re.compile(rf"(open_)?({'|'.join(_FAMILY_OF)})_([a-z][a-z0-9]*)")
WITH_ATTRIBUTES = "[open_]<step>_<attributes>, such as open_biased_titles"


def suite_of(name: str, where: str = "") -> Suite:
    """Look up a suite by name: one of :data:`SUITES`, or one made with attributes of images."""
    if name in SUITES:
        return SUITES[name]
    if name in _OF_LOGS:
        return _OF_LOGS[name]
    match = _WITH_ATTRIBUTES.fullmatch(name)
    if match is None or (match[1] and _FAMILY_OF[match[2]] not in ALONE):
        raise UnknownNameError("suite", name, (*SUITES, WITH_ATTRIBUTES), where=where)
    alone, step, attributes = match.groups()
    images = "no image is used twice" if alone else "images recur from task to task"
    family = _FAMILY_OF[step]
    description = f"{FAMILIES[family][step]}; attributes {attributes}; {images}"
    return Suite(name, "open" if alone else "closed", description, family, step, attributes)


def suites_of(name: str, where: str = "") -> tuple[str, ...]:
    """List the suites of a name: itself, or all steps of a family.

    ``[open_]ladder_<attributes>``, for instance, names the steps of :data:`LADDER`.
    """
    for family, steps in FAMILIES.items():
        alone = "open_" if name.startswith(f"open_{family}_") else ""
        label = name.removeprefix(alone).removeprefix(f"{family}_")
        if name == f"{alone}{family}_{label}":
            return tuple(suite_of(f"{alone}{step}_{label}", where).name for step in steps)
    return (suite_of(name, where).name,)


_PROTOCOL = re.compile(r"([1-9][0-9]{0,8})w(0|[1-9][0-9]{0,8})s([1-9][0-9]{0,8})q")
MAX_WAY = 127
"""Query labels are int8, so a task has at most 127 classes, unless it has all."""

MAX_QUERIES = 32767
"""Counts of correct queries are int16, which limits the queries of a task without all classes."""
MAX_WHOLE_QUERIES = 10_000_000
"""Queries of a task of all classes; ImageNet has 1.3 million training images."""


class Protocol(Struct, frozen=True, order=True):
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
                f"{quoted(text)} is not a protocol",
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


class LoggedProtocol(Protocol, frozen=True, order=True):
    """The size of logged tasks, of any number of ways and queries.

    `shot` is 0, and `query` counts all images of a class, where roles are unknown.
    """

    def __post_init__(self) -> None:
        """Allow every size."""


class WholeProtocol(Protocol, frozen=True, order=True):
    """The size of a task of all classes: `query` counts its queries of all classes together.

    `shot` is 0 where it is unknown.
    """

    def __post_init__(self) -> None:
        """Raise a SpecError if there is no such task."""
        if not 2 <= self.way <= self.query <= MAX_WHOLE_QUERIES:
            raise SpecError(
                f"no such protocol of all classes: {self.way} ways, {self.query} queries in all",
                expected="at least 2 ways, a query of each class, and at most "
                f"{MAX_WHOLE_QUERIES} queries",
            )

    @property
    def n_query(self) -> int:
        """Queries in a task."""
        return self.query

    @property
    def per_class(self) -> int:
        """Images of each class that a task uses on average, rounded up."""
        return self.shot - -self.query // self.way


PUBLISHED_PROTOCOLS = (Protocol(5, 1, 1), Protocol(5, 5, 5), Protocol(5, 10, 7))
"""5-way at 1, 5 and 10 shots with the optimal number of queries (Lafargue et al., TMLR 2024)."""


def task_sets_of(name: str, where: str = "") -> tuple[str, ...]:
    """List the task sets of a name, such as ``open_ladder_titles-5w5s5q``."""
    suite, dash, protocol = name.rpartition("-")
    names = [f"{one}-{protocol}" for one in suites_of(suite, where)] if dash else [name]
    return tuple(str(TaskSetName.parse(whole)) for whole in names)


class TaskSetName(Struct, frozen=True, order=True):
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
                f"{quoted(text)} is not the name of a task set",
                expected="<suite>-<protocol>, such as open-5w5s5q",
            )
        kind = Protocol
        if suite in _OF_LOGS or suite == EPISODES.name:
            kind = LoggedProtocol
        elif suite in SUITES and SUITES[suite].whole:
            kind = WholeProtocol
        return cls(suite, kind.parse(protocol))

    def __str__(self) -> str:
        return f"{self.suite}-{self.protocol}"

    @property
    def varies(self) -> bool:
        """Whether its tasks differ in ways, shots and queries."""
        return self.suite == EPISODES.name

    @property
    def whole(self) -> bool:
        """Whether its tasks have all classes."""
        return suite_of(self.suite).whole

    @property
    def interval(self) -> IntervalKind:
        """The primary kind of interval of results on this task set."""
        return suite_of(self.suite).interval

    def declared_tasks(self, tasks: int) -> tuple[int, ...]:
        """Return the numbers of first tasks with verdicts: all, and half if drawn uniformly."""
        return (tasks // 2, tasks) if suite_of(self.suite).uniform and tasks > 1 else (tasks,)

    @property
    def attributes(self) -> str:
        """Name of the attributes of images that its tasks are made with; empty without any."""
        return suite_of(self.suite).attributes

    @property
    def closed_twin(self) -> TaskSetName:
        """The set of the same protocol that reuses images, as the field would use."""
        suite = suite_of(self.suite)
        twin = self.suite.removeprefix("open_") if suite.attributes else "closed"
        return TaskSetName(twin, self.protocol)
