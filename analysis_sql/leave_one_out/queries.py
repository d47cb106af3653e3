"""Leaving out one image at a time, where it is known which queries were right.

The effect of a query image on a task of an inductive method is its prediction, without the noise of
the task's other images; only effects of support images must be estimated from whole tasks. With u
the residuals of tasks on their classes or mean (:attr:`.design.FITTED`), e whether a query is right
less the mean of its class, and ē the mean of e over a class's queries in a task, means over pairs
of different tasks b ≠ b' are::

    G_s = mean of u_b u_b'      over pairs in which an image is support in both
    G_q = mean of e_b e_b'      over pairs in which an image is query in both
    G_x = mean of u_b e_b'      over pairs in which it is support in b and query in b'

each less the mean of u u', ē ē' and u ē' over all pairs of tasks with the class. In a class of N
images, with F = (N-1)/(N-S) and o = (1 + F S/(N-1))/K::

    V  = Σ_c (K/C)²/(N-1) [ (F S)² G_s + o² G_q + 2 F S o G_x ]

Classes of fewer than 3(S+Q) images, in which interactions of images count, keep the jackknife of
whole tasks. Pairs are pooled over classes in proportion to their weights in V. τ² is the sum of the
variances of the three parts, with the expected overlap of two tasks drawn uniformly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analysis_sql.intervals.arrays import Bools, Floats, Ints
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.jackknife import (
    Jackknife,
    Membership,
    blocks_of,
    incidence,
    leave_out_images,
    per_unit,
    with_unknown,
)

_MOST_PAIRED = 256
"""Methods up to which sums of methods are taken from those of all pairs."""

_EXACT = 2**24
"""Integers below it are exact in single precision."""

Products = Callable[..., Floats]
"""Computes Σ w x y of methods, or Σ w (x_j-x_k)(y_j-y_k) of pairs, from x and y (n, M)."""

_LEAST_SIZE = 3
"""N_c/m below which a class keeps the jackknife of whole tasks."""


def takes_queries(tasks: Membership, shots: int) -> bool:
    """Return whether roles are known, no task has two images of a unit, and some class is large."""
    return 0 < shots < tasks.per_class and tasks.one_each and bool(_large_classes(tasks).any())


def _large_classes(tasks: Membership) -> Bools:
    return np.asarray(tasks.units_of_class >= _LEAST_SIZE * tasks.per_class)


class QueryDesign(Struct, frozen=True, eq=False):
    """The images of a set's tasks by their roles, for all methods."""

    support: csr_array
    """(B, U): which units are support."""
    slots: tuple[Ints, ...]
    """For each large class, the positions of its tasks among the B·K pairs of task and class."""
    units: tuple[tuple[Ints, csr_array], ...]
    """For each large class, its units (U_c,), and which of them each query is (U_c, J_c Q)."""
    weights: tuple[Floats, Floats, Floats]
    """The weights of A², E² and A E of each unit (U,), with A and E the sums of u and e."""
    noise: Floats
    """(B,): the weight of u², which is subtracted."""
    of_class: tuple[Floats, Floats, Floats]
    """The weights of Σe², which is subtracted, and of Σē² and Σuē, for each large class."""
    classes: tuple[csr_array, Floats]
    """(B, C), which classes a task has, and the weight of (Σu)² (C,), which is subtracted."""
    errors: tuple[float, Floats, Floats, Floats]
    """The factors in τ² of σ_u⁴, and for each large class of d_u², d_e² and d_u d_e."""
    rest: Jackknife | None
    """The jackknife of whole tasks, for classes that are too small."""
    way: int
    queries: int
    """K and Q."""

    @classmethod
    def of(cls, tasks: Membership, shots: int) -> QueryDesign | None:
        """Make the design of tasks whose first `shots` images of a class are support.

        :func:`takes_queries` holds for them; None where no two tasks share an image in a role.
        """
        query, large = tasks.per_class - shots, _large_classes(tasks)
        size = tasks.units_of_class.astype(np.float64)
        uses = tasks.tasks_of_class.astype(np.float64)
        pairs = np.maximum(uses * (uses - 1.0), 1.0)
        f_s = (size - 1.0) / np.maximum(size - shots, 1.0) * shots  # F S
        o = (1.0 + f_s / np.maximum(size - 1.0, 1.0)) / tasks.way
        share = np.where(large, (tasks.way / size.size) ** 2 / np.maximum(size - 1.0, 1.0), 0.0)
        parts = share * f_s**2, share * o**2, 2.0 * share * f_s * o
        support = incidence(
            tasks.units[:, :, :shots].reshape(tasks.tasks, -1), tasks.class_of_unit.size
        )
        n_s = support.sum(axis=0)
        n_q = tasks.tasks_of_unit - n_s
        overlap = shots * shots / size, query * query / size, shots * query / size
        shared = n_s * (n_s - 1), n_q * (n_q - 1), n_s * n_q
        weights = []
        for part, mean, unit_pairs in zip(parts, overlap, shared, strict=True):
            per_pair = part / (pairs * mean)
            total = float(per_pair @ np.bincount(tasks.class_of_unit, unit_pairs, size.size))
            if not total:
                return None
            weights.append(per_pair * float(part.sum()) / total)
        w_s, w_q, w_x = weights
        numbers = np.flatnonzero(large)
        places = tasks.classes.reshape(-1)
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(size.size + 1))
        slots = tuple(order[ends[c] : ends[c + 1]] for c in numbers)
        of_query = tasks.units[:, :, shots:].reshape(-1, query)
        noise = tasks.has_class @ (w_s * shots - parts[0] / pairs)
        return cls(
            support,
            slots,
            tuple(_by_unit(of_query[places].reshape(-1)) for places in slots),
            tuple(per_unit(tasks, w) for w in weights),  # type: ignore[arg-type]
            np.asarray(noise),
            (w_q[numbers], (parts[1] / pairs)[numbers], (parts[2] / pairs)[numbers]),
            (tasks.has_class, parts[0] / pairs),
            _errors(tasks, shots, (w_s, w_q, w_x), overlap, numbers),
            None if large.all() else leave_out_images(tasks, ~large),
            tasks.way,
            query,
        )

    def sums(self, u: Floats, right: Sequence[RightQueries | None]) -> QuerySums:
        """Return the sums for V and τ, of residuals (M, B) and which queries were right."""
        return QuerySums(self, u, right)


