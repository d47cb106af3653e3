"""Numbers whose last digits depend on the machine's linear algebra."""

from __future__ import annotations

import numpy as np

from analysis_sql.intervals.arrays import Floats


def settled(values: Floats) -> Floats:
    """Round values to ten significant digits.

    The last digits of an eigenvector depend on the machine's linear algebra; a report must not.
    """
    scaled = np.where((values > 0) & np.isfinite(values), values, 1.0)
    scale = 10.0 ** (9.0 - np.floor(np.log10(scaled)))
    return np.where(scaled == values, np.round(values * scale) / scale, values)
