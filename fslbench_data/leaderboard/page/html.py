"""A leaderboard as one file of HTML, which holds all that it needs and runs nothing.

Names and reasons are strangers' texts: all of them are escaped, and the page's own policy forbids
scripts, requests and forms.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import count

from fslbench_data.leaderboard.leaderboard import Board, Leaderboard
from fslbench_data.leaderboard.page.grid import suite_table, used_marks
from fslbench_data.leaderboard.page.sources import left_out_table, sources_table
from fslbench_data.leaderboard.page.suites import OfSuite, suites_of
from fslbench_data.leaderboard.page.words import heading, opening, sentences
from fslbench_data.leaderboard.standing import REFERENCE
from fslbench_data.leaderboard.tables import leaderboard_legend, set_table
from fslbench_data.render.fonts import font_faces
from fslbench_data.render.page.answer_html import paragraph, table_html
from fslbench_data.render.page.html import filled
from fslbench_data.render.table import Table

MOST_LINES = 2000
"""Lines of the tables of all task sets together, the best of each."""

_TITLE = "Few-shot leaderboard"

_WORDS = {
    "for new images": "Were the data sets made again with other images of the same classes, would "
    "it still be so? Where images come in groups, such as photos of one scene, they are other "
    "groups.",
    "for new classes": "The same with other classes, too. Read this if you speak of few-shot "
    "learning, and not of these classes.",
    "may be best": "Not excluded. A method is excluded if the one with the highest mean is better "
    "in a paired test at (1 - confidence) / (methods - 1), so that all exclusions of a task set "
    "hold together. To be named is no distinction: with few tasks hardly any method is excluded.",
    "interval": "The half-width stands after ±. Two of them are not to be compared: what counts is "
    "the difference of two methods, task by task.",
}


def leaderboard_page(ranking: Leaderboard, results: str = ".") -> str:
    """Write a leaderboard as a page.

    Parameters
    ----------
    results
        Where the results repository is, as the command on the page names it: an address on the
        Hub, or ``.`` for a checkout.
    """
    suites = [suites_of(board) for board in ranking.boards]
    numbers = count(1)
    here, report = files(__package__), files("fslbench_data.render.page")
    left_out = left_out_table(ranking)
    fill = {
        "fonts.css": font_faces(),
        "page.css": report.joinpath("page.css").read_text(encoding="utf-8"),
        "board.css": here.joinpath("board.css").read_text(encoding="utf-8"),
        "title": escape(ranking.title or _TITLE),
        "about": escape(_about(ranking)),
        "answer": "\n".join(_answer(ranking, suites)),
        "marks": "\n".join(_marks(suites)),
        "methods": "\n".join(_methods(ranking, suites, numbers)),
        "words": "\n".join(f"<dt>{escape(w)}</dt><dd>{escape(t)}</dd>" for w, t in _WORDS.items()),
        "sources": "\n".join(_sources(ranking, results, numbers)),
        "sets": "\n".join(_sets(ranking, numbers)),
        "left.out": "" if left_out is None else _left_out(left_out, numbers),
        "signature": escape(ranking.signature),
    }
    return filled(here.joinpath("board.html").read_text(encoding="utf-8"), fill)


def _about(ranking: Leaderboard) -> str:
    """Count what there is, release by release."""
    parts = []
    for board in ranking.boards:
        entries = [entry for standing in board.sets for entry in standing.entries]
        own = {entry.label for entry in entries if entry.source == REFERENCE}
        others = {entry.label for entry in entries if entry.source != REFERENCE}
        sent = len(board.submissions)
        parts.append(
            f"{board.release}: {len(others)} method{'s' if len(others) != 1 else ''} of {sent} "
            f"submission{'s' if sent != 1 else ''} and {len(own)} reference methods on "
            f"{len(board.sets)} task sets"
        )
    return f"{'; '.join(parts)}."


def _answer(ranking: Leaderboard, suites: Sequence[Sequence[OfSuite]]) -> Iterator[str]:
    """Say who may be best, suite by suite."""
    if not any(suites):
        yield paragraph("No method answers any task set.", "said")
        return
    yield paragraph(opening(ranking.boards[0].signature.level), "said")
    for board, of_board in zip(ranking.boards, suites, strict=True):
        for of_suite in of_board:
            yield _heading(ranking, board, of_suite)
            items = "".join(f"<li>{escape(text)}</li>" for text in sentences(of_suite))
            yield f"<ul>{items}</ul>"


def _marks(suites: Sequence[Sequence[OfSuite]]) -> Iterator[str]:
    marks = used_marks(of_suite for of_board in suites for of_suite in of_board)
    if marks:
        yield paragraph("; ".join(f"{sign} {words}" for sign, words in marks.items()) + ".", "note")


def _methods(
    ranking: Leaderboard, suites: Sequence[Sequence[OfSuite]], numbers: Iterator[int]
) -> Iterator[str]:
    for board, of_board in zip(ranking.boards, suites, strict=True):
        marks = used_marks(of_board)
        for of_suite in of_board:
            yield _heading(ranking, board, of_suite)
            yield _table(suite_table(of_suite, board.signature.level), numbers, marks)


def _heading(ranking: Leaderboard, board: Board, of_suite: OfSuite) -> str:
    before = f"{board.release}, " if len(ranking.boards) > 1 else ""
    return f"<h3>{escape(before + heading(of_suite))}</h3>"


def _sources(ranking: Leaderboard, results: str, numbers: Iterator[int]) -> Iterator[str]:
    level = ranking.boards[0].signature.level
    chosen = [] if level == 0.95 else ["--level", f"{level!r}"]
    command = shlex.join(["fslbench", "leaderboard", "--results", results, *chosen])
    where = " in a checkout of the results repository" if results == "." else ""
    text = "This page, in which every file is checked again:"
    yield f'<p class="note">{text} <code>{escape(command)} -o page.html</code>{where}.</p>'
    for board in ranking.boards:
        yield _table(sources_table(board), numbers)


def _sets(ranking: Leaderboard, numbers: Iterator[int]) -> Iterator[str]:
    """Every task set's table, as the terminal has it, to be opened."""
    total = sum(len(board.sets) for board in ranking.boards)
    most = max(5, MOST_LINES // max(1, total))
    for legend in leaderboard_legend(ranking):
        yield paragraph(legend, "note")
    for board in ranking.boards:
        before = f"{board.release}: " if len(ranking.boards) > 1 else ""
        for standing in board.sets:
            rows = [*standing.rows(most)]
            table = _table(set_table(standing, rows, before), numbers)
            left = len(standing) - len(rows)
            more = f"… and {left} more methods: fslbench leaderboard --format csv." if left else ""
            name = f"{before}{standing.scored}, {len(standing)} methods"
            note = paragraph(more, "note") if more else ""
            yield f"<details><summary>{escape(name)}</summary>{table}{note}</details>"


def _left_out(table: Table, numbers: Iterator[int]) -> str:
    return (
        '<section aria-labelledby="h-left-out"><h2 id="h-left-out">Files in no table</h2>'
        f"{_table(table, numbers)}</section>"
    )


def _table(table: Table, numbers: Iterator[int], marks: dict[str, str] | None = None) -> str:
    notes = "".join(paragraph(note, "note") for note in table.notes)
    return table_html(table, f"table-{next(numbers)}", marks or {}) + notes
