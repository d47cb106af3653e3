"""How messages quote what users, files and other programs say: printable, and cut short."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice

LONGEST = 100
"""Characters of a given name that a message repeats."""

LONGEST_PART = 2000
"""Characters of each part of a message, whatever it quotes."""

_LONG_WORD = re.compile(r"[^\s/\\]{300,}")
"""The names of files in a path are shorter."""


def printable(text: str) -> str:
    """Write what is neither a character of a line nor its end as Python does, in escapes.

    Neither a terminal's commands nor marks that turn the direction of writing come through.
    """
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def fitting(text: str) -> str:
    """Cut the long words of a part of a message short, and leave the middle of a long part out."""
    text = _LONG_WORD.sub(lambda word: f"{word[0][:LONGEST]}…", text)
    if len(text) <= LONGEST_PART:
        return text
    head, tail = text[: LONGEST_PART // 2], text[-LONGEST_PART // 4 :]
    return f"{head} … {len(text) - len(head) - len(tail)} characters … {tail}"


def listing(items: Sequence[object], most: int = 8) -> str:
    """Join items for a message, naming at most `most` and counting the rest."""
    shown = ", ".join(str(item) for item in items[:most])
    left = len(items) - most
    return f"{shown} and {left} more" if left > 0 else shown


def rows(indices: Collection[int], most: int = 8) -> str:
    """Name rows of data by their number, from 1 and without any header, at most `most` of them."""
    first = ", ".join(str(int(index) + 1) for index in islice(indices, most))
    left = len(indices) - most
    more = f" and {left} more" if left > 0 else ""
    return f"data row{'s' if len(indices) != 1 else ''} {first}{more}"


def shown(value: object, most: int = LONGEST) -> str:
    """Write a value from outside as Python does, cut short: nothing in it can harm."""
    try:
        text = repr(value[: most + 1] if isinstance(value, str | bytes) else value)
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 1]}…"
