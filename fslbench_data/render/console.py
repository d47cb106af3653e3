"""Consoles: the terminal, or a page of fixed size where there is none."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from textwrap import wrap
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click
from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from benchmark_spec.errors import many
from fslbench_data.render.table import Column, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

CUT = "…"
SHORTEST = 4
"""Characters of the features that a shortened name keeps, at least."""


def shortened(name: str, most: int) -> str:
    """Shorten a name to a width of at most `most` characters; its features are cut first.

    The part after the last slash, which names the method on these features, is kept if it fits.
    """
    features, slash, head = name.rpartition("/")
    room = most - cell_len(head) - 1
    if slash and room >= SHORTEST:
        return f"{_cut(features, room)}/{head}"
    return _cut(name, most)


def _cut(text: str, most: int) -> str:
    """Cut a text in its middle; two thirds of what is left are of its end."""
    if cell_len(text) <= most:
        return text
    tail_width = 2 * most // 3
    tail = text[-tail_width:]
    while cell_len(tail) > tail_width:
        tail = tail[1:]
    return f"{set_cell_size(text, most - cell_len(tail) - 1).rstrip()}{CUT}{tail}"


def folded(name: str, width: int, most: int = 4) -> str:
    """Break a name into at most `most` lines.

    Lines end after blanks and slashes; longer words are also broken after dashes, or anywhere.
    """
    lines = [""]
    for part in _parts(name, width):
        if lines[-1] and cell_len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    if len(lines) > most:
        lines = [*lines[: most - 1], shortened("".join(lines[most - 1 :]), width)]
    return "\n".join(line.rstrip() for line in lines)


_PART = r"[^ /]*[ /]|[^ /]+"
"""A word of a name, or the part up to a slash."""


def _parts(name: str, width: int) -> Iterator[str]:
    """Split a name into the largest parts of at most `width` characters' width."""
    for word in re.findall(_PART, name):
        if cell_len(word.rstrip()) <= width:
            yield word
            continue
        for part in re.findall(r"[^_-]*[_-]|[^_-]+", word):
            while cell_len(part.rstrip()) > width:
                first = set_cell_size(part, width).rstrip()
                yield first
                part = part[len(first) :]
            yield part


PAGE = (120, 50)
"""Characters and lines of a page, unless the variables COLUMNS and LINES are set."""

GAP = 2
"""Characters between columns."""

HEADING = 14
"""Characters of a line of a column's heading at least, by default."""

LEAST = 12
"""Characters of a column of names at least."""

UNBROKEN = 24
"""Characters up to which a part of a name is kept in one piece; optional columns give way to it."""

MOST_LINES = 6
"""Lines of a name in a cell, at most."""

SCREEN_LINES = 30
"""Lines of a command's first output, at most, where it is 80 characters wide."""

FILE_LINES = 300
"""Lines of a table in a text file, at most."""

FEWEST_ROWS = 3
"""Rows of each table on a screen, at least."""

LINE_SECONDS = 30.0
"""Seconds between two progress lines where standard error is no terminal, such as a log file."""

WIDEST, LONGEST = 1000, 10_000
"""Bounds on a terminal's width and height: layouts take memory in proportion."""


def console(*, stderr: bool = False) -> Console:
    """Open standard output or error at its own size, within bounds; no text is markup.

    Standard error shows progress, so it counts as a terminal only if it is one: FORCE_COLOR, which
    sets colours, does not turn a file into a terminal.
    """
    forced = _on_terminal() if stderr else None
    terminal = Console(
        stderr=stderr, force_terminal=forced, highlight=False, markup=False, emoji=False
    )
    terminal.size = ConsoleDimensions(*_bounded(*terminal.size))
    return terminal


def _on_terminal() -> bool:
    """Return whether standard error is a terminal; daemons have closed it, and it is None."""
    return sys.stderr is not None and sys.stderr.isatty()


def _bounded(width: int, height: int) -> tuple[int, int]:
    width, height = width or PAGE[0], height or PAGE[1]  # 0: it is not known
    return max(1, min(width, WIDEST)), max(1, min(height, LONGEST))


@contextmanager
def screen() -> Iterator[Console]:
    """Open standard output; where it is no terminal, plain lines without trailing blanks."""
    terminal = console()
    if terminal.is_terminal:
        yield terminal
        return
    with page() as (on_page, text):
        yield on_page
    click.echo(text(), nl=False)


@contextmanager
def page(size: tuple[int, int] | None = None) -> Iterator[tuple[Console, Callable[[], str]]]:
    """Yield a console that is no terminal, and a function that returns its text."""
    width, height = _bounded(*(size or shutil.get_terminal_size(PAGE)))
    file = io.StringIO()
    on_page = Console(
        file=file,
        force_terminal=False,  # FORCE_COLOR, which Jupyter sets too, would colour the file
        force_jupyter=False,  # there rich would show what it is to write into the file
        highlight=False,
        markup=False,
        emoji=False,
        width=width,
        height=height,
    )

    def text() -> str:
        return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())

    yield on_page, text


