"""A small table for notebooks: everything in it escaped, no script, no style but its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

MOST_ROWS = 20

_LEFT = ' style="text-align: left"'


def html_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], n_rows: int
) -> str:
    """Write a title and the first :data:`MOST_ROWS` of `n_rows` rows; numbers with separators."""
    head = "".join(f"<th{_LEFT}>{escape(name)}</th>" for name in columns)
    lines = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(rows, MOST_ROWS)]
    more = f"<p>and {n_rows - MOST_ROWS:,} more</p>" if n_rows > MOST_ROWS else ""
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f"<div><p><strong>{escape(title)}</strong></p><table>{body}</table>{more}</div>"


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"<td>{value:,}</td>"
    return f"<td{_LEFT}>{escape(str(value))}</td>"
