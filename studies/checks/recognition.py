"""Accuracies of other tasks, or in another order, are recognised no more often than stated.

Two thousand simulated results of each of several worlds in which the tasks are not those that the
accuracies were made on: of another seed, shuffled within blocks, drifting, reversed, or of another
task set beside a right one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from studies.recognition.statistics import Answered, Recognition, blocks, recognise

SIZES = (250, 180, 120, 120, 90, 90, 70, 60, 60, 50, 50, 45, 45, 40, 40, 40)
"""Images of classes that run out one after another, as vgg_flower's do."""

WORLDS = ("other seed", "shuffled in blocks", "noise that drifts")

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


def drawn(rng: np.random.Generator, sizes: tuple[int, ...], per_task: int, cap: int = 2000) -> Ids:
    """Draw the classes (T, 5) of an open set."""
    left, found = np.array(sizes), list[Ids]()
    while (eligible := np.flatnonzero(left >= per_task)).size >= 5 and len(found) < cap:
        found.append(rng.permutation(eligible)[:5])
        left[found[-1]] -= per_task
    return np.array(found)


def one(ids: Ids, values: Floats, reference: Floats | None, seed: int, orders: int) -> Recognition:
    """Test one method's accuracies on one task set."""
    answer = Answered("mine", "cats", "open", ids, values, reference)
    return recognise([answer], seed=seed, permutations=orders).each[0]


def hard_classes(rng: np.random.Generator, ids: Ids) -> Floats:
    """Simulate accuracies (T,) in which classes matter."""
    effect = rng.normal(size=ids.max() + 1)
    return np.asarray(effect[ids].sum(axis=1) + rng.normal(size=len(ids)))


def others(world: str, per_task: int, number: int, orders: int) -> list[Recognition]:
    """Test results that were made on other tasks than they are held against.

    Large classes are easier, so that all tasks become easier along the set.
    """
    rng = np.random.default_rng(9)
    size = np.argsort(np.argsort(SIZES)) / len(SIZES)
    found = []
    for i in range(number):
        ids, other = drawn(rng, SIZES, per_task), drawn(rng, SIZES, per_task)
        tasks = min(len(ids), len(other))
        effect = rng.normal(size=len(SIZES)) + 1.5 * size
        noise = rng.normal(size=tasks)
        if world == "other seed":
            values = effect[other[:tasks]].sum(axis=1) + noise
        elif world == "noise that drifts":
            values = noise + np.linspace(0, 3, tasks)
        else:
            order = np.concatenate([rng.permutation(np.arange(tasks)[b]) for b in blocks(tasks)])
            values = effect[ids[:tasks][order]].sum(axis=1) + noise
        reference = effect[ids[:tasks]].sum(axis=1) + rng.normal(size=tasks)
        found.append(one(ids[:tasks], values, reference, i, orders))
    return found


def reversed_orders(number: int, orders: int) -> list[Recognition]:
    """Test results that stand in the reversed order."""
    rng = np.random.default_rng(10)
    found = []
    for i in range(number):
        ids = drawn(rng, (400,) * 10 + (100,) * 20, 10)
        found.append(one(ids, hard_classes(rng, ids)[::-1], None, i, orders))
    return found


def two_sets(rng: np.random.Generator, *, wrong: bool, classes: int = 300) -> list[Answered]:
    """Simulate a large task set, and a small one in which each class is once; the same effects."""
    effect = 2 * rng.normal(size=classes)
    large = np.stack([rng.permutation(classes)[:5] for _ in range(4 * classes)])
    small = rng.permutation(classes).reshape(-1, 5)
    of = rng.permutation(classes).reshape(-1, 5) if wrong else small
    return [
        Answered("mine", "cats", name, ids, effect[made].sum(axis=1) + rng.normal(size=len(ids)))
        for name, ids, made in (("large", large, large), ("small", small, of))
    ]


def beside_a_right_one(number: int, orders: int, classes: int = 300) -> list[Recognition]:
    """Test wrong results on a task set whose data set has right results on another."""
    rng = np.random.default_rng(7)
    return [
        recognise(two_sets(rng, wrong=True, classes=classes), seed=i, permutations=orders).each[1]
        for i in range(number)
    ]


def false_rate(ps: list[float | None], level: float) -> float:
    """Compute the share of p-values at or below a level."""
    return float(np.mean([p <= level for p in ps if p is not None]))


def at_most(level: float, number: int) -> float:
    """As many as would be seen of a valid test but once in a thousand times."""
    return float(level + 3.1 * (level * (1 - level) / number) ** 0.5)


def hold(name: str, ps: list[float | None], allowed: dict[float, float]) -> None:
    """Print how often a test erred at some levels, and assert that it is no more than allowed."""
    rates = {level: false_rate(ps, level) for level in allowed}
    said = ", ".join(f"{rate:.4f} at {level:g}" for level, rate in rates.items())
    print(f"{name}: {said}, of {len(ps)}")
    for level, rate in rates.items():
        assert rate <= at_most(level, len(ps)) + allowed[level], (name, level, rate)


def main() -> None:
    """Print how often others are recognised; 1 point more than by chance is allowed at 5 %."""
    print("share of results on other tasks with a p-value at or below a level")
    for per_task, number in ((10, 2000), (2, 800)):
        for world in WORLDS:
            found = others(world, per_task, number, 1999)
            name = f"{world}, {per_task} images a class and task"
            allowed = {0.05: 0.01, 0.01: 0.004, 0.001: 0.0}
            hold(name, [of.p for of in found], allowed)
            hold(f"{name}, by classes", [of.by_classes for of in found], allowed)
    hold("reversed", [of.p for of in reversed_orders(800, 999)], {0.05: 0.01, 0.001: 0.0})
    hold("beside a right one", [of.p for of in beside_a_right_one(150, 199)], {0.05: 0.0})
