"""Limits of a query: amounts of memory and time, as users write them."""

from __future__ import annotations

import math
import re

from benchmark_spec.errors import QueryError, quoted

MEMORY = "1GB"
SECONDS = 60.0

_LEAST = 10**7
"""Bytes without which DuckDB does not open."""
_MOST = 2**60
_UNITS = {"": 1} | {
    f"{prefix}{infix}": base ** (power + 1)
    for base, infix in ((1000, ""), (1024, "I"))
    for power, prefix in enumerate("KMGT")
}


def memory_bytes(text: str) -> int:
    """Return the bytes of an amount such as ``1GB`` or ``1G`` (10^9) or ``512MiB`` (512 · 2^20).

    Raises a QueryError if it is not an amount, or less than 10 MB.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT]I?)B?|B)\s*", text.upper(), re.ASCII)
    number = float(match[1]) * _UNITS[match[2] or ""] if match else 0
    if not _LEAST <= number <= _MOST:
        raise QueryError(
            f"{quoted(text)} is not an amount of memory for a query",
            expected="a number and its unit, such as 1GB or 512MiB; at least 10MB",
        )
    return int(number)


def check_seconds(seconds: float) -> None:
    """Raise QueryError unless a limit of time is a positive, finite number."""
    if not (math.isfinite(seconds) and seconds > 0):
        raise QueryError(
            f"{seconds:g} seconds are no limit of time for a query",
            expected="a positive number, such as 60",
        )
