"""The jackknife over units, as quadratic forms in the values of tasks.

A *unit* is an image, or a group of images of one class; the C classes with at least m images can be
drawn.

**Classes, superclasses.** U_(-c) is the mean over the n_(-c) tasks without class c, l_cb = [c not
in b]/n_(-c), d_b the value of a task less the mean of all::

    V = (C-1)/C { Σ_c (U_(-c) - mean)² - Σ_b d_b² Σ_c (l_cb - mean_c l_cb)² }

**Images.** The values are the residuals u of the regression on the classes of a task, or on a
constant alone (:data:`analysis_sql.leave_one_out.design.FITTED`). With I_i the n_i tasks that have
image i, and J_c those of a class::

    P_i = [(Σ_{I_i} u)² - Σ_{I_i} u²] / (n_i (n_i - 1))          over pairs of different tasks
    P_c = [(Σ_{J_c} u)² - Σ_{J_c} u²] / (J_c (J_c - 1))          the same of a class
    V   = Σ_c f_c mean_{i of c, n_i >= 2} (P_i - P_c)            f_c = (K/C)² m² (N_c-1)/(N_c-m)²

**Groups**, of which a task may have several images, k_gb of them, with k̄_g the mean of k_gb over
the tasks of the class and μ_g = m s_g/N_c::

    S2, S4 = Σ_b (k-k̄)², Σ_b (k-k̄)⁴
    P_g    = [(Σ_b (k-k̄) u)² - Σ_b (k-k̄)² u²] / (S2² - S4)
    V      = Σ_g w_g P_g - Σ_c (K/C)² (G_c-1)/G_c² [(Σ_b x_cb u)² - Σ_b x_cb² u²]
    w_g    = (K/C)² (G_c-1)/G_c μ_g² (Σ_all μ²/Σ_used μ²),   x_cb = Σ_{g of c} μ_g/S2_g (k_gb - k̄_g)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack

from analysis_sql.intervals.arrays import AnyInts, Bools, Floats, Ints
from benchmark_spec.errors import SpecError


class Membership(Struct, frozen=True, eq=False, dict=True):
    """B tasks of K classes with m images each, and their units, by positions."""

    classes: Ints
    """int64 (B, K): classes of each task, 0..C-1."""
    units: Ints
    """int64 (B, K, m): unit of each image that a task uses, 0..U-1."""
    class_of_unit: Ints
    """int64 (U,): of every unit of the C classes."""
    images_of_unit: Ints
    """int64 (U,): s, its number of images; 1 where units are images."""
    class_names: Ints
    """int64 (C,): the id of each class."""
    grouped: bool
    """Whether units are groups."""
    spanning: bool
    """Whether a group has images of several classes, which then depend on one another."""
    labels: tuple[str, ...]
    """Names of the classes (C,) in sentences, by default their ids."""

    @classmethod
    def of(
        cls,
        class_ids: AnyInts,
        images: AnyInts,
        class_of_image: AnyInts,
        group_of_image: AnyInts | None,
        labels: Sequence[str] | None = None,
    ) -> Membership:
        """Check tasks against the images that may be drawn; see :class:`TaskDesign`."""
        ids, drawn, owner = map(np.asarray, (class_ids, images, class_of_image))
        _check_tasks(ids, drawn, owner)
        sizes = np.bincount(owner[owner >= 0])
        eligible = np.flatnonzero(sizes >= drawn.shape[2])
        position = np.full(sizes.size, -1)
        position[eligible] = np.arange(eligible.size)
        usable = (owner >= 0) & (position[owner] >= 0)
        unit, spanning = np.full(owner.size, -1), False
        grouped = group_of_image is not None and bool((np.asarray(group_of_image) >= 0).any())
        if group_of_image is None or not grouped:
            unit[usable] = np.arange(int(usable.sum()))
            first = np.flatnonzero(usable)
        else:
            groups = np.asarray(group_of_image)
            group = np.where(groups < 0, np.arange(owner.size) + groups.max() + 1, groups)
            pairs = np.stack([owner, group], axis=1)[usable]
            _, first, inverse = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
            unit[usable] = inverse.reshape(-1)
            first = np.flatnonzero(usable)[first]
            spanning = np.unique(group[usable]).size < first.size
        return cls(
            position[ids],
            unit[drawn],
            position[owner[first]],
            np.bincount(unit[usable], minlength=first.size),
            eligible,
            grouped,
            spanning,
            tuple(str(i) if labels is None else labels[i] for i in eligible.tolist()),
        )

    def prefix(self, tasks: int) -> Membership:
        """Return the membership of the first tasks."""
        return replace(self, classes=self.classes[:tasks], units=self.units[:tasks])

    @property
    def tasks(self) -> int:
        """B, the number of tasks."""
        return len(self.classes)

    @property
    def way(self) -> int:
        """K, classes in a task."""
        return int(self.classes.shape[1])

    @property
    def per_class(self) -> int:
        """m, images that a task uses of each of its classes."""
        return int(self.units.shape[2])

    @cached_property
    def units_of_class(self) -> Ints:
        """Units of each class (C,)."""
        return np.bincount(self.class_of_unit, minlength=self.class_names.size)

    @cached_property
    def tasks_of_class(self) -> Ints:
        """Count the tasks that have each class, J_c (C,)."""
        return np.bincount(self.classes.reshape(-1), minlength=self.class_names.size)

    @cached_property
    def tasks_of_unit(self) -> Ints:
        """Count the tasks that have each unit, n (U,)."""
        return np.bincount(self.uses.indices, minlength=self.class_of_unit.size)

    @cached_property
    def has_class(self) -> csr_array:
        """Z (B, C): 1 where a task has the class."""
        return incidence(self.classes, self.class_names.size)

    @cached_property
    def uses(self) -> csr_array:
        """Count the images of each unit that a task has, k (B, U)."""
        return incidence(self.units.reshape(self.tasks, -1), self.class_of_unit.size)

    @cached_property
    def one_each(self) -> bool:
        """Whether no task has two images of a unit."""
        return bool(self.uses.data.max(initial=1.0) <= 1.0)


def incidence(members: NDArray[Any], columns: int) -> csr_array:
    """Count how often each row of `members` names each column, (rows, columns)."""
    rows, width = members.shape
    matrix = csr_array(
        (np.ones(members.size), members.flatten(), np.arange(0, members.size + 1, width)),
        shape=(rows, columns),
    )
    matrix.sum_duplicates()
    return matrix


def has_superclass(tasks: Membership, superclass_of_class: Ints) -> csr_array:
    """Return (B, G): 1 where a task has a class of the superclass."""
    has = incidence(superclass_of_class[tasks.classes], int(superclass_of_class.max()) + 1)
    has.data[:] = 1.0
    return has


def _check_tasks(ids: NDArray[Any], images: NDArray[Any], owner: NDArray[Any]) -> None:
    foreign = np.argwhere((owner[images] != ids[:, :, None]) | (owner[images] < 0))
    if foreign.size:
        task, position, place = foreign[0].tolist()
        image = images[task, position, place]
        raise SpecError(
            f"task {task} uses image {image} for class {ids[task, position]}, but it is of class "
            f"{owner[image]}",
            expected="images in the order of class_ids",
        )
    for article, what, rows in (("a", "class", ids), ("an", "image", images.reshape(len(ids), -1))):
        ordered = np.sort(rows, axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if twice.size:
            raise SpecError(
                f"task {twice[0]} has {article} {what} twice",
                expected=f"no {what} twice in a task",
            )


def per_unit(membership: Membership, of_class: NDArray[Any]) -> Floats:
    """Return the value of each unit's class (U,), from values of classes (C,)."""
    return np.asarray(of_class, np.float64)[membership.class_of_unit]


