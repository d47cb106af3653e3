"""The one shape of a table, and how it is written as Markdown, HTML, CSV and JSON.

A table for people has cells of text, one for machines plain values: an empty cell is None.
:mod:`fslbench_data.render.console` prints it on the terminal; LaTeX has a module of its own.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from benchmark_spec.version import OUTPUT_SCHEMA

Markup = Callable[[str], str]
"""Writes a text in the form of some format."""


class Column(Struct, frozen=True):
    """A column of a table.

    Attributes
    ----------
    name
        The heading, and the name in CSV and JSON.
    cell
        Gives the value of a row; None where there is none.
    align
        Numbers are aligned to the right.
    once
        What a row must have in common with the row before to leave the cell blank on the terminal.
    style
        Gives the colour of a value on the terminal.
    missing
        The text of a missing value in tables for people; files have an empty cell or null.
    group
        What this column and neighbours of the same group belong to: a heading over theirs.
    strong
        Which rows are in bold.
    marks
        Gives what hangs behind the value of a row, such as ~: values stay aligned.
    optional
        Columns with a higher number are left out first where a terminal is too narrow.
    """

    name: str
    cell: Callable[[Any], object]
    align: Literal["left", "right"] = "left"
    once: Callable[[Any], object] | None = None
    style: Callable[[Any], str] | None = None
    missing: str = ""
    group: str = ""
    strong: Callable[[Any], bool] | None = None
    marks: Callable[[Any], str] | None = None
    optional: int = 0

    @property
    def heading(self) -> str:
        """The name, after that of its group: for formats with one line of headings."""
        return f"{self.group} {self.name}" if self.group else self.name

    def text_of(self, value: object) -> str:
        """Return a value of this column as text."""
        return self.missing if value is None else str(value)


def right(name: str, cell: Callable[[Any], object], missing: str = "") -> Column:
    """Return a column that is aligned to the right, such as one of numbers."""
    return Column(name, cell, "right", missing=missing)


class Table(Struct, frozen=True):
    """Rows of any objects, and columns that give their values.

    Attributes
    ----------
    title
        One line; empty for none.
    notes
        Sentences below the table.
    continues
        Whether it continues the table before, under the same title, where a format can do so.
    shaded
        Which rows are one's own, and shaded.
    """

    title: str
    columns: tuple[Column, ...]
    rows: Iterable[Any]
    notes: tuple[str, ...] = ()
    continues: bool = False
    shaded: Callable[[Any], bool] | None = None

    @property
    def names(self) -> list[str]:
        """Headings of the columns."""
        return [column.heading for column in self.columns]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Groups of neighbouring columns and their widths; empty where no column has one."""
        runs = [(name, len([*some])) for name, some in groupby(self.columns, lambda c: c.group)]
        return runs if any(name for name, _ in runs) else []

    def cells(self, row: Any) -> list[Any]:
        """Return the values of a row."""
        return [column.cell(row) for column in self.columns]

    def texts(self, row: Any) -> list[str]:
        """Return the values of a row as texts."""
        return [column.text_of(column.cell(row)) for column in self.columns]

    def marked_up(self, row: Any, plain: Markup, bold: Markup, hung: Markup) -> list[str]:
        """Return the values of a row as texts of a format, strong ones in its bold type.

        `hung` writes marks, perhaps none, in columns that have some.
        """
        texts = []
        for column, text in zip(self.columns, map(plain, self.texts(row)), strict=True):
            text = bold(text) if column.strong is not None and column.strong(row) else text
            texts.append(text if column.marks is None else text + hung(column.marks(row)))
        return texts


def with_mark_columns(table: Table) -> Table:
    """Give marks columns of their own, with a star in place of bold type: for a terminal."""
    columns: list[Column] = []
    for column in table.columns:
        whole = replace(column, name=column.heading, group="", strong=None, marks=None)
        columns += [whole, *([Column("", partial(_stars, column))] if column.marks else [])]
    return replace(table, columns=tuple(columns))


def _stars(column: Column, row: Any) -> str:
    star = "*" if column.strong is not None and column.strong(row) else ""
    return star + (column.marks(row) if column.marks is not None else "")


def markdown(tables: Sequence[Table], signature: str, notes: Sequence[str] = ()) -> str:
    """Write tables as Markdown; the signature comes first, as a comment."""
    parts = [comment(signature)] if signature else []
    for table in tables:
        lines = [f"**{_md(table.title)}**", ""] if table.title else []
        rules = ("---:" if column.align == "right" else "---" for column in table.columns)
        rows = (table.marked_up(row, _md, "**{}**".format, _hung) for row in table.rows)
        texts = [map(_md, table.names), rules, *rows]
        parts.append("\n".join([*lines, *(f"| {' | '.join(row)} |" for row in texts)]))
        parts += map(_md, table.notes)
    return "\n\n".join([*parts, *map(_md, notes)]) + "\n"


def comment(text: str) -> str:
    """Write a comment of Markdown or HTML."""
    return f"<!-- {re.sub(r'-(?=-|$)', '- ', one_line(text))} -->"


def csv_text(table: Table, signature: str = "") -> str:
    """Write a table as CSV, after the signature as a line beginning with ``#``."""
    return csv_of_rows(table.names, map(table.cells, table.rows), signature)


def csv_of_rows(names: Iterable[str], rows: Iterable[Iterable[Any]], signature: str = "") -> str:
    """Write rows of values as CSV; see :func:`csv_text`."""
    out = io.StringIO()
    out.write(f"# {one_line(signature)}\n" if signature else "")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue()


def objects(table: Table) -> list[dict[str, Any]]:
    """Return the rows as JSON has them: values by name."""
    return [dict(zip(table.names, table.cells(row), strict=True)) for row in table.rows]


def json_text(content: dict[str, Any]) -> str:
    """Write JSON that begins with the number of its schema; dataclasses become objects."""
    text = msgspec.json.encode({"schema": OUTPUT_SCHEMA, **content})
    return f"{msgspec.json.format(text, indent=1).decode()}\n"


def _md(text: str) -> str:
    """Return text for Markdown: neither markup nor formula, and no link, call or reference.

    Sites make links of addresses, of @names and of #numbers by themselves, unless something that
    is not seen parts them, perhaps already.
    """
    plain = re.sub(r"([\\`*_{}\[\]<>|#~$]|&(?=[#\w]))", r"\\\1", one_line(text))
    return re.sub(r"@(?!\u200b)|#(?=\d)|:(?=//)|(?i:\bGH-(?=\d)|www(?=\.))", r"\g<0>&#8203;", plain)


def _hung(marks: str) -> str:
    return f" {_md(marks)}" if marks else ""


def one_line(text: str) -> str:
    """Put a text on one line, blanks between its words."""
    return re.sub(r"\s+", " ", text)
