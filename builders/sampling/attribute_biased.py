"""The ladder of attribute-biased suites (FewSTAB; Zheng et al., ECCV 2024), drawn together.

Task t has the same classes, and the same attribute of each, on every step; docs/bias.md says what
the steps are and how a task is drawn.  Support sets are the same from ``support`` on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import LADDER, Protocol
from fslbench_data.tasks.draw import DrawnTasks, Positions, check_number

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClassAttributes:
    """The attributes of a class's n images: row a of `has` (A, n) tells which have attribute a."""

    has: Bools

    def __len__(self) -> int:
        return int(self.has.shape[1])

    @cached_property
    def present(self) -> Positions:
        """The attributes (P,) that any image of the class has."""
        return np.flatnonzero(self.has.any(axis=1))

    @cached_property
    def spurious(self) -> Bools:
        """Which attributes (A,) some images of the class have and some do not."""
        return np.asarray(self.has.any(axis=1) & ~self.has.all(axis=1))

    @cached_property
    def _counting(self) -> NDArray[np.floating]:
        """Which images have the attributes that are present, (n, P), of a type with exact sums."""
        exact = np.float32 if len(self) * self.present.size < 2**24 else np.float64
        return np.ascontiguousarray(self.has[self.present].T).astype(exact)

    def scores(self, candidates: Positions, chosen: Positions) -> Positions:
        """Compute n times the score of each candidate (n,): how usual its attributes are."""
        counting = self._counting
        among = np.zeros(len(self), counting.dtype)
        among[candidates] = 1
        usual = among @ counting
        usual[np.isin(self.present, chosen)] = 0
        return np.asarray((counting @ usual)[candidates], np.int64)


@dataclass(frozen=True, eq=False)
class ImageAttributes:
    """The attributes of a data set's images.

    The `names` of all stand in alphabetical order, `classes` in the data set's.
    """

    names: tuple[str, ...]
    classes: tuple[ClassAttributes, ...]


def image_attributes(
    table: pa.Table, class_sizes: Sequence[int], dataset: str = ""
) -> ImageAttributes:
    """Read a table of attributes: ``image_id`` and ``attributes``, one row an image in order."""
    sizes = np.asarray(class_sizes, np.int64)
    ids = table.column("image_id").to_numpy()
    if not np.array_equal(ids, np.arange(sizes.sum())):
        raise SamplingError(
            f"the table of attributes has {len(ids)} rows for {sizes.sum()} images, or in another "
            "order",
            where=dataset,
            expected="one row for each image, by id",
        )
    lists = table.column("attributes").combine_chunks()
    flat = lists.flatten()
    lengths = np.diff(lists.offsets.to_numpy())
    owner = np.repeat(np.arange(len(ids)), lengths)
    names, of = np.unique(np.array(flat.to_pylist(), object), return_inverse=True)
    starts = np.searchsorted(owner, np.concatenate([[0], np.cumsum(sizes)]))
    classes = []
    for c, first in enumerate(np.cumsum(sizes) - sizes):
        mine = slice(starts[c], starts[c + 1])
        has = np.zeros((names.size, int(sizes[c])), bool)
        has[of[mine], owner[mine] - first] = True
        classes.append(ClassAttributes(has))
    return ImageAttributes(tuple(map(str, names)), tuple(classes))


STEPS = tuple(LADDER)


class _FreeClass:
    """A class and its images that are still free, on each step (5, n).

    `choices` are the attributes that it can have in a task.
    """

    def __init__(self, of: ClassAttributes, protocol: Protocol) -> None:
        self.of, self.free = of, np.ones((len(STEPS), len(of)), bool)
        self.update(protocol)

    def update(self, protocol: Protocol) -> None:
        """Find the choices."""
        for_support, for_queries = self.free[1:].all(axis=0), self.free[2:]
        have = self.of.has[:, for_support].sum(axis=1)
        lack = np.array([(~self.of.has[:, free]).sum(axis=1) for free in for_queries]).min(axis=0)
        enough = (self.free.sum(axis=1) >= protocol.per_class).all()
        fits = (have >= protocol.shot) & (lack >= protocol.query) & self.of.spurious
        self.choices = np.flatnonzero(fits & enough)

    def pools(self, attribute: int, others: Positions, query: int) -> Pools:
        """Find the images for a task that gives it `attribute`, and the other classes `others`."""
        has, has_other = self.of.has[attribute], self.of.has[others].any(axis=0)
        lack = {step: ~has & self.free[STEPS.index(step)] for step in ("intra", "inter", "biased")}
        narrow = {step: lack[step] & has_other for step in ("inter", "biased")}
        inter = all(which.sum() >= query for which in narrow.values())
        candidates = lack | narrow if inter else lack
        return Pools(
            np.flatnonzero(has & ~has_other & self.free[1:].all(axis=0)),
            {step: np.flatnonzero(which) for step, which in candidates.items()},
            inter,
        )


