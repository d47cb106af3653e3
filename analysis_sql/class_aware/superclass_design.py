"""Which superclasses the tasks of a set have: how far a mean would move with others.

Classes of one superclass (letters of one alphabet, mushrooms of one genus) are alike, and another
experiment may draw superclasses anew.  To the model of :mod:`analysis_sql.class_aware.design` this
adds an effect of each superclass s, m_ts of whose classes are in task t::

    A_t = θ + Σ_s m_ts a_s + Σ_{c in t} b_c + e_t        a_s of mean 0 and variance σ_a²

With S the T x G matrix of the m_ts, m = S'1 the uses of each superclass, g_b = σ_b²/σ_e² and
g_a = σ_a²/σ_e²::

    Var(A) = σ_e² (I + g_b ZZ' + g_a SS')
    Var(mean of A) = σ_e² (1/T + g_b n'n/T² + g_a m'm/T²)

ZZ' and SS' have no common eigenvectors.  But the columns of S are sums of columns of Z, so the
coordinates u of the classes' design (P, k) hold all that superclasses move.  In these coordinates
let D = I + g_b Λ, and B (k, r) be a basis of S less its column means, such that BB' stands for SS'.
For each g_b of a grid, B' D^-1 B = Σ μ_j p_j p_j' is worked out once per task set, and a method
enters through

    w_j = μ_j^(-1/2) p_j' B' D^-1 u        j = 1..r,  independent, of variances σ_e² (1 + g_a μ_j)

beside what is left, u'D^-1 u - Σ w_j², in which there is nothing of the superclasses.  All of it is
linear in A, so that a paired difference has the differences of its two methods' coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.likelihood import ratios
from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.intervals.saturation import disjoint_tasks
from benchmark_spec.errors import SpecError

LEAST = 6
"""Superclasses that must be used: fewer say too little of how superclasses differ."""

_ZERO = 1e-9
"""Singular values whose squares are below this share of the largest are 0."""


@dataclass(frozen=True, eq=False)
class Spectra:
    """What superclasses move, at each ratio g_b of the grid (B,).

    Attributes
    ----------
    class_ratios : float64 (B,)
        g_b.
    grown : float64 (B, k)
        1 + g_b λ_i, the diagonal of D.
    basis : float64 (k, r)
        B.
    axes : float64 (B, r, r)
        Column j is p_j μ_j^(-1/2).
    moved : float64 (B, r)
        μ_j.
    """

    class_ratios: Floats
    grown: Floats
    basis: Floats
    axes: Floats
    moved: Floats

    @property
    def rank(self) -> int:
        """r, the number of directions in which superclasses move the tasks."""
        return int(self.basis.shape[1])


@dataclass(frozen=True, eq=False)
class SuperclassDesign:
    """The classes and superclasses of a task set's tasks.

    Made by :meth:`of`.  What is costly is computed when it is first asked for and kept.

    Attributes
    ----------
    classes : ClassDesign
        Of the same tasks, without superclasses.
    labels : int64 (T, K)
        The superclass of each class of each task, 0..G-1, where only those that are used count.
    """

    classes: ClassDesign
    labels: Ints
    _prefixes: dict[int, SuperclassDesign] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, class_ids: AnyInts, superclass_of_class: Any) -> SuperclassDesign:
        """Make a design from tasks' classes and classes' superclasses.

        Parameters
        ----------
        class_ids : int (T, K)
            Positions in `superclass_of_class`; see :meth:`ClassDesign.of`.
        superclass_of_class : int or text (C,)
            A number or name for each class.

        Raises
        ------
        SpecError
            If a task has a class twice, or a class has no superclass.
        """
        classes = ClassDesign.of(class_ids)
        ids, names = np.asarray(class_ids), np.asarray(superclass_of_class)
        if names.dtype.kind == "O" and all(isinstance(name, str) for name in names.flat):
            names = names.astype(str)
        if names.ndim != 1 or names.dtype.kind not in "iuU":
            raise SpecError(
                f"an array {names.shape} of {names.dtype} does not hold classes' superclasses",
                expected="a whole number or a name for each class",
            )
        if ids.min() < 0 or ids.max() >= names.size:
            wrong = int(ids.min() if ids.min() < 0 else ids.max())
            raise SpecError(
                f"class {wrong} of a task has no superclass: there are {names.size} classes",
                expected="the superclass of every class, in the order of their numbers",
            )
        _, labels = np.unique(names[ids], return_inverse=True)
        return cls(classes, labels.reshape(ids.shape).astype(np.int64))

    @property
    def tasks(self) -> int:
        """T, the number of tasks."""
        return self.classes.tasks

    @cached_property
    def uses(self) -> Ints:
        """Count m (G,), how often each superclass is used: its classes in all tasks."""
        return np.bincount(self.labels.reshape(-1))

    @property
    def superclasses(self) -> int:
        """G, the number of superclasses that are used at all."""
        return self.uses.size

    @property
    def concentration(self) -> float:
        """m'm/T²: K²/G if all superclasses are used equally often, and more if not."""
        return int(self.uses @ self.uses) / self.tasks**2

    @cached_property
    def members(self) -> Ints:
        """S (T, G), the number m_ts of classes that each task has of each superclass."""
        at = np.arange(self.tasks)[:, None] * self.superclasses + self.labels
        counted = np.bincount(at.reshape(-1), minlength=self.tasks * self.superclasses)
        return counted.reshape(self.tasks, self.superclasses)

    @cached_property
    def disjoint(self) -> bool:
        """Whether no superclass is in two tasks: tasks are then independent."""
        return int((self.members > 0).sum(axis=0).max()) == 1

    @cached_property
    def disjoint_tasks(self) -> int:
        """Tasks that share no superclass with one another: as many as are found."""
        ordered = np.sort(self.labels, axis=1)
        again = np.zeros(ordered.shape, bool)
        again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
        # the search wants K different members of each task: what recurs gets a number of its own
        own = self.superclasses + np.arange(ordered.size).reshape(ordered.shape)
        return len(disjoint_tasks(np.where(again, own, ordered)))

    @property
    def obstacle(self) -> str | None:
        """Why no interval for new superclasses can be computed, or None where it can."""
        if self.tasks < 2:
            return "fewer than 2 tasks"
        if self.superclasses < LEAST:
            return f"{self.superclasses} superclasses: {LEAST} are needed"
        if (self.members == self.members[0]).all():
            return "all tasks have the same superclasses"
        return None

    def prefix(self, tasks: int) -> SuperclassDesign:
        """Return the design of the first tasks; it is kept, so that asking again costs nothing."""
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
        """What superclasses move, at each ratio of the classes; needs that there is no obstacle.

        Where no class is used twice their effects are noise like any other, and g_b is 0.
        """
        classes = self.classes
        class_ratios = np.zeros(1) if classes.disjoint else ratios(classes)
        columns = classes.coordinates(np.ascontiguousarray(self.members.T)).T
        left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
        kept = sizes**2 > _ZERO * sizes[0] ** 2
        basis = left[:, kept] * sizes[kept]
        grown = 1.0 + np.outer(class_ratios, classes.eigenvalues)
        inner = np.stack([(basis.T / diagonal) @ basis for diagonal in grown])
        moved, vectors = np.linalg.eigh((inner + inner.transpose(0, 2, 1)) / 2)
        return Spectra(class_ratios, grown, basis, vectors / np.sqrt(moved)[:, None, :], moved)

    def coordinates(self, values: NDArray[Any]) -> Floats:
        """Compute the coordinates of many methods: u, and the w of each ratio of the classes.

        Parameters
        ----------
        values : int or float (M, T)
            A value of each task, such as the number of correct queries.

        Returns
        -------
        float64 (M, k + B·r), in the units of `values`; (M, k) where there is an obstacle.
        """
        u = self.classes.coordinates(values)
        if self.obstacle is not None:
            return u
        spectra = self.spectra
        moved = np.empty((len(u), spectra.moved.size))
        for row, own in zip(moved, u, strict=True):  # by itself: see `product_by_row`
            inside = (own / spectra.grown) @ spectra.basis
            row[:] = np.matmul(inside[:, None, :], spectra.axes).reshape(-1)
        return np.concatenate([u, moved], axis=1)

    def split(self, coordinates: NDArray[Any]) -> tuple[Floats, Floats]:
        """Split :meth:`coordinates` (P, k + B·r) into u (P, k) and w (P, B, r)."""
        rank = self.classes.rank
        if self.obstacle is not None:
            return coordinates, np.zeros((len(coordinates), 0, 0))
        w = coordinates[:, rank:].reshape(len(coordinates), *self.spectra.moved.shape)
        return coordinates[:, :rank], w
