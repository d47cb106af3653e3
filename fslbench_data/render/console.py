"""Consoles: the terminal, or a page of fixed size where there is none."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console, ConsoleDimensions

from fslbench_data.render.grid import Grid

PAGE = (120, 50)
"""Characters and lines of a page; the variables COLUMNS and LINES say otherwise."""

WIDEST, LONGEST = 1000, 10_000
"""The most that these are taken for: what is laid out takes as much memory as it is wide."""


def console(*, stderr: bool = False) -> Console:
    """Standard output or error, as wide as it is, within bounds; nothing in a text is markup."""
    found = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    found.size = ConsoleDimensions(*_bounded(*found.size))
    return found


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


def print_grid(grid: Grid, console: Console, most: int | None = None, left: int = 0) -> None:
    """Print a grid, at most `most` rows or a screenful of it, and say what is left out.

    `left` counts rows that `grid` is without already.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in grid.columns:
        table.add_column(name, justify="right" if name in grid.right else "left", overflow="fold")
    limit = screenful(console) if most is None else most
    for row in grid.rows[:limit]:
        table.add_row(*(Text(cell) for cell in row))
    if grid.title:
        console.print(Text(grid.title, style="bold"))
    console.print(table)
    for note in grid.notes:
        console.print(Text(note, style="dim"))
    left += max(0, len(grid.rows) - limit)
    if left:
        console.print(Text(f"… {left} more rows left out: --format csv gives all", style="yellow"))
