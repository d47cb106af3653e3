"""Short names of array types, one meaning each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AnyInts = NDArray[np.integer[Any]]
"""Integers of any width, as files and callers have them."""
