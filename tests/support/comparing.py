"""Compares what is large: pictures with a tolerance, and long values by their first difference."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

LARGE = 20_000
"""Characters beyond which pytest's own comparison takes minutes."""


def is_large(value: Any) -> bool:
    return len(repr(value)) > LARGE


def first_difference(left: Any, right: Any) -> str:
    """Return where two values, as they are written, differ first, and what stands there."""
    texts = [repr(left), repr(right)]
    pairs = enumerate(zip(*texts, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(map(len, texts)))
    around = slice(max(0, at - 40), at + 400)
    return f"written, they differ first at {at}:\n  {texts[0][around]}\n  {texts[1][around]}"


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
