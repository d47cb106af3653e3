"""Bounds of an accuracy near 100 %, where Student's interval covers too little.

Above 98 % most tasks have no error, a few have some, and a mean and its standard deviation are
small together: Student's interval of 95 % covers as little as 76 % there, the BCa bootstrap 80 %.
Clopper and Pearson's exact interval of all queries would do if these were independent; but a
task's are not.  So the exact interval is taken of as many queries as the tasks are worth (Korn &
Graubard, Survey Methodology 1998)::

    n* = p(1-p)/se² · (t(n-1)/t(T-1))²      at most n, the queries of all tasks
    1 - upper, 1 - lower = the Beta quantiles of Clopper and Pearson at n* (1-p) errors of n*

with p the mean, se the standard error between tasks and t two-sided quantiles: the first factor
counts how tasks differ, the second how well T tasks know it.  It covers at least 92 % where answers
to two queries of a task have a correlation of up to 0.02; see studies/coverage/README.md.

Estimand: open, new images of these classes, tasks taken as independent.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv, stdtrit

from analysis_sql.intervals.intervals import Interval

ABOVE = 98.0
"""Mean accuracy, in percent, from which on the bounds are given."""


@dataclass(frozen=True)
class NearPerfect:
    """Exact bounds of an accuracy, in percentage points, together at a level.

    They are those of `effective` independent queries, n*.
    """

    level: float
    low: float
    high: float
    effective: float


def near_perfect(interval: Interval, n_query: int) -> NearPerfect | None:
    """Bound an open interval's mean; None unless it is above :data:`ABOVE` and below 100 %.

    None as well where all tasks are equal, or there is no interval.  `n_query` are the queries in a
    task; several runs on the same ones do not make them more.
    """
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
