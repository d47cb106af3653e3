"""Whether every line of a JSON Lines file is one object, and not deep, found without parsing it.

The parser that reads JSON Lines calls itself for every level, and a file nested fifty thousand
deep ends the whole process; and it takes objects that go on over the end of a line, or several on
one, so that a file whose lines were cut or joined would pass.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from benchmark_spec.errors import UnreadableError

MOST = 64
"""Levels that are read; a submission has two."""

_BYTES_AT_ONCE = 1 << 22
_TEXTS = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*"')
_OTHERS = bytes(set(range(256)) - set(b"[]{}\n"))
_STEP = np.zeros(256, np.int64)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1
_EXPECTED = "an object a line, whose values are texts, numbers and lists of numbers"
_FIX = "write each answer as a line of its own, with json.dumps"


def check_lines(path: Path) -> None:
    """Refuse a JSON Lines file that is nested deep, or has more or less than an object on a line.

    No text of JSON goes on over the end of a line, so the brackets outside texts are those between
    the quotes of each line.  Raises an UnreadableError that names the first line at fault.
    """
    lines = 0
    with path.open("rb") as file:
        while block := file.read(_BYTES_AT_ONCE) + file.readline():
            kept = _outside_texts(block).translate(None, _OTHERS)
            marks = np.frombuffer(kept + b"\n", np.uint8)
            steps = _STEP[marks]
            level = np.cumsum(steps)
            deepest = int((level - np.minimum(np.minimum.accumulate(level), 0)).max())
            if deepest > MOST:
                raise UnreadableError(
                    f"{path} is nested {deepest} deep", expected=_EXPECTED, fix=_FIX
                )
            is_end = marks == ord("\n")
            objects = np.cumsum((steps > 0) & (level == 1))[is_end]
            wrong = (level[is_end] != 0) | (np.diff(objects, prepend=0) > 1)
            if wrong.any():
                raise UnreadableError(
                    f"{path} cannot be read as {path.suffix[1:]}: line "
                    f"{lines + int(wrong.argmax()) + 1} is not one object",
                    expected=_EXPECTED,
                    fix=f"{_FIX}; the file may be cut short",
                )
            lines += int(is_end.sum()) - 1


def _outside_texts(block: bytes) -> bytes:
    """Whole lines without their texts."""
    if b"\\" not in block:
        parts = block.split(b'"')
        if len(parts) % 2 and not any(b"\n" in text for text in parts[1::2]):
            return b"".join(parts[::2])
    return _TEXTS.sub(b"", block)
