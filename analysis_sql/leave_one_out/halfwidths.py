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

_STEPS = 30
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
    some = (z > 0) & np.isfinite(z)
    z[some] = _students_z(z[some], size[some], variance[some], c[some], df[some])
    return np.asarray(np.minimum(2.0 * ndtr(-z), 1.0))


def _students_z(highest: Floats, size: Floats, variance: Floats, c: Floats, df: Floats) -> Floats:
    """Return the z (N,) whose interval ends at 0, at most the normal law's.

    A wider interval leaves the mean less of a z of its own, so that it is the fixed point of a
    falling function: Steffensen's method, kept between what each step says it lies between.
    """

    def own(at: Floats) -> Floats:
        width = np.sqrt(variance + (at * at + 1.0) / 4.0 * c)
        return np.asarray(np.clip(-ndtri(stdtr(df, -size / width)), 0.0, highest))

    z = highest
    for _ in range(_STEPS):
        first = own(z)
        second = own(first)
        bend = second - 2.0 * first + z
        step = np.divide((first - z) ** 2, bend, out=np.zeros_like(z), where=bend != 0)
        between = np.minimum(z, first), np.maximum(z, first)
        z = np.clip(np.where(bend != 0, z - step, first), *between)
        if (np.abs(first - second) <= 1e-12 * np.maximum(second, 1e-12)).all():
            break
    return z


def degrees_of_freedom(units: float, kurtosis: Floats | None, shape: tuple[int, ...]) -> Floats:
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
