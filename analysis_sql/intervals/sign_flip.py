"""The exact sign-flip test, for few tasks (docs/statistics.md).

Its p-value is the share of all 2^T ways to choose the signs of the differences d_t for which the
mean is at least as far from 0 as observed (Fisher, The Design of Experiments, 1935).  With A =
Σ|d_t| and W the sum of those |d_t| that get a plus, Σ ε_t d_t = 2W - A; the distribution of W is
built up task by task, with a relative error of at most T · 2^-52, and none up to 53 differences
that are not 0. Where A is very large and T is not, all sums of either half of the tasks are listed.

It is about new images of these classes, tasks taken as independent.
"""

from __future__ import annotations

from math import gcd

import numpy as np

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from benchmark_spec.errors import SpecError

_EXACT_BITS = 53

_PLACES = 1 << 20
"""Values of W whose chances are kept, or as many as half of the tasks have sums."""

_MOST_PLACES = 1 << 28

_FEW_PLACES, _ROWS = 1 << 8, 1 << 8
"""Values of W up to which pairs are taken together, and how many pairs."""


def sign_flip(differences: AnyInts) -> float:
    """Return the two-sided p-value of paired differences (T,), 1 where all are 0."""
    d = np.asarray(differences)
    steps = np.sort(np.abs(d[d != 0].astype(np.int64)))
    observed = abs(int(d.sum(dtype=np.int64)))
    unequal = int(steps.size)
    if observed == 0:
        return 1.0
    steps //= gcd(*steps.tolist())
    observed = observed * int(steps.sum()) // int(np.abs(d).sum(dtype=np.int64))
    # the rarer tail: W <= (A - |Σd|) / 2, which is an integer
    last = (int(steps.sum()) - observed) // 2
    if unequal <= _EXACT_BITS and last > max(_PLACES, 1 << (unequal + 1) // 2):
        tail = _sums_up_to(steps, last) / 2.0**unequal
    elif last < _MOST_PLACES:
        tail = float(_half_chances(steps, last).sum())
    else:
        raise SpecError(
            f"{unequal} differences that add up to {int(steps.sum())} are too many for an exact "
            "sign-flip test",
            expected=f"at most {_EXACT_BITS} differences, or sums below {_MOST_PLACES}",
        )
    return min(1.0, 2.0 * tail)


def sign_flips(differences: AnyInts) -> Floats:
    """Return the p-values of many pairs (P, T), as :func:`sign_flip` gives that of each."""
    d = np.abs(np.asarray(differences, np.int64))
    observed = np.abs(np.sum(differences, axis=1, dtype=np.int64))
    unit = np.maximum(np.gcd.reduce(d, axis=1), 1)
    steps = np.sort(d, axis=1) // unit[:, None]
    last = (steps.sum(axis=1) - observed // unit) // 2
    p = np.ones(len(d))
    for row in np.flatnonzero(last >= _FEW_PLACES):
        p[row] = sign_flip(differences[row])
    few = np.flatnonzero(last < _FEW_PLACES)
    for start in range(0, few.size, _ROWS):
        rows = few[start : start + _ROWS]
        places = np.arange(int(last[rows].max()) + 2)
        chances = np.zeros((rows.size, places.size))  # of W = places - 1; the first stays 0
        chances[:, 1] = 1.0
        for step in steps[rows].T[:, :, None]:
            chances += np.take_along_axis(chances, np.maximum(places - step, 0), axis=1)
            chances[:, 1:] *= 0.5
        p[rows] = np.minimum(2.0 * np.where(places <= last[rows, None] + 1, chances, 0).sum(1), 1)
    return p


def _sums_up_to(steps: Ints, last: int) -> int:
    """Count which of the 2^T sums of some of the steps are at most `last`."""
    some, others = (_sums(half) for half in (steps[::2], steps[1::2]))
    parts = np.split(some, range(_PLACES, some.size, _PLACES))
    return sum(int(np.searchsorted(others, last - part, side="right").sum()) for part in parts)


def _sums(steps: Ints) -> Ints:
    """List all 2^T sums of some of the steps, ascending."""
    sums = np.zeros(1, np.int64)
    for step in steps.tolist():
        sums = np.sort(np.concatenate([sums, sums + step]), kind="stable")  # merges two runs
    return sums


def _half_chances(steps: Ints, last: int) -> Floats:
    """Compute P(W = w) for w = 0..`last`, W the sum of the steps that a fair coin takes.

    The steps (T,) are positive and ascending: so the distribution is short for long.
    """
    chances = np.zeros(last + 1)
    chances[0] = 1.0
    reach = 0
    for step in steps.tolist():
        reach = min(reach + step, last)
        chances[: reach + 1] *= 0.5
        if step <= reach:
            chances[step : reach + 1] += chances[: reach + 1 - step]  # all as they were before
    return chances
