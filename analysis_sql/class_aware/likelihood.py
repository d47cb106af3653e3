"""The restricted likelihood of class effects: how strongly the classes of a set differ.

In the model of :mod:`analysis_sql.class_aware.design`, with y the values of the tasks, the part of
y that is orthogonal to its mean has coordinates u_1..u_k of variances σ_e²(1 + gλ_i) and a rest,
rss = |y - ȳ|² - Σu_i², of T - 1 - k more of variance σ_e².  With σ_e² integrated out (at weight
1/σ_e²), or maximised, what is left of the normal likelihood is a function of g = σ_b²/σ_e² alone::

    L(g) = q(g)^(-(T-1)/2) Π (1 + gλ_i)^(-1/2)        q(g) = Σ u_i²/(1 + gλ_i) + rss

g is measured relative to 1/λ̄, the mean eigenvalue's inverse: λ̄ grows with the number of tasks, so
that no absolute range of g suits every set.  x = λ̄g is how many times as much the classes move a
typical coordinate as tasks do.  With s = √x, each g gets a prior, per unit of ln(x), of::

    s / sqrt(1 + s²)    if k < T-1,      s / (1 + s²/16)    if k = T-1

Both fall off as σ_b itself does near 0, so that few classes without any visible effect are not
called free of one.  With k = T-1 no rest estimates σ_e², and the likelihood does not fall
for large g: the second prior does.  Either is smooth in t = asinh(s), the first constant; so sums
over equal steps of t are as good as integrals, as long as a step is no wider than ln L is narrow.
The information on ln(g) bounds how narrow that may be::

    I = (Σ p_i² - (Σ p_i)²/(T-1)) / 2,   p_i = gλ_i/(1 + gλ_i),       dt/d ln(g) = tanh(t)/2

Where classes determine y (one method never recognises a class, and else both agree), rss = 0, and
any end of the grid would do harm: its last g has all the weight, and the k coordinates that vary
pass for T - 1.  With rss > 0 however small, and g without an end, the mixture of laws tends to
t(k) · sqrt(v Σ(u_i²/λ_i)/k), so rss is taken to be at least what keeps g well within the grid.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign, product_by_row
from analysis_sql.intervals.arrays import Floats

REACH = 4.0
"""The median of s under the prior where k = T-1: classes move a typical coordinate four times as
much as tasks do.  Centred at 1, intervals of 95 % cover 90 to 92 % where classes are all that tasks
differ by; see studies/coverage/README.md, which has the price too."""

_LEAST, _MOST = -16.125, 16.125
"""ln(x): from no class effect that anybody could see to nothing else."""
_ROOM = 3.0, 24.0, 7.0
"""From the likeliest ln(x) to the grid's end there is at least the first; the second by k, up to
the third, where k is so small that the likelihood falls slowly."""
_STEP, _WIDEST = 1.1, 0.15
"""A step of t, in standard errors, with which sums are about 1e-6 off; and the widest one."""
_PLACES: Floats = np.linspace(0.1, 6.0, 40)
"""Values of t at which the width of ln L is bounded."""

_STEPS = 50
"""Halvings in the search for the greatest likelihood."""


def points(
    eigenvalues: Floats, freedom: int, least: float = _LEAST, most: float = _MOST
) -> tuple[Floats, Floats]:
    """Return the x of a grid, and the prior weight of each, up to a factor: both (G,).

    For `eigenvalues` (k,), or of several designs (N, k), and T - 1 = `freedom`.  The grid begins at
    x = 0, whose weight is less by what is below ln(x) = `least`, and ends half a step before ln(x)
    = `most`.
    """
    rows = np.atleast_2d(eigenvalues)
    typical = rows / rows.mean(axis=1, keepdims=True)
    part = 1.0 - 1.0 / (1.0 + np.sinh(_PLACES)[:, None, None] ** 2 * typical)
    information = 0.5 * (np.square(part).sum(axis=2) - part.sum(axis=2) ** 2 / freedom)
    narrowest = 0.5 * np.tanh(_PLACES) / np.sqrt(np.maximum(information.max(axis=1), 1e-12))
    end = float(np.arcsinh(np.exp(most / 2.0)))
    steps = int(end / min(_WIDEST, _STEP * float(narrowest.min())))
    t = np.arange(steps + 1) * end / (steps + 0.5)
    x, weight = np.sinh(t) ** 2, np.ones(t.size)
    weight[0] = 0.5 - np.exp(least / 2.0) / t[1]
    if rows.shape[1] == freedom:
        weight *= np.sqrt(1.0 + x) / (1.0 + x / REACH**2)
    return x, weight


def least_rest(rank: int, freedom: int, most: float = _MOST) -> float:
    """Return the share of |y - ȳ|² that rss is at least taken for; 0 if k = T-1.

    For `rank` k and `freedom` T - 1, on a grid that ends at ln(x) = `most`.
    """
    least, by_rank, largest = _ROOM
    room = min(max(by_rank / rank, least), largest)
    return (freedom - rank) / rank * float(np.exp(room - most))


class Grid(Struct, frozen=True, eq=False):
    """What the grid of ratios has from the design alone."""

    shares: Floats
    """float64 (G,): x = λ̄g, from 0."""
    prior: Floats
    """float64 (G,): weights, up to a factor."""
    ratios: Floats
    """float64 (G,): g."""
    shrunk: Floats
    """float64 (k, G): 1/(1 + gλ_i)."""
    spread: Floats
    """float64 (G,): Σ ln(1 + gλ_i)."""

    @classmethod
    def of(cls, design: ClassDesign) -> Grid:
        """Make the grid of a design that has eigenvalues."""
        x, prior = points(design.eigenvalues, design.tasks - 1)
        g = x / design.typical
        grown = np.outer(design.eigenvalues, g)
        return cls(x, prior, g, 1.0 / (1.0 + grown), np.log1p(grown).sum(axis=0))


grid = lru_cache(maxsize=32)(Grid.of)
"""The grid of a design, which is kept for the sets that a report has at a time."""


class Shares(Struct, frozen=True, eq=False):
    """Coordinates of P methods or pairs, as shares of their scatter |y - ȳ|²."""

    design: ClassDesign
    squares: Floats
    """float64 (P, k): u_i² / |y - ȳ|²."""
    rest: Floats
    """float64 (P,): rss / |y - ȳ|², at least :func:`least_rest`; exactly 0 if k = T - 1."""

    @classmethod
    def of(cls, design: ClassDesign, u: NDArray[Any], norm2: NDArray[Any]) -> Shares:
        """Return shares of coordinates u (P, k) in scatters `norm2` (P,), all above 0."""
        squares = np.square(np.asarray(u, np.float64)) / np.asarray(norm2, np.float64)[:, None]
        if design.rank == design.tasks - 1:
            return cls(design, squares, np.zeros(len(squares)))
        least = least_rest(design.rank, design.tasks - 1)
        return cls(design, squares, np.maximum(1.0 - squares.sum(axis=1), least))

    def scales(self) -> Floats:
        """Return q(g) / |y - ȳ|² on the grid (P, G)."""
        return product_by_row(self.squares, grid(self.design).shrunk) + self.rest[:, None]

    def log_likelihoods(self, scales: Floats | None = None) -> Floats:
        """Return ln L on the grid (P, G), less a constant a row; `scales` if known already."""
        scales = self.scales() if scales is None else scales
        spread, freedom = grid(self.design).spread, self.design.tasks - 1
        return np.asarray(-0.5 * (freedom * np.log(scales) + spread))


class VarianceComponents(Struct, frozen=True, eq=False):
    """Restricted maximum likelihood (REML) estimates, arrays (P,), in squared units of y."""

    between: Floats
    """σ_b², of the classes' effects; 0 where the likelihood falls from g = 0 on."""
    within: Floats
    """σ_e², of a task beyond its classes."""


