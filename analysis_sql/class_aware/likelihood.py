"""The restricted likelihood of class effects: how strongly the classes of a set differ.

In the model of :mod:`analysis_sql.class_aware.design`, with y the values of the tasks, the part of
y that is orthogonal to its mean has coordinates u_1..u_k of variances σ_e²(1 + gλ_i) and a rest,
rss = |y - ȳ|² - Σu_i², of T - 1 - k more of variance σ_e².  With σ_e² integrated out (at weight
1/σ_e²), or maximised, what is left of the normal likelihood is a function of g = σ_b²/σ_e² alone::

    L(g) = q(g)^(-(T-1)/2) Π (1 + gλ_i)^(-1/2)        q(g) = Σ u_i²/(1 + gλ_i) + rss

g is looked at relative to 1/λ̄, the mean eigenvalue's inverse, as ln(λ̄g): λ̄ grows with the number
of tasks, so that no absolute range of g suits every set.  λ̄g is how many times as much the classes
move a typical coordinate as tasks do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign, product_by_row
from analysis_sql.intervals.arrays import Floats

LOG_GRID: Floats = np.arange(-16.0, 16.125, 0.25)
"""ln(λ̄g), (G,): from no class effect that anybody could see to nothing else."""

_STEPS = 60
_ENOUGH = 1e-10


@dataclass(frozen=True, eq=False)
class Grid:
    """What the grid of ratios has from the design alone."""

    ratios: Floats
    """float64 (G,): g."""
    shrunk: Floats
    """float64 (k, G): 1/(1 + gλ_i)."""
    spread: Floats
    """float64 (G,): Σ ln(1 + gλ_i)."""

    @classmethod
    def of(cls, design: ClassDesign) -> Grid:
        """Make the grid of a design that has eigenvalues."""
        g = np.exp(LOG_GRID) / design.typical
        grown = np.outer(design.eigenvalues, g)
        return cls(g, 1.0 / (1.0 + grown), np.log1p(grown).sum(axis=0))


_grid = lru_cache(maxsize=32)(Grid.of)
"""The grid of a design, which is kept for the sets that a report has at a time."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Coordinates of P methods or pairs, as shares of their scatter |y - ȳ|²."""

    design: ClassDesign
    squares: Floats
    """float64 (P, k): u_i² / |y - ȳ|²."""
    rest: Floats
    """float64 (P,): rss / |y - ȳ|²; exactly 0 if k = T - 1."""

    @classmethod
    def of(cls, design: ClassDesign, u: NDArray[Any], norm2: NDArray[Any]) -> Shares:
        """Shares of coordinates u (P, k) in scatters `norm2` (P,), all above 0."""
        squares = np.square(np.asarray(u, np.float64)) / np.asarray(norm2, np.float64)[:, None]
        rest = np.maximum(1.0 - squares.sum(axis=1), 0.0)
        if design.rank == design.tasks - 1:
            rest = np.zeros_like(rest)
        return cls(design, squares, rest)

    def scales(self) -> Floats:
        """q(g) / |y - ȳ|² on the grid (P, G)."""
        return product_by_row(self.squares, _grid(self.design).shrunk) + self.rest[:, None]

    def log_likelihoods(self, scales: Floats | None = None) -> Floats:
        """Ln L on the grid (P, G), less a constant of each row; `scales` if known already."""
        scales = self.scales() if scales is None else scales
        spread, freedom = _grid(self.design).spread, self.design.tasks - 1
        return np.asarray(-0.5 * (freedom * np.log(scales) + spread))


@dataclass(frozen=True, eq=False)
class VarianceComponents:
    """Restricted maximum likelihood (REML) estimates, arrays (P,), in squared units of y."""

    between: Floats
    """σ_b², of the classes' effects; 0 where the likelihood falls from g = 0 on."""
    within: Floats
    """σ_e², of a task beyond its classes."""


def ratios(design: ClassDesign) -> Floats:
    """Return the ratios g of the grid (G,)."""
    return _grid(design).ratios


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
    """The ratio g (P,) of the greatest likelihood: 0, or to ``_ENOUGH`` in ln g.

    The best point of the grid, then Newton's method on the slope in s = ln(λ̄g) between its two
    neighbours, or halving where that leaves them.
    """
    design = shares.design
    best = shares.log_likelihoods().argmax(axis=1)
    s = LOG_GRID[best]
    rows = np.flatnonzero((best > 0) & (best < LOG_GRID.size - 1))
    low, high = LOG_GRID[best[rows] - 1], LOG_GRID[best[rows] + 1]
    squares, rest = shares.squares[rows], shares.rest[rows]
    at = s[rows]
    for _ in range(_STEPS):
        grown = np.exp(at)[:, None] / design.typical * design.eigenvalues
        part = grown / (1.0 + grown)
        bend = part / (1.0 + grown)  # derivative of `part` in s
        kept = squares / (1.0 + grown)
        scale = kept.sum(axis=1) + rest
        first = -(kept * part).sum(axis=1)  # of q
        second = (kept * (part * part - bend)).sum(axis=1)
        freedom = design.tasks - 1
        slope = -0.5 * (freedom * first / scale + part.sum(axis=1))
        curve = -0.5 * (freedom * (second / scale - np.square(first / scale)) + bend.sum(axis=1))
        low, high = np.where(slope > 0, at, low), np.where(slope > 0, high, at)
        step = at - np.divide(slope, curve, where=curve < 0, out=np.full(at.shape, np.inf))
        following = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        following = np.where(np.abs(step - at) < _ENOUGH, at, following)
        moved = np.abs(following - at).max(initial=0.0)
        at = following
        if moved < _ENOUGH:
            break
    s[rows] = at
    return np.where(best > 0, np.exp(s) / design.typical, 0.0)
