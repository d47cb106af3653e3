"""Fast tails of Student's t distribution, and quantiles of mixtures of such distributions.

:func:`student_tail` takes a tenth of the time of :func:`scipy.special.stdtr`.

With z = sqrt(f ln(1 + x²/f)), f the degrees of freedom, the tail is exp(-z²/2) times a factor that
is nearly linear in z.  The logarithm of the factor is interpolated in z by polynomials through
:data:`_POINTS` Chebyshev points of each piece, where :func:`stdtr` gives it; so all results agree
with it to a relative 1e-12, far out too, and each depends on its x alone.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import chebyshev, polynomial
from scipy.special import stdtr, stdtrit

from analysis_sql.intervals.arrays import Floats

_PIECES = 16
"""Pieces of a unit of z."""
_FARTHEST = 36
"""z up to which there are pieces, less with few degrees of freedom.  The tail is 1e-120 there."""
_POINTS = 7
_AT_ONCE = 1 << 14
"""Numbers held at once, few enough for the processor's cache."""

_NEGLIGIBLE = 1e-12
"""Weights below this share of alpha are left out."""

NODE = 1.0 / 64.0
"""Distance of the nodes of ln(se)."""
BLOCK = 64
"""Nodes begin and end at multiples of it, so that sums do not depend on what else is computed."""
_AROUND = np.arange(-3, 5)
_PARTS = np.linalg.inv(polynomial.polyvander(_AROUND, _AROUND.size - 1).T)
"""The share of each of eight nodes around in each power of a place between the middle two."""
_NINE = np.arange(9)


@lru_cache(maxsize=64)
def _pieces(freedom: int) -> Floats:
    """Return the coefficients of each piece's polynomial in -1..1, (points, pieces)."""
    points = chebyshev.chebpts1(_POINTS)
    farthest = min(_FARTHEST, math.isqrt(600 * freedom))
    z = (np.arange(farthest * _PIECES) + 0.5 + points[:, None] / 2.0) / _PIECES
    x = np.sqrt(freedom * np.expm1(z * z / freedom))
    factor = np.log(stdtr(freedom, -x)) + z * z / 2.0
    return np.asarray(np.linalg.solve(polynomial.polyvander(points, _POINTS - 1), factor))


def student_tail(freedom: int, x: Floats) -> Floats:
    """Compute P(t > x) for x of at least 0, t with `freedom` degrees of freedom."""
    shape, x = x.shape, x.reshape(-1)
    pieces = _pieces(freedom)
    last = pieces.shape[1] - 1
    reach = math.sqrt(freedom * math.expm1(((last + 1) / _PIECES) ** 2 / freedom))
    tails = np.empty(x.shape)
    for start in range(0, x.size, _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        near = np.minimum(x[block], reach)
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
        tails[block] = np.exp(factor)
    far = np.flatnonzero(x > reach)
    tails[far] = stdtr(freedom, -x[far])
    return tails.reshape(shape)


def mixture_quantiles(weights: Floats, errors: Floats, freedom: int, alpha: float) -> Floats:
    """Solve for the h (P,) outside which mixtures of `weights` and `errors` (P, G) leave `alpha`.

    A weight is divided between the eight nodes of ln(se) around it, as the polynomial through a
    function's values at these nodes weights them; some parts are negative.
    """
    kept = np.flatnonzero(weights > _NEGLIGIBLE * alpha)
    row = kept // weights.shape[1]
    place = np.log(errors.reshape(-1)[kept]) / NODE
    node = np.floor(place)
    powers = polynomial.polyvander(place - node, len(_PARTS) - 1).T
    parts = _PARTS @ powers * weights.reshape(-1)[kept]
    least = np.minimum.reduceat(node, np.searchsorted(row, np.arange(len(weights))))
    first = np.floor((least + _AROUND[0]) / BLOCK) * BLOCK
    column = (node - first[row]).astype(np.int64) + _AROUND[:, None]
    nodes = (int(column[-1].max()) // BLOCK + 1) * BLOCK
    column += row * nodes
    spread = np.bincount(column.reshape(-1), parts.reshape(-1), len(weights) * nodes)
    on_nodes = np.asarray(spread.reshape(len(weights), nodes), np.float64)
    return node_quantiles(on_nodes, np.exp(NODE * first)[:, None], freedom, alpha)


def node_quantiles(weights: Floats, errors: Floats, freedom: int, alpha: float) -> Floats:
    """Solve for the h (P,) of weights (P, N) on nodes of ln(se), the first at `errors[:, 0]`.

    If ln(h) is a whole number of nodes, the probability outside is a sum over a table.  ln(h) is
    searched among these, and then interpolated in the log probabilities of nine of them.
    """
    kept = np.flatnonzero((np.abs(weights) > _NEGLIGIBLE * alpha).any(axis=0)) // BLOCK * BLOCK
    weights = np.ascontiguousarray(weights[:, kept[0] : kept[-1] + BLOCK])
    unit, coarse_tails, tails = _node_tails(freedom, alpha, weights.shape[1])
    start = 8 * np.maximum((weights @ coarse_tails > alpha).sum(axis=1) - 1, 0)
    outside = np.matmul(tails[start[:, None] + _NINE], weights[:, :, None])[:, :, 0]
    excess = np.log(outside.T / alpha)
    gaps = excess[:, None] - excess
    gaps[_NINE, _NINE] = 1.0
    parts = -excess / gaps
    parts[_NINE, _NINE] = 1.0
    place = kept[0] + unit + start + _NINE @ parts.prod(axis=1)
    return np.asarray(errors[:, 0] * np.exp(NODE * place))


@lru_cache(maxsize=16)
def _node_tails(freedom: int, alpha: float, nodes: int) -> tuple[int, Floats, Floats]:
    """Return ln(h) of a single t distribution in nodes, rounded down, and tables of tails.

    A table has the probability that each node leaves outside h, for h from there on: of every
    eighth h (N, H / 8), and of all (H, N).
    """
    unit = math.floor(np.log(-stdtrit(freedom, alpha / 2.0)) / NODE)
    x = np.exp(NODE * (unit + np.arange(nodes + 16, -nodes, -1)))
    tails = sliding_window_view(2.0 * student_tail(freedom, x), nodes)[::-1]
    return unit, np.ascontiguousarray(tails[: nodes + 8 : 8].T), tails
