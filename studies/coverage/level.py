"""Excess of the level: the level of accuracy falls, and there is no bias.

A class c of a task t is right with probability expit(μ + b_tc) on the first step and
expit(μ' + b_tc) on the other, the same b and one shift of level; 600 tasks of 5 classes, or
classes of 30 that recur.  So all of the excess on the other step is the level's.  A line gives the
excess on both steps, that of the level, and how often, in per cent, the closed interval of what
lies beyond the level holds 0.  The model of the interval has normal b_tc, each class of each task
its own.  In the last two lines something else happens: a class of each task loses one unit of the
logit more, and all classes lose the same share of their right answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from analysis_sql.bias import ClassSpread, step_score
from studies.common import LEVEL, Array, head, marked, row

TASKS, WAY = 600, 5
LIMIT = 93.0

Kind = Callable[[np.random.Generator], Array]


def normal(rng: np.random.Generator) -> Array:
    """As the model has it, of standard deviation 1.2."""
    return 1.2 * rng.standard_normal((TASKS, WAY))


def recurring(rng: np.random.Generator) -> Array:
    """Draw normal effects of 30 classes, the same in all tasks."""
    classes = 1.2 * rng.standard_normal(30)
    return classes[np.argsort(rng.random((TASKS, 30)), axis=1)[:, :WAY]]


def difficult(rng: np.random.Generator) -> Array:
    """Draw the same, with a normal effect of each task besides."""
    return normal(rng) + rng.standard_normal((TASKS, 1))


def equal(rng: np.random.Generator) -> Array:
    """Draw one effect for all classes of a task; tasks differ."""
    return np.repeat(rng.standard_normal((TASKS, 1)), WAY, axis=1)


def two(rng: np.random.Generator) -> Array:
    """Make one class in five two and a half units harder than the others."""
    return np.where(rng.random((TASKS, WAY)) < 0.2, -2.0, 0.5)


def skewed(rng: np.random.Generator) -> Array:
    """Draw an exponential law below: a few classes are far harder than all others."""
    return -rng.exponential(1.2, (TASKS, WAY))


LINES = [
    (of, kind, queries, first, then)
    for of, kind, queries, ends in (
        ("normal", normal, 5, ((0.976, 0.61), (0.75, 0.45))),
        ("normal", normal, 15, ((0.976, 0.61), (0.75, 0.45))),
        ("recurring", recurring, 5, ((0.976, 0.61), (0.75, 0.45))),
        ("normal, tasks differ", difficult, 5, ((0.976, 0.61), (0.75, 0.45))),
        ("equal, tasks differ", equal, 5, ((0.976, 0.61), (0.75, 0.45))),
        ("two kinds", two, 5, ((0.976, 0.61), (0.75, 0.45))),
        ("skewed", skewed, 5, ((0.976, 0.61), (0.75, 0.45))),
        ("one class loses more", normal, 5, ((0.75, 0.45),)),
        ("the same share lost", normal, 5, ((0.75, 0.45),)),
    )
    for first, then in ends
]
MODEL = {"normal", "equal, tasks differ"}
"""Kinds of classes that the model describes: its limit holds for these."""


def at(logits: Array, accuracy: float) -> Array:
    """Shift the logits of all classes by one amount, so that so many queries are right."""
    return np.asarray(
        expit(logits + brentq(lambda by: expit(logits + by).mean() - accuracy, -20, 20))
    )


def measured(
    rng: np.random.Generator, of: str, kind: Kind, queries: int, first: float, then: float
) -> tuple[float, float, float, bool] | None:
    """Draw both steps: their excess, that of the level, whether the interval beyond it holds 0."""
    classes = kind(rng)
    before = at(classes, first)
    if of == "one class loses more":
        classes = classes - (np.arange(WAY) == 0)
    after = before * then / first if of == "the same share lost" else at(classes, then)
    one, other = (rng.binomial(queries, share) for share in (before, after))
    spread = ClassSpread.of(one, queries)
    if spread is None:
        return None
    start = step_score(one, queries, "closed", LEVEL).excess
    score = step_score(other, queries, "closed", LEVEL, spread.at(other))
    over, beyond, level = score.excess, score.beyond_level, score.of_level
    assert start
    assert over
    assert beyond
    assert beyond.halfwidth is not None
    assert level is not None
    return start.mean, over.mean, level, abs(beyond.mean) <= beyond.halfwidth


def part(options: argparse.Namespace) -> int:
    """Print a line for each kind of classes; count those of the model below the limit."""
    print(head("classes", "queries", "accuracy", "then", "excess", "then", "of the level", "holds",
               "not told"))  # fmt: skip
    missed = 0
    for number, line in enumerate(LINES):
        rng = np.random.default_rng([options.seed, number])
        drawn = [measured(rng, *line) for _ in range(options.sets)]
        told = np.array([found for found in drawn if found is not None], float)
        start, over, level, holds = told.mean(axis=0)
        short = line[0] in MODEL and 100 * holds < LIMIT
        missed += short
        of, _, queries, first, then = line
        print(row(of, queries, 100 * first, 100 * then, float(start), float(over), float(level),
                  marked(100 * holds, short), len(drawn) - len(told)), flush=True)  # fmt: skip
    return missed
