"""The class-aware interval of one method or paired difference."""

from math import isnan

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixtures_of
from analysis_sql.intervals.arrays import AnyInts
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import Interval


def class_aware_interval(
    design: ClassDesign, counts: AnyInts, queries_per_task: int, level: float
) -> Interval:
    """Compute it from correct queries of each task (T,), or from differences of two methods'."""
    x = np.asarray(counts)[None, :]
    moments = Counts(x, np.array([x.shape[1]]), queries_per_task).moments()
    prefix = design.prefix(x.shape[1])
    mixtures = mixtures_of(prefix, prefix.coordinates(x), moments.norm2)
    width = float(mixtures.halfwidths(moments, level)[0])
    found = None if isnan(width) else width
    mean, constant = float(moments.mean[0]), bool(moments.constant[0])
    return Interval("class-aware", level, prefix.tasks, mean, found, constant)
