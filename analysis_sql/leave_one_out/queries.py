"""Leaving out one image at a time, where it is known which queries were answered rightly.

What a query image does to a task of an inductive method is its own prediction, without the noise
of the task's other images; only what a support image does must be read from whole tasks. With u the
residuals of tasks on their classes or mean (:attr:`.design.FITTED`), e whether a query is right
less the mean of its class, and ē the mean of e over a class's queries in a task, sums over pairs of
different tasks b ≠ b'::

    G_s = mean of u_b u_b'      over pairs in which an image is support in both
    G_q = mean of e_b e_b'      over pairs in which an image is query in both
    G_x = mean of u_b e_b'      over pairs in which it is support in b and query in b'

each less the mean of u u', ē ē' and u ē' over all pairs of tasks with the class. In a class of N
images, with F = (N-1)/(N-S) and o = (1 + F S/(N-1))/K::

    V  = Σ_c (K/C)²/(N-1) [ (F S)² G_s + o² G_q + 2 F S o G_x ]

Classes of fewer than 3(S+Q) images, in which interactions of images count, keep the jackknife of
whole tasks. Pairs are pooled over classes in proportion to what V counts of each. τ² is the sum of
the variances of the three parts, with the overlap of two tasks as uniform drawing gives it.
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
    incidence,
    leave_out_images,
    or_unknown,
    per_unit,
    some_of,
)

_TOGETHER = 256
"""Methods up to which all pairs are computed as soon as something of one is wanted."""

_EXACT = 2**24
"""Whole numbers below it are exact in single precision."""

Products = Callable[..., Floats]
"""Gives Σ w x y of methods, or Σ w (x_j-x_k)(y_j-y_k) of pairs, of x and y (n, M)."""

LEAST_SIZE = 3
"""N_c/m below which a class keeps the jackknife of whole tasks."""


def takes_queries(tasks: Membership, shots: int) -> bool:
    """Return whether roles are known, no task has two images of a unit, and some class is large."""
    return 0 < shots < tasks.per_class and tasks.one_each and bool(_large(tasks).any())


def _large(tasks: Membership) -> Bools:
    return np.asarray(tasks.units_of_class >= LEAST_SIZE * tasks.per_class)


class QueryDesign(Struct, frozen=True, eq=False):
    """The images of a set's tasks by their roles, for all methods."""

    support: csr_array
    """(B, U): which units are support."""
    slots: tuple[Ints, ...]
    """Of each class that counts, the positions of its B·K places of tasks."""
    units: tuple[tuple[Ints, csr_array], ...]
    """Of each such class its units (U_c,), and which of them each query is (U_c, J_c Q)."""
    weights: tuple[Floats, Floats, Floats]
    """Of A², E² and A E of each unit (U,), with A and E the sums of u and e."""
    noise: Floats
    """(B,): of u², to be taken off."""
    of_class: tuple[Floats, Floats, Floats]
    """Of Σe², Σē² and Σuē of each class, to be taken off or added."""
    classes: tuple[csr_array, Floats]
    """(B, C), which classes a task has, and of (Σu)² of each, to be taken off (C,)."""
    errors: tuple[float, Floats, Floats, Floats]
    """What τ² is in parts of σ_u⁴, and for each class of d_u², d_e² and d_u d_e."""
    rest: Jackknife | None
    """Of whole tasks, for classes that are too small."""
    way: int
    queries: int
    """K and Q."""

    @classmethod
    def of(cls, tasks: Membership, shots: int) -> QueryDesign | None:
        """Make the design of tasks whose first `shots` images of a class are support.

        Of tasks for which :func:`takes_queries` holds; None where no two share an image in a role.
        """
        query, large = tasks.per_class - shots, _large(tasks)
        size = tasks.units_of_class.astype(np.float64)
        uses = tasks.tasks_of_class.astype(np.float64)
        pairs = np.maximum(uses * (uses - 1.0), 1.0)
        rest = (size - 1.0) / np.maximum(size - shots, 1.0) * shots  # F S
        own = (1.0 + rest / np.maximum(size - 1.0, 1.0)) / tasks.way
        share = np.where(large, (tasks.way / size.size) ** 2 / np.maximum(size - 1.0, 1.0), 0.0)
        parts = share * rest**2, share * own**2, 2.0 * share * rest * own
        support = incidence(
            tasks.units[:, :, :shots].reshape(tasks.tasks, -1), tasks.class_of_unit.size
        )
        n_s = support.sum(axis=0)
        n_q = tasks.tasks_of_unit - n_s
        overlap = shots * shots / size, query * query / size, shots * query / size
        weights = []
        for part, mean, found in zip(
            parts, overlap, (n_s * (n_s - 1), n_q * (n_q - 1), n_s * n_q), strict=True
        ):
            each = part / (pairs * mean)
            whole = float(each @ np.bincount(tasks.class_of_unit, found, size.size))
            if not whole:
                return None
            weights.append(each * float(part.sum()) / whole)
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
            tuple(_by_unit(of_query[own].reshape(-1)) for own in slots),
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
    """Return the different units, and the matrix that adds up queries (J,) by their units."""
    different, which = np.unique(units, return_inverse=True)
    places = which, np.arange(units.size)
    return different, csr_array((np.ones(units.size, np.float32), places))


