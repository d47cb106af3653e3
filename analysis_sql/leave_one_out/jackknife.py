"""Leaving out one unit at a time, as quadratic forms in the values of tasks.

**Classes, superclasses.**  U_(-c) is the mean over the n_(-c) tasks without class c, l_cb = [c not
in b]/n_(-c), d_b the value of a task less the mean of all::

    V = (C-1)/C { Σ_c (U_(-c) - mean)² - Σ_b d_b² Σ_c (l_cb - mean_c l_cb)² }

**Images.**  The values are the residuals u of the regression on which classes are in a task.  With
I_i the n_i tasks that have image i, and J_c those of a class::

    P_i = [(Σ_{I_i} u)² - Σ_{I_i} u²] / (n_i (n_i - 1))          over pairs of different tasks
    P_c = -Σ_{J_c} u² / (J_c (J_c - 1))                          the same of a class
    V   = Σ_c f_c mean_{i of c, n_i >= 2} (P_i - P_c)            f_c = (K/C)² m² (N_c-1)/(N_c-m)²

**Groups**, of which a task may have several images, k_gb of them, with k̄_g the mean of k_gb over
the tasks of the class and μ_g = m s_g/N_c::

    S2, S4 = Σ_b (k-k̄)², Σ_b (k-k̄)⁴
    P_g    = [(Σ_b (k-k̄) u)² - Σ_b (k-k̄)² u²] / (S2² - S4)
    V      = Σ_g w_g P_g - Σ_c (K/C)² (G_c-1)/G_c² [(Σ_b x_cb u)² - Σ_b x_cb² u²]
    w_g    = (K/C)² (G_c-1)/G_c μ_g² (Σ_all μ²/Σ_used μ²),   x_cb = Σ_{g of c} μ_g/S2_g (k_gb - k̄_g)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack

from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.leave_one_out.membership import Membership, per_unit


@dataclass(frozen=True, eq=False)
class Jackknife:
    """What leaving out one unit at a time says of a mean over B tasks.

    With x the values of tasks, less what the kind takes out of them first, and a = x'L how far each
    of R units moves the mean::

        V   = Σ_r w_r a_r² + Σ_b d_b x_b²        the variance, noise of finitely many tasks removed
        tot = Σ_r t_r a_r²                       before it is removed
    """

    loadings: csr_array
    """(B, R), sparse: L."""
    weights: Floats
    totals: Floats
    """float64 (R,): w and t."""
    noise: Floats
    """float64 (B,): d."""
    scale: float
    """What τ, the standard error of V, is in parts of tot, or of tot - V."""
    units: int
    """How many are left out, one after another; Student's t where `of_noise`, see
    :func:`analysis_sql.leave_one_out.leave_one_out.degrees_of_freedom`."""
    centred: bool = False
    """Whether a is taken about its mean over the units."""
    of_noise: bool = False
    """Whether it is of tot - V."""
    tails: bool = False
    """Whether long tails of a lower the degrees of freedom."""

    def coordinates(self, values: Floats) -> Floats:
        """Compute a (M, R) of values (M, B)."""
        a = np.asarray((self.loadings.T @ values.T).T)
        return np.ascontiguousarray(a - a.mean(axis=1, keepdims=True) if self.centred else a)


def leave_out_columns(has: csr_array, *, tails: bool) -> Jackknife:
    """Leave out the tasks of one column of (B, C) after another; wants values less their mean.

    No column may be in all tasks.  With `tails` long ones of U_(-c) lower the degrees of freedom.
    """
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


def leave_out_images(tasks: Membership) -> Jackknife:
    """Leave out units of which a task has at most one image: images, or groups drawn one of each.

    The values that it wants are the residuals u.
    """
    sizes, n = tasks.units_of_class, tasks.tasks_of_unit
    factors = factors_of(sizes, tasks.way, tasks.per_class)
    counted = n >= 2
    of_class = np.bincount(tasks.class_of_unit[counted], minlength=sizes.size)
    share = per_unit(tasks, factors / np.maximum(of_class, 1))
    weights = np.where(counted, share / np.maximum(n * (n - 1), 1), 0.0)
    totals = np.where(counted, share / np.maximum(n, 1) ** 2, 0.0)
    uses = tasks.tasks_of_class
    noise = tasks.has_class @ (factors / np.maximum(uses * (uses - 1), 1)) - tasks.uses @ weights
    errors = np.where(counted, per_unit(tasks, factors / sizes) / np.maximum(n, 1), 0.0)
    return Jackknife(
        tasks.uses, weights, totals, noise, _scale([errors], sizes), int(counted.sum())
    )


def leave_out_groups(tasks: Membership) -> Jackknife:
    """Leave out groups of which a task may have several images; wants the residuals u."""
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
    expected = tasks.per_class * tasks.images_of_unit / per_unit(tasks, tasks.images_of_class)
    whole = np.bincount(tasks.class_of_unit, expected**2, classes)
    used = np.bincount(tasks.class_of_unit, np.where(counted, expected**2, 0.0), classes)
    factor = (tasks.way / classes) ** 2 * (groups - 1) / groups
    enlarged = per_unit(tasks, factor * whole / np.where(used > 0, used, 1.0))
    w = np.where(counted, enlarged * expected**2, 0.0)
    safe2, safe = np.where(counted, s2, 1.0), np.where(counted, spread, 1.0)
    weights, slopes = w / safe, np.where(counted, expected / safe2, 0.0)
    # (k - k̄)² of a task that has the class, summed over its groups: those that are absent count k̄²
    squares = csr_array(k)
    squares.data = k.data**2 - 2.0 * k.data * mean[k.indices]
    absent_squares = np.bincount(tasks.class_of_unit, weights * mean**2, classes)
    noise = -(squares @ weights) - tasks.has_class @ absent_squares
    x, of_classes = _class_slopes(tasks, slopes, mean), -factor / groups
    noise = noise - x.power(2) @ of_classes
    return Jackknife(
        csr_array(hstack([k, x])),
        np.concatenate([weights, of_classes]),
        np.concatenate([w / safe2**2, np.zeros(classes)]),
        np.asarray(noise),
        _scale([w / safe2, w], groups),
        int(counted.sum()),
    )


def factors_of(sizes: Floats | Ints, way: int, per_class: int) -> Floats:
    """Return f_c (C,): (K/C)² m² (N_c-1)/(N_c-m)² of classes of N_c units; 0 where N_c <= m."""
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
    """Return τ in parts of tot: √(2/n_eff), the least n_eff of several."""
    effective = min(float(s.sum() ** 2 / (s**2).sum()) for s in errors) if errors[0].any() else 1.0
    return float(np.sqrt(2.0 / (effective * (1.0 - 1.0 / sizes.mean()))))
