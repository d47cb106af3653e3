"""Half-widths of class-aware intervals of any pairs."""

from typing import Any

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import halfwidths
from analysis_sql.class_aware.kinds import pair_coordinates
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.counts import Counts


def pair_halfwidths(
    design: ClassDesign, counts: Counts, methods: Any, versus: Any, level: float
) -> Floats:
    """Half-widths (P,) of class-aware intervals of paired differences (estimand: new classes).

    In percentage points, each over the tasks that both methods have answered; NaN where there is
    no interval: no two tasks with different differences, or see :func:`halfwidths`.

    Parameters
    ----------
    methods, versus : int (P,)
        Positions of the two methods of each pair.
    """
    common = np.minimum(counts.tasks[methods], counts.tasks[versus])
    widths_of_pairs = np.full(len(common), np.nan)
    for tasks in np.unique(common[common > 0]).tolist():
        here = design.prefix(tasks)
        of_this = np.flatnonzero(common == tasks)
        involved, at = np.unique([methods[of_this], versus[of_this]], return_inverse=True)
        first, second = at.reshape(2, -1)
        some = counts.some(involved)
        u = here.coordinates(some.correct[:, :tasks])
        apart = some.differences(first, second, tasks)
        coordinates = pair_coordinates(here, some, u, first, second)
        widths_of_pairs[of_this] = halfwidths(here, coordinates, apart.moments(), level)
    return widths_of_pairs
