"""Compares what is large: pictures with a tolerance, and long values by their first difference."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

LARGE = 20_000
"""Characters beyond which pytest's own comparison takes minutes."""

_AROUND = 40


def is_large(value: Any) -> bool:
    """Return whether a value is written in more characters than pytest can compare."""
    return len(repr(value)) > LARGE


def first_difference(left: Any, right: Any) -> str:
    """Return where two values differ first, in a few lines."""
    if type(left) is type(right) and isinstance(left, str | bytes | list | tuple):
        for i, (a, b) in enumerate(zip_longest(left, right)):
            if a is not b and not np.array_equal(a, b):
                around = slice(max(0, i - _AROUND), i + _AROUND)
                shown = [_short(x[around]) for x in (left, right)]
                return (
                    f"lengths {len(left)} and {len(right)}; they differ first at {i}:\n"
                    f"  {shown[0]}\n  {shown[1]}"
                )
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            if key not in left or key not in right:
                return f"only one holds the key {_short(key)}"
            if left[key] != right[key]:
                return f"at {_short(key)}: {first_difference(left[key], right[key])}"
    return f"{_short(left)}\n  {_short(right)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]}…"


def assert_same_picture(drawn: Path, stored: Path) -> None:
    """Check that two pictures have one size and, but for the edges of letters, one content.

    On average channels differ by at most .5 of 255 levels; and at most 1 of 1,000 pixels differs
    by more than 48.
    """
    image = pytest.importorskip("PIL.Image", reason="needs pillow, of the extra `test`")
    a, b = (np.asarray(image.open(path).convert("RGB"), np.int16) for path in (drawn, stored))
    assert a.shape == b.shape, f"{drawn.name}: {a.shape}, not {b.shape} as {stored}"
    apart = np.abs(a - b)
    share = (apart.max(axis=2) > 48).mean()
    assert apart.mean() <= 0.5, f"{drawn.name}: levels differ by {apart.mean():.2f} on average"
    assert share <= 0.001, f"{drawn.name}: {100 * share:.2f} % of the pixels differ"
