"""The exact sign-flip test, for few tasks (docs/statistics.md).

Its p-value is the share of all 2^T choices of signs of the differences d_t for which the mean is at
least as far from 0 as observed (Fisher, The Design of Experiments, 1935).  With A = Σ|d_t| and W
the sum of the |d_t| with a plus, Σ ε_t d_t = 2W - A; the distribution of W is computed task by
task, with a relative error of at most T · 2^-52, and none up to 53 differences that are not 0.

It is about new images of these classes, tasks taken as independent.
"""

from __future__ import annotations

import numpy as np

from analysis_sql.intervals.arrays import AnyInts, Floats

_MOST_VALUES = 1 << 20
"""Values of W whose probabilities are held: 49 tasks of 32,767 queries have fewer."""

_NUMBERS_AT_ONCE = 1 << 17


def sign_flips(differences: AnyInts) -> Floats:
    """Return the two-sided p-values (P,) of paired differences (P, T), 1 where all are 0.

    NaN where W has more than :data:`_MOST_VALUES` values.
    """
    d = np.abs(np.asarray(differences, np.int64))
    observed = np.abs(np.sum(differences, axis=1, dtype=np.int64))
    unit = np.maximum(np.gcd.reduce(d, axis=1), 1)
    steps = np.sort(d, axis=1) // unit[:, None]
    # the rarer tail: W <= (A - |Σd|) / 2, which is an integer
    last = (steps.sum(axis=1) - observed // unit) // 2
    p = np.full(len(d), np.nan)
    order = np.argsort(last, kind="stable")
    order = order[last[order] < _MOST_VALUES]
    while order.size:  # pairs with about as many values of W together
        number = max(1, _NUMBERS_AT_ONCE // (int(last[order[-1]]) + 2))
        rows, order = order[-number:], order[:-number]
        column = np.arange(int(last[rows[-1]]) + 2)
        mass = np.zeros((rows.size, column.size))  # P(W = column - 1); the first stays 0
        mass[:, 1] = 1.0
        for step in steps[rows].T[:, :, None]:
            mass += np.take_along_axis(mass, np.maximum(column - step, 0), axis=1)
            mass[:, 1:] *= 0.5
        tail = np.where(column <= last[rows, None] + 1, mass, 0).sum(axis=1)
        p[rows] = np.minimum(2.0 * tail, 1.0)
    return p
