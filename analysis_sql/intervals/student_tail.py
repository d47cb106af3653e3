"""P(t > x) of Student's law for very many x: a tenth of the time that :func:`stdtr` takes.

With z = sqrt(f ln(1 + x²/f)), f the degrees of freedom, the chance is exp(-z²/2) times a factor
that hardly bends.  The logarithm of the factor is interpolated in z by polynomials that go through
:data:`_POINTS` Chebyshev points of each piece, which :func:`stdtr` gives; so all results agree with
it to a relative 1e-12, far out too, and each depends on its own x alone.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from scipy.special import stdtr

from analysis_sql.intervals.arrays import Floats

_PIECES = 16
"""Pieces of a unit of z."""
_FARTHEST = 36
"""z up to which there are some; less with few degrees of freedom.  Chances are 1e-120 there."""
_POINTS = 7
_AT_ONCE = 1 << 14
"""Numbers held at once, few enough for the processor's cache."""


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
