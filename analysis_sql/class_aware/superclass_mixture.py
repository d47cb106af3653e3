"""How strongly superclasses and classes of a set differ, and what that makes of a standard error.

In the model of :mod:`analysis_sql.class_aware.superclass_design` the restricted likelihood, with
σ_e² integrated out, is a function of two ratios.  With x = g_a μ̄, μ̄ the mean of the μ_j, which says
how many times as much superclasses move a typical coordinate of theirs as classes and tasks do::

    q = u'D^-1 u - Σ w_j² + rss + Σ w_j²/(1 + g_a μ_j)
    L = q^(-(T-1)/2) Π (1 + g_b λ_i)^(-1/2) Π (1 + g_a μ_j)^(-1/2)

Each pair of ratios is weighted by L, the prior of g_b of the class-aware interval, and a prior of
d ln(x) of the same form::

    sqrt(x / (1+x))    if r < T-1,      sqrt(x) / (1+x/16)    if r = T-1

It is flat in σ_a near 0, so that absence of an effect is neither favoured nor ruled out, and leaves
large x to the likelihood, which falls there as x^(-r/2).  Since x is told in units of what the
superclasses' coordinates have from classes and tasks, the law of half-widths over σ does not depend
on how much that is: with evenly used superclasses it depends on r and x alone.

For a known pair, (mean - θ)/se is Student's with T-1 degrees of freedom, where::

    se² = q/(T-1) · (1/T + g_b n'n/T² + g_a m'm/T²)

The mixture over the grid only needs how the weight is spread over ln(se).  It is kept on nodes
1/64 apart, what lies between two of them divided between both, which makes intervals wider by some
5e-5 of their width and is a hundred times less to compute with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.intervals import REACH, prior
from analysis_sql.class_aware.likelihood import Shares
from analysis_sql.class_aware.mixture_quantiles import mixture_quantiles
from analysis_sql.class_aware.superclass_design import SuperclassDesign
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.student_tail import student_tail

LOG_SHARES: Floats = np.arange(-10.0, 14.125, 0.25)
"""ln(x), (A,): from no effect of superclasses that anybody could see to nothing else."""

_NODE = 1.0 / 64.0
"""Distance of the nodes on which the law of ln(se) is kept."""
_NEGLIGIBLE = 1e-16
"""Weights below this, of 1 in all, are left out."""
_NUMBERS_AT_ONCE = 1 << 21
"""Numbers held at once: rows times points of the grid."""


@dataclass(frozen=True, eq=False)
class Grid:
    """All that the grid of ratios (B, A) has from the design alone.

    Attributes
    ----------
    shrunk : float64 (B, r, A)
        1/(1 + g_a μ_j).
    log_weight : float64 (B, A)
        ln of both priors, and of the determinants in L.
    per_task : float64 (B, A)
        Var(mean)/σ_e².
    """

    shrunk: Floats
    log_weight: Floats
    per_task: Floats

    @classmethod
    def of(cls, design: SuperclassDesign) -> Grid:
        """Make the grid of a design without an obstacle."""
        spectra, classes = design.spectra, design.classes
        x = np.exp(LOG_SHARES)
        superclass_ratios = x / spectra.moved.mean(axis=1, keepdims=True)
        grown = 1.0 + spectra.moved[:, :, None] * superclass_ratios[:, None, :]
        spread = np.log(spectra.grown).sum(axis=1)[:, None] + np.log(grown).sum(axis=1)
        of_classes = np.ones(1) if classes.disjoint else prior(classes)
        weight = np.log(of_classes)[:, None] + np.log(_prior(design)) - 0.5 * spread
        per_task = (
            1.0 / design.tasks
            + spectra.class_ratios[:, None] * classes.concentration
            + superclass_ratios * design.concentration
        )
        return cls(1.0 / grown, weight, per_task)


def _prior(design: SuperclassDesign) -> Floats:
    """Return the prior weight of each x of the grid (A,), up to a factor."""
    x = np.exp(LOG_SHARES)
    if design.spectra.rank == design.tasks - 1:
        return np.asarray(np.sqrt(x) / (1.0 + x / REACH**2))
    return np.asarray(np.sqrt(x / (1.0 + x)))


_grid = lru_cache(maxsize=16)(Grid.of)
"""The grid of a design, which is kept for the sets that a report has at a time."""


def weighted(
    design: SuperclassDesign, coordinates: NDArray[Any], norm2: NDArray[Any]
) -> tuple[Floats, Floats]:
    """Weigh each pair of ratios, rows of sum 1, and give se by |y - ȳ|: both (P, B, A).

    `coordinates` (P, k + B·r) are the design's of y, in any units, and `norm2` (P,) is |y - ȳ|² in
    their square, above 0.
    """
    grid, spectra = _grid(design), design.spectra
    u, w = design.split(coordinates)
    shares = Shares.of(design.classes, u, norm2)
    of_superclasses = np.square(w) / norm2[:, None, None]
    inside = np.matmul(shares.squares[:, None, :], (1.0 / spectra.grown).T)[:, 0, :]
    inside = np.maximum(inside - of_superclasses.sum(axis=2), 0.0) + shares.rest[:, None]
    scales = inside[:, :, None] + np.matmul(of_superclasses[:, :, None, :], grid.shrunk)[:, :, 0]
    log_weights = grid.log_weight - 0.5 * (design.tasks - 1) * np.log(scales)
    weights = np.exp(log_weights - log_weights.max(axis=(1, 2), keepdims=True))
    weights /= weights.sum(axis=(1, 2), keepdims=True)
    return weights, np.sqrt(scales / (design.tasks - 1) * grid.per_task)


def _on_nodes(weights: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Spread weights (P, B, A) over nodes of ln(se); return theirs and the nodes' se, (P, N)."""
    row, *cell = np.nonzero(weights > _NEGLIGIBLE)
    w, at = weights[row, *cell], np.log(errors[row, *cell]) / _NODE
    starts = np.searchsorted(row, np.arange(len(weights)))
    first = np.floor(np.minimum.reduceat(at, starts))
    place = at - first[row]
    node = place.astype(np.int64)
    beyond = w * (place - node)
    nodes = int(node.max()) + 2
    flat = row * nodes + node
    size = len(weights) * nodes
    both = np.bincount(flat, w - beyond, size) + np.bincount(flat + 1, beyond, size)
    spread: Floats = both.astype(np.float64).reshape(len(weights), nodes)
    errors = np.exp((first[:, None] + np.arange(nodes)) * _NODE)
    return spread / spread.sum(axis=1, keepdims=True), errors


