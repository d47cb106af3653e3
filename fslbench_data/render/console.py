"""Consoles: the terminal, or a page of fixed size where there is none."""

from __future__ import annotations

import io
import shutil
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, ConsoleDimensions

from fslbench_data.render.table import Column, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

PAGE = (120, 50)
"""Characters and lines of a page; the variables COLUMNS and LINES say otherwise."""

HEADING = 14
"""Characters of a line of a column's heading at least; it is as wide as the widest cell."""

WIDEST, LONGEST = 1000, 10_000
"""The most that these are taken for: what is laid out takes as much memory as it is wide."""


def console(*, stderr: bool = False) -> Console:
    """Standard output or error, as wide as it is, within bounds; nothing in a text is markup."""
    terminal = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
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
def page() -> Iterator[tuple[Console, Callable[[], str]]]:
    """A console without a terminal, and what gives its text."""
    width, height = _bounded(*shutil.get_terminal_size(PAGE))
    file = io.StringIO()
    on_page = Console(
        file=file, highlight=False, markup=False, emoji=False, width=width, height=height
    )
    yield on_page, lambda: "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


@contextmanager
def steps(title: str) -> Iterator[Callable[[str], None]]:
    """Show on standard error what a long job is at; silent where that is no terminal."""
    from rich.text import Text

    terminal = console(stderr=True)
    with terminal.status(Text(title)) as status:  # which takes a str for markup, whatever console
        yield lambda step: status.update(Text(f"{title}: {step}"))


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


def rich_table(table: Table) -> RichTable:
    """Lay out the rows for a console: where it is too narrow, texts are folded, never cut."""
    from rich.table import Table as RichTable

    laid_out = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    rows, before = [], None
    for row in table.rows:
        rows.append([_cell(column, row, before) for column in table.columns])
        before = row
    for number, column in enumerate(table.columns):
        widest = max((row[number].cell_len for row in rows), default=0)
        heading = textwrap.fill(
            column.name,
            max(HEADING, widest),
            break_long_words=False,
            break_on_hyphens=False,
        )
        laid_out.add_column(heading, justify=column.align, overflow="fold")
    for row in rows:
        laid_out.add_row(*row)
    return laid_out


def _cell(column: Column, row: Any, before: Any) -> Text:
    from rich.text import Text

    if column.once and before is not None and column.once(row) == column.once(before):
        return Text("")
    value = column.cell(row)
    return Text(column.text_of(value), style=column.style(value) if column.style else "")