def _errors(
    tasks: Membership,
    shots: int,
    weights: tuple[Floats, Floats, Floats],
    overlap: tuple[Floats, Floats, Floats],
    numbers: Ints,
) -> tuple[float, Floats, Floats, Floats]:
    """Return what τ² is in parts of products of variances; see :class:`QueryDesign`.

    Two tasks with the class have s images as support in common, hypergeometric; of several classes
    in common their sum counts.
    """
    size, uses = tasks.units_of_class.astype(np.float64), tasks.tasks_of_class.astype(np.float64)
    pairs = uses * (uses - 1.0)
    w_s, w_q, w_x = weights
    means, query, cross = overlap
    spread = means * (1.0 - shots / size) * (size - shots) / np.maximum(size - 1.0, 1.0)
    together = np.asarray((tasks.has_class.T @ tasks.has_class).toarray())
    both = w_s * means
    several = 2.0 * float(both @ (together * (together - 1.0)) @ both)
    of_class = 2.0 * pairs * w_s**2 * spread, 2.0 * pairs * w_q**2 * query, pairs * w_x**2 * cross
    return several, *(np.asarray(own[numbers]) for own in of_class)  # type: ignore[return-value]


class ProductSums(ABC):
    """V and τ of methods (2, M), and of differences, from products of two methods' values.

    NaN where it is not known which queries were right.
    """

    def __init__(self, design: Any, u: Floats, right: Sequence[RightQueries | None]) -> None:
        """Take residuals (M, B), and of each method which queries were right."""
        known = np.array([own is not None for own in right])
        self._place = np.where(known, np.cumsum(known) - 1, -1)
        self._design, self._u = design, u[known]
        self._right = [own for own in right if own is not None]

    def block(self, rows: Ints, columns: Ints, close: Any = ()) -> Floats:
        """Return V and τ of pairs (2, R, S), of a method itself where the two are the same.

        Of pairs `close` (P, 2) to each other from their differences, whose digits it would lack.
        """
        row, column = self._place[rows], self._place[columns]
        found = self._of_pairs[:, row[:, None], column]
        known = [at for at in np.asarray(close).tolist() if row[at[0]] >= 0 <= column[at[1]]]
        for at in some_of(np.array(known), self._u.shape[1] * self._right[0].counts.shape[1]):
            first, second = row[at[0]], column[at[1]]
            right = [
                RightQueries(self._right[j].shares - self._right[k].shares, 1)
                for j, k in zip(first.tolist(), second.tolist(), strict=True)
            ]
            apart = type(self)(self._design, self._u[first] - self._u[second], right)
            found[:, *at] = apart.own
        return found

    @cached_property
    def own(self) -> Floats:
        """V and τ of each method (2, M)."""
        if len(self._u) <= _TOGETHER:
            return np.diagonal(self._of_pairs, axis1=1, axis2=2)[:, self._place]
        return or_unknown(np.stack(self._sums(_products_of_each)))[:, self._place]

    @cached_property
    def _of_pairs(self) -> Floats:
        """V and τ of all pairs of known ones, of these themselves on the diagonal; then NaN."""
        return or_unknown(np.stack(self._sums(_products_of_pairs)))

    @abstractmethod
    def _sums(self, products: Products) -> tuple[Floats, Floats]:
        """Add up V and τ from products of methods, or of differences of methods."""