def _mixtures(
    design: SuperclassDesign, coordinates: NDArray[Any], norm2: NDArray[Any]
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Rows at a time, with the weights of nodes and their standard errors by |y - ȳ|, (P, N)."""
    step = max(1, _NUMBERS_AT_ONCE // max(_grid(design).per_task.size, coordinates.shape[1]))
    for start in range(0, len(norm2), step):
        rows = slice(start, start + step)
        yield rows, *_on_nodes(*weighted(design, coordinates[rows], norm2[rows]))


def relative_halfwidths(
    design: SuperclassDesign, coordinates: NDArray[Any], norm2: NDArray[Any], level: float
) -> Floats:
    """Compute half-widths (P,) as shares of |y - ȳ|; see :func:`weighted` for the parameters.

    NaN where there is no interval: y constant, or the design has an obstacle.
    """
    widths = np.full(len(norm2), np.nan)
    usable = np.flatnonzero(norm2 > 0) if design.obstacle is None else np.zeros(0, np.int64)
    for rows, weights, errors in _mixtures(design, coordinates[usable], norm2[usable]):
        widths[usable[rows]] = mixture_quantiles(weights, errors, design.tasks - 1, 1.0 - level)
    return widths


def tails(
    design: SuperclassDesign, coordinates: NDArray[Any], norm2: NDArray[Any], mean: NDArray[Any]
) -> Floats:
    """Compute P(t_(T-1) > mean/se) (P,) averaged over the ratios, for `norm2` above 0.

    `mean` (P,) is y's, in the units of the coordinates.
    """
    p = np.full(len(norm2), np.nan)
    for rows, weights, errors in _mixtures(design, coordinates, norm2):
        score = mean[rows, None] / (errors * np.sqrt(norm2[rows])[:, None])
        p[rows] = (weights * student_tail(design.tasks - 1, score)).sum(axis=1)
    return p
