"""When many confidence sequences are first conclusive, all at once: for simulations."""

from math import log

import numpy as np

from analysis_sql.intervals.arrays import AnyInts, Ints
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.stopping import GRID, LOG_WEIGHTS, log_factors


def first_conclusive(differences: AnyInts, queries_per_task: int, level: float = 0.95) -> Ints:
    """`conclusive_at` of :class:`ConfidenceSequence` (...), 0 if never, of differences (..., T)."""
    d = np.asarray(differences, np.int64)
    threshold = log(2.0 / (1.0 - check_level(level)))
    values, which = np.unique(d, return_inverse=True)
    which = which.reshape(d.shape)
    outside = np.zeros(d.shape, bool)
    for sign in (1, -1):
        factors = log_factors(sign * values / queries_per_task, 1 / GRID)
        capital = np.full(d.shape, -np.inf)
        for factor, weight in zip(factors.T, LOG_WEIGHTS, strict=True):
            capital = np.logaddexp(capital, weight + np.cumsum(factor[which], axis=-1))
        outside |= capital >= threshold
    return np.where(outside.any(axis=-1), outside.argmax(axis=-1) + 1, 0)
