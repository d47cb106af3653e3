"""An answer on the terminal: at most forty lines, whatever the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from fslbench_data.render.answer_fit import HEADING, Fitted
from fslbench_data.render.answer_names import features_note, with_short_names
from fslbench_data.render.answer_notes import heading, left_out, notes
from fslbench_data.render.answer_tables import answer_table, fitted_table
from fslbench_data.render.answer_words import sentences
from fslbench_data.render.console import page, rich_table, table_size
from fslbench_data.render.log_text import print_log
from fslbench_data.render.short_names import CUT, folded
from fslbench_data.render.table import Table
from fslbench_data.scoring.answer import Answer, answer
from fslbench_data.scoring.report import Report

WIDTH = 100
"""Characters of a line, at most."""
LINES = 40
"""Lines in all."""
MOST_ROWS = 30
FEWEST_ROWS = 5
METHODS = 3
"""Methods that have a sentence."""
SENTENCE = {1: 5, 2: 4}
"""Lines of each sentence, by how many methods there are; of more of them, three each."""
NOTES, NOTE = 14, 2
"""Lines of all notes, and of one."""


def print_answer(found: Answer, console: Console, *, whole_signature: bool = False) -> None:
    """Print an answer: what is shown of each method, the table, and what one must know to read it.

    A whole signature may take more lines than all the rest together have.
    """
    found, features = with_short_names(found)
    width = min(console.width, WIDTH)
    said = _sentences(found, console, width)
    below = _notes(found, features, console, width)
    signature = found.signature.short if not whole_signature else str(found.signature)
    title = _lines(heading(found), console, width, NOTE)
    used = len(said) + len(title) + len(below) + 4  # two blank lines, the signature, what is cut
    fitted = _fitted(found, width, LINES - used)
    for line in said:
        console.print(line)
    console.print()
    for line in title:
        console.print(line, style="dim")
    console.print(rich_table(fitted.table, HEADING, folded, cut=True), width=width)
    if cut := _cut(fitted):
        console.print(Text(cut, style="yellow"))
    console.print()
    for line in below:
        console.print(line, style="dim")
    console.print(Text(signature, style="dim"), soft_wrap=True)


def answer_paper(found: Answer) -> tuple[list[Table], str, list[str]]:
    """Return what Markdown and LaTeX hold: the whole table, the signature, and the sentences."""
    found, features = with_short_names(found)
    table = replace(answer_table(found), title=_capital(heading(found)))
    below = *notes(found), *features_note(features)
    table = replace(table, notes=tuple(f"{note.removesuffix('.')}." for note in below))
    texts = sentences(found)
    said = [some[-2] if len(some) > 1 else some[0] for some in texts[:METHODS]]
    more = [_more(len(texts) - METHODS)] if len(texts) > METHODS else []
    return [table], str(found.signature), [*said, *more]


def _more(methods: int) -> str:
    return f"{CUT} and {methods} more method{'s' if methods > 1 else ''}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def report_text(report: Report) -> str:
    """Return a report's answer as the terminal shows it."""
    with page((WIDTH, LINES)) as (console, text):
        if report.log is not None:
            print_log(report, report.log, console)
        else:
            print_answer(answer(report), console)
    return text()


def _fitted(found: Answer, width: int, lines: int) -> Fitted:
    """The table that has room, with its headings, in so many lines."""
    rows = max(FEWEST_ROWS, min(MOST_ROWS, lines - 1))
    fitted = fitted_table(found, width, rows)
    while (over := table_size(fitted.table, HEADING, folded)[1] - lines) > 0 and rows > FEWEST_ROWS:
        rows = max(FEWEST_ROWS, rows - over)
        fitted = fitted_table(found, width, rows)
    return fitted


def _cut(fitted: Fitted) -> str:
    parts = [
        f"{number} more {what if number > 1 else what.removesuffix('s')}"
        for number, what in (
            (fitted.rows, fitted.rows_of),
            (fitted.columns, fitted.columns_of),
        )
        if number
    ]
    return f"… and {' and '.join(parts)}: --details, --format csv" if parts else ""


def _sentences(found: Answer, console: Console, width: int) -> list[Text]:
    """What is shown of the first methods, each as exactly as there is room."""
    texts = sentences(found)
    most = SENTENCE.get(len(texts), 3)
    lines = [line for some in texts[:METHODS] for line in _first(some, console, width, most)]
    if len(texts) > METHODS:
        lines.append(Text(_more(len(texts) - METHODS), style="yellow"))
    return lines


def _first(texts: Sequence[str], console: Console, width: int, most: int) -> list[Text]:
    for text in texts[:-1]:
        if len(lines := _wrapped(text, console, width)) <= most:
            return lines
    return _lines(texts[-1], console, width, most)


def _notes(found: Answer, features: str, console: Console, width: int) -> list[Text]:
    lines: list[Text] = []
    for note in (*notes(found), *features_note(features), *left_out(found)):
        lines += _lines(note, console, width, NOTE)
    if len(lines) > NOTES:
        lines = [*lines[: NOTES - 1], Text(f"{CUT} and more: --details")]
    return lines


def _lines(text: str, console: Console, width: int, most: int) -> list[Text]:
    """A text as lines; of more than `most` the rest is cut."""
    lines = _wrapped(text, console, width)
    if len(lines) <= most:
        return lines
    last = lines[most - 1].copy()
    last.truncate(width - 2)
    last.append(f" {CUT}")
    return [*lines[: most - 1], last]


def _wrapped(text: str, console: Console, width: int) -> list[Text]:
    if not text:
        return []
    lines = Text(text).wrap(console, width)
    for line in lines:
        line.rstrip()
    return [*lines]
