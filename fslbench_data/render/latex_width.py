r"""How wide texts are in LaTeX: in ``\footnotesize`` of a class of ten points, in its own fonts.

Those of other classes are at most as wide: Times sets about a tenth narrower.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from fslbench_data.render.table import Column, Table

_CHARACTERS = {
    2.36: "!',.:;[]`il|",
    2.83: " -fj",
    3.35: "()Irst",
    3.78: "ce",
    4.25: '"$*/0123456789\\ago{}z?–',
    4.49: "Jkqvxy",
    4.72: "Sbdhnpu†‡§¶‖~∼",
    5.31: "LZ^",
    5.78: "EFP",
    6.25: "BCRTw",
    6.61: "ADGHKNOQUVXY&+<=>@_±−",
    7.78: "M#%m",
    8.73: "W",
}
"""Widths in points, measured."""

_WIDTH_OF = {letter: width for width, letters in _CHARACTERS.items() for letter in letters}

_WIDEST = max(_CHARACTERS)
"""For characters that were not measured."""

_BOLD = 1.16
"""Bold digits are so much wider."""

GAP = 8.0
"""Points between two columns, of which one half stands before the first and behind the last."""


def text_width(text: str) -> float:
    """Return the width of a text, in points."""
    return sum(_WIDTH_OF.get(letter, _WIDEST) for letter in text)


def column_width(column: Column, rows: Iterable[Any]) -> float:
    """Return the width of a column with the gap to others, in points."""
    widths = [text_width(column.name)]
    for row in rows:
        bold = column.strong is not None and column.strong(row)
        text = column.text_of(column.cell(row))
        widths.append(text_width(text) * (_BOLD if bold else 1.0))
    return max(widths) + GAP


def table_width(tables: Sequence[Table]) -> float:
    """Return the width of the widest of some tables, in points."""
    return max(map(_one_width, tables), default=0.0)


def _one_width(table: Table) -> float:
    """Return the width of a table; a heading over several columns may be wider than they are."""
    rows, width = [*table.rows], 0.0
    for name, group in groupby(table.columns, lambda column: column.group):
        own = sum(column_width(column, rows) for column in group)
        width += max(own, text_width(name) + GAP)
    return width
