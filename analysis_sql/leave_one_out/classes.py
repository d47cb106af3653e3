"""Leaving out one class at a time, or one superclass: what new classes would give.

U_(-c) is the mean over the n_(-c) tasks without class c, l_cb = [c not in b]/n_(-c), d_b the value
of a task less the mean of all::

    V = (C-1)/C { Σ_c (U_(-c) - mean)² - Σ_b d_b² Σ_c (l_cb - mean_c l_cb)² }

The second sum is what chance leaves of the first when tasks are finitely many.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array

from analysis_sql.leave_one_out.jackknife import Jackknife


def leave_out_columns(has: csr_array, *, tails: bool) -> Jackknife:
    """Leave out the tasks of one column after another; wants values less their mean.

    Parameters
    ----------
    has : (B, C), sparse
        1 where a task has the class or superclass; no column may be in all tasks.
    tails
        Whether long tails of the U_(-c) lower the degrees of freedom.
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