def _by_unit(units: Ints) -> tuple[Ints, csr_array]:
    """Return the different units, and the matrix that sums queries (J,) by their units."""
    different, position = np.unique(units, return_inverse=True)
    entries = np.ones(units.size, np.float32), (position, np.arange(units.size))
    return different, csr_array(entries)


def _errors(
    tasks: Membership,
    shots: int,
    weights: tuple[Floats, Floats, Floats],
    overlap: tuple[Floats, Floats, Floats],
    numbers: Ints,
) -> tuple[float, Floats, Floats, Floats]:
    """Return the factors of products of variances in τ²; see :attr:`QueryDesign.errors`.

    The number of support images that two tasks with a class share is hypergeometric; the sum over
    the classes that they share counts.
    """
    size, uses = tasks.units_of_class.astype(np.float64), tasks.tasks_of_class.astype(np.float64)
    pairs = uses * (uses - 1.0)
    w_s, w_q, w_x = weights
    means, query, cross = overlap
    spread = means * (1.0 - shots / size) * (size - shots) / np.maximum(size - 1.0, 1.0)
    together = np.asarray((tasks.has_class.T @ tasks.has_class).toarray())
    weighted = w_s * means
    several = 2.0 * float(weighted @ (together * (together - 1.0)) @ weighted)
    of_class = 2.0 * pairs * w_s**2 * spread, 2.0 * pairs * w_q**2 * query, pairs * w_x**2 * cross
    return several, *(np.asarray(f[numbers]) for f in of_class)  # type: ignore[return-value]


class ProductSums(ABC):
    """V and τ of methods (2, M), and of differences, from products of two methods' values.

    NaN where it is not known which queries were right.
    """

    def __init__(self, design: Any, u: Floats, right: Sequence[RightQueries | None]) -> None:
        """Take residuals (M, B), and the right queries of each method."""
        known = np.array([queries is not None for queries in right])
        self._position = np.where(known, np.cumsum(known) - 1, -1)
        self._design, self._u = design, u[known]
        self._right = [queries for queries in right if queries is not None]

    def block(self, rows: Ints, columns: Ints, close: Any = ()) -> Floats:
        """Return V and τ of pairs (2, R, S), of a method where row and column are the same.

        Those of `close` pairs (P, 2) are computed from their differences, which keeps all digits.
        """
        row, column = self._position[rows], self._position[columns]
        sums = self._of_pairs[:, row[:, None], column]
        known = [(i, j) for i, j in np.asarray(close).tolist() if row[i] >= 0 and column[j] >= 0]
        width = self._u.shape[1] * self._right[0].counts.shape[1]
        for index in blocks_of(np.array(known), width):
            first, second = row[index[0]], column[index[1]]
            right = [
                RightQueries(self._right[j].shares - self._right[k].shares, 1)
                for j, k in zip(first.tolist(), second.tolist(), strict=True)
            ]
            differences = type(self)(self._design, self._u[first] - self._u[second], right)
            sums[:, *index] = differences.own
        return sums

    @cached_property
    def own(self) -> Floats:
        """V and τ of each method (2, M)."""
        if len(self._u) <= _MOST_PAIRED:
            return np.diagonal(self._of_pairs, axis1=1, axis2=2)[:, self._position]
        return with_unknown(np.stack(self._sums(_products_of_methods)))[:, self._position]

    @cached_property
    def _of_pairs(self) -> Floats:
        """V and τ of all pairs of known methods, of methods on the diagonal; then NaN."""
        return with_unknown(np.stack(self._sums(_products_of_pairs)))

    @abstractmethod
    def _sums(self, products: Products) -> tuple[Floats, Floats]:
        """Compute V and τ from products of methods, or of differences of methods."""


