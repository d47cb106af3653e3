"""A table for a paper: methods on task sets, in Markdown, LaTeX, HTML and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from fslbench_data.render import html, latex
from fslbench_data.render import table as plain
from fslbench_data.render.paper_text import (
    NOT_TOLD_APART,
    caption_of,
    cell_marks,
    cell_text,
    cite_text,
    label_of,
    title_of,
)
from fslbench_data.render.table import Column, Table, csv_text, right
from fslbench_data.scoring.paper import PaperCell, PaperColumn, PaperContent
from fslbench_data.scoring.paper_choice import PaperRow
from fslbench_data.submission.frames import AsFrame

WIDEST = 115
"""Characters of a line, two between columns: in LaTeX's footnotesize, what 6.5 inches hold."""

MOST_LINES = 50
"""Lines of a float in LaTeX, about a page."""


@dataclass(frozen=True)
class _Line:
    """A cell with where it stands."""

    column: PaperColumn
    row: PaperRow
    cell: PaperCell
    transductive: bool


@dataclass(frozen=True, repr=False)
class PaperTable(AsFrame):
    """A table for a paper, written in the form of a format when asked; ``str`` gives Markdown.

    Attributes
    ----------
    content
        The numbers.
    transposed
        Whether a row is a task set, and a column a method.
    most
        Columns of numbers beside each other, by default as many as fit a page 6.5 inches wide;
        others stand below.
    """

    content: PaperContent
    transposed: bool = False
    most: int | None = None

    def markdown(self) -> str:
        """Write it as Markdown."""
        return plain.markdown(self.tables(), self._signature, self.notes)

    def latex(self) -> str:
        r"""Write it as LaTeX with ``\usepackage{booktabs}``; the sentence to cite is a comment."""
        first, *more = self.tables()
        plain, mark = f"{NOT_TOLD_APART}:", f"{latex.SIMILAR}:"
        notes = tuple(note.replace(plain, mark) for note in caption_of(self.content))
        tables = [replace(first, notes=notes), *more]
        return latex.latex(tables, self._signature, (cite_text(self.content, tex=True),))

    def html(self) -> str:
        """Write it as elements of HTML that need no style sheet."""
        return html.html(self.tables(), self._signature, self.notes)

    def csv(self) -> str:
        """Write a line a cell, numbers unrounded, in percentage points."""
        return csv_text(Table("", _CSV, self._lines()), self._signature)

    def to_arrow(self) -> pa.Table:
        """Return what :meth:`csv` holds as a table."""
        return pa.Table.from_pylist(plain.objects(Table("", _CSV, self._lines())))

    def __str__(self) -> str:
        return self.markdown()

    def __repr__(self) -> str:
        rows, columns = len(self.content.rows), len(self.content.columns)
        return f"<PaperTable: {rows} rows on {columns} task sets>"

    def _repr_html_(self) -> str:
        return self.html()

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands below it: what its marks mean, and a sentence to cite."""
        return (*caption_of(self.content), cite_text(self.content))

    @property
    def _signature(self) -> str:
        return str(self.content.signature)

    def _lines(self) -> Iterator[_Line]:
        for column in self.content.columns:
            for row, cell in zip(self.content.rows, column.cells, strict=True):
                if cell is not None:
                    names = {row.method, row.versus}
                    yield _Line(column, row, cell, bool(names & self.content.transductive))

    def tables(self) -> list[Table]:
        """Return the table in blocks of as many columns as fit beside each other."""
        groups = self._by_method() if self.transposed else self._by_task_set()
        heads, rows = self._heads()
        most = self.most
        if most is None:  # blocks stand below each other: all columns as wide as the widest
            left = WIDEST - sum(_width(head, rows) for head in heads)
            most = max(1, left // max(_width(column, rows) for group in groups for column in group))
        blocks = list(_blocks(groups, most))
        fit = max(1, MOST_LINES // (len(rows) + 3))
        what, _, more = title_of(self.content).partition(":")
        return [
            Table(
                "" if number % fit else f"{what}{_part(number // fit)}:{more}",
                (*heads, *columns),
                rows,
                continues=bool(number % fit),
            )
            for number, columns in enumerate(blocks)
        ]

    def _heads(self) -> tuple[list[Column], Sequence[int]]:
        """The columns that say what a row is, and the rows."""
        columns = self.content.columns
        if not self.transposed:
            rows = range(len(self.content.rows))
            names = [label_of(self.content, row) for row in self.content.rows]
            return [Column("difference" if self._two_sided else "method", names.__getitem__)], rows
        datasets = [column.scored.dataset for column in columns]
        first = [i == 0 or datasets[i] != datasets[i - 1] for i in range(len(columns))]
        return [
            Column("data set", lambda i: datasets[i] if first[i] else None),
            Column("tasks", lambda i: columns[i].heading),
        ], range(len(columns))

    @property
    def _two_sided(self) -> bool:
        return len({row.method for row in self.content.rows}) > 1 and (
            len({row.versus for row in self.content.rows}) > 1
        )

    def _by_task_set(self) -> list[list[Column]]:
        """Columns of the task sets, those of a data set together."""
        groups: dict[str, list[Column]] = {}
        for column in self.content.columns:
            dataset = column.scored.dataset
            at = column.cells.__getitem__
            groups.setdefault(dataset, []).append(_column(column.heading, at, dataset))
        return list(groups.values())

    def _by_method(self) -> list[list[Column]]:
        """Columns of the methods."""
        return [
            [_column(label_of(self.content, row), partial(self._cell, row=number))]
            for number, row in enumerate(self.content.rows)
        ]

    def _cell(self, column: int, row: int) -> PaperCell | None:
        return self.content.columns[column].cells[row]


def _column(name: str, cell: Any, group: str = "") -> Column:
    """A column of cells, by the number of a row."""

    def text(row: int) -> str | None:
        shown: PaperCell | None = cell(row)
        return None if shown is None else cell_text(shown)

    def strong(row: int) -> bool:
        shown: PaperCell | None = cell(row)
        return shown is not None and shown.strong

    def marks(row: int) -> str:
        shown: PaperCell | None = cell(row)
        return "" if shown is None else cell_marks(shown)

    column = right(name, text, missing="–")
    return replace(column, group=group, strong=strong, marks=marks)


def _part(number: int) -> str:
    return f", part {number + 1}" if number else ""


def _width(column: Column, rows: Iterable[int]) -> int:
    """Count the characters of a column's widest text, and those between columns."""
    return 2 + max(map(len, [column.name, *(column.text_of(column.cell(row)) for row in rows)]))


