"""Quantiles of mixtures of Student's laws of one number of degrees of freedom."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, stdtrit

from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.student_tail import student_tail

_NEGLIGIBLE = 1e-18
_STEPS = 200
_ENOUGH = 1e-12


def mixture_quantiles(weights: Floats, errors: Floats, freedom: int, alpha: float) -> Floats:
    """Solve for the h (P,) at which mixtures, scaled by `errors` (P, G), leave `alpha` outside.

    Newton's method on the logarithms of h and of what lies outside, kept between bounds: the
    quantile lies between those of the narrowest and the widest law.  It halves the bounds
    instead wherever a step leaves them or brings too little.  Rows that are there drop out.
    """
    weights = np.where(weights > _NEGLIGIBLE, weights, 0.0)
    row, column = np.nonzero(weights)
    w, se = weights[row, column], errors[row, column]
    active = np.arange(len(weights))
    starts = np.searchsorted(row, active)
    unit = np.log(-stdtrit(freedom, alpha / 2.0))
    low = unit + np.log(np.minimum.reduceat(se, starts))
    high = unit + np.log(np.maximum.reduceat(se, starts))
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * np.log(freedom * np.pi)
    at = unit + 0.5 * np.log(np.add.reduceat(w * se * se, starts))
    at = np.clip(at, low, high)
    before = np.full(at.shape, np.inf)
    found = np.empty_like(at)
    for _ in range(_STEPS):
        x = np.exp(at)[row] / se
        outside = np.add.reduceat(2.0 * w * student_tail(freedom, x), starts)
        density = np.exp(constant - (freedom + 1) / 2 * np.log1p(x * x / freedom))
        slope = -np.add.reduceat(2.0 * w * density * x, starts) / outside
        excess = np.log(outside / alpha)
        low, high = np.where(excess > 0, at, low), np.where(excess > 0, high, at)
        step = at - excess / slope
        good = (step >= low) & (step <= high) & (np.abs(excess) <= before / 2)
        before = np.abs(excess)
        following = np.where(good, step, (low + high) / 2)
        following = np.where(np.abs(step - at) < _ENOUGH, at, following)
        found[active] = following
        more = np.abs(following - at) >= _ENOUGH
        if not more.any():
            break
        active, at, low, high, before = (a[more] for a in (active, following, low, high, before))
        row, w, se = (a[more[row]] for a in (row, w, se))
        row = (np.cumsum(more) - 1)[row]
        starts = np.searchsorted(row, np.arange(len(active)))
    return np.asarray(np.exp(found))
