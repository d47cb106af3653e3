"""Consoles: the terminal, or a page of fixed size where there is none."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions

from fslbench_data.render.table import Column, Table

if TYPE_CHECKING:
    from rich.console import OverflowMethod
    from rich.table import Table as RichTable
    from rich.text import Text

PAGE = (120, 50)
"""Characters and lines of a page; the variables COLUMNS and LINES say otherwise."""

GAP = 2
"""Characters between columns."""

HEADING = 14
"""Characters of a line of a column's heading at least; it is as wide as the widest cell."""

WIDEST, LONGEST = 1000, 10_000
"""The most that these are taken for: what is laid out takes as much memory as it is wide."""


def console(*, stderr: bool = False) -> Console:
    """Standard output or error, as wide as it is, within bounds; nothing in a text is markup.

    Standard error shows how far a job is, for which it has to be a terminal: FORCE_COLOR, which
    asks for colours, makes a file none.
    """
    forced = sys.stderr.isatty() if stderr else None
    terminal = Console(
        stderr=stderr, force_terminal=forced, highlight=False, markup=False, emoji=False
    )
    terminal.size = ConsoleDimensions(*_bounded(*terminal.size))
    return terminal


def _bounded(width: int, height: int) -> tuple[int, int]:
    return max(1, min(width, WIDEST)), max(1, min(height, LONGEST))


@contextmanager
def screen() -> Iterator[Console]:
    """Standard output; where it is no terminal, plain lines without trailing blanks."""
    terminal = console()
    if terminal.is_terminal:
        yield terminal
        return
    with page() as (on_page, text):
        yield on_page
    click.echo(text(), nl=False)


@contextmanager
def page(size: tuple[int, int] | None = None) -> Iterator[tuple[Console, Callable[[], str]]]:
    """A console without a terminal, of some size, and what gives its text."""
    width, height = _bounded(*(size or shutil.get_terminal_size(PAGE)))
    file = io.StringIO()
    on_page = Console(
        file=file,
        force_jupyter=False,  # there rich would show what it is to write into the file
        highlight=False,
        markup=False,
        emoji=False,
        width=width,
        height=height,
    )
    yield on_page, lambda: "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


@contextmanager
def steps(title: str) -> Iterator[Callable[[str], None]]:
    """Show on standard error what a long job is at; silent where that is no terminal."""
    from rich.text import Text

    terminal = console(stderr=True)
    with terminal.status(Text(title)) as status:  # which takes a str for markup, whatever console
        yield lambda step: status.update(Text(f"{title}: {step}"))


def fold_at_blanks(name: str, width: int) -> str:
    """Break a heading into lines of at most so many characters, but no word."""
    return textwrap.fill(name, width, break_long_words=False, break_on_hyphens=False)


def screenful(console: Console) -> int:
    """How many rows of a table are shown at once."""
    return max(10, console.height - 4)


def print_table(table: Table, console: Console, *, whole: bool = False, left: int = 0) -> None:
    """Print a table, all or a screenful of it, and say what is left out.

    `left` counts rows that `table` is without already.
    """
    from rich.text import Text

    rows = list(table.rows)
    limit = len(rows) if whole else screenful(console)
    if table.title:
        console.print(Text(table.title, style="bold"))
    console.print(rich_table(replace(table, rows=rows[:limit])))
    for note in table.notes:
        console.print(Text(note, style="dim"))
    left += max(0, len(rows) - limit)
    if left:
        console.print(Text(f"… {left} more rows left out: --format csv gives all", style="yellow"))


def rich_table(
    table: Table,
    heading: int = HEADING,
    fold: Callable[[str, int], str] = fold_at_blanks,
    *,
    cut: bool = False,
) -> RichTable:
    """Lay out the rows for a console: where it is too narrow, texts are folded, or cut.

    Parameters
    ----------
    heading
        Characters of a line of a column's heading at least.
    fold
        Makes a heading lines of so many characters.
    cut
        Give every row one line.
    """
    from rich.table import Table as RichTable

    laid_out = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, GAP, 0, 0))
    rows = _rows(table)
    for column, name in zip(table.columns, _headings(table, rows, heading, fold), strict=True):
        overflow: OverflowMethod = "ellipsis" if cut else "fold"
        laid_out.add_column(name, justify=column.align, overflow=overflow, no_wrap=cut)
    for row in rows:
        laid_out.add_row(*row)
    return laid_out


def table_size(
    table: Table, heading: int = HEADING, fold: Callable[[str, int], str] = fold_at_blanks
) -> tuple[int, int]:
    """Characters and lines of a table that is not folded, with its headings."""
    rows = _rows(table)
    headings = [name.splitlines() or [""] for name in _headings(table, rows, heading, fold)]
    widths = [
        max(*map(cell_len, lines), *(row[number].cell_len for row in rows), 0)
        for number, lines in enumerate(headings)
    ]
    return sum(widths) + GAP * (len(widths) - 1), len(rows) + max(map(len, headings))


def _rows(table: Table) -> list[list[Text]]:
    rows, before = [], None
    for row in table.rows:
        rows.append([_cell(column, row, before) for column in table.columns])
        before = row
    return rows


def _headings(
    table: Table, rows: Sequence[Sequence[Text]], heading: int, fold: Callable[[str, int], str]
) -> list[str]:
    """The heading of each column, as wide as its widest cell."""
    widest = [
        max((row[number].cell_len for row in rows), default=0)
        for number in range(len(table.columns))
    ]
    return [
        fold(column.name, max(heading, width))
        for column, width in zip(table.columns, widest, strict=True)
    ]


def _cell(column: Column, row: Any, before: Any) -> Text:
    from rich.text import Text

    if column.once and before is not None and column.once(row) == column.once(before):
        return Text("")
    value = column.cell(row)
    return Text(column.text_of(value), style=column.style(value) if column.style else "")
