"""Parse files that somebody hands in, none of which can end in anything but a ValueError."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def parsed_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises
    ------
    ValueError
        If it is none, or is nested deeper than the parser goes.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def parsed_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text.

    Raises
    ------
    ValueError
        If it is none, is nested deeper than the parser goes, or holds a number of thousands of
        digits.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def load_numbers(path: Path) -> NDArray[Any]:
    """The numbers of a .npy file; no more memory is taken than the file has bytes.

    Raises
    ------
    ValueError
        If it is no such file, holds other things than numbers, or fewer than its header says.
    OSError
        If it cannot be read.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # a size beyond counting is beyond the file's end too
            mapped = np.lib.format.open_memmap(path, "r")
    except (SyntaxError, OverflowError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"its header is damaged ({type(error).__name__})") from None
    if mapped.dtype.kind not in "biuf":
        raise ValueError(f"it holds {mapped.dtype}, not numbers")
    return np.array(mapped)
