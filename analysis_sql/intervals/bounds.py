"""Bounds for results without an error, or nearly so, where intervals are missing or too narrow.

If a task had an error with probability π, T independent tasks would all be without one with
probability (1 - π)^T; so π <= 1 - (1 - level)^(1/T), the exact bound of Clopper & Pearson
(Biometrika 1934) for 0 of T.  For **new classes** T counts only tasks that share no class.

Above 98 % Student's interval of 95 % covers as little as 76 %.  There the exact interval is used,
of as many queries as the tasks are worth (Korn & Graubard, Survey Methodology 1998)::

    n* = p(1-p)/se² · (t(n-1)/t(T-1))²      at most n, the queries of all tasks
    1 - upper, 1 - lower = the Beta quantiles of Clopper and Pearson at n* (1-p) errors of n*

with p the mean, se the standard error between tasks and t two-sided quantiles.  Both are about new
images of these classes, tasks taken as independent (docs/statistics.md, studies/coverage).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, inf, log1p

import numpy as np
from msgspec import Struct
from scipy.special import betaincinv, stdtrit

from analysis_sql.intervals.arrays import AnyInts
from analysis_sql.intervals.intervals import Interval

SEARCH_STEPS = 2_000
"""Steps after which the search for class-disjoint tasks stops with the best it has found."""


class Saturation(Struct, frozen=True):
    """Upper bounds, in percent, on the share of tasks with an error (or a difference).

    `bound` is from all tasks, `new_classes_bound` from those that share no class.
    """

    level: float
    tasks: int
    bound: float
    disjoint: int
    new_classes_bound: float


def zero_bound(trials: int, level: float = 0.95) -> float:
    """Bound a probability from above, in percent, given 0 of so many independent trials."""
    return -100.0 * expm1(log1p(-level) / trials)


def disjoint_tasks(class_ids: AnyInts, *, steps: int = SEARCH_STEPS) -> tuple[int, ...]:
    """Choose many tasks no two of which share a class, from the classes of each, int (T, K).

    Returns rows, ascending; after `steps` there may be a larger choice.

    A depth-first search, the same every time: take the class that the fewest tasks left
    contain, and first the one of these that excludes the fewest others, or none.
    """
    classes = np.asarray(class_ids)
    way = classes.shape[1]
    rows, first = np.unique(np.sort(classes, axis=1), axis=0, return_index=True)
    rows = rows[np.argsort(first)]  # equal tasks once, in the order of the set
    ids = np.sort(first)
    members = [  # of each class: its tasks, as bits
        sum(1 << int(task) for task in np.flatnonzero((rows == c).any(axis=1)))
        for c in np.unique(rows)
    ]
    number = {int(c): i for i, c in enumerate(np.unique(rows))}
    clashes = []  # of each task: itself and those that share a class with it
    for row in rows.tolist():
        bits = 0
        for c in row:
            bits |= members[number[c]]
        clashes.append(bits)
    return tuple(sorted(int(ids[task]) for task in _packing(members, clashes, way, steps)))


def _packing(
    members: Sequence[int], clashes: Sequence[int], way: int, steps: int
) -> tuple[int, ...]:
    """Search for :func:`disjoint_tasks` over sets of tasks that are the bits of an integer."""
    best: tuple[int, ...] = ()
    stack: list[tuple[int, tuple[int, ...]]] = [((1 << len(clashes)) - 1, ())]
    while stack:
        left, taken = stack.pop()
        if len(taken) > len(best):
            best = taken
        used = [tasks for bits in members if (tasks := bits & left)]
        if len(taken) + len(used) // way <= len(best):
            continue
        if steps <= 0 and best:
            return best
        steps -= 1
        rarest = min(used, key=int.bit_count)
        branches = sorted(_bits(rarest), key=lambda task: (clashes[task] & left).bit_count())
        stack.append((left & ~rarest, taken))
        stack.extend((left & ~clashes[task], (*taken, task)) for task in reversed(branches))
    return best


def _bits(number: int) -> list[int]:
    """Return the positions of the ones of an integer, ascending."""
    positions = []
    while number:
        low = number & -number
        positions.append(low.bit_length() - 1)
        number ^= low
    return positions


ABOVE = 98.0
"""Mean accuracy, in percent, from which on the bounds are given."""


class NearPerfect(Struct, frozen=True):
    """Exact bounds of an accuracy, in percentage points, together at a level.

    They are those of `effective` independent queries, n*.
    """

    level: float
    low: float
    high: float
    effective: float


def near_perfect(interval: Interval, n_query: int) -> NearPerfect | None:
    """Bound an open interval's mean; None unless it is above :data:`ABOVE` and below 100 %."""
    half = interval.halfwidth
    if interval.kind != "open" or not half or not ABOVE < interval.mean < 100.0:
        return None
    tail = (1.0 - interval.level) / 2.0
    errors, queries = 1.0 - interval.mean / 100.0, interval.tasks * n_query
    se = half / 100.0 / -float(stdtrit(interval.tasks - 1, tail))
    certainty = float(stdtrit(queries - 1, tail) / stdtrit(interval.tasks - 1, tail))
    worth = min(errors * (1.0 - errors) / se**2 * certainty**2, float(queries))
    wrong = errors * worth
    least = float(betaincinv(wrong, worth - wrong + 1.0, tail))
    most = float(betaincinv(wrong + 1.0, worth - wrong, 1.0 - tail))
    return NearPerfect(interval.level, 100.0 * (1.0 - most), 100.0 * (1.0 - least), worth)


def variance_factor(tasks: int, share: float) -> float:
    """Return how many times v_mc the variance of the mean is at most: 1 + B ρ/(1-ρ).

    Each term of Hoeffding's decomposition has in the mean over all tasks at most the share ρ of
    its weight in one task (Hoeffding, Ann. Math. Statist. 1948); tasks of one pool vary less
    than tasks of new ones, whence 1-ρ.  Infinite where every task has everything.
    """
    return 1.0 + tasks * share / (1.0 - share) if share < 1.0 else inf