class QuerySums(ProductSums):
    """The same of tasks of one size: which queries were right are arrays (B, K·Q)."""

    def _sums(self, products: Products) -> tuple[Floats, Floats]:
        made: QueryDesign = self._design
        u = np.ascontiguousarray(self._u.T)
        of_e, of_mean, of_both = made.of_class
        several, of_u2, of_e2, of_ue = made.errors
        has, of_sum = made.classes
        of_class = has.T @ u
        variance = -products(u, u, made.noise) - products(of_class, of_class, of_sum)
        squares = several * (products(u, u) / len(u)) ** 2
        e = np.zeros((made.weights[0].size, u.shape[1]))
        means, weights = np.zeros((len(u) * made.way, u.shape[1])), np.zeros((2, len(u) * made.way))
        for number, places in enumerate(made.slots):
            x = self._of_class(places)
            centre = x.mean(axis=0, dtype=np.float64)[None]
            mean = x.reshape(len(places), made.queries, -1).mean(axis=1, dtype=np.float64)
            means[places] = mean - centre
            weights[0, places], weights[1, places] = of_mean[number], of_both[number]
            units, sums = made.units[number]
            e[units] = sums @ x - sums.sum(axis=1)[:, None] * centre
            whole = products(x, x) - len(x) * products(centre, centre)
            variance = variance - of_e[number] * whole
            own = u[places // made.way]
            d_u, d_e = products(own, own) / len(own), whole / len(x)
            squares = squares + of_u2[number] * d_u**2 + of_e2[number] * d_e**2
            squares = squares + of_ue[number] * d_u * d_e
        both = (means * weights[1][:, None]).reshape(len(u), made.way, -1).sum(axis=1)
        variance = variance + products(means, means, weights[0]) + products(u, both)
        w_s, w_q, w_x = made.weights  # Σ_i of w_s a², w_q e² and w_x a e, where a = Sᵀu
        of_support = made.support @ (w_s[:, None] * (made.support.T @ u) + w_x[:, None] * e)
        variance = variance + products(u, of_support) + products(e, e, w_q)
        if made.rest is not None:
            rest = np.ascontiguousarray(made.rest.coordinates(self._u).T)
            variance = variance + products(rest, rest, made.rest.weights)
            variance = variance + products(u, u, made.rest.noise)
            totals = np.maximum(products(rest, rest, made.rest.totals), 0.0)
            squares = squares + (made.rest.scale * totals) ** 2
        return variance, np.sqrt(np.maximum(squares, 0.0))

    @cached_property
    def _known(self) -> tuple[Any, Floats | None]:
        """Return what is known (M, B·K, Q), and by what to divide it, if anything.

        Where it is 0 or 1, sums of products are whole numbers, exact in half of the digits.
        """
        stacked = np.stack([own.counts for own in self._right])
        runs = np.array([own.runs for own in self._right], np.float64)
        by_place = stacked.reshape(len(runs), -1, self._design.queries)
        return by_place, runs if runs.max() > 1 else None

    def _of_class(self, places: Ints) -> NDArray[Any]:
        """Return whether the queries of one class are answered rightly, (J_c Q, M)."""
        stacked, runs = self._known
        values = np.take(stacked, places, axis=1).reshape(len(stacked), -1).T
        exact = runs is None and stacked.dtype == np.uint8 and len(values) < _EXACT
        x: NDArray[Any] = np.ascontiguousarray(values, np.float32 if exact else np.float64)
        return x if runs is None else np.divide(x, runs)


def _products_of_each(x: NDArray[Any], y: NDArray[Any], weights: Floats | None = None) -> Floats:
    """Return Σ w x y of each method (M,), of x and y (n, M)."""
    if weights is None:
        return np.asarray(np.einsum("nm,nm->m", x, y), np.float64)
    return np.asarray(weights @ (x * y))


def _products_of_pairs(x: NDArray[Any], y: NDArray[Any], weights: Floats | None = None) -> Floats:
    """Return Σ w (x_j-x_k)(y_j-y_k) of pairs (M, M), and those of methods on the diagonal."""
    both = np.asarray((x if weights is None else x * weights[:, None]).T @ y, np.float64)
    own = np.diagonal(both)
    found = own[:, None] + own - both - both.T
    np.fill_diagonal(found, own)
    return np.asarray(found)