@dataclass(frozen=True, eq=False)
class Pools:
    """Images of a class that a task can draw from: for support, and for queries by step."""

    support: Positions
    query: dict[str, Positions]
    inter_class: bool


ATTEMPTS = 1000
"""Draws in a row that give no task, after which there is none."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """T tasks on every step, whose classes are the same.

    `attributes` (T, K) are positions in the data set's list of names; `inter_class` (T, K) tells
    whether there were Q candidates with another class's attribute.
    """

    steps: dict[str, DrawnTasks]
    attributes: Positions
    inter_class: Bools


def draw_ladder(
    attributes: ImageAttributes,
    protocol: Protocol,
    *,
    dataset: str,
    label: str,
    seed: int,
    tasks: int | None = None,
    reuse: bool = True,
) -> Ladder:
    """Draw tasks on all steps; `label` is the name of the table of attributes.

    With `reuse` images recur from task to task (`biased` and the like); without (`open_biased`) at
    most so many `tasks` are drawn, and as many as there are if None.  SamplingError, with the
    counts of what failed, if not one task or, with `reuse`, not so many can be drawn.
    """
    check_number(tasks, reuse, dataset)
    key = ("biased" if reuse else "open_biased", dataset, label, str(protocol), seed)
    drawing = _Drawing(attributes, protocol, key, reuse)
    while tasks is None or len(drawing.drawn) < tasks:
        failed: Counter[str] = Counter()
        while (why := drawing.attempt()) is not None and failed.total() < ATTEMPTS:
            failed[why] += 1
            if why == _FEW_CLASSES:
                break
        if why is not None:
            if drawing.drawn and not reuse:
                break
            raise _refusal(drawing, failed, dataset, label)
    return drawing.ladder()


_FEW_CLASSES = "too few classes have an attribute that enough images have and enough lack"
_SAME = "two classes have the same attribute"
_FEW_SUPPORT = "too few images have the attribute and none of the others"
_FEW_QUERIES = "too few images lack the attribute"


@dataclass(frozen=True, eq=False)
class _Task:
    """A drawn task: positions (K, S) and (K, Q) on each step."""

    classes: Positions
    attributes: Positions
    support: dict[str, Positions]
    query: dict[str, Positions]
    inter_class: list[bool]


class _Drawing:
    def __init__(
        self, attributes: ImageAttributes, protocol: Protocol, key: Sequence[str | int], reuse: bool
    ) -> None:
        self.protocol, self._reuse = protocol, reuse
        self._stream = {part: Stream(*key, part) for part in ("tasks", *STEPS)}
        self.classes = [_FreeClass(of, protocol) for of in attributes.classes]
        self.eligible = self._with_choices()
        self.drawn: list[_Task] = []

    def _with_choices(self) -> Positions:
        return np.flatnonzero([of_class.choices.size > 0 for of_class in self.classes])

    def attempt(self) -> str | None:
        """Draw a task; gives why there is none."""
        way, stream = self.protocol.way, self._stream["tasks"]
        if self.eligible.size < way:
            return _FEW_CLASSES
        chosen = self.eligible[stream.subsets(np.array([self.eligible.size]), way)[0]]
        choices = [self.classes[c].choices for c in chosen]
        which = stream.integers(np.array([of_class.size for of_class in choices]))
        attributes = np.array([of_class[i] for of_class, i in zip(choices, which, strict=True)])
        if len(set(attributes.tolist())) < way:
            return _SAME
        shot, query = self.protocol.shot, self.protocol.query
        pools = [
            self.classes[c].pools(attributes[i], np.delete(attributes, i), query)
            for i, c in enumerate(chosen)
        ]
        if min(pool.support.size for pool in pools) < shot:
            return _FEW_SUPPORT
        if min(images.size for pool in pools for images in pool.query.values()) < query:
            return _FEW_QUERIES
        self.drawn.append(self._task(chosen, attributes, pools))
        if not self._reuse:
            self._use(self.drawn[-1])
        return None

    def _task(self, chosen: Positions, attributes: Positions, pools: list[Pools]) -> _Task:
        shot, query = self.protocol.shot, self.protocol.query
        free = [self.classes[c].free for c in chosen]
        support = self._pick("tasks", [pool.support for pool in pools], shot)
        both = self._pick("random", [np.flatnonzero(steps[0]) for steps in free], shot + query)
        rest = []
        for steps, taken in zip(free, support, strict=True):
            left = steps[1].copy()
            left[taken] = False
            rest.append(np.flatnonzero(left))
        queries = {
            "random": both[:, shot:],
            "support": self._pick("support", rest, query),
            **{s: self._pick(s, [p.query[s] for p in pools], query) for s in ("intra", "inter")},
            "biased": np.array([*map(partial(self._lowest, attributes), chosen, pools)]),
        }
        supports = dict.fromkeys(STEPS, support) | {"random": both[:, :shot]}
        inter = [pool.inter_class for pool in pools]
        return _Task(chosen, attributes, supports, queries, inter)

    def _lowest(self, attributes: Positions, c: int, pools: Pools) -> Positions:
        """Return the Q candidates with the lowest scores; chance orders those with the same."""
        pool = pools.query["biased"]
        chance = self._stream["biased"].words(pool.size)
        scores = self.classes[c].of.scores(pool, attributes)
        return pool[np.lexsort((chance, scores))[: self.protocol.query]]

    def _pick(self, part: str, pools: list[Positions], count: int) -> Positions:
        """Draw so many of each pool: (K, count)."""
        drawn = self._stream[part].subsets(np.array([pool.size for pool in pools]), count)
        return np.array([pool[i] for pool, i in zip(pools, drawn, strict=True)])

    def _use(self, task: _Task) -> None:
        for row, step in enumerate(STEPS):
            for i, c in enumerate(task.classes):
                self.classes[c].free[row, task.support[step][i]] = False
                self.classes[c].free[row, task.query[step][i]] = False
        for c in task.classes:
            self.classes[c].update(self.protocol)
        self.eligible = self._with_choices()

    def ladder(self) -> Ladder:
        """Return all that was drawn."""
        ids = np.array([task.classes for task in self.drawn], np.int32)
        steps = {}
        for step in STEPS:
            support, query = (
                np.array([images[step] for images in sets], np.int32)
                for sets in zip(*((task.support, task.query) for task in self.drawn), strict=True)
            )
            steps[step] = DrawnTasks(self.protocol, ids, support, query)
        attributes = np.array([task.attributes for task in self.drawn], np.int64)
        return Ladder(steps, attributes, np.array([task.inter_class for task in self.drawn]))


def _refusal(drawing: _Drawing, failed: Counter[str], dataset: str, label: str) -> SamplingError:
    protocol = drawing.protocol
    reasons = ", ".join(f"{why}: {n}" for why, n in failed.most_common())
    return SamplingError(
        f"{len(drawing.drawn)} {protocol} tasks could be drawn; of {failed.total()} draws in a row "
        f"after these none gave one ({reasons})",
        where=f"{dataset}, attributes {label}: {drawing.eligible.size} of {len(drawing.classes)} "
        f"classes have an attribute that {protocol.shot} images have and {protocol.query} lack",
        expected=f"at least {protocol.way} such classes, with different attributes",
        fix="ask for fewer ways, shots or queries, or use other attributes",
    )


def with_other_support(
    ladder: Ladder, attributes: ImageAttributes, step: str, stream: Stream
) -> DrawnTasks:
    """Give the tasks of ``biased`` other support images: the support ablation of FewSTAB.

    Random ones of the class (step ``sc1``), or those that have the class's attribute (``sc2``).
    Every class has enough: S images with its attribute, and S beside its queries.
    """
    biased = ladder.steps["biased"]
    protocol = biased.protocol
    pools = []
    for classes, chosen, queries in zip(
        biased.class_ids, ladder.attributes, biased.query, strict=True
    ):
        for c, attribute, query in zip(classes, chosen, queries, strict=True):
            free = attributes.classes[c].has[attribute].copy()
            if step == "sc1":
                free = np.ones(len(attributes.classes[c]), bool)
            free[query] = False
            pools.append(np.flatnonzero(free))
    picked = stream.subsets(np.array([pool.size for pool in pools]), protocol.shot)
    support = np.array([pool[i] for pool, i in zip(pools, picked, strict=True)], np.int32)
    shape = (*biased.class_ids.shape, protocol.shot)
    return DrawnTasks(protocol, biased.class_ids, support.reshape(shape), biased.query)
