"""Arguments that are one name or several."""

from __future__ import annotations

from collections.abc import Sequence


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple; a single text is one name."""
    return (names,) if isinstance(names, str) else tuple(names)