class Jackknife(Struct, frozen=True, eq=False):
    """The leave-one-out variance of a mean over B tasks, as quadratic forms.

    With x the values of tasks and a = x'L the effects of R units on the mean, V = Σ_r w_r a_r²
    + Σ_b d_b x_b² is the variance without the noise of finitely many tasks, and tot = Σ_r t_r a_r²
    the variance with it.
    """

    loadings: csr_array
    """(B, R), sparse: L."""
    weights: Floats
    totals: Floats
    """float64 (R,): w and t."""
    noise: Floats
    """float64 (B,): d."""
    scale: float
    """τ, the standard error of V, over tot, or over tot - V."""
    units: int
    """Number of units that are left out."""
    centred: bool = False
    """Whether a is centred over the units."""
    of_noise: bool = False
    """Whether `scale` is τ over tot - V."""
    tails: bool = False
    """Whether long tails of a lower the degrees of freedom."""

    def error(self, variance: Floats, total: Floats) -> Floats:
        """Compute τ from V and tot."""
        base = total - variance if self.of_noise else total
        return np.asarray(self.scale * np.maximum(base, 0.0))

    def coordinates(self, values: Floats) -> Floats:
        """Compute a (M, R) of values (M, B)."""
        a = np.asarray((self.loadings.T @ values.T).T)
        return np.ascontiguousarray(a - a.mean(axis=1, keepdims=True) if self.centred else a)

    def freedom(self, a: Floats) -> Any:
        """Return the degrees of freedom of Student's t, by rows of coordinates (N, R) or of all.

        They are infinite for images, C-1 where tails do not count, else from the unbiased excess
        kurtosis κ of the C centred coordinates, which is taken as at least 0, and 0 if C < 4.
        """
        n = float(self.units)
        if not (self.of_noise and self.tails):
            return n - 1.0 if self.of_noise else np.inf
        squares = np.einsum("nr,nr->n", a, a)
        fourths = np.einsum("nr,nr->n", a * a, a * a)
        kurtosis = np.zeros_like(squares)
        if n >= 4:
            normal = np.full_like(squares, 3.0)
            ratio = np.divide(n * fourths, squares**2, out=normal, where=squares > 0)
            unbiased = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (ratio - 3.0) + 6.0)
            kurtosis = np.maximum(unbiased, 0.0)
        return freedom_of(n, kurtosis)