@contextmanager
def steps(title: str) -> Iterator[Callable[[str], None]]:
    """Show a long job's current step on standard error; in a file, a line every LINE_SECONDS."""
    terminal = console(stderr=True)
    if not terminal.is_terminal:
        print_line = line_now_and_then()
        yield lambda step: print_line(f"{title}: {step}")
        return
    with terminal.status(Text(title)) as status:  # a str would be markup
        yield lambda step: status.update(Text(f"{title}: {step}"))


def line_now_and_then() -> Callable[[str], None]:
    """Return a function that prints a line on standard error, at most one in 30 seconds."""
    last = monotonic()

    def print_line(text: str) -> None:
        nonlocal last
        if monotonic() - last >= LINE_SECONDS:
            last = monotonic()
            click.echo(text, err=True)

    return print_line


def fitted(text: str) -> str:
    """Wrap a message if standard error is a terminal; files keep its lines."""
    if not _on_terminal():
        return text
    return wrapped(text, min(shutil.get_terminal_size(PAGE).columns, PAGE[0]))


def wrapped(text: str, width: int) -> str:
    """Wrap the lines of a text between words; continuation lines are indented."""
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


def screenful(console: Console) -> int:
    """Return how many rows of a table fit on the screen, at least 10."""
    return max(10, console.height - 4)


def say(console: Console, text: str, style: str = "") -> None:
    """Print a text, in which nothing is markup."""
    console.print(Text(text, style=style))


def print_table(
    table: Table, console: Console, *, whole: bool = False, left: int = 0, heading: int = HEADING
) -> None:
    """Print a table, all or a screenful of it, and say what is left out.

    `left` is the number of rows that the caller has left out already.
    """
    rows = list(table.rows)
    limit = len(rows) if whole else screenful(console)
    if table.title:
        say(console, table.title, "bold")
    fitted = fit(replace(table, rows=rows), console.width, heading, limit)
    console.print(fitted.laid_out)
    for note in table.notes:
        say(console, note, "dim")
    left += max(0, len(rows) - limit)
    if fitted.left_out:
        say(console, fitted.left_out, "yellow")
    if left:
        say(console, f"… {many(left, 'more row')} left out: --format csv gives all", "yellow")


def print_tables(
    tables: Sequence[Table], console: Console, notes: Sequence[str] = (), *, whole: bool = True
) -> None:
    """Print tables one below the other, and the notes below them all."""
    for number, table in enumerate(tables):
        if number:
            console.print()
        print_table(table, console, whole=whole)
    for note in notes:
        console.print(f"\n{note}", highlight=False, markup=False)


