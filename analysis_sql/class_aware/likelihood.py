"""The restricted likelihood of class effects: how strongly the classes of a set differ.

In the model of :mod:`analysis_sql.class_aware.design`, with y the values of the tasks, the part of
y that is orthogonal to its mean has coordinates u_1..u_k of variances σ_e²(1 + gλ_i) and a rest,
rss = |y - ȳ|² - Σu_i², of T - 1 - k more of variance σ_e².  With σ_e² integrated out (at weight
1/σ_e²), or maximised, what is left of the normal likelihood is a function of g = σ_b²/σ_e² alone::

    L(g) = q(g)^(-(T-1)/2) Π (1 + gλ_i)^(-1/2)        q(g) = Σ u_i²/(1 + gλ_i) + rss

g is measured in units of 1/λ̄, λ̄ the mean eigenvalue, which grows with the number of tasks, so that
no absolute range of g suits every set.  x = λ̄g is the variance of a typical coordinate due to
classes over that due to tasks.  With s = √x, the prior of g per unit of ln(x) is::

    s / sqrt(1 + s²)    if k < T-1,      s / (1 + s²/16)    if k = T-1

Near 0 both fall as σ_b does, so that few classes without a visible effect are not taken to have
none.  With k = T-1 no rest estimates σ_e², and the likelihood does not fall for large g, but the
second prior does.  Both priors are smooth in t = asinh(s), the first is constant; so sums over
equal steps of t are as good as integrals if a step is below the width of ln L, which the
information on ln(g) bounds::

    I = (Σ p_i² - (Σ p_i)²/(T-1)) / 2,   p_i = gλ_i/(1 + gλ_i),       dt/d ln(g) = tanh(t)/2

Where classes determine y (such as a class that one method never recognises, while both agree on all
others), rss = 0: the last g of any grid would have all the weight, and the k coordinates that vary
would count as T - 1.  With any rss > 0 and endless g the mixture tends to
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
much as tasks do.  With a median of 1, intervals of 95 % cover 90 to 92 % where tasks differ by
their classes alone; see studies/coverage/README.md, also for the price of 4."""

_LEAST, _MOST = -16.125, 16.125
"""The range of ln(x): from no visible class effect to nothing else."""
_LEAST_ROOM, _ROOM_BY_RANK, _MOST_ROOM = 3.0, 24.0, 7.0
"""The distance from the likeliest ln(x) to the grid's end: the second number divided by k (with
small k the likelihood falls slowly), between the first and the third."""
_STEP, _WIDEST = 1.1, 0.15
"""A step of t in standard errors, with which sums are about 1e-6 off; and the widest step."""
_PLACES: Floats = np.linspace(0.1, 6.0, 40)
"""Values of t at which the width of ln L is bounded."""

_STEPS = 50
"""Halvings in the search for the greatest likelihood."""


def points(
    eigenvalues: Floats, freedom: int, least: float = _LEAST, most: float = _MOST
) -> tuple[Floats, Floats]:
    """Return the x of a grid, and their prior weights up to a factor: both (G,).

    `eigenvalues` are of one design (k,) or of several (N, k), and `freedom` is T - 1.  The grid
    begins at x = 0, whose weight lacks what is below ln(x) = `least`, and ends half a step before
    ln(x) = `most`.
    """
    rows = np.atleast_2d(eigenvalues)
    relative = rows / rows.mean(axis=1, keepdims=True)
    p = 1.0 - 1.0 / (1.0 + np.sinh(_PLACES)[:, None, None] ** 2 * relative)
    information = 0.5 * (np.square(p).sum(axis=2) - p.sum(axis=2) ** 2 / freedom)
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
    """Return the least rss as a share of |y - ȳ|²; 0 if k = T-1.

    `rank` is k and `freedom` T - 1, on a grid that ends at ln(x) = `most`.
    """
    room = min(max(_ROOM_BY_RANK / rank, _LEAST_ROOM), _MOST_ROOM)
    return (freedom - rank) / rank * float(np.exp(room - most))


