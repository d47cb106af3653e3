"""The ladder of attribute-biased suites (FewSTAB; Zheng et al., ECCV 2024), drawn together.

Task t has the same classes, and the same attribute a_c of each of them, on every step::

    random    support and queries are random images of the class
    support   support images share a_c and have none of the other classes' attributes
    intra     and queries lack a_c
    inter     and queries have an attribute of another class
    biased    and of these, queries are those with the lowest scores (the paper's tasks)

Support sets are the same from ``support`` on, so two steps differ in their queries alone.  A drop
from ``random`` to ``support`` is an unrepresentative support set; what a method owes to a spurious
attribute shows between ``support`` and ``inter``.

**A task** (the paper's section 4): K classes uniformly; for each, uniformly, an attribute that S of
its images have and Q lack, no two the same; support images uniformly.  Candidates for the queries
of a class are images without a_c that have another class's attribute; if fewer than Q, all images
without a_c (the table says so); if there are too few of these, or of support images, or two
attributes are the same, classes and attributes are drawn anew.  The score of a candidate is the sum
over its attributes, without the K chosen ones, of the share of candidates that have it; equal
scores stand in random order.

Better than the paper's code, whose tasks changed with the order of a set: everything follows from
the seed alone.  ``open_`` suites use no image twice on any step; they end when
:data:`ATTEMPTS` draws in a row give no task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol
from builders.sampling.free_images import STEPS, FreeClass, Pools, scores
from builders.sampling.image_attributes import Bools, ClassAttributes, ImageAttributes
from fslbench_data.tasks.drawn import DrawnTasks, Positions, check_number

ATTEMPTS = 1000
"""Draws in a row that give no task, after which there is none."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """T tasks on every step.

    Attributes
    ----------
    steps
        By name; classes are the same on all of them.
    attributes : int64 (T, K)
        Position of each a_c in the data set's list of names.
    inter_class : bool (T, K)
        Whether there were Q candidates with another class's attribute.
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
    """Draw tasks on all steps.

    SamplingError, with the counts of what failed, if not one task or, with `reuse`, not so many can
    be drawn.

    Parameters
    ----------
    attributes, label
        Of the data set's images, and the name of that table.
    tasks
        How many; without `reuse` at most so many, and as many as there are if absent.
    reuse
        Whether images recur from task to task (`biased` and the like) or not (`open_biased`).
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
        self.classes = [FreeClass.whole(of, protocol) for of in attributes.classes]
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
            "biased": np.array(
                [
                    self._lowest(self.classes[c].of, pool.query["biased"], attributes)
                    for c, pool in zip(chosen, pools, strict=True)
                ]
            ),
        }
        supports = dict.fromkeys(STEPS, support) | {"random": both[:, :shot]}
        inter = [pool.inter_class for pool in pools]
        return _Task(chosen, attributes, supports, queries, inter)

    def _lowest(self, of: ClassAttributes, pool: Positions, attributes: Positions) -> Positions:
        """Return the Q candidates with the lowest scores; chance orders those with the same."""
        chance = self._stream["biased"].words(pool.size)
        return pool[np.lexsort((chance, scores(of, pool, attributes)))[: self.protocol.query]]

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
        steps = {
            step: DrawnTasks(
                self.protocol,
                ids,
                np.array([task.support[step] for task in self.drawn], np.int32),
                np.array([task.query[step] for task in self.drawn], np.int32),
            )
            for step in STEPS
        }
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
