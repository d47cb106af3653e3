"""Exact bounds for results with no or few errors, where intervals are missing or too narrow.

If a task has an error with probability π, T independent tasks are all without one with probability
(1 - π)^T; so π <= 1 - (1 - level)^(1/T), the exact bound of Clopper & Pearson (Biometrika 1934) for
0 of T.  For **new classes** T counts only tasks that share no class.

Above 98 % accuracy Student's interval of 95 % covers as little as 76 %.  There the exact interval
is given, with the effective number of queries (Korn & Graubard, Survey Methodology 1998)::

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
"""Steps after which the search for class-disjoint tasks stops."""


class Saturation(Struct, frozen=True):
    """Upper bounds, in percent, on the share of tasks with an error (or a difference).

    `bound` is from all tasks, `new_classes_bound` from the `disjoint` ones that share no class.
    """

    level: float
    tasks: int
    bound: float
    disjoint: int
    new_classes_bound: float


def zero_bound(trials: int, level: float = 0.95) -> float:
    """Bound a probability from above, in percent, given 0 successes in independent trials."""
    return -100.0 * expm1(log1p(-level) / trials)


def disjoint_tasks(class_ids: AnyInts, *, steps: int = SEARCH_STEPS) -> tuple[int, ...]:
    """Choose many tasks no two of which share a class, from the classes of each, int (T, K).

    Returns rows, ascending; after `steps` steps the choice may not be the largest.

    The search is depth-first and deterministic: it branches over the tasks of the class that the
    fewest remaining tasks have, first over the task that excludes the fewest others, at last over
    none of them.
    """
    ordered, first = np.unique(np.sort(class_ids, axis=1), axis=0, return_index=True)
    tasks = ordered[np.argsort(first)]  # equal tasks once, in the order of the set
    rows = np.sort(first)
    tasks_of_class = {  # sets of tasks are the bits of an integer
        int(c): sum(1 << int(task) for task in np.flatnonzero((tasks == c).any(axis=1)))
        for c in np.unique(tasks)
    }
    clashes = []  # of each task: itself and those that share a class with it
    for classes in tasks.tolist():
        bits = 0
        for c in classes:
            bits |= tasks_of_class[c]
        clashes.append(bits)
    chosen = _largest_packing([*tasks_of_class.values()], clashes, tasks.shape[1], steps)
    return tuple(sorted(int(rows[task]) for task in chosen))


def _largest_packing(
    tasks_of_class: Sequence[int], clashes: Sequence[int], way: int, steps: int
) -> tuple[int, ...]:
    """Search for :func:`disjoint_tasks`; sets of tasks are the bits of an integer."""
    best: tuple[int, ...] = ()
    stack: list[tuple[int, tuple[int, ...]]] = [((1 << len(clashes)) - 1, ())]
    while stack:
        left, taken = stack.pop()
        if len(taken) > len(best):
            best = taken
        used = [tasks for bits in tasks_of_class if (tasks := bits & left)]
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
    """Return the positions of the bits that are 1, ascending."""
    positions = []
    while number:
        low = number & -number
        positions.append(low.bit_length() - 1)
        number ^= low
    return positions


ABOVE = 98.0
"""Mean accuracy, in percent, above which exact bounds are given."""


class NearPerfect(Struct, frozen=True):
    """The exact interval of an accuracy, percentage points, from `effective` queries, n*."""

    level: float
    low: float
    high: float
    effective: float


def near_perfect(interval: Interval, n_query: int) -> NearPerfect | None:
    """Bound the mean of an open interval; None unless it is above :data:`ABOVE` and below 100 %."""
    half = interval.halfwidth
    if interval.kind != "open" or not half or not ABOVE < interval.mean < 100.0:
        return None
    tail = (1.0 - interval.level) / 2.0
    error_rate, queries = 1.0 - interval.mean / 100.0, interval.tasks * n_query
    se = half / 100.0 / -float(stdtrit(interval.tasks - 1, tail))
    t_ratio = float(stdtrit(queries - 1, tail) / stdtrit(interval.tasks - 1, tail))
    effective = min(error_rate * (1.0 - error_rate) / se**2 * t_ratio**2, float(queries))
    errors = error_rate * effective
    least = float(betaincinv(errors, effective - errors + 1.0, tail))
    most = float(betaincinv(errors + 1.0, effective - errors, 1.0 - tail))
    return NearPerfect(interval.level, 100.0 * (1.0 - most), 100.0 * (1.0 - least), effective)


def variance_factor(tasks: int, share: float) -> float:
    """Return an upper bound of the variance of the mean over v_mc: 1 + B ρ/(1-ρ).

    The weight of each term of Hoeffding's decomposition (Ann. Math. Statist. 1948) in the mean over
    all tasks is at most the share ρ of its weight in one task; 1-ρ is since tasks of one pool vary
    less than tasks of new pools.  The bound is infinite where every task has the whole pool.
    """
    return 1.0 + tasks * share / (1.0 - share) if share < 1.0 else inf
