"""Accuracies above 98 %: Student's interval, the BCa bootstrap and exact bounds.

Tasks are independent: all equally hard (overdispersion 0), or their accuracies follow a beta law
such that the answers to two queries of a task have the correlation that the table names.  Judged
are the data sets whose tasks are not all equal.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.special import stdtrit

from analysis_sql.intervals.intervals import Interval, near_perfect
from studies.common import LEVEL, Array, head, row
from studies.coverage.bootstrap import bca_intervals

TASKS, QUERIES = (13, 30, 100, 600), (25, 50)
ACCURACIES, OVERDISPERSION = (0.985, 0.99, 0.995, 0.999), (0.0, 0.02, 0.1)
BOOTSTRAPPED, RESAMPLES = 200, 999


def part(options: argparse.Namespace) -> int:
    """Print the coverage of all three, and the width of the bounds over Student's."""
    print(head("T", "queries", "accuracy", "correlation", "open", "BCa", "exact", "width"))
    missed = 0
    for tasks in TASKS:
        for query in QUERIES:
            for accuracy in ACCURACIES:
                for share in OVERDISPERSION:
                    cell = (tasks, query, accuracy, share)
                    rng = np.random.default_rng([options.seed, 7, *(int(1e4 * x) for x in cell)])
                    found = _judge(rng, options.sets, *cell)
                    missed += found[2] < 90.0
                    mean = f"{100 * accuracy:g}"
                    print(row(tasks, query, mean, str(share), *found[:3], f"{found[3]:.2f}"))
    return missed


def _judge(
    rng: np.random.Generator, sets: int, tasks: int, query: int, accuracy: float, share: float
) -> tuple[float, float, float, float]:
    """Return per cent of data sets whose truth each interval holds, and the relative width."""
    p: Any = accuracy
    if share:
        many = 1 / share - 1
        p = rng.beta(accuracy * many, (1 - accuracy) * many, (sets, tasks))
    x: Array = rng.binomial(query, p, (sets, tasks))
    x = x[(x != x[:, :1]).any(axis=1)]
    mean = 100 * x.mean(axis=1) / query
    t = -float(stdtrit(tasks - 1, (1 - LEVEL) / 2))
    half = t * 100 * x.std(axis=1, ddof=1) / query / np.sqrt(tasks)
    truth, exact, widths = 100 * accuracy, [], []
    for m, h in zip(mean.tolist(), half.tolist(), strict=True):
        found = near_perfect(Interval("open", LEVEL, tasks, m, h, False), query)
        low, high = (m - h, m + h) if found is None else (found.low, found.high)
        exact.append(low <= truth <= high)
        widths.append((high - low) / (2 * h))
    bounds = bca_intervals(x[:BOOTSTRAPPED], query, LEVEL, seed=0, resamples=RESAMPLES)
    bca = [b.low is not None and b.high is not None and b.low <= truth <= b.high for b in bounds]
    student = np.abs(mean - truth) <= half
    held = [100 * float(np.mean(each)) for each in (student, bca, exact)]
    return held[0], held[1], held[2], float(np.mean(widths))
