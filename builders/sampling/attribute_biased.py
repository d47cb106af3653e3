"""The ladder of attribute-biased suites (FewSTAB; Zheng et al., ECCV 2024), drawn together.

Task t has the same classes, and the same attribute of each, on every step; docs/bias.md has the
steps and how a task is drawn.  Support sets are the same from ``support`` on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import LADDER, Protocol
from fslbench_data.sampling.draw import DrawnTasks, Ints, check_number

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClassAttributes:
    """The attributes of a class's n images; row a of `has` (A, n) says which have attribute a."""

    has: Bools

    def __len__(self) -> int:
        return int(self.has.shape[1])

    @cached_property
    def present(self) -> Ints:
        """The attributes (P,) that any image of the class has."""
        return np.flatnonzero(self.has.any(axis=1))

    @cached_property
    def _counting(self) -> NDArray[np.floating]:
        """Which images have the present attributes, (n, P), in a type whose sums are exact."""
        exact = np.float32 if len(self) * self.present.size < 2**24 else np.float64
        return np.ascontiguousarray(self.has[self.present].T).astype(exact)

    def scores(self, candidates: Ints, chosen: Ints) -> Ints:
        """Return n times the score of each candidate (n,): how frequent its attributes are."""
        counting = self._counting
        is_candidate = np.zeros(len(self), counting.dtype)
        is_candidate[candidates] = 1
        frequency = is_candidate @ counting
        frequency[np.isin(self.present, chosen)] = 0
        return np.asarray((counting @ frequency)[candidates], np.int64)


@dataclass(frozen=True, eq=False)
class ImageAttributes:
    """The attributes of a data set's images.

    `names` are in alphabetical order, `classes` in the data set's.
    """

    names: tuple[str, ...]
    classes: tuple[ClassAttributes, ...]


def image_attributes(
    table: pa.Table, class_sizes: Sequence[int], dataset: str = ""
) -> ImageAttributes:
    """Read a table of attributes with ``image_id`` and ``attributes``, one row per image."""
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
    owner = np.repeat(ids, np.diff(lists.offsets.to_numpy()))
    words = np.array(lists.flatten().to_pylist(), object)
    names, position = np.unique(words, return_inverse=True)
    has = np.zeros((names.size, ids.size), bool)
    has[position, owner] = True
    by_class = np.split(has, np.cumsum(sizes)[:-1], axis=1)
    classes = tuple(ClassAttributes(of_class.copy()) for of_class in by_class)
    return ImageAttributes(tuple(map(str, names)), classes)


STEPS = tuple(LADDER)


