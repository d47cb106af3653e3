"""Leaderboards: how often "no" hits one of the best, and what a rule that prevents it would cost.

A board has M methods and T tasks of 20 queries.  Tasks are hard or easy for all (standard
deviation 0.15), methods find them differently hard (0.05).  The leader of each board is the highest
mean of its own data.  In boards for new classes, of five at a time out of 20, each board draws its
classes anew, which are hard for all and for single methods (0.1 each).

Three rules say "no", each with one-sided paired tests at a = 5 %:

leader
    The leader is better at a/(M - 1): the rule of leaderboards
    (:mod:`analysis_sql.multiple_comparisons`).
holm
    The leader is better after Holm's adjustment over all pairs.
step-down
    The leader is better at a/(m (m - 1)), m the methods that have no "no" so far, itself included.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparisons import conclusive, holm
from analysis_sql.intervals.counts import Counts
from analysis_sql.multiple_comparisons import ahead_p, could_be_best, lead, leader_of
from studies.common import Array, head, marked, row, spread_out

METHODS, TASKS = (2, 5, 10, 40), (13, 30, 200, 600)
RULES = ("leader", "holm", "step-down")
LEVEL, QUERIES = 0.95, 20
HARD, OWN = 0.15, 0.05
CLASSES, WAY, CLASS_TASKS, CLASS_HARD = 20, 5, 60, 0.1
_VALUES = 4_000_000


@dataclass(frozen=True)
class Cell:
    """M expected accuracies, T, and the boards to draw."""

    accuracies: tuple[float, ...]
    tasks: int
    boards: int
    seed: int

    @property
    def best(self) -> Array:
        """Which methods are as good as any, bool (M,)."""
        accuracies = np.array(self.accuracies)
        return np.asarray(accuracies == accuracies.max())


@dataclass(frozen=True)
class Noes:
    """Of some boards: in how many a best method got a "no", and how many "no"s hit others."""

    wrong: int
    right: int


def equal(methods: int) -> tuple[float, ...]:
    """Methods of one accuracy."""
    return (0.6,) * methods


def nearly_equal(methods: int) -> tuple[float, ...]:
    """Let one be better by a thousandth of a point."""
    return (0.60001, *equal(methods - 1))


def spread(methods: int) -> tuple[float, ...]:
    """Spread means evenly over 10 points."""
    return tuple(0.6 - np.linspace(0, 0.1, methods))


def one_sided(x: Array) -> tuple[Array, Array]:
    """Return totals (boards, M), and p (boards, M, M) of "the row is better than the column".

    Parameters
    ----------
    x : int (boards, M, T)
        Correct queries.
    """
    tasks = x.shape[2]
    values = x.astype(float)
    total = values.sum(axis=2)
    scatter = np.einsum("bit,bjt->bij", values, values, optimize=True)
    scatter -= total[:, :, None] * total[:, None, :] / tasks
    own = np.einsum("bii->bi", scatter)
    apart = np.maximum(own[:, :, None] + own[:, None, :] - 2 * scatter, 1e-9)
    score = (total[:, :, None] - total[:, None, :]) / np.sqrt(apart * tasks / (tasks - 1))
    return total, np.asarray(stdtr(tasks - 1, -score))


def noes(x: Array) -> dict[str, Array]:
    """Return which methods each rule says "no" to, bool (boards, M)."""
    boards, methods = x.shape[:2]
    total, p = one_sided(x)
    every = np.arange(boards)
    leader = total.argmax(axis=1)
    ahead = p[every, leader]
    ahead[every, leader] = 1.0
    upper = np.triu(np.ones((methods, methods), bool), 1)
    two_sided = np.where(upper, np.minimum(2 * np.minimum(p, 1 - p), 1.0), np.nan)
    pairs = np.stack([conclusive(holm(each), LEVEL) for each in two_sided])
    pairs |= pairs.transpose(0, 2, 1)
    order = np.argsort(ahead, axis=1)
    left = np.arange(methods, 0, -1)
    limits = (1 - LEVEL) / np.maximum(left * (left - 1), 1)
    steps = np.logical_and.accumulate(np.take_along_axis(ahead, order, axis=1) <= limits, axis=1)
    down = np.zeros((boards, methods), bool)
    np.put_along_axis(down, order, steps, axis=1)
    return {
        "leader": ~could_be_best(ahead, methods, LEVEL),
        "holm": pairs[every, leader],
        "step-down": down,
    }


def run(cell: Cell) -> dict[str, Noes]:
    """Return what each rule says on the boards of a cell."""
    accuracies, best = np.array(cell.accuracies), cell.best
    methods = accuracies.size
    rng = np.random.default_rng([cell.seed, methods, cell.tasks])
    found = dict.fromkeys(RULES, Noes(0, 0))
    step = max(1, _VALUES // (methods * max(methods, cell.tasks)))
    for start in range(0, cell.boards, step):
        some = min(step, cell.boards - start)
        hard = rng.normal(0, HARD, (some, 1, cell.tasks))
        own = rng.normal(0, OWN, (some, methods, cell.tasks))
        right = np.clip(accuracies[:, None] + hard + own, 0, 1)
        for rule, no in noes(rng.binomial(QUERIES, right)).items():
            before = found[rule]
            found[rule] = Noes(
                before.wrong + int(no[:, best].any(axis=1).sum()),
                before.right + int(no[:, ~best].sum()),
            )
    return found


def new_classes(cell: Cell) -> tuple[int, int]:
    """Count in how many boards a best method gets a "no" for new images, and for new classes."""
    accuracies, best = np.array(cell.accuracies), cell.best
    rng = np.random.default_rng([cell.seed, 1, accuracies.size])
    ids = np.stack([rng.permutation(CLASSES)[:WAY] for _ in range(cell.tasks)])
    design = ClassDesign.of(ids)
    wrong = np.zeros(2, int)
    for _ in range(cell.boards):
        hard = rng.normal(0, CLASS_HARD, (1, CLASSES))
        own = rng.normal(0, CLASS_HARD, (accuracies.size, CLASSES))
        right = np.clip(accuracies[:, None] + (hard + own)[:, ids].mean(axis=2), 0, 1)
        x = rng.binomial(QUERIES, right).astype(np.int16)
        counts = Counts(x, np.full(accuracies.size, cell.tasks), QUERIES)
        first = leader_of(counts.moments().mean, counts.tasks, np.ones(len(counts), bool))
        ahead = lead(counts.select([first]), counts)
        p = ahead_p(ahead, "open"), ahead_p(ahead, "class-aware", design)
        wrong += [not could_be_best(each, len(counts), LEVEL)[best].all() for each in p]
    images, classes = wrong.tolist()
    return images, classes


def part(options: argparse.Namespace) -> int:
    """Print how often each rule denies one of the best, and what it costs."""
    accuracies = (equal, nearly_equal, spread)
    sizes = [(methods, tasks) for methods in METHODS for tasks in TASKS]
    jobs = [
        Cell(accuracy(methods), tasks, options.sets, options.seed)
        for methods, tasks in sizes
        for accuracy in accuracies
    ]
    results = spread_out(run, jobs, options.processes)
    print(
        head(
            "methods",
            "tasks",
            *(f"equal, some no: {rule}" for rule in RULES),
            "the one best, no: leader",
            "right noes a board: leader",
            *(f"kept: {rule}" for rule in RULES[1:]),
        )
    )
    missed = 0
    limit = 5.0 + 200 * (0.05 * 0.95 / options.sets) ** 0.5
    for i, (methods, tasks) in enumerate(sizes):
        same, nearly, apart = results[3 * i : 3 * i + 3]
        best_missed = 100 * nearly["leader"].wrong / options.sets
        missed += best_missed > limit
        right = apart["leader"].right
        print(
            row(
                methods,
                tasks,
                *(100 * same[rule].wrong / options.sets for rule in RULES),
                marked(best_missed, best_missed > limit),
                f"{right / options.sets:.2f}",
                *(100 * apart[rule].right / right for rule in RULES[1:]),
            )
        )
    return missed + _new_class_boards(options)


def _new_class_boards(options: argparse.Namespace) -> int:
    """Print the same rule for new classes, on a tenth as many boards."""
    many = max(options.sets // 10, 1)
    accuracies = (equal, nearly_equal)
    jobs = [
        Cell(accuracy(methods), CLASS_TASKS, many, options.seed)
        for methods in METHODS
        for accuracy in accuracies
    ]
    results = spread_out(new_classes, jobs, options.processes)
    print()
    print(head("methods", "equal, some no: new images", "new classes", "the one best: new classes"))
    missed = 0
    limit = 5.0 + 200 * (0.05 * 0.95 / many) ** 0.5
    for i, methods in enumerate(METHODS):
        (images, classes), (_, best) = results[2 * i : 2 * i + 2]
        missed += 100 * best / many > limit
        shares = [100 * n / many for n in (images, classes)]
        print(row(methods, *shares, marked(100 * best / many, 100 * best / many > limit)))
    return missed