def _blocks(groups: Sequence[Sequence[Column]], most: int) -> Iterator[list[Column]]:
    """Put groups of columns beside each other while they fit; only one that is too wide is parted.

    `most` is how many columns fit.
    """
    block: list[Column] = []
    for group in groups:
        for part in (group[i : i + most] for i in range(0, len(group), most)):
            if len(block) + len(part) > most:
                yield block
                block = []
            block = [*block, *part]
    yield block


_CSV = (
    Column("dataset", lambda line: line.column.scored.dataset),
    Column("task_set", lambda line: line.column.scored.task_set),
    Column("method", lambda line: line.row.method),
    Column("versus", lambda line: line.row.versus),
    Column("T", lambda line: line.cell.interval.tasks),
    Column("mean", lambda line: line.cell.interval.mean),
    Column("halfwidth", lambda line: line.cell.interval.halfwidth),
    Column("interval", lambda line: line.cell.interval.kind),
    Column("level", lambda line: line.cell.interval.level),
    Column("highest", lambda line: None if line.row.versus else line.cell.strong),
    Column("not_told_apart", lambda line: line.cell.not_told_apart),
    Column("pairs", lambda line: None if line.row.versus else line.column.pairs),
    Column("verdict", lambda line: line.cell.verdict),
    Column("transductive", lambda line: line.transductive),
    Column("stopped", lambda line: line.cell.stopped),
    Column("first_tasks", lambda line: line.cell.first_tasks),
    Column("unbound", lambda line: line.cell.unbound),
)