class Grid(Struct, frozen=True, eq=False):
    """The grid of ratios g, and all about it that follows from the design alone."""

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
        g = x / design.mean_eigenvalue
        grown = np.outer(design.eigenvalues, g)
        return cls(x, prior, g, 1.0 / (1.0 + grown), np.log1p(grown).sum(axis=0))


grid = lru_cache(maxsize=32)(Grid.of)
"""The grid of a design, cached for the sets that a report has at a time."""


class Shares(Struct, frozen=True, eq=False):
    """Coordinates of P methods or pairs, as shares of their scatter |y - ȳ|²."""

    design: ClassDesign
    squares: Floats
    """float64 (P, k): u_i² / |y - ȳ|²."""
    rest: Floats
    """float64 (P,): rss / |y - ȳ|², at least :func:`least_rest`; exactly 0 if k = T - 1."""

    @classmethod
    def of(cls, design: ClassDesign, u: NDArray[Any], norm2: NDArray[Any]) -> Shares:
        """Divide the squares of coordinates u (P, k) by scatters `norm2` (P,), all above 0."""
        squares = np.square(np.asarray(u, np.float64)) / np.asarray(norm2, np.float64)[:, None]
        if design.rank == design.tasks - 1:
            return cls(design, squares, np.zeros(len(squares)))
        least = least_rest(design.rank, design.tasks - 1)
        return cls(design, squares, np.maximum(1.0 - squares.sum(axis=1), least))

    def scales(self) -> Floats:
        """Return q(g) / |y - ȳ|² on the grid (P, G)."""
        return product_by_row(self.squares, grid(self.design).shrunk) + self.rest[:, None]

    def log_likelihoods(self, scales: Floats | None = None) -> Floats:
        """Return ln L on the grid (P, G), up to a constant in each row."""
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
    """Compute REML estimates of many methods or pairs, from coordinates u (P, k) and `norm2` (P,).

    NaN where nothing can be estimated: y constant, T < 2, or all tasks with the same classes.  An
    interval that takes these estimates for the truth is too narrow; see
    :mod:`analysis_sql.class_aware.intervals`.
    """
    norm2 = np.asarray(norm2, np.float64)
    between, within = np.full(norm2.shape, np.nan), np.full(norm2.shape, np.nan)
    usable = np.flatnonzero(norm2 > 0) if design.obstacle is None else np.zeros(0, np.int64)
    if usable.size:
        shares = Shares.of(design, np.asarray(u)[usable], norm2[usable])
        g = _likeliest_ratios(shares)
        grown = 1.0 + g[:, None] * design.eigenvalues
        scale = (shares.squares / grown).sum(axis=1) + shares.rest
        within[usable] = scale * norm2[usable] / (design.tasks - 1)
        between[usable] = g * within[usable]
    return VarianceComponents(between, within)


def _likeliest_ratios(shares: Shares) -> Floats:
    """Return the ratio g (P,) of the greatest likelihood, or 0.

    The slope in ln(x) is bisected between the two neighbours of the best point of the grid.
    """
    design = shares.design
    log_x = np.log(np.maximum(grid(design).shares, np.exp(_LEAST)))
    best = shares.log_likelihoods().argmax(axis=1)
    likeliest = log_x[best]
    inner = np.flatnonzero((best > 0) & (best < log_x.size - 1))
    low, high = log_x[best[inner] - 1], log_x[best[inner] + 1]
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        g_lambda = np.exp(middle)[:, None] / design.mean_eigenvalue * design.eigenvalues
        p, q_parts = g_lambda / (1.0 + g_lambda), shares.squares[inner] / (1.0 + g_lambda)
        slope = (q_parts * p).sum(axis=1) / (q_parts.sum(axis=1) + shares.rest[inner])
        rises = (design.tasks - 1) * slope > p.sum(axis=1)
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        likeliest[inner] = middle
    return np.where(best > 0, np.exp(likeliest) / design.mean_eigenvalue, 0.0)
