"""Long names where there is little room."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

CUT = "…"
LEAST = 4
"""Characters of the features, at least."""


def shortened(name: str, most: int) -> str:
    """Return a name of at most `most` characters' width: its features are cut first.

    What stands behind the last slash tells a method from others on the same features, and is kept
    where there is room for it.
    """
    features, slash, head = name.rpartition("/")
    room = most - cell_len(head) - 1
    if slash and room >= LEAST:
        return f"{_cut(features, room)}/{head}"
    return _cut(name, most)


def _cut(text: str, most: int) -> str:
    """Cut a text in its middle, more of its first part."""
    if cell_len(text) <= most:
        return text
    behind = text[-(2 * most // 3) :]
    while cell_len(behind) > 2 * most // 3:
        behind = behind[1:]
    return f"{set_cell_size(text, most - cell_len(behind) - 1).rstrip()}{CUT}{behind}"


def folded(name: str, width: int, most: int = 4) -> str:
    """Return a name as a heading of at most `most` lines.

    They are broken behind blanks and slashes; what is longer also behind dashes, or anywhere.
    """
    lines = [""]
    for part in _parts(name, width):
        if lines[-1] and cell_len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    if len(lines) > most:
        lines = [*lines[: most - 1], shortened("".join(lines[most - 1 :]), width)]
    return "\n".join(line.rstrip() for line in lines)


def _parts(name: str, width: int) -> Iterator[str]:
    """Parts of a name of at most so many characters' width, as large as they may be."""
    for word in re.findall(r"[^ /]*[ /]|[^ /]+", name):
        if cell_len(word.rstrip()) <= width:
            yield word
            continue
        for part in re.findall(r"[^_-]*[_-]|[^_-]+", word):
            while cell_len(part.rstrip()) > width:
                first = set_cell_size(part, width).rstrip()
                yield first
                part = part[len(first) :]
            yield part