def print_screen(
    tables: Sequence[Table],
    console: Console,
    notes: Sequence[str] = (),
    last: str = "",
    signature: str = "",
    *,
    heading: int = HEADING,
) -> None:
    """Print tables, notes and a last text in SCREEN_LINES lines, in a file in FILE_LINES.

    What has no room is left out: notes first, from the end; then rows of long tables, down to
    FEWEST_ROWS; then tables.  The signature is one word, which is not broken.  Rows of tables are
    sequences, of which only those displayed are read.
    """
    sizes = [len(cast("Sequence[Any]", table.rows)) for table in tables]

    @cache
    def height(position: int, n_rows: int) -> int:
        table, cut = tables[position], n_rows < sizes[position]
        lines = sum(len(text_lines(text, console)) for text in (table.title, *table.notes))
        return fit(table, console.width, heading, n_rows).height + lines + cut

    def total_height(lengths: Sequence[int]) -> int:
        blank_lines = len(lengths) - 1
        return sum(height(i, n_rows) for i, n_rows in enumerate(lengths)) + blank_lines

    end = text_lines(last, console)
    signature_lines = -(-len(signature) // console.width)
    screen_lines = FILE_LINES if console.height >= FILE_LINES else SCREEN_LINES
    for n_notes in range(len(notes), -1, -1):
        below = [line for note in few(notes, n_notes) for line in text_lines(note, console)]
        room = screen_lines - len(end) - signature_lines - 1 - len(below) - bool(below)
        lengths = [min(size, max(room, FEWEST_ROWS)) for size in sizes]
        while total_height(lengths) > room and max(lengths) > FEWEST_ROWS:
            longest = max(range(len(lengths)), key=lambda i: (lengths[i], i))
            lengths[longest] -= 1
        if total_height(lengths) <= room:
            break
    while len(lengths) > 1 and total_height(lengths) + (len(lengths) < len(tables)) > room:
        lengths.pop()
    for i, n_rows in enumerate(lengths):
        # a single row left out takes no more lines than the line that counts it
        if sizes[i] - n_rows == 1 and height(i, sizes[i]) <= height(i, n_rows):
            lengths[i] = sizes[i]
    for i, n_rows in enumerate(lengths):
        if i:
            console.print()
        shown = replace(tables[i], rows=[*islice(tables[i].rows, n_rows)])
        print_table(shown, console, whole=True, left=sizes[i] - n_rows, heading=heading)
    if more := len(tables) - len(lengths):
        say(console, f"… {many(more, 'more table')} left out: --format csv", "yellow")
    for texts, style in ((below, "dim"), (end, "")):
        if texts:
            console.print()
        for line in texts:
            console.print(line, style=style)
    if not end:
        console.print()
    console.print(Text(signature), soft_wrap=True)


def text_lines(text: str, console: Console, width: int | None = None) -> list[Text]:
    """Wrap a text between words, to the console's width or another."""
    lines = [*Text(text).wrap(console, width or console.width)] if text else []
    for line in lines:
        line.rstrip()
    return lines


def few(notes: Sequence[str], most: int) -> list[str]:
    """Return at most `most` notes; if some are left out, the last one counts them."""
    if len(notes) <= most:
        return [*notes]
    if not most:
        return []
    return [*notes[: most - 1], f"{many(len(notes) - most + 1, 'more note')}: --format markdown"]


class Fitted(NamedTuple):
    """A table laid out for a console, its height in lines, and which columns are left out."""

    laid_out: RichTable
    height: int
    left_out: str


def fit(table: Table, width: int, heading: int = HEADING, most: int | None = None) -> Fitted:
    """Lay out the first rows of a table in a console's width, without cutting a number.

    If columns have no room, those with `optional` above 1 are left out, then names are broken into
    lines, then columns with `optional` 1 are left out, and then columns from the right.

    Parameters
    ----------
    heading
        Least characters of a line of a column's heading; it is as wide as the widest cell.
    most
        Number of rows, by default all.
    """
    from rich.table import Table as RichTable

    rows, before = [], None
    for row in islice(table.rows, most):
        rows.append([_cell(column, row, before) for column in table.columns])
        before = row
    widths, least, unbroken = _widths(table, rows, heading)
    if _total_width(widths) > width:  # headings on more lines
        widths, least, unbroken = _widths(table, rows, 0)
    kept = _kept(table.columns, unbroken, width)
    if all(column.optional > 1 or i in kept for i, column in enumerate(table.columns)):
        least = unbroken
    else:
        kept = _kept(table.columns, least, width)
    widths = [min(widest, max(width, least[i])) for i, widest in enumerate(widths)]
    while _total_width(widths[i] for i in kept) > width and (
        wide := [i for i in kept if widths[i] > least[i]]
    ):
        widths[max(wide, key=widths.__getitem__)] -= 1
    laid_out = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, GAP, 0, 0))
    lines = 1
    for i in kept:
        name = folded(table.columns[i].heading, min(width, widths[i]))
        laid_out.add_column(name, justify=table.columns[i].align, no_wrap=True)
        lines = max(lines, name.count("\n") + 1)
    for row in rows:
        cells = []
        for i in kept:
            cell, room = row[i], min(width, widths[i])
            if cell.cell_len > room:
                cell = Text(folded(cell.plain, room, MOST_LINES), style=cell.style)
            cells.append(cell)
        laid_out.add_row(*cells)
        lines += max((cell.plain.count("\n") for cell in cells), default=0) + 1
    dropped = [name for i, name in enumerate(table.names) if name and i not in kept]
    left_out = f"no room here for {'; '.join(dropped)}: --format csv" if dropped else ""
    return Fitted(laid_out, lines + bool(dropped), left_out)


def _widths(
    table: Table, rows: Sequence[Sequence[Text]], heading: int
) -> tuple[list[int], list[int], list[int]]:
    """Return for each column its width, the least possible, and the least that breaks no name."""
    widths, least, unbroken = [], [], []
    for i, column in enumerate(table.columns):
        longest_word = max(map(cell_len, column.heading.split()), default=0)
        widest_cell = max((row[i].cell_len for row in rows), default=0)
        lines = folded(column.heading, max(heading, widest_cell, longest_word)).splitlines()
        widths.append(max([widest_cell, *map(cell_len, lines)]))
        is_text = column.align == "left"
        least.append(min(widths[-1], max(LEAST, longest_word)) if is_text else widths[-1])
        parts = {part for row in rows for part in re.findall(_PART, row[i].plain)}
        longest_part = max((cell_len(part.rstrip()) for part in parts), default=0)
        unbroken.append(max(least[-1], min(UNBROKEN, longest_part)))
    return widths, least, unbroken


def _total_width(widths: Iterable[int]) -> int:
    columns = [*widths]
    return sum(columns) + GAP * (len(columns) - 1)


def _kept(columns: Sequence[Column], least: Sequence[int], width: int) -> list[int]:
    """Return the positions of the columns that have room; optional ones are dropped first."""
    kept = [*range(len(columns))]
    by_priority = sorted(kept[1:], key=lambda i: (-columns[i].optional, -i))
    while by_priority and _total_width(least[i] for i in kept) > width:
        kept.remove(by_priority.pop(0))
    return kept


def _cell(column: Column, row: Any, before: Any) -> Text:
    if column.once and before is not None and column.once(row) == column.once(before):
        return Text("")
    value = column.cell(row)
    return Text(column.text_of(value), style=column.style(value) if column.style else "")
