"""Whether the quotes of a CSV file stand around cells, found without parsing it.

The parser that reads CSV takes what it gets: a cell whose closing quote is missing ends with the
file, and what stands behind a closing quote belongs to the cell.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmark_spec.errors import UnreadableError, shown

_BYTES_AT_ONCE = 1 << 22
_MARK = b"\xef\xbb\xbf"
_QUOTED = re.compile(rb'(?<![^,\r\n])"(?:[^"\r\n]++|"")*+"(?![^,\r\n])')
_LINE_END = re.compile(rb"\r\n?|\n")


def check_quotes(path: Path) -> None:
    """Refuse a CSV file in which a quote does not stand around a cell of one line.

    Raises an UnreadableError naming the first line in which one does not.
    """
    line = 1
    with path.open("rb") as file:
        block = file.read(_BYTES_AT_ONCE).removeprefix(_MARK) + file.readline()
        while block:
            rest = _QUOTED.sub(b"", block) if b'"' in block else b""
            if b'"' in rest:  # no line end stands in a quoted cell
                lines = _LINE_END.split(rest)
                at = next(i for i, text in enumerate(lines) if b'"' in text)
                text = _LINE_END.split(block)[at][:60].decode("utf-8", "replace")
                raise UnreadableError(
                    f"a quote does not stand around a cell: {shown(text)}",
                    where=f"{path}, line {line + at}",
                    expected='cells that hold commas or quotes in quotes, such as "[0, 3, 1]", '
                    "their own quotes doubled, on one line",
                    fix="write the file again with a CSV writer; it may be cut short",
                )
            line += len(_LINE_END.findall(block))
            block = file.read(_BYTES_AT_ONCE) + file.readline()