class QuerySums(ProductSums):
    """V and τ of tasks of one size; right queries are arrays (B, K·Q)."""

    def _sums(self, products: Products) -> tuple[Floats, Floats]:
        design: QueryDesign = self._design
        u = np.ascontiguousarray(self._u.T)
        w_e2, w_mean2, w_u_mean = design.of_class
        f_u4, f_u2, f_e2, f_ue = design.errors
        has_class, w_class = design.classes
        u_of_class = has_class.T @ u
        variance = -products(u, u, design.noise) - products(u_of_class, u_of_class, w_class)
        tau2 = f_u4 * (products(u, u) / len(u)) ** 2
        e = np.zeros((design.weights[0].size, u.shape[1]))
        size = len(u) * design.way
        means, mean_weights, cross_weights = (
            np.zeros((size, u.shape[1])),
            np.zeros(size),
            np.zeros(size),
        )
        for c, places in enumerate(design.slots):
            x = self._queries_of_class(places)
            centre = x.mean(axis=0, dtype=np.float64)[None]
            mean = x.reshape(len(places), design.queries, -1).mean(axis=1, dtype=np.float64)
            means[places] = mean - centre
            mean_weights[places], cross_weights[places] = w_mean2[c], w_u_mean[c]
            units, to_units = design.units[c]
            e[units] = to_units @ x - to_units.sum(axis=1)[:, None] * centre
            e2 = products(x, x) - len(x) * products(centre, centre)
            variance = variance - w_e2[c] * e2
            u_c = u[places // design.way]
            d_u, d_e = products(u_c, u_c) / len(u_c), e2 / len(x)
            tau2 = tau2 + f_u2[c] * d_u**2 + f_e2[c] * d_e**2
            tau2 = tau2 + f_ue[c] * d_u * d_e
        cross = (means * cross_weights[:, None]).reshape(len(u), design.way, -1).sum(axis=1)
        variance = variance + products(means, means, mean_weights) + products(u, cross)
        w_s, w_q, w_x = design.weights  # of a², e² and a e, where a = Sᵀu
        of_support = design.support @ (w_s[:, None] * (design.support.T @ u) + w_x[:, None] * e)
        variance = variance + products(u, of_support) + products(e, e, w_q)
        if design.rest is not None:
            a = np.ascontiguousarray(design.rest.coordinates(self._u).T)
            variance = variance + products(a, a, design.rest.weights)
            variance = variance + products(u, u, design.rest.noise)
            totals = np.maximum(products(a, a, design.rest.totals), 0.0)
            tau2 = tau2 + (design.rest.scale * totals) ** 2
        return variance, np.sqrt(np.maximum(tau2, 0.0))

    @cached_property
    def _stacked(self) -> tuple[Any, Floats | None]:
        """Counts of right runs (M, B·K, Q), and the methods' runs, None if all have one.

        With one run, sums of products are integers, exact in single precision.
        """
        counts = np.stack([queries.counts for queries in self._right])
        runs = np.array([queries.runs for queries in self._right], np.float64)
        by_place = counts.reshape(len(runs), -1, self._design.queries)
        return by_place, runs if runs.max() > 1 else None

    def _queries_of_class(self, places: Ints) -> NDArray[Any]:
        """Return the shares of runs that answer the queries of one class rightly, (J_c Q, M)."""
        stacked, runs = self._stacked
        values = np.take(stacked, places, axis=1).reshape(len(stacked), -1).T
        exact = runs is None and stacked.dtype == np.uint8 and len(values) < _EXACT
        x: NDArray[Any] = np.ascontiguousarray(values, np.float32 if exact else np.float64)
        return x if runs is None else np.divide(x, runs)


def _products_of_methods(x: NDArray[Any], y: NDArray[Any], weights: Floats | None = None) -> Floats:
    """Return Σ w x y of each method (M,), of x and y (n, M)."""
    if weights is None:
        return np.asarray(np.einsum("nm,nm->m", x, y), np.float64)
    return np.asarray(weights @ (x * y))


def _products_of_pairs(x: NDArray[Any], y: NDArray[Any], weights: Floats | None = None) -> Floats:
    """Return Σ w (x_j-x_k)(y_j-y_k) of pairs (M, M), and Σ w x y of methods on the diagonal."""
    products = np.asarray((x if weights is None else x * weights[:, None]).T @ y, np.float64)
    own = np.diagonal(products)
    differences = own[:, None] + own - products - products.T
    np.fill_diagonal(differences, own)
    return np.asarray(differences)