ATTEMPTS = 1000
"""Draws in a row without a task, after which drawing ends."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """T tasks on every step, with the same classes.

    `attributes` (T, K) are positions in the data set's list of names; `inter_class` (T, K) is
    whether there were Q candidates with another class's attribute.
    """

    steps: dict[str, DrawnTasks]
    attributes: Ints
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
    most `tasks` are drawn, or as many as possible if None.  Raises a SamplingError, with counts of
    what failed, if no task or, with `reuse`, not all `tasks` can be drawn.
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
        if why is None:
            continue
        if drawing.drawn and not reuse:
            break
        reasons = ", ".join(f"{why}: {n}" for why, n in failed.most_common())
        raise SamplingError(
            f"{len(drawing.drawn)} {protocol} tasks could be drawn; of {failed.total()} draws in a "
            f"row after these none gave one ({reasons})",
            where=f"{dataset}, attributes {label}: {drawing.eligible.size} of "
            f"{len(attributes.classes)} classes have an attribute that {protocol.shot} images have "
            f"and {protocol.query} lack, {drawing.different} different attributes in all",
            expected=f"at least {protocol.way} such classes, and as many attributes",
            fix="ask for fewer ways, shots or queries, or use other attributes",
        )
    ids, chosen, inter_class, images = zip(*drawing.drawn, strict=True)
    steps = {}
    for step in STEPS:
        support = np.array([of_task[step][0] for of_task in images])
        query = np.array([of_task[step][1] for of_task in images])
        steps[step] = DrawnTasks(protocol, np.array(ids), support, query)
    return Ladder(steps, np.array(chosen), np.array(inter_class))


_FEW_CLASSES = "too few classes have an attribute that enough images have and enough lack"

Images = dict[str, tuple[Ints, Ints]]
"""Support images (K, S) and query images (K, Q) of each step."""


class _Drawing:
    """The tasks drawn so far, and for each class which images are free on each step, (5, n).

    A task has classes (K,), their attributes (K,), whether there were Q candidates with another
    class's attribute, and images.  `_choices` are the attributes that a class can have in a task,
    `eligible` the classes that have any.
    """

    def __init__(
        self, attributes: ImageAttributes, protocol: Protocol, key: Sequence[str | int], reuse: bool
    ) -> None:
        self._protocol, self._reuse, self._classes = protocol, reuse, attributes.classes
        self._stream = {part: Stream(*key, part) for part in ("tasks", *STEPS)}
        self._free = [np.ones((len(STEPS), len(of_class)), bool) for of_class in self._classes]
        self._choices = [self._choices_of(c) for c in range(len(self._classes))]
        self.eligible = np.flatnonzero([choices.size for choices in self._choices])
        self.drawn: list[tuple[Ints, Ints, list[bool], Images]] = []

    @property
    def different(self) -> int:
        """The number of different attributes that classes can have in a task."""
        return len(set().union(*(choices.tolist() for choices in self._choices)))

    def _choices_of(self, c: int) -> Ints:
        has, free = self._classes[c].has, self._free[c]
        have = has[:, free[1:].all(axis=0)].sum(axis=1)
        lack = np.array([(~has[:, of_step]).sum(axis=1) for of_step in free[2:]]).min(axis=0)
        enough = (free.sum(axis=1) >= self._protocol.per_class).all()
        varies = has.any(axis=1) & ~has.all(axis=1)
        fits = (have >= self._protocol.shot) & (lack >= self._protocol.query) & varies
        return np.flatnonzero(fits & enough)

    def attempt(self) -> str | None:
        """Draw a task; return why there is none, or None."""
        way, shot, query = self._protocol.way, self._protocol.shot, self._protocol.query
        stream = self._stream["tasks"]
        if self.eligible.size < way:
            return _FEW_CLASSES
        chosen = self.eligible[stream.subsets(np.array([self.eligible.size]), way)[0]]
        choices = [self._choices[c] for c in chosen]
        which = stream.integers(np.array([of_class.size for of_class in choices]))
        attributes = np.array([of_class[i] for of_class, i in zip(choices, which, strict=True)])
        if len(set(attributes.tolist())) < way:
            return "two classes have the same attribute"
        for_support, for_query, inter_class = zip(
            *(self._pools(c, attributes, i) for i, c in enumerate(chosen)), strict=True
        )
        if min(images.size for images in for_support) < shot:
            return "too few images have the attribute and none of the others"
        if min(images.size for pools in for_query for images in pools.values()) < query:
            return "too few images lack the attribute"
        free = [self._free[c] for c in chosen]
        support = self._pick("tasks", for_support, shot)
        random = self._pick("random", [np.flatnonzero(steps[0]) for steps in free], shot + query)
        rest = [
            np.setdiff1d(np.flatnonzero(steps[1]), taken)
            for steps, taken in zip(free, support, strict=True)
        ]
        queries = {"support": self._pick("support", rest, query)}
        for step in ("intra", "inter"):
            queries[step] = self._pick(step, [pools[step] for pools in for_query], query)
        lowest = []
        for c, pools in zip(chosen, for_query, strict=True):  # chance orders equal scores
            pool = pools["biased"]
            chance = self._stream["biased"].words(pool.size)
            scores = self._classes[c].scores(pool, attributes)
            lowest.append(pool[np.lexsort((chance, scores))[:query]])
        queries["biased"] = np.array(lowest)
        images = {"random": (random[:, :shot], random[:, shot:])}
        images |= {step: (support, of_step) for step, of_step in queries.items()}
        self.drawn.append((chosen, attributes, list(inter_class), images))
        if not self._reuse:
            for i, c in enumerate(chosen):
                for row, step in enumerate(STEPS):
                    self._free[c][row, np.concatenate([part[i] for part in images[step]])] = False
                self._choices[c] = self._choices_of(c)
            self.eligible = np.flatnonzero([choices.size for choices in self._choices])
        return None

    def _pools(self, c: int, attributes: Ints, place: int) -> tuple[Ints, dict[str, Ints], bool]:
        """Find a class's candidates for support, those for queries by step, and if they suffice.

        The last is whether Q candidates on each inter-class step have another class's attribute.
        """
        all_have, free = self._classes[c].has, self._free[c]
        has = all_have[attributes[place]]
        has_other = all_have[np.delete(attributes, place)].any(axis=0)
        lack = {step: ~has & free[STEPS.index(step)] for step in ("intra", "inter", "biased")}
        inter_class = {step: lack[step] & has_other for step in ("inter", "biased")}
        enough = all(images.sum() >= self._protocol.query for images in inter_class.values())
        candidates = lack | inter_class if enough else lack
        return (
            np.flatnonzero(has & ~has_other & free[1:].all(axis=0)),
            {step: np.flatnonzero(images) for step, images in candidates.items()},
            enough,
        )

    def _pick(self, part: str, pools: Sequence[Ints], count: int) -> Ints:
        """Draw `count` images of each pool, (K, count)."""
        drawn = self._stream[part].subsets(np.array([pool.size for pool in pools]), count)
        return np.array([pool[i] for pool, i in zip(pools, drawn, strict=True)])


def with_other_support(
    ladder: Ladder, attributes: ImageAttributes, step: str, stream: Stream
) -> DrawnTasks:
    """Return the tasks of ``biased`` with other support images: the support ablation of FewSTAB.

    They are random ones of the class (step ``sc1``), or have the class's attribute (``sc2``).
    Every class has enough: S images with its attribute, and S that are not its queries.
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
    support = np.array([pool[i] for pool, i in zip(pools, picked, strict=True)])
    shape = (*biased.class_ids.shape, protocol.shot)
    return DrawnTasks(protocol, biased.class_ids, support.reshape(shape), biased.query)