def freedom_of(units: float, kurtosis: Any) -> Any:
    """Return the degrees of freedom of Student's t for C units: 1/(1/(C-1) + (κ+2)/(2C))."""
    return 1.0 / (1.0 / (units - 1) + (kurtosis + 2.0) / (2.0 * units))


def leave_out_columns(has: csr_array, *, tails: bool) -> Jackknife:
    """Leave out the tasks that have a column of (B, C), for values less their mean."""
    tasks, columns = has.shape
    share = 1.0 / (tasks - has.sum(axis=0))
    squares = np.sum(share**2) - has @ share**2
    means = (np.sum(share) - has @ share) / columns
    factor = (columns - 1) / columns
    ones = np.full(columns, factor)
    return Jackknife(
        csr_array(-(has @ diags_array(share))),
        ones,
        ones,
        -factor * (squares - columns * means**2),
        float(np.sqrt(2.0 / (columns - 1))),
        columns,
        centred=True,
        of_noise=True,
        tails=tails,
    )


def leave_out_images(tasks: Membership, classes: Bools | None = None) -> Jackknife:
    """Leave out units of which a task has at most one image, for the residuals u.

    Only units of `classes`, a mask (C,), are left out if it is given.
    """
    sizes, n = tasks.units_of_class, tasks.tasks_of_unit
    factors = factors_of(sizes, tasks.way, tasks.per_class)
    counted = n >= 2
    if classes is not None:
        factors, counted = np.where(classes, factors, 0.0), counted & classes[tasks.class_of_unit]
    counted_units = np.bincount(tasks.class_of_unit[counted], minlength=sizes.size)
    share = per_unit(tasks, factors / np.maximum(counted_units, 1))
    weights = np.where(counted, share / np.maximum(n * (n - 1), 1), 0.0)
    totals = np.where(counted, share / np.maximum(n, 1) ** 2, 0.0)
    uses = tasks.tasks_of_class
    class_weights = factors / np.maximum(uses * (uses - 1), 1)
    noise = tasks.has_class @ class_weights - tasks.uses @ weights
    errors = np.where(counted, per_unit(tasks, factors / sizes) / np.maximum(n, 1), 0.0)
    return Jackknife(
        csr_array(hstack([tasks.uses, tasks.has_class])),
        np.concatenate([weights, -class_weights]),
        np.concatenate([totals, -factors / np.maximum(uses, 1) ** 2]),
        noise,
        _scale([errors], sizes),
        int(counted.sum()),
    )


