"""A table for a paper: methods on task sets, in Markdown, LaTeX, HTML and CSV."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from fslbench_data.render import html, latex, latex_width
from fslbench_data.render import table as plain
from fslbench_data.render.paper_layout import (
    CHARACTERS,
    POINTS,
    Width,
    blocks,
    characters,
    check_width,
    too_wide,
    with_short_names,
)
from fslbench_data.render.paper_lines import line_table
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
from fslbench_data.scoring.paper import PaperCell, PaperContent
from fslbench_data.submission.frames import AsFrame

MOST_LINES = 50
"""Lines of a float in LaTeX, about a page."""


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
        Columns of numbers beside each other, by default as many as fit; others stand below.
    width
        What they are to fit: a column of a paper, or the page.
    label
        Of the float in LaTeX, by default made of the title.
    """

    content: PaperContent
    transposed: bool = False
    most: int | None = None
    width: Width = "page"
    label: str = ""

    def __post_init__(self) -> None:
        check_width(self.width)
        latex.check_label(self.label)

    def markdown(self) -> str:
        """Write it as Markdown."""
        return plain.markdown(self.tables(), self._signature, self.notes)

    def latex(self) -> str:
        r"""Write it as LaTeX with ``\usepackage{booktabs}``; the sentence to cite is a comment.

        A table as wide as the page is a ``table*``, which is a ``table`` in a paper of one column.
        Warns if it is wider than it is to be.
        """
        first, *more = self.tables(tex=True)
        wide = latex_width.table_width([first, *more])
        if wide > POINTS[self.width]:
            warnings.warn(too_wide(wide, self.width, transposed=self.transposed), stacklevel=2)
        plain, mark = f"{NOT_TOLD_APART}:", f"{latex.SIMILAR}:"
        notes = tuple(note.replace(plain, mark) for note in self._caption)
        tables = [replace(first, notes=notes), *more]
        cite = cite_text(self.content, tex=True)
        page = self.width == "page"
        return latex.latex(tables, self._signature, (cite,), page=page, label=self.label)

    def html(self) -> str:
        """Write it as elements of HTML that need no style sheet."""
        return html.html(self.tables(), self._signature, self.notes)

    def csv(self) -> str:
        """Write a line a cell, numbers unrounded, in percentage points."""
        return csv_text(line_table(self.content), self._signature)

    def to_arrow(self) -> pa.Table:
        """Return what :meth:`csv` holds as a table."""
        return pa.Table.from_pylist(plain.objects(line_table(self.content)))

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
        return (*self._caption, cite_text(self.content))

    @cached_property
    def _shown(self) -> tuple[PaperContent, str]:
        """The content with names as they are shown, and what these are without."""
        return with_short_names(self.content, self.width)

    @property
    def _caption(self) -> tuple[str, ...]:
        content, left_out = self._shown
        *notes, release = caption_of(content)
        return (*notes, *([left_out] if left_out else []), release)

    @property
    def _signature(self) -> str:
        return str(self.content.signature)

    def tables(self, *, tex: bool = False) -> list[Table]:
        """Return the table in blocks of as many columns as fit beside each other.

        Characters are counted, or with `tex` points as LaTeX sets them.
        """
        groups = self._by_method() if self.transposed else self._by_task_set()
        heads, rows = self._heads()
        most = self.most
        if most is None:  # blocks stand below each other: all columns as wide as the widest
            measure: Callable[[Column, Iterable[int]], float]
            measure = latex_width.column_width if tex else characters
            left = (POINTS if tex else CHARACTERS)[self.width]
            left -= sum(measure(head, rows) for head in heads)
            widest = max(measure(column, rows) for group in groups for column in group)
            most = max(1, int(left // widest))
        parts = list(blocks(groups, most))
        fit = max(1, MOST_LINES // (len(rows) + 3))
        what, _, more = title_of(self._shown[0]).partition(":")
        return [
            Table(
                "" if number % fit else f"{what}{_part(number // fit)}:{more}",
                (*heads, *columns),
                rows,
                continues=bool(number % fit),
            )
            for number, columns in enumerate(parts)
        ]

    def _heads(self) -> tuple[list[Column], Sequence[int]]:
        """The columns that say what a row is, and the rows."""
        content, columns = self._shown[0], self.content.columns
        if not self.transposed:
            rows = range(len(self.content.rows))
            names = [label_of(content, row) for row in content.rows]
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
            [_column(label_of(self._shown[0], row), partial(self._cell, row=number))]
            for number, row in enumerate(self._shown[0].rows)
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
