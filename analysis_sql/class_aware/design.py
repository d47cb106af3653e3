"""Which classes the tasks of a set have, and what they do to a mean over its tasks.

Tasks that share a class share its difficulty.  With Z the T x C matrix that says which class is
in which task, the accuracies (or paired differences) A = (A_1..A_T) are modelled as::

    A_t = θ + Σ_{c in t} b_c + e_t       b_c of mean 0 and variance σ_b²,  e_t of 0 and σ_e²

where θ is the mean over *new classes*: b is what another experiment, with classes of its own,
would draw anew.  With n = Z'1 the number of tasks of each class, and g = σ_b²/σ_e²::

    Var(A) = σ_e² (I + g ZZ')            Var(mean of A) = σ_e² (1/T + g v),   v = n'n/T²

Z is known before any method runs, so its eigenvectors are computed once per task set: with Z_c the
columns of Z less their means, Z_c Z_c' = Σ λ_i w_i w_i' over its k eigenvalues that are not 0.  A
method enters through its coordinates u_i = w_i'A and its scatter |A - mean|² alone; u is linear in
A, so that a paired difference has the difference of two methods' coordinates.  The coordinates are
independent, with variances σ_e²(1 + gλ_i).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.student import mixture_quantiles
from benchmark_spec.errors import SpecError

ROWS = 32
"""Rows of every matrix product, see :func:`product_by_row`."""

_ZERO = 1e-9
"""Eigenvalues below this share of the largest are 0."""


class ClassDesign(Struct, frozen=True, eq=False, dict=True):
    """The classes of a task set's tasks, and the eigenvectors of their incidence matrix."""

    members: Ints
    """int64 (T, K): classes of each task, 0..C-1, numbered among those that are used."""
    uses: Ints
    """int64 (C,): n, the number of tasks of each class."""
    _prefixes: dict[int, ClassDesign] = field(default_factory=dict)

    quantiles = staticmethod(mixture_quantiles)
    """Computes quantiles of mixtures over the grid of ratios."""
    rows_at_once = 128
    """Methods or pairs whose mixtures are computed at once."""

    @classmethod
    def of(cls, class_ids: AnyInts) -> ClassDesign:
        """Make a design from tasks' classes, int (T, K); SpecError if a task has one twice."""
        ids = np.asarray(class_ids)
        if ids.ndim != 2 or not ids.size or ids.dtype.kind not in "iu":
            raise SpecError(
                f"an array {ids.shape} of {ids.dtype} does not hold the classes of tasks",
                expected="integers, a row for each task and a column for each of its classes",
            )
        ordered = np.sort(ids, axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if twice.size:
            raise SpecError(
                f"task {twice[0]} has a class twice: {ids[twice[0]].tolist()}",
                expected="classes of a task that are all different",
            )
        different, members = np.unique(ids, return_inverse=True)
        members = members.reshape(ids.shape).astype(np.int64)
        return cls(members, np.bincount(members.reshape(-1), minlength=different.size))

    @property
    def tasks(self) -> int:
        """T, the number of tasks."""
        return len(self.members)

    @property
    def way(self) -> int:
        """K, classes in a task."""
        return int(self.members.shape[1])

    @property
    def classes(self) -> int:
        """C, the number of classes that are used."""
        return self.uses.size

    @property
    def concentration(self) -> float:
        """V = n'n/T²: between K²/C (all classes used equally often) and K."""
        return int(self.uses @ self.uses) / self.tasks**2

    @property
    def independent(self) -> bool:
        """Whether tasks are independent, and there is an interval."""
        return self.disjoint and self.obstacle is None

    @property
    def disjoint(self) -> bool:
        """Whether no class is used twice: tasks are then independent, whatever σ_b²."""
        return int(self.uses.max()) == 1

    @property
    def same_classes(self) -> bool:
        """Whether all tasks have the same classes, so that σ_b² cannot be estimated."""
        return self.classes == self.way

    @cached_property
    def disjoint_tasks(self) -> int:
        """Number of tasks found that share no class with one another."""
        return len(disjoint_tasks(self.members))

    @property
    def rank(self) -> int:
        """k, the number of eigenvalues that are not 0."""
        return self.eigenvalues.size

    @property
    def eigenvalues(self) -> Floats:
        """λ_1..λ_k (k,), in descending order."""
        return self._spectrum[0]

    @property
    def mean_eigenvalue(self) -> float:
        """λ̄, 0 where there is no eigenvalue: the unit of 1/g."""
        return float(self.eigenvalues.mean()) if self.rank else 0.0

    @property
    def obstacle(self) -> str | None:
        """Why no class-aware interval can be computed, or None where it can."""
        if self.tasks < 2:
            return "fewer than 2 tasks"
        return "all tasks have the same classes" if self.same_classes else None

    def prefix(self, tasks: int) -> ClassDesign:
        """Return the design of the first tasks; it is kept for later calls."""
        if tasks == self.tasks:
            return self
        if tasks not in self._prefixes:
            self._prefixes[tasks] = ClassDesign.of(self.members[:tasks])
        return self._prefixes[tasks]

    def coordinates(self, values: NDArray[Any]) -> Floats:
        """Compute the coordinates u (M, k) of many methods, in the units of `values` (M, T).

        Sums of integers over a class's tasks are exact, and division comes last.
        """
        x = np.asarray(values)
        x = x.astype(np.int64 if x.dtype.kind in "iu" else np.float64, copy=False)
        total = x.sum(axis=1, keepdims=True)
        if self._fewer_classes:
            by_class = (self._tasks_of_classes @ np.ascontiguousarray(x.T)).T  # Z'x
            centred = self.tasks * by_class - total * self.uses
        else:
            centred = self.tasks * x - total
        return product_by_row(centred / self.tasks, self._spectrum[1])

    @cached_property
    def _tasks_of_classes(self) -> csr_array:
        """Z' (C, T): which tasks a class is in."""
        tasks = np.repeat(np.arange(self.tasks), self.way)
        entries = np.ones(tasks.size, np.int64), (self.members.reshape(-1), tasks)
        return csr_array(entries, shape=(self.classes, self.tasks))

    @property
    def _fewer_classes(self) -> bool:
        """Whether there are fewer classes than tasks, so that C x C is the smaller problem."""
        return self.classes < self.tasks

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues (k,), and the matrix that turns centred values into coordinates.

        It is (C, k) for sums by class, or (T, k) for values of tasks.  Z_c Z_c' and Z_c' Z_c have
        the same eigenvalues that are not 0, and w_i = Z_c r_i / √λ_i, r_i the eigenvectors of the
        latter.  T times Z_c' Z_c and T² times Z_c Z_c' are matrices of integers, and exact.
        """
        if self.same_classes or self.tasks < 2:
            return np.zeros(0), np.zeros((min(self.classes, self.tasks), 0))
        t, n = float(self.tasks), self.uses.astype(np.float64)
        if self._fewer_classes:
            gram = (t * self._shared_tasks() - np.outer(n, n)) / t
        else:
            members = np.zeros((self.tasks, self.classes))
            members[np.arange(self.tasks)[:, None], self.members] = 1.0
            shared = members @ n  # row sums of ZZ'
            gram = t * (members @ members.T) - shared[:, None] - shared[None, :]
            gram = (t * gram + n @ n) / t**2
        values, vectors = np.linalg.eigh(gram)
        kept = np.flatnonzero(values > _ZERO * values[-1])[::-1]
        values, vectors = values[kept], vectors[:, kept]
        return values, vectors / np.sqrt(values) if self._fewer_classes else vectors

    def _shared_tasks(self) -> Floats:
        """Count Z'Z (C, C), the tasks that two classes share.

        A matrix product would wake threads, which then spin for longer than the counting takes.
        """
        shared = np.zeros(self.classes**2, np.int64)
        for column in self.members.T:
            pairs = column[:, None] * self.classes + self.members
            shared += np.bincount(pairs.reshape(-1), minlength=shared.size)
        return shared.reshape(self.classes, self.classes).astype(np.float64)


def product_by_row(rows: Floats, matrix: Floats) -> Floats:
    """Multiply `rows` (P, a) by `matrix` (a, b), :data:`ROWS` rows at a time.

    The last digits of a matrix product depend on its number of rows, and a pair of methods must
    have the same interval whatever other pairs are compared.
    """
    blocks = -(-len(rows) // ROWS)
    padded = np.zeros((blocks * ROWS, rows.shape[1]))
    padded[: len(rows)] = rows
    products = np.matmul(padded.reshape(blocks, ROWS, rows.shape[1]), matrix)
    return np.asarray(products.reshape(blocks * ROWS, matrix.shape[1])[: len(rows)])


SEARCH_STEPS = 2_000
"""Steps after which the search for class-disjoint tasks stops."""


def disjoint_tasks(class_ids: AnyInts, *, steps: int = SEARCH_STEPS) -> tuple[int, ...]:
    """Choose many tasks no two of which share a class, from the classes of each, int (T, K).

    Returns rows, ascending; after `steps` steps the choice may not be the largest.

    The search is depth-first and deterministic: it branches over the tasks of the class that the
    fewest remaining tasks have, first over the task that excludes the fewest others, at last over
    none of them.
    """
    ordered, first = np.unique(np.sort(class_ids, axis=1), axis=0, return_index=True)
    tasks = ordered[np.argsort(first)]  # equal tasks once, in the order of the set
    rows = np.sort(first)
    tasks_of_class = {  # sets of tasks are the bits of an integer
        int(c): sum(1 << int(task) for task in np.flatnonzero((tasks == c).any(axis=1)))
        for c in np.unique(tasks)
    }
    clashes = []  # of each task: itself and those that share a class with it
    for classes in tasks.tolist():
        bits = 0
        for c in classes:
            bits |= tasks_of_class[c]
        clashes.append(bits)
    chosen = _largest_packing([*tasks_of_class.values()], clashes, tasks.shape[1], steps)
    return tuple(sorted(int(rows[task]) for task in chosen))


def _largest_packing(
    tasks_of_class: Sequence[int], clashes: Sequence[int], way: int, steps: int
) -> tuple[int, ...]:
    """Search for :func:`disjoint_tasks`; sets of tasks are the bits of an integer."""
    best: tuple[int, ...] = ()
    stack: list[tuple[int, tuple[int, ...]]] = [((1 << len(clashes)) - 1, ())]
    while stack:
        left, taken = stack.pop()
        if len(taken) > len(best):
            best = taken
        used = [tasks for bits in tasks_of_class if (tasks := bits & left)]
        if len(taken) + len(used) // way <= len(best):
            continue
        if steps <= 0 and best:
            return best
        steps -= 1
        rarest = min(used, key=int.bit_count)
        branches = sorted(_bits(rarest), key=lambda task: (clashes[task] & left).bit_count())
        stack.append((left & ~rarest, taken))
        stack.extend((left & ~clashes[task], (*taken, task)) for task in reversed(branches))
    return best


def _bits(number: int) -> list[int]:
    """Return the positions of the bits that are 1, ascending."""
    positions = []
    while number:
        low = number & -number
        positions.append(low.bit_length() - 1)
        number ^= low
    return positions
