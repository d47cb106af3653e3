"""Priors of how strongly superclasses differ, where their mean square alone tells of it.

With evenly used superclasses and well known classes and tasks, a mean has variance 1 + x in units
of what classes and tasks do to it, and r = G - 1 coordinates of superclasses have variance 1 + x in
units of what these do to them: their sum of squares is (1 + x) chi-square(r), and independent of
the mean.  So coverage and width of any prior of x are integrals over one chi-square law, and
nothing is drawn.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2

from analysis_sql.class_aware.superclass_mixture import LOG_SHARES
from studies.coverage.measure import LEVEL, Z, head, row

SUPERCLASSES, STRENGTHS = (6, 8, 20), (0.0, 0.25, 1.0, 3.0, 10.0, 100.0)
QUANTILES, STEPS = 2000, 60

Array = np.ndarray[Any, Any]

X = np.exp(LOG_SHARES)
PRIORS: dict[str, Array] = {
    "chosen": np.sqrt(X / (1 + X)),
    "half-Cauchy, median 1": np.sqrt(X) / (1 + X),
    "half-Cauchy, median 4": np.sqrt(X) / (1 + X / 16),
    "flat": np.sqrt(X),
}
"""Of d ln(x)."""


def _halfwidths(prior: Array, rank: int, squares: Array) -> Array:
    """Half-widths (S,) by sums of squares (S,), from halving ln(h)."""
    log_weights = -rank / 2 * np.log1p(X) - squares[:, None] / 2 / (1 + X) + np.log(prior)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    error = np.sqrt(1 + X)
    low, high = np.zeros(len(squares)), np.full(len(squares), np.log(Z * error[-1]))
    for _ in range(STEPS):
        middle = (low + high) / 2
        outside = (weights * 2 * ndtr(-np.exp(middle)[:, None] / error)).sum(axis=1)
        low = np.where(outside > 1 - LEVEL, middle, low)
        high = np.where(outside > 1 - LEVEL, high, middle)
    return np.asarray(np.exp(high))


def part(_: argparse.Namespace) -> int:
    """Print coverage in per cent, and mean half-width over 1.96 true standard deviations."""
    print(head("superclasses", "prior", *(f"x = {x:g}" for x in STRENGTHS)))
    share = (np.arange(QUANTILES) + 0.5) / QUANTILES
    for superclasses in SUPERCLASSES:
        for name, prior in PRIORS.items():
            cells = []
            for x in STRENGTHS:
                squares = (1 + x) * chi2.ppf(share, superclasses - 1)
                widths = _halfwidths(prior, superclasses - 1, squares) / np.sqrt(1 + x)
                coverage = 100 * (1 - 2 * float(ndtr(-widths).mean()))
                cells.append(f"{coverage:.1f} / {widths.mean() / Z:.2f}")
            print(row(superclasses, name, *cells))
    return 0
