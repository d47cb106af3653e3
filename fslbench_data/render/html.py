"""Tables as HTML that stands alone: nothing in it works, and no style sheet is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from fslbench_data.render.table import Table, comment

_CELL = "padding:0.1em 0.6em;text-align:"


def html(tables: Sequence[Table], signature: str, notes: Sequence[str] = ()) -> str:
    """Write tables as elements of HTML; the signature stands first, as a comment."""
    parts = [comment(signature)] if signature else []
    parts += ["\n".join(_table(table)) for table in tables]
    return "\n".join([*parts, *(f"<p>{escape(note)}</p>" for note in notes)]) + "\n"


def _table(table: Table) -> Iterator[str]:
    yield '<table style="border-collapse:collapse">'
    if table.title or table.notes:
        title = [f"<b>{escape(table.title)}</b>"] if table.title else []
        notes = [f"<br>{escape(note)}" for note in table.notes]
        yield f'<caption style="text-align:left">{"".join([*title, *notes])}</caption>'
    yield "<thead>"
    groups = [(name, len(list(some))) for name, some in groupby(table.columns, lambda c: c.group)]
    if any(name for name, _ in groups):
        yield _row(
            f'<th colspan="{width}" scope="colgroup" style="{_CELL}center">{escape(name)}</th>'
            if name
            else f'<td colspan="{width}"></td>'
            for name, width in groups
        )
    yield _row(
        f'<th scope="col" style="{_CELL}{column.align}">{escape(column.name)}'
        f"{_hung('') if column.marks else ''}</th>"
        for column in table.columns
    )
    yield "</thead>\n<tbody>"
    for row in table.rows:
        texts = table.marked_up(row, escape, "<b>{}</b>".format, _hung)
        yield _row(
            f'<td style="{_CELL}{column.align}">{text}</td>'
            for column, text in zip(table.columns, texts, strict=True)
        )
    yield "</tbody>\n</table>"


def _hung(marks: str) -> str:
    return f'<span style="display:inline-block;width:1.2em;text-align:left">{escape(marks)}</span>'


def _row(cells: Iterator[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"
