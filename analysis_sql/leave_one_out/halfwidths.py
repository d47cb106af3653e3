"""From variances to half-widths and p-values.

With T = max(V, 0) + v_mc, where v_mc is the Monte Carlo variance of finitely many tasks, and τ the
standard error of V::

    h = q √( T + (z²+1)/4 · τ²/(T+2τ) )

where z is the normal quantile and q is z for images, Student's for classes and superclasses.  The
second term is what not knowing V costs: that of Student's t where τ is small, and bounded where V
is lost in noise.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from analysis_sql.intervals.arrays import Floats

_STEPS = 60
"""Of the search for a p-value: more than any needs."""


def uncertainty(variance: Floats, tau: Floats) -> Floats:
    """Return τ²/(T+2τ), 0 where both are."""
    below = variance + 2.0 * tau
    return np.asarray(np.divide(tau**2, below, out=np.zeros_like(tau), where=below > 0))


def halfwidth(variance: Floats, tau: Floats, df: Floats | None, level: float) -> Floats:
    """Return h of the module's docstring.

    Parameters
    ----------
    variance, tau
        T and τ, of one shape.
    df
        Degrees of freedom of q, None for the normal law.
    """
    tail = (1.0 - level) / 2.0
    z = -float(ndtri(tail))
    q = z if df is None else -stdtrit(df, tail)
    return np.asarray(q * np.sqrt(variance + (z * z + 1.0) / 4.0 * uncertainty(variance, tau)))


def p_value(mean: Floats, variance: Floats, tau: Floats, df: Floats | None) -> Floats:
    """Return 1 minus the largest level whose interval leaves out 0, by the mean and its variance.

    The half-width grows with the level, so z with h(z) = |mean| is unique: a quadratic equation in
    z² for the normal law, and else a root between 0 and that one.
    """
    size, c = np.abs(mean), uncertainty(variance, tau)
    linear = variance + c / 4.0
    root = np.sqrt(linear**2 + c * size**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(size > 0, np.sqrt(2.0 * size**2 / (linear + root)), 0.0)
    if df is None:
        return np.asarray(np.minimum(2.0 * ndtr(-z), 1.0))
    low, high = np.zeros_like(z), z.copy()  # Student's tails are longer: z is at most the normal's
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        with np.errstate(divide="ignore", invalid="ignore"):
            t = size / np.sqrt(variance + (middle**2 + 1.0) / 4.0 * c)
        # at this z the interval's tail is ndtr(-z); the mean lies outside while its own is smaller
        outside = stdtr(df, -np.where(np.isnan(t), 0.0, t)) < ndtr(-middle)
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        if ((high - low) <= 1e-13 * np.maximum(high, 1.0)).all():
            break
    return np.asarray(np.minimum(2.0 * ndtr(-(low + high) / 2.0), 1.0))


def degrees_of_freedom(units: int, kurtosis: Floats | None, shape: tuple[int, ...]) -> Floats:
    """Return those of Student's t for C units: 1/(1/(C-1) + (κ+2)/(2C)), or C-1 without κ."""
    if kurtosis is None:
        return np.full(shape, units - 1.0)
    return np.asarray(1.0 / (1.0 / (units - 1) + (kurtosis + 2.0) / (2.0 * units)))


def excess_kurtosis(squares: Floats, fourths: Floats, units: int) -> Floats:
    """Return the unbiased excess kurtosis of C centred values, not below 0; 0 of fewer than 4.

    Parameters
    ----------
    squares, fourths
        Sums of their squares and of their fourth powers.
    """
    n = float(units)
    if n < 4:
        return np.zeros_like(squares)
    ratio = np.divide(n * fourths, squares**2, out=np.full_like(squares, 3.0), where=squares > 0)
    unbiased = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (ratio - 3.0) + 6.0)
    return np.asarray(np.maximum(unbiased, 0.0))
