"""Tails of Student's law for very many numbers, and quantiles of mixtures of such laws.

:func:`student_tail` takes a tenth of the time of :func:`scipy.special.stdtr`.

With z = sqrt(f ln(1 + x²/f)), f the degrees of freedom, the chance is exp(-z²/2) times a factor
that hardly bends.  The logarithm of the factor is interpolated in z by polynomials that go through
:data:`_POINTS` Chebyshev points of each piece, which :func:`stdtr` gives; so all results agree with
it to a relative 1e-12, far out too, and each depends on its own x alone.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import chebyshev, polynomial
from scipy.special import gammaln, stdtr, stdtrit

from analysis_sql.intervals.arrays import Floats

_PIECES = 16
"""Pieces of a unit of z."""
_FARTHEST = 36
"""z up to which there are some; less with few degrees of freedom.  Chances are 1e-120 there."""
_POINTS = 7
_AT_ONCE = 1 << 14
"""Numbers held at once, few enough for the processor's cache."""

_NEGLIGIBLE = 1e-12
"""Weights below this share of what is left outside are left out."""
_MOST_STEPS = 200
_ENOUGH = 1e-12
_NEAR = 1e-5
"""A step after which what is left, in proportion to the step's cube, is of no account."""

NODE = 1.0 / 64.0
"""Distance of the nodes of ln(se)."""
_WIDE = 64
"""Nodes between the first places where a quantile is looked for; then 8, and at last 1."""
_NINE = np.arange(9)


@lru_cache(maxsize=64)
def _pieces(freedom: int) -> Floats:
    """The coefficients of each piece's polynomial in -1..1, (points, pieces)."""
    points = chebyshev.chebpts1(_POINTS)
    farthest = min(_FARTHEST, math.isqrt(600 * freedom))
    z = (np.arange(farthest * _PIECES) + 0.5 + points[:, None] / 2.0) / _PIECES
    x = np.sqrt(freedom * np.expm1(z * z / freedom))
    factor = np.log(stdtr(freedom, -x)) + z * z / 2.0
    return np.asarray(np.linalg.solve(polynomial.polyvander(points, _POINTS - 1), factor))


def student_tail(freedom: int, x: Floats) -> Floats:
    """Compute P(t > x), t Student's with so many degrees of freedom, for x of at least 0."""
    shape, x = x.shape, x.reshape(-1)
    pieces = _pieces(freedom)
    last = pieces.shape[1] - 1
    reach = math.sqrt(freedom * math.expm1(((last + 1) / _PIECES) ** 2 / freedom))
    chances = np.empty(x.shape)
    for start in range(0, x.size, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        near = np.minimum(x[some], reach)
        twice = freedom * np.log1p(near * near / freedom)
        place = np.sqrt(twice) * _PIECES
        piece = np.minimum(place, last).astype(np.intp)
        place -= piece
        place *= 2.0
        place -= 1.0
        factor = pieces[-1].take(piece)
        for coefficients in pieces[-2::-1]:
            factor *= place
            factor += coefficients.take(piece)
        twice *= -0.5
        factor += twice
        chances[some] = np.exp(factor)
    far = np.flatnonzero(x > reach)
    chances[far] = stdtr(freedom, -x[far])
    return chances.reshape(shape)


def mixture_quantiles(weights: Floats, errors: Floats, freedom: int, alpha: float) -> Floats:
    """Solve for the h (P,) at which mixtures, scaled by `errors` (P, G), leave `alpha` outside.

    Halley's method on the logarithms of h and of what lies outside, kept between bounds: the
    quantile lies between those of the narrowest and the widest law.  It halves the bounds
    instead wherever a step leaves them or brings too little.  Rows that are there drop out.
    """
    weights = np.where(weights > _NEGLIGIBLE * alpha, weights, 0.0)
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
    for _ in range(_MOST_STEPS):
        x = np.exp(at)[row] / se
        outside = np.add.reduceat(2.0 * w * student_tail(freedom, x), starts)
        ratio = x * x / freedom
        fallen = 2.0 * w * x * np.exp(constant - (freedom + 1) / 2 * np.log1p(ratio))
        slope = -np.add.reduceat(fallen, starts) / outside
        bend = np.add.reduceat(fallen * ((freedom + 1) * ratio / (1.0 + ratio) - 1.0), starts)
        excess = np.log(outside / alpha)
        low, high = np.where(excess > 0, at, low), np.where(excess > 0, high, at)
        step = excess / slope
        step = at - step / (1.0 - 0.5 * step * (bend / outside / slope - slope))
        good = (step >= low) & (step <= high) & (np.abs(excess) <= before / 2)
        before = np.abs(excess)
        following = np.where(good, step, (low + high) / 2)
        found[active] = following
        more = ~(good & (np.abs(step - at) < _NEAR)) & (high - low >= _ENOUGH)
        if not more.any():
            break
        active, at, low, high, before = (a[more] for a in (active, following, low, high, before))
        row, w, se = (a[more[row]] for a in (row, w, se))
        row = (np.cumsum(more) - 1)[row]
        starts = np.searchsorted(row, np.arange(len(active)))
    return np.asarray(np.exp(found))


def node_quantiles(weights: Floats, errors: Floats, freedom: int, alpha: float) -> Floats:
    """Solve for the same where the ln of `errors` (P, N) rises by a node from one to the next.

    For an ln(h) that is whole nodes away, what lies outside is a sum over a table.  ln(h) is looked
    for among these, and then interpolated in the logarithms of what nine of them leave.
    """
    kept = np.flatnonzero((weights > _NEGLIGIBLE * alpha).any(axis=0))
    some = weights[:, kept[0] : kept[-1] + 1]
    padded = np.zeros((len(some), -(-some.shape[1] // _WIDE) * _WIDE))
    padded[:, : some.shape[1]] = np.where(some > _NEGLIGIBLE * alpha, some, 0.0)
    unit, tails = _node_tails(freedom, alpha, padded.shape[1])
    outside = padded @ tails[::_WIDE].T
    at = np.zeros(len(some), np.int64)
    for wider, stride in ((_WIDE, 8), (8, 1)):
        at += wider * np.maximum((outside > alpha).sum(axis=1) - 1, 0)
        windows = tails[at[:, None] + stride * _NINE]
        outside = np.matmul(windows, padded[:, :, None])[:, :, 0]
    excess = np.log(outside / alpha)[:, None, :]
    apart = excess.swapaxes(1, 2) - excess
    apart[:, _NINE, _NINE] = 1.0
    parts = -excess / apart
    parts[:, _NINE, _NINE] = 1.0
    place = kept[0] + unit + at + parts.prod(axis=2) @ _NINE
    return np.asarray(errors[:, 0] * np.exp(NODE * place))


@lru_cache(maxsize=64)
def _node_tails(freedom: int, alpha: float, nodes: int) -> tuple[int, Floats]:
    """Return one law's ln(h) in nodes, rounded down, and tails for h from there on, (H, N)."""
    unit = math.floor(np.log(-stdtrit(freedom, alpha / 2.0)) / NODE)
    most = nodes + _WIDE + 8
    x = np.exp(NODE * (unit + np.arange(most, -nodes, -1)))
    return unit, sliding_window_view(2.0 * student_tail(freedom, x), nodes)[::-1]
