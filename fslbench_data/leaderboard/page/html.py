"""A leaderboard as one file of HTML, which holds all that it needs and runs nothing.

Names and reasons are strangers' texts: the template escapes all of them, and the page's own policy
forbids scripts, requests and forms.
"""

from __future__ import annotations

import shlex

from fslbench_data.leaderboard.leaderboard import Board, Leaderboard
from fslbench_data.leaderboard.page.grid import suite_table, used_marks
from fslbench_data.leaderboard.page.sources import left_out_table, sources_table
from fslbench_data.leaderboard.page.suites import suites_of
from fslbench_data.leaderboard.page.words import heading, opening, sentences
from fslbench_data.leaderboard.standing import REFERENCE
from fslbench_data.leaderboard.tables import leaderboard_legend, set_table
from fslbench_data.render.templating import template

MOST_LINES = 2000
"""Lines of the tables of all task sets together, the best of each."""


def leaderboard_page(ranking: Leaderboard, results: str = ".") -> str:
    """Write a leaderboard as a page.

    Parameters
    ----------
    results
        Where the results repository is, as the command on the page names it: an address on the
        Hub, or ``.`` for a checkout.
    """
    level = ranking.boards[0].signature.level
    suites = [(board, suite) for board in ranking.boards for suite in suites_of(board)]
    chosen = [] if level == 0.95 else ["--level", f"{level!r}"]
    return template("leaderboard/page/templates/board.html.j2").render(
        title=ranking.title or "Few-shot leaderboard",
        about=[_about(board) for board in ranking.boards],
        boards=ranking.boards,
        suites=suites,
        marks=used_marks(suite for _, suite in suites),
        level=level,
        results=results,
        command=shlex.join(["fslbench", "leaderboard", "--results", results, *chosen]),
        legend=leaderboard_legend(ranking),
        most=max(5, MOST_LINES // max(1, sum(len(board.sets) for board in ranking.boards))),
        left_out=left_out_table(ranking),
        signature=ranking.signature,
        heading=heading,
        opening=opening,
        sentences=sentences,
        suite_table=suite_table,
        sources_table=sources_table,
        set_table=set_table,
    )


def _about(board: Board) -> str:
    """Count what a release's tables hold."""
    entries = [entry for standing in board.sets for entry in standing.entries]
    own = {entry.label for entry in entries if entry.source == REFERENCE}
    others = {entry.label for entry in entries if entry.source != REFERENCE}
    sent = len(board.submissions)
    return (
        f"{board.release}: {len(others)} method{'s' if len(others) != 1 else ''} of {sent} "
        f"submission{'s' if sent != 1 else ''} and {len(own)} reference methods on "
        f"{len(board.sets)} task sets"
    )
