"""Parse texts that somebody hands in, none of which can end in anything but a ValueError."""

from __future__ import annotations

import json
import tomllib
from typing import Any


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
