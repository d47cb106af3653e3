"""Halves of characters, and what leaving one out says of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from benchmark_spec.protocol import Protocol
from studies.common import LEVEL, pooled_tasks

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

POOL = 40
"""Times as many tasks of all characters as of a half: about 1 in 35 lies in a half."""

JACKKNIFED = 50
"""Halvings of which scripts are left out, for the error of shares."""


@dataclass(frozen=True, eq=False)
class Characters:
    """Of N images of C classes: the class and group of each image, the script of each class.

    A class that is no part of the question has -1.
    """

    owner: Ints
    groups: Ints
    scripts: Ints

    def among(self, classes: Bools) -> Characters:
        """Keep some classes (C,)."""
        return replace(
            self, owner=np.where(classes[self.owner] & (self.owner >= 0), self.owner, -1)
        )

    def having(self, groups: int) -> Characters:
        """Keep the classes that have at least so many groups."""
        classes = self.owner[np.unique(self.groups, return_index=True)[1]]
        return self.among(np.bincount(classes[classes >= 0], minlength=self.scripts.size) >= groups)

    @property
    def classes(self) -> Ints:
        """The classes that are kept."""
        return np.unique(self.owner[self.owner >= 0])


@dataclass(frozen=True, eq=False)
class Tasks:
    """B tasks: classes (B, K), images (B, K, m), and accuracies of M methods (M, B)."""

    class_ids: Ints
    images: Ints
    y: Floats

    def where(self, rows: Bools) -> Tasks:
        """Keep some tasks (B,)."""
        return Tasks(self.class_ids[rows], self.images[rows], self.y[:, rows])


Answering = Callable[[Ints, Protocol], Floats]
"""Of the images of tasks (B, K, S+Q): accuracies (M, B)."""


def halve(strata: Ints, rng: np.random.Generator) -> Bools:
    """Say of each unit whether it is in the first half of its stratum; one over goes by chance."""
    _, stratum = np.unique(strata, return_inverse=True)
    sizes = np.bincount(stratum)
    order = np.lexsort((rng.random(stratum.size), stratum))
    rank = np.empty(stratum.size, np.int64)
    rank[order] = np.arange(stratum.size) - (np.cumsum(sizes) - sizes)[stratum[order]]
    return np.asarray(rank < ((sizes + rng.integers(2, size=sizes.size)) // 2)[stratum])


def split(data: Characters, question: LeftOut, rng: np.random.Generator) -> Bools:
    """Say of each image (N,) whether it is in the first half, by what the question splits."""
    if question == "images":
        _, first, unit = np.unique(data.groups, return_index=True, return_inverse=True)
        return halve(data.owner[first], rng)[unit]
    scripts = data.scripts if question == "classes" else np.arange(data.scripts.max() + 1)
    inside = np.zeros(scripts.size, bool)
    some = data.classes if question == "classes" else np.unique(data.scripts[data.classes])
    strata = scripts[some] if question == "classes" else np.zeros(some.size, np.int64)
    inside[some] = halve(strata, rng)
    of_class = inside if question == "classes" else inside[data.scripts]
    return np.asarray(of_class[data.owner])


def draw(data: Characters, protocol: Protocol, tasks: int, seed: int, answer: Answering) -> Tasks:
    """Draw tasks of the images kept as in a `pooled` set, and have them answered."""
    class_ids, chosen, _ = pooled_tasks(
        data.owner, protocol, data.scripts.size, dataset="half", seed=seed, tasks=tasks,
        groups=data.groups,
    )  # fmt: skip
    return Tasks(class_ids, chosen, answer(chosen, protocol))


def judge(data: Characters, tasks: Tasks) -> Floats:
    """Compute (4, M, M): the means, and half-widths by leaving out images, classes, superclasses.

    On the diagonal accuracies, else differences; NaN where there is no interval.
    """
    design = TaskDesign.of(tasks.class_ids, tasks.images, data.owner, data.groups, data.scripts)
    intervals = leave_one_out(design, tasks.y, LEVEL)
    spreads = [getattr(intervals, name) for name in LEFT_OUT]
    none = np.full(intervals.mean.shape, np.nan)
    return np.stack([intervals.mean, *(none if s is None else s.halfwidth for s in spreads)])


def judge_without(data: Characters, tasks: Tasks, whole: Floats, script: int) -> Floats:
    """Compute :func:`judge` of a half without a script; `whole`, of all of it, if it has none."""
    of_script = data.scripts == script
    if not of_script[data.classes].any():
        return whole
    return judge(data.among(~of_script), tasks.where(~of_script[tasks.class_ids].any(axis=1)))


@dataclass(frozen=True, eq=False)
class Halvings:
    """What both halves of n halvings say, and without each of G scripts.

    Attributes
    ----------
    sizes
        Scripts and classes of a half, and its tasks, on average.
    whole : float (n, 2, 4, M, M)
        Of :func:`judge`.
    without : float (G, n', 2, 4, M, M)
        Of :func:`judge_without`, of the first n' halvings.
    """

    sizes: tuple[float, float, float]
    whole: Floats
    without: Floats


def halvings(
    data: Characters,
    question: LeftOut,
    protocol: Protocol,
    answer: Answering,
    *,
    splits: int,
    tasks: int,
) -> Halvings:
    """Split many times by a question, and judge both halves."""
    m = protocol.per_class
    data = data.having(2 * (m + 1) if question == "images" else m + 1)
    pool = None if question == "images" else draw(data, protocol, POOL * tasks, 0, answer)
    scripts = np.unique(data.scripts[data.classes])
    whole, without, sizes = [], [], []
    for number in range(splits):
        first = split(data, question, np.random.default_rng(number))
        halves = []
        for inside in (first, ~first):
            half = replace(data, owner=np.where(inside, data.owner, -1))
            if pool is None:
                halves.append((half, draw(half, protocol, tasks, number, answer)))
            else:
                inner = np.isin(pool.class_ids, half.classes).all(axis=1)
                halves.append((half, pool.where(np.asarray(inner))))
        both = [judge(*half) for half in halves]
        whole.append(both)
        if number < JACKKNIFED:
            pairs = list(zip(halves, both, strict=True))
            without.append([[judge_without(*h, one, s) for h, one in pairs] for s in scripts])
        sizes += [
            (np.unique(h.scripts[h.classes]).size, h.classes.size, t.y.shape[1]) for h, t in halves
        ]
    mean = np.mean(sizes, axis=0)
    return Halvings(tuple(mean.tolist()), np.array(whole), np.array(without).swapaxes(0, 1))