def variance_components(
    design: ClassDesign, u: NDArray[Any], norm2: NDArray[Any]
) -> VarianceComponents:
    """Compute REML estimates of many methods, pairs or permutations of them at once.

    NaN where nothing can be estimated: y constant, T < 2, or all tasks with the same classes.
    Within the model of new classes; a plug-in of these estimates makes intervals that are too
    narrow (see :mod:`analysis_sql.class_aware.intervals`).  `u` (P, k) are the coordinates of y and
    `norm2` (P,) is |y - ȳ|².
    """
    norm2 = np.asarray(norm2, np.float64)
    between, within = (np.full(norm2.shape, np.nan) for _ in range(2))
    usable = np.flatnonzero(norm2 > 0) if design.obstacle is None else np.zeros(0, np.int64)
    if usable.size:
        shares = Shares.of(design, np.asarray(u)[usable], norm2[usable])
        g = _best(shares)
        grown = 1.0 + g[:, None] * design.eigenvalues
        scale = (shares.squares / grown).sum(axis=1) + shares.rest
        within[usable] = scale * norm2[usable] / (design.tasks - 1)
        between[usable] = g * within[usable]
    return VarianceComponents(between, within)


def _best(shares: Shares) -> Floats:
    """Return the ratio g (P,) of the greatest likelihood, or 0.

    By halving between the two neighbours of the best point of the grid, on the slope in s = ln(λ̄g).
    """
    design = shares.design
    places = np.log(np.maximum(grid(design).shares, np.exp(_LEAST)))
    best = shares.log_likelihoods().argmax(axis=1)
    s = places[best]
    rows = np.flatnonzero((best > 0) & (best < places.size - 1))
    low, high = places[best[rows] - 1], places[best[rows] + 1]
    for _ in range(_STEPS):
        s[rows] = (low + high) / 2.0
        grown = np.exp(s[rows])[:, None] / design.typical * design.eigenvalues
        part, kept = grown / (1.0 + grown), shares.squares[rows] / (1.0 + grown)
        moved = (kept * part).sum(axis=1) / (kept.sum(axis=1) + shares.rest[rows])
        rises = (design.tasks - 1) * moved > part.sum(axis=1)
        low, high = np.where(rises, s[rows], low), np.where(rises, high, s[rows])
    return np.where(best > 0, np.exp(s) / design.typical, 0.0)
