"""Tables, and how they are written as Markdown, CSV and JSON.

A table for people has cells of text, one for machines plain values: an empty cell is None.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from benchmark_spec.version import OUTPUT_SCHEMA

Markup = Callable[[str], str]
"""Writes a text in the markup of some format."""


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
        Gives a key of a row; on the terminal the cell is blank if the row before has the same key.
    style
        Gives the colour of a value on the terminal.
    missing
        The text of a missing value in tables for people; files have an empty cell or null.
    group
        The heading above those of this column and of its neighbours in the same group.
    strong
        Whether the value of a row is in bold.
    marks
        Gives the marks behind the value of a row, such as ~; values stay aligned.
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
        """The group and the name, for formats with one line of headings."""
        return f"{self.group} {self.name}" if self.group else self.name

    def text_of(self, value: object) -> str:
        """Return a value of this column as text."""
        return self.missing if value is None else str(value)


def right(name: str, cell: Callable[[Any], object], missing: str = "") -> Column:
    """Return a column that is aligned to the right, such as one of numbers."""
    return Column(name, cell, "right", missing=missing)


def of_tuples(*names: str) -> tuple[Column, ...]:
    """Return the columns of rows that are tuples."""
    return tuple(Column(name, itemgetter(i)) for i, name in enumerate(names))


class Table(Struct, frozen=True):
    """Rows of any objects, and columns that give their values.

    Attributes
    ----------
    title
        One line; empty for none.
    notes
        Sentences below the table.
    continues
        Whether formats that can do so set it below the table before, under the same title.
    shaded
        Whether a row is of the user's own results, and so shaded.
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
        """Each group with its number of neighbouring columns; empty if no column has a group."""
        by_group = groupby(self.columns, lambda column: column.group)
        groups = [(group, len([*columns])) for group, columns in by_group]
        return groups if any(group for group, _ in groups) else []

    def cells(self, row: Any) -> list[Any]:
        """Return the values of a row."""
        return [column.cell(row) for column in self.columns]

    def texts(self, row: Any) -> list[str]:
        """Return the values of a row as texts."""
        return [column.text_of(column.cell(row)) for column in self.columns]

    def marked_up(self, row: Any, plain: Markup, bold: Markup, hung: Markup) -> list[str]:
        """Return the values of a row in some markup, strong ones in bold.

        `hung` writes the marks of a column that has some; a row's may be empty.
        """
        texts = []
        for column, text in zip(self.columns, map(plain, self.texts(row)), strict=True):
            if column.strong is not None and column.strong(row):
                text = bold(text)
            if column.marks is not None:
                text += hung(column.marks(row))
            texts.append(text)
        return texts


def with_mark_columns(table: Table) -> Table:
    """Move marks to columns of their own, with a star in place of bold type, for a terminal."""
    columns: list[Column] = []
    for column in table.columns:
        columns.append(replace(column, name=column.heading, group="", strong=None, marks=None))
        if column.marks is not None:
            columns.append(Column("", partial(_stars, column)))
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
    return f"<!-- {re.sub(r'-(?=-|$)', '- ', collapsed(text))} -->"


def csv_text(table: Table, signature: str = "") -> str:
    """Write a table as CSV, after the signature as a line beginning with ``#``."""
    return csv_of_rows(table.names, map(table.cells, table.rows), signature)


def csv_of_rows(names: Iterable[str], rows: Iterable[Iterable[Any]], signature: str = "") -> str:
    """Write rows of values as CSV; see :func:`csv_text`."""
    out = io.StringIO()
    out.write(f"# {collapsed(signature)}\n" if signature else "")
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
    """Escape text for Markdown, and break what sites would turn into links.

    Sites link addresses, @names and #numbers. An invisible space prevents it; no second one is
    added.
    """
    plain = re.sub(r"([\\`*_{}\[\]<>|#~$]|&(?=[#\w]))", r"\\\1", collapsed(text))
    return re.sub(r"@(?!\u200b)|#(?=\d)|:(?=//)|(?i:\bGH-(?=\d)|www(?=\.))", r"\g<0>&#8203;", plain)


def _hung(marks: str) -> str:
    return f" {_md(marks)}" if marks else ""


def collapsed(text: str) -> str:
    """Return the text with each run of white space as one blank."""
    return re.sub(r"\s+", " ", text)
