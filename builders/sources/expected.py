"""Images of each class that a source must find, in the frozen order: `expected.json`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path


@cache
def _all() -> dict[str, dict[str, int]]:
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    found: dict[str, dict[str, int]] = json.loads(text)
    return found


def expected_counts(name: str) -> dict[str, int]:
    """Images of each class of a source, in the frozen order of classes."""
    return dict(_all()[name])
