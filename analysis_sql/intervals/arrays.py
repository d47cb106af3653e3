"""Short names of array types, one meaning each; and rounding."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AnyInts = NDArray[np.integer[Any]]
"""Integers of any width, as files and callers have them."""

_LEAST = 1e-290


def round_significant(values: Floats) -> Floats:
    """Round positive values to ten significant digits.

    The last digits of an eigenvector depend on the machine's linear algebra; a report must not.
    Values below :data:`_LEAST` stay as they are.
    """
    scalable = np.where((values > _LEAST) & np.isfinite(values), values, 1.0)
    scale = 10.0 ** (9.0 - np.floor(np.log10(scalable)))
    return np.where(scalable == values, np.round(values * scale) / scale, values)
