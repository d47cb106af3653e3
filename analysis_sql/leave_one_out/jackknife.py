"""A jackknife as quadratic forms in the values of tasks, so that all pairs are matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from analysis_sql.intervals.arrays import Floats


@dataclass(frozen=True, eq=False)
class Jackknife:
    """What leaving out one unit at a time says of a mean over B tasks.

    With x the values of tasks, less what the kind takes out of them first, and a = x'L how far each
    of R units moves the mean::

        V   = Σ_r w_r a_r² + Σ_b d_b x_b²        the variance, noise of finitely many tasks removed
        tot = Σ_r t_r a_r²                       before it is removed

    Attributes
    ----------
    loadings : (B, R), sparse
        L.
    weights, totals : float64 (R,)
        w and t.
    noise : float64 (B,)
        d.
    centred
        Whether a is taken about its mean over the units.
    scale
        What τ, the standard error of V, is in parts of tot, or of tot - V.
    of_noise
        Whether it is of tot - V.
    units
        How many are left out, one after another; Student's t where `of_noise`, see
        :func:`analysis_sql.leave_one_out.halfwidths.degrees_of_freedom`.
    tails
        Whether long tails of a lower the degrees of freedom.
    """

    loadings: csr_array
    weights: Floats
    totals: Floats
    noise: Floats
    scale: float
    units: int
    centred: bool = False
    of_noise: bool = False
    tails: bool = False

    def coordinates(self, values: Floats) -> Floats:
        """Compute a (M, R) of values (M, B)."""
        a = np.asarray((self.loadings.T @ values.T).T)
        return np.ascontiguousarray(a - a.mean(axis=1, keepdims=True) if self.centred else a)