def leave_out_groups(tasks: Membership) -> Jackknife:
    """Leave out groups of which a task may have several images, for the residuals u."""
    k, classes = tasks.uses, tasks.class_names.size
    groups, uses = tasks.units_of_class, tasks.tasks_of_class
    members = per_unit(tasks, uses)
    counts = k.sum(axis=0)
    mean = counts / np.maximum(members, 1)
    entries, absent = csr_array(k), members - tasks.tasks_of_unit
    entries.data = k.data - mean[k.indices]
    s2 = np.asarray(entries.power(2).sum(axis=0)) + absent * mean**2
    s4 = np.asarray(entries.power(4).sum(axis=0)) + absent * mean**4
    spread = s2**2 - s4
    counted = (tasks.tasks_of_unit >= 2) & (spread > 1e-9 * s2**2)
    images = np.bincount(tasks.class_of_unit, tasks.images_of_unit, classes)
    expected = tasks.per_class * tasks.images_of_unit / per_unit(tasks, images)
    of_all = np.bincount(tasks.class_of_unit, expected**2, classes)
    of_used = np.bincount(tasks.class_of_unit, np.where(counted, expected**2, 0.0), classes)
    factor = (tasks.way / classes) ** 2 * (groups - 1) / groups
    enlarged = per_unit(tasks, factor * of_all / np.where(of_used > 0, of_used, 1.0))
    w = np.where(counted, enlarged * expected**2, 0.0)
    s2_or_1, spread_or_1 = np.where(counted, s2, 1.0), np.where(counted, spread, 1.0)
    weights, slopes = w / spread_or_1, np.where(counted, expected / s2_or_1, 0.0)
    # Σ (k - k̄)² over the groups of a task's class: a group that is absent counts k̄²
    squares = csr_array(k)
    squares.data = k.data**2 - 2.0 * k.data * mean[k.indices]
    absent_squares = np.bincount(tasks.class_of_unit, weights * mean**2, classes)
    noise = -(squares @ weights) - tasks.has_class @ absent_squares
    x, of_classes = _class_slopes(tasks, slopes, mean), -factor / groups
    noise = noise - x.power(2) @ of_classes
    of_mean = csr_array((mean, tasks.class_of_unit, np.arange(groups.sum() + 1)))
    return Jackknife(
        csr_array(hstack([k - tasks.has_class @ of_mean.T.tocsr(), x])),
        np.concatenate([weights, of_classes]),
        np.concatenate([w / s2_or_1**2, np.zeros(classes)]),
        np.asarray(noise),
        _scale([w / s2_or_1, w], groups),
        int(counted.sum()),
    )


def factors_of(sizes: Floats | Ints, way: int, per_class: int) -> Floats:
    """Return f_c (C,) of classes of N_c units; 0 where N_c <= m."""
    enough = np.where(sizes > per_class, sizes - per_class, 1) ** 2
    factors = (way / sizes.size) ** 2 * per_class**2 * (sizes - 1) / enough
    return np.asarray(np.where(sizes > per_class, factors, 0.0))


def _class_slopes(tasks: Membership, slopes: Floats, mean: Floats) -> csr_array:
    """Sum slopes · (k - k̄) over the groups of each class: x (B, C), 0 where a task lacks it."""
    classes = tasks.class_names.size
    to_class = csr_array(
        (slopes, tasks.class_of_unit, np.arange(slopes.size + 1)), shape=(slopes.size, classes)
    )
    constant = np.bincount(tasks.class_of_unit, slopes * mean, classes)
    return csr_array(tasks.uses @ to_class - tasks.has_class @ diags_array(constant))


def _scale(errors: list[Floats], sizes: Ints) -> float:
    """Return τ over tot, √(2/n_eff) with the least n_eff of several errors (U,)."""
    effective = min(float(s.sum() ** 2 / (s**2).sum()) for s in errors) if errors[0].any() else 1.0
    return float(np.sqrt(2.0 / (effective * (1.0 - 1.0 / sizes.mean()))))


_NUMBERS_AT_ONCE = 1 << 22


def blocks_of(pairs: NDArray[Any], width: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows and columns of `pairs` (P, 2) in blocks, for `width` numbers per pair."""
    step = max(1, _NUMBERS_AT_ONCE // width)
    for start in range(0, len(pairs), step):
        row, column = pairs[start : start + step].T
        yield row, column


class Forms:
    """The quadratic forms Σ_r w_r a_r² of methods' values a (M, R), and of their differences."""

    def __init__(self, values: Floats, weights: Floats) -> None:
        self._values, self._weights = values, weights
        self.own: Floats = np.einsum("mr,mr,r->m", values, values, weights, optimize=True)

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """Return G_jj + G_kk - 2 G_jk (R, S), or G_jj where the two are the same."""
        product = (self._values[rows] * self._weights) @ self._values[columns].T
        differences = self.own[rows, None] + self.own[columns] - 2.0 * product
        return np.asarray(np.where(rows[:, None] == columns, self.own[rows, None], differences))


def with_unknown(sums: Floats) -> Floats:
    """Append NaN to sums of methods (N, M), or of pairs (N, M, M), for methods at position -1."""
    widths = [(0, 0), *[(0, 1)] * (sums.ndim - 1)]
    return np.pad(sums, widths, constant_values=np.nan)
