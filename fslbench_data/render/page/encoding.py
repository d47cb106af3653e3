"""Arrays as text of a page: exact, and as small as base64 makes them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

Encoded = dict[str, Any]
"""``{"type": "f64" | "u8" | "u16" | "u32", "data": base64 of little-endian numbers}``."""


def floats(values: NDArray[np.float64]) -> Encoded:
    """Float64, exactly; NaN stands for what there is not."""
    return _encoded("f64", np.asarray(values, "<f8"))


def counts(values: NDArray[Any]) -> Encoded:
    """Whole numbers from 0 to 4,294,967,295, in as few bytes as the largest needs."""
    largest = int(values.max(initial=0))
    for name, kind in (("u8", "u1"), ("u16", "<u2")):
        if largest <= np.iinfo(kind).max:
            return _encoded(name, values.astype(kind))
    return _encoded("u32", values.astype("<u4"))


def _encoded(name: str, values: NDArray[Any]) -> Encoded:
    return {"type": name, "data": base64.b64encode(values.tobytes()).decode("ascii")}
