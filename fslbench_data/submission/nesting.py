"""How deep JSON is nested, found without parsing it.

The parser that reads JSON Lines calls itself for every level, and a file nested fifty thousand
deep ends the whole process.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from benchmark_spec.errors import UnreadableError

MOST = 64
"""Levels that are read; a submission has two."""

_BLOCK = 1 << 22
_TEXTS = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*"')
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = np.zeros(256, np.int64)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1


def check_nesting(path: Path) -> None:
    """Refuse a JSON Lines file that is nested deep.

    No text of JSON goes on over the end of a line, so the brackets outside texts are those
    between the quotes of each line; and a parser may begin at any line.

    Raises
    ------
    UnreadableError
        If it is nested more than `MOST` deep.
    """
    depth = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK) + file.readline():
            brackets = _outside_texts(block).translate(None, _OTHERS)
            if not brackets:
                continue
            steps = _STEP[np.frombuffer(brackets, np.uint8)]
            level = np.concatenate([[depth], depth + np.cumsum(steps)])
            above = level - np.minimum(np.minimum.accumulate(level), 0)
            if above.max() > MOST:
                raise UnreadableError(
                    f"{path} is nested {int(above.max())} deep",
                    expected="an object a line, whose values are texts, numbers and lists of "
                    "numbers",
                    fix="write each answer as a line of its own, with json.dumps",
                )
            depth = int(above[-1])


def _outside_texts(block: bytes) -> bytes:
    """Whole lines without their texts."""
    if b"\\" not in block:
        parts = block.split(b'"')
        if len(parts) % 2 and not any(b"\n" in text for text in parts[1::2]):
            return b"".join(parts[::2])
    return _TEXTS.sub(b"", block)
