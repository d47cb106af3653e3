"""The score of the class variance, from which recognition by classes starts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.arrays import Floats


def score_statistic(design: ClassDesign, u: NDArray[Any], norm2: NDArray[Any]) -> Floats:
    """Σ λ_i u_i² / |y - ȳ|² (P,): large where tasks that share classes are alike.

    The derivative of ln L at g = 0 is (T-1)/2 times it, less a constant, so that it is the locally
    most powerful statistic against g = 0.  NaN where y is constant.
    """
    norm2 = np.asarray(norm2, np.float64)
    weighted = np.square(np.asarray(u, np.float64)) @ design.eigenvalues
    return np.asarray(np.divide(weighted, norm2, where=norm2 > 0, out=np.full(norm2.shape, np.nan)))
