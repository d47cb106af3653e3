"""Class-aware intervals for the mean over *new superclasses*.

Classes of one superclass (letters of one alphabet) are alike, and another experiment may draw
superclasses anew.  With m_ts classes of superclass s in task t, S the T x G matrix of these, m =
S'1, g_b = σ_b²/σ_e² and g_a = σ_a²/σ_e²::

    A_t = θ + Σ_s m_ts a_s + Σ_{c in t} b_c + e_t        a_s of mean 0 and variance σ_a²
    Var(A) = σ_e² (I + g_b ZZ' + g_a SS')
    Var(mean of A) = σ_e² (1/T + g_b n'n/T² + g_a m'm/T²)

The effects of superclasses are in the coordinates u of :mod:`analysis_sql.class_aware.design`.  Of
these let D = I + g_b Λ, and B (k, r) be a basis of S less its column means.  For each g_b of a
grid, B' D^-1 B = Σ μ_j p_j p_j' is computed once per task set, and a method enters through

    w_j = μ_j^(-1/2) p_j' B' D^-1 u        j = 1..r,  independent, of variances σ_e² (1 + g_a μ_j)

With x = g_a μ̄, μ̄ the mean of the μ_j, the restricted likelihood is::

    q = u'D^-1 u - Σ w_j² + rss + Σ w_j²/(1 + g_a μ_j)
    L = q^(-(T-1)/2) Π (1 + g_b λ_i)^(-1/2) Π (1 + g_a μ_j)^(-1/2)

and each pair of ratios is weighted by L, the prior of g_b, and a prior of x of the same form.  For
a known pair, (mean - θ)/se is Student's, where se² = q/(T-1) · (1/T + g_b n'n/T² + g_a m'm/T²).  As
rss is for classes, q less its last sum is taken to be at least what keeps g_a well within the grid.
The mixture only needs the distribution of the weight over ln(se): it is held on nodes 1/64 apart, a
weight between two nodes divided linearly between them.

These intervals are at least as wide as those for new classes, and their p-values at least as large.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.class_aware import intervals as new_classes
from analysis_sql.class_aware.design import ROWS, ClassDesign, disjoint_tasks, product_by_row
from analysis_sql.class_aware.likelihood import Shares, grid, least_rest, points
from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.student import BLOCK, NODE, node_quantiles

_LOG_X_RANGE = -10.125, 14.125
"""The range of ln(x): from no visible effect of superclasses to nothing else."""

_NEGLIGIBLE = 1e-13
"""Weights below this share of the largest are left out."""
_COARSE_STEP = 8
"""Step of the coarse grid of ratios by which negligible weights are found."""

_LEAST_SUPERCLASSES = 6
"""With fewer superclasses their variance is hardly known."""

_ZERO = 1e-9
"""Singular values whose squares are below this share of the largest are 0."""


class Spectra(Struct, frozen=True, eq=False):
    """The directions and sizes of superclass effects, at each ratio g_b of the grid (B,)."""

    class_ratios: Floats
    """float64 (B,): g_b."""
    grown: Floats
    """float64 (B, k): 1 + g_b λ_i, the diagonal of D."""
    basis: Floats
    """float64 (k, r): B."""
    axes: Floats
    """float64 (B, r, r): column j is p_j μ_j^(-1/2)."""
    eigenvalues: Floats
    """float64 (B, r): μ_j."""

    @property
    def rank(self) -> int:
        """r, the number of directions of superclass effects."""
        return int(self.basis.shape[1])


class SuperclassDesign(Struct, frozen=True, eq=False, dict=True):
    """The classes and superclasses of a task set's tasks."""

    classes: ClassDesign
    """The design of the same tasks without superclasses."""
    labels: Ints
    """int64 (T, K): the superclass of each class of each task, 0..G-1, numbered among those that
    are used."""
    _prefixes: dict[int, SuperclassDesign] = field(default_factory=dict)

    quantiles = staticmethod(node_quantiles)
    """Computes quantiles of mixtures over the grid of ratios."""
    rows_at_once = ROWS
    """Methods or pairs whose mixtures are computed at once."""

    @classmethod
    def of(cls, class_ids: AnyInts, superclass_of_class: Any) -> SuperclassDesign:
        """Make a design from tasks' classes (T, K) and the superclass of each class (C,)."""
        ids = np.asarray(class_ids)
        _, labels = np.unique(np.asarray(superclass_of_class)[ids], return_inverse=True)
        return cls(ClassDesign.of(ids), labels.reshape(ids.shape).astype(np.int64))

    @property
    def tasks(self) -> int:
        """T, the number of tasks."""
        return self.classes.tasks

    @cached_property
    def uses(self) -> Ints:
        """Count m (G,), the classes of each superclass in all tasks."""
        return np.bincount(self.labels.reshape(-1))

    @property
    def superclasses(self) -> int:
        """G, the number of superclasses that are used."""
        return self.uses.size

    @property
    def concentration(self) -> float:
        """m'm/T²: K²/G if all superclasses are used equally often, and more if not."""
        return int(self.uses @ self.uses) / self.tasks**2

    @cached_property
    def members(self) -> Ints:
        """S (T, G), the number m_ts of classes that each task has of each superclass."""
        cells = np.arange(self.tasks)[:, None] * self.superclasses + self.labels
        counts = np.bincount(cells.reshape(-1), minlength=self.tasks * self.superclasses)
        return counts.reshape(self.tasks, self.superclasses)

    @cached_property
    def independent(self) -> bool:
        """Whether no superclass is in two tasks, and there is an interval."""
        return self.obstacle is None and int((self.members > 0).sum(axis=0).max()) == 1

    @cached_property
    def disjoint_tasks(self) -> int:
        """Number of tasks found that share no superclass with one another."""
        ordered = np.sort(self.labels, axis=1)
        repeated = np.zeros(ordered.shape, bool)
        repeated[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
        # the search takes K different members of each task: a repeated one gets a unique number
        unique = self.superclasses + np.arange(ordered.size).reshape(ordered.shape)
        return len(disjoint_tasks(np.where(repeated, unique, ordered)))

    @cached_property
    def obstacle(self) -> str | None:
        """Why no interval for new superclasses can be computed, or None where it can."""
        if self.tasks < 2:
            return "fewer than 2 tasks"
        if self.superclasses < _LEAST_SUPERCLASSES:
            return f"{self.superclasses} superclasses: {_LEAST_SUPERCLASSES} are needed"
        if (self.members == self.members[0]).all():
            return "all tasks have the same superclasses"
        return None

    def prefix(self, tasks: int) -> SuperclassDesign:
        """Return the design of the first tasks; it is kept for later calls."""
        if tasks == self.tasks:
            return self
        if tasks not in self._prefixes:
            classes = self.classes.prefix(tasks)
            _, labels = np.unique(self.labels[:tasks], return_inverse=True)
            labels = labels.reshape(tasks, -1).astype(np.int64)
            self._prefixes[tasks] = SuperclassDesign(classes, labels)
        return self._prefixes[tasks]

    @cached_property
    def spectra(self) -> Spectra:
        """The spectra of a design without an obstacle.

        Where no class is used twice, class effects are part of the noise, and g_b is 0.
        """
        classes = self.classes
        class_ratios = np.zeros(1) if classes.disjoint else grid(classes).ratios
        columns = classes.coordinates(np.ascontiguousarray(self.members.T)).T
        left, singular, _ = np.linalg.svd(columns, full_matrices=False)
        kept = singular**2 > _ZERO * singular[0] ** 2
        basis = left[:, kept] * singular[kept]
        grown = 1.0 + np.outer(class_ratios, classes.eigenvalues)
        inner = np.stack([(basis.T / diagonal) @ basis for diagonal in grown])
        eigenvalues, vectors = np.linalg.eigh((inner + inner.transpose(0, 2, 1)) / 2)
        axes = vectors / np.sqrt(eigenvalues)[:, None, :]
        return Spectra(class_ratios, grown, basis, axes, eigenvalues)

    def coordinates(self, values: NDArray[Any]) -> Floats:
        """Compute the coordinates of many methods, in the unit of `values` (M, T).

        They are u and, at each ratio of the classes, w: float64 (M, k + B·r); u alone (M, k) where
        there is an obstacle.
        """
        u = self.classes.coordinates(values)
        if self.obstacle is not None:
            return u
        spectra = self.spectra
        w = [
            product_by_row(product_by_row(u / diagonal, spectra.basis), axes)
            for diagonal, axes in zip(spectra.grown, spectra.axes, strict=True)
        ]
        return np.concatenate([u, *w], axis=1)

    def split(self, coordinates: NDArray[Any]) -> tuple[Floats, Floats]:
        """Split :meth:`coordinates` (P, k + B·r) into u (P, k) and w (P, B, r)."""
        rank = self.classes.rank
        if self.obstacle is not None:
            return coordinates, np.zeros((len(coordinates), 0, 0))
        w = coordinates[:, rank:].reshape(len(coordinates), *self.spectra.eigenvalues.shape)
        return coordinates[:, :rank], w


class Grid(Struct, frozen=True, eq=False):
    """The grid of pairs of ratios (B, A), and all about it that follows from the design alone."""

    rows: slice
    """Which ratios of the classes it has."""
    class_shrunk: Floats
    """float64 (k, B): 1/(1 + g_b λ_i)."""
    shrunk: Floats
    """float64 (B, r, A): 1/(1 + g_a μ_j)."""
    log_weight: Floats
    """float64 (B, A): ln of both priors, and of the determinants in L."""
    log_error: Floats
    """float64 (B, A): half of ln of var(mean)/σ_e²/(T-1)."""

    @classmethod
    def of(cls, design: SuperclassDesign) -> Grid:
        """Make the grid of a design without an obstacle."""
        spectra, classes = design.spectra, design.classes
        x, superclass_prior = points(spectra.eigenvalues, design.tasks - 1, *_LOG_X_RANGE)
        superclass_ratios = x / spectra.eigenvalues.mean(axis=1, keepdims=True)
        grown = 1.0 + spectra.eigenvalues[:, :, None] * superclass_ratios[:, None, :]
        log_determinant = np.log(spectra.grown).sum(axis=1)[:, None] + np.log(grown).sum(axis=1)
        class_prior = np.ones(1) if classes.disjoint else grid(classes).prior
        log_prior = np.log(class_prior)[:, None] + np.log(superclass_prior)
        per_task = (
            1.0 / design.tasks
            + spectra.class_ratios[:, None] * classes.concentration
            + superclass_ratios * design.concentration
        )
        return cls(
            rows=slice(None),
            class_shrunk=(1.0 / spectra.grown).T,
            shrunk=1.0 / grown,
            log_weight=log_prior - 0.5 * log_determinant,
            log_error=0.5 * np.log(per_task / (design.tasks - 1)),
        )

    def part(self, rows: slice, columns: slice) -> Grid:
        """Return some ratios of classes (rows) and of superclasses (columns) of the whole grid."""
        return Grid(
            rows,
            self.class_shrunk[:, rows],
            self.shrunk[rows, :, columns],
            self.log_weight[rows, columns],
            self.log_error[rows, columns],
        )


_grid = lru_cache(maxsize=16)(Grid.of)
"""The grid of a design, cached for the sets that a report has at a time."""


@lru_cache(maxsize=16)
def _coarse_grid(design: SuperclassDesign) -> Grid:
    steps = slice(None, None, _COARSE_STEP)
    part = _grid(design).part(steps, steps)
    return replace(part, shrunk=np.ascontiguousarray(part.shrunk))


def weighted(
    design: SuperclassDesign, coordinates: NDArray[Any], norm2: NDArray[Any], grid: Grid
) -> tuple[Floats, Floats]:
    """Compute the weight of each pair of ratios of a grid, and ln(se / |y - ȳ|): both (B, P, A).

    `coordinates` (P, k + B·r) are those of y, in any unit, and `norm2` (P,) is |y - ȳ|² in that
    unit squared, above 0; P is at most :data:`ROWS`.  Each row's largest weight is 1.
    """
    u, w = design.split(coordinates)
    shares = Shares.of(design.classes, u, norm2)
    # products of one shape, whatever P is: see `product_by_row`
    w_squares = np.zeros((len(grid.shrunk), ROWS, w.shape[2]))
    filled = w_squares[:, : len(u)]
    np.divide(w[:, grid.rows].swapaxes(0, 1), np.sqrt(norm2)[:, None], out=filled)
    np.square(filled, out=filled)
    rest = product_by_row(shares.squares, grid.class_shrunk).T + shares.rest
    least = least_rest(design.spectra.rank, design.tasks - 1, _LOG_X_RANGE[1]) * rest
    rest -= filled.sum(axis=2)
    rest = np.maximum(rest, least)
    scales = np.matmul(w_squares, grid.shrunk)[:, : len(u)]
    scales += rest[:, :, None]
    log_scales = np.log(scales, out=scales)
    weights = log_scales * (-0.5 * (design.tasks - 1))
    weights += grid.log_weight[:, None]
    weights -= weights.max(axis=0).max(axis=1)[:, None]
    np.exp(weights, out=weights)
    log_scales *= 0.5
    log_scales += grid.log_error[:, None]
    return weights, log_scales


def _relevant_grid(design: SuperclassDesign, coordinates: NDArray[Any], norm2: Floats) -> Grid:
    """Return the grid without ratios whose weights are negligible in all rows.

    Weights fall on both sides of the largest one, so the coarse grid shows where they end.
    """
    weights, _ = weighted(design, coordinates, norm2, _coarse_grid(design))
    relevant = weights.max(axis=1) > _NEGLIGIBLE

    def around(ratios: NDArray[np.intp]) -> slice:
        return slice(max(ratios[0] - 1, 0) * _COARSE_STEP, (ratios[-1] + 1) * _COARSE_STEP)

    rows, columns = (np.flatnonzero(relevant.any(axis=axis)) for axis in (1, 0))
    return _grid(design).part(around(rows), around(columns))


def _on_nodes(weights: Floats, log_errors: Floats) -> tuple[Floats, Floats]:
    """Spread weights (B, P, A) over nodes of ln(se); return weights and se of the nodes, (P, N)."""
    place = log_errors / NODE
    least = place.min(axis=0).min(axis=1)  # an axis at a time is far faster
    first = np.floor(least / BLOCK) * BLOCK
    nodes = (int((place.max(axis=0).max(axis=1) - first).max()) + 1) // BLOCK * BLOCK + BLOCK
    place += (np.arange(len(first)) * nodes - first)[:, None]
    node = place.astype(np.int64)
    to_next = (place - node) * weights
    flat, size = node.reshape(-1), len(first) * nodes
    spread = np.bincount(flat, (weights - to_next).reshape(-1), size)
    spread[1:] += np.bincount(flat, to_next.reshape(-1), size)[:-1]
    spread = spread.reshape(len(first), nodes)
    errors = np.exp((first[:, None] + np.arange(nodes)) * NODE)
    return spread / spread.sum(axis=1, keepdims=True), errors


@new_classes.mixture_of.register
def _(
    design: SuperclassDesign, coordinates: NDArray[Any], norm2: NDArray[Any]
) -> tuple[Floats, Floats]:
    """Compute the mixture on nodes of ln(se)."""
    relevant = _relevant_grid(design, coordinates, norm2)
    return _on_nodes(*weighted(design, coordinates, norm2, relevant))
