"""Write a leaderboard as one file of HTML.

Names and reasons are strangers' texts: the template escapes them, and the page's own policy forbids
scripts, requests and forms.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from benchmark_spec.errors import listing, many
from benchmark_spec.protocol import Protocol, suite_of
from fslbench_data.leaderboard.leaderboard import Board, Leaderboard
from fslbench_data.leaderboard.repository import submission_name
from fslbench_data.leaderboard.standing import REFERENCE, Entry, Row, Standing
from fslbench_data.leaderboard.tables import (
    DIGITS,
    legend,
    origins,
    set_table,
)
from fslbench_data.release.release import EMBEDDED
from fslbench_data.render.interval_text import (
    STOPPED_NOTE,
    TRANSDUCTIVE_NOTE,
    marked,
    percent,
    plus_minus,
    sentences,
)
from fslbench_data.render.table import Column, Table, of_tuples, right
from fslbench_data.render.templating import template
from fslbench_data.scoring.task_set_report import ORDER

IMAGES, CLASSES = "new images", "new classes"

MOST_LINES = 2000
"""Lines of the tables of all task sets together, the best of each."""
MOST_METHODS = 200
"""Methods in a suite's table, best first."""
MOST_FILES, MOST_LEFT_OUT, MOST_OF_FILE = 500, 50, 5
"""Submissions, files in no table, and methods of a file that are listed."""

HIGHEST, SILENT = "*", "?"
BEST_FOR = {IMAGES: "~", CLASSES: "°", "new superclasses": "^"}
MARKS = {
    HIGHEST: "the highest mean",
    "~": "could be best for new images",
    "°": "could be best for new classes, not for new images",
    "^": "could be best for new superclasses, not for new images or new classes",
    SILENT: "not judged: not all tasks answered, or a run under a rule to stop",
}
"""Explanations of the marks behind numbers."""


def leaderboard_page(ranking: Leaderboard, results: str = ".") -> str:
    """Write a leaderboard as a page.

    Parameters
    ----------
    results
        The results repository as the command on the page names it: an address on the Hub, or
        ``.`` for a checkout.
    """
    level = ranking.boards[0].signature.level
    suites = [(board, suite) for board in ranking.boards for suite in suites_of(board)]
    sets = [standing for _, suite in suites for standing in suite.sets]
    used = {mark(standing, row) for standing in sets for row in standing.by_method.values()}
    chosen = [] if level == 0.95 else ["--level", f"{level!r}"]
    return template("leaderboard/templates/board.html.j2").render(
        title=ranking.title or "Few-shot leaderboard",
        about=[_about(board) for board in ranking.boards],
        boards=ranking.boards,
        suites=suites,
        datasets=[*dict.fromkeys(name for _, suite in suites for name in suite.datasets)],
        sent=any(board.submissions for board in ranking.boards),
        displayed_sets=displayed_sets,
        marks={sign: words for sign, words in MARKS.items() if sign in used},
        level=level,
        results=results,
        command=shlex.join(["fslbench", "leaderboard", "--results", results, *chosen]),
        legend=legend(ranking.boards),
        most=max(5, MOST_LINES // max(1, sum(len(board.sets) for board in ranking.boards))),
        left_out=_left_out_table(ranking),
        not_shown=sentences(ranking.left_out_text),
        signature=ranking.signature,
        suite_table=_suite_table,
        sources_table=_sources_table,
        set_table=set_table,
    )


def _about(board: Board) -> str:
    """Count the methods, submissions and task sets of a release's tables."""
    entries = [row.entry for standing in board.sets for row in standing.rows]
    references = {entry.method for entry in entries if entry.source == REFERENCE}
    submitted = {entry.method for entry in entries if entry.source != REFERENCE}
    return (
        f"{board.release}: {many(len(submitted), 'method')} of "
        f"{many(len(board.submissions), 'submission')} and "
        f"{many(len(references), 'reference method')} on {many(len(board.sets), 'task set')}"
    )


class SuiteStandings(Struct, frozen=True):
    """The task sets of one suite, by data set, the fewest shots first.

    Attributes
    ----------
    methods
        All methods that answer one of them, best first: by the mean place, which is the last one on
        a task set that is not answered.
    """

    suite: str
    sets: tuple[Standing, ...]
    methods: tuple[str, ...]

    @property
    def heading(self) -> str:
        """The suite's name, and whether its tasks share images."""
        shares = suite_of(self.suite).interval == "closed"
        return f"{self.suite}: {'tasks that reuse images' if shares else 'no image in two tasks'}"

    @property
    def datasets(self) -> dict[str, list[Standing]]:
        """The task sets by data set."""
        by_dataset: dict[str, list[Standing]] = {}
        for standing in self.sets:
            by_dataset.setdefault(standing.scored.dataset, []).append(standing)
        return by_dataset


def displayed_sets(board: Board) -> list[Standing]:
    """Return the task sets of the data sets that some submission answers; all if none does."""
    answered = {
        standing.scored.dataset
        for standing in board.sets
        if any(row.entry.source != REFERENCE for row in standing.rows)
    }
    return [s for s in board.sets if not answered or s.scored.dataset in answered]


def suites_of(board: Board) -> list[SuiteStandings]:
    """Return a release's suites, first those whose tasks use the most images."""
    standings = displayed_sets(board)
    datasets = [*dict.fromkeys(standing.scored.dataset for standing in standings)]
    present = dict.fromkeys(standing.scored.name.suite for standing in standings)
    suites = []
    for suite in [*(s for s in ORDER if s in present), *(s for s in present if s not in ORDER)]:
        sets = [standing for standing in standings if standing.scored.name.suite == suite]
        sets.sort(key=lambda s: (datasets.index(s.scored.dataset), s.scored.protocol))
        places: dict[str, list[float]] = {}
        for number, standing in enumerate(sets):
            for position, (method, row) in enumerate(standing.by_method.items()):
                place = position if row.rank is None else row.rank - 1
                places.setdefault(method, [1.0] * len(sets))[number] = place / len(standing.rows)
        methods = sorted(places, key=lambda method: float(np.mean(places[method])))
        suites.append(SuiteStandings(suite, (*sets,), (*methods,)))
    return suites


def _shots(sets: Sequence[Standing]) -> list[str]:
    """Return headings of a data set's task sets: shots, or the whole protocol if shots recur."""
    protocols: list[Protocol] = [standing.scored.protocol for standing in sets]
    if len({protocol.shot for protocol in protocols}) < len(protocols):
        return [str(protocol) for protocol in protocols]
    return [many(protocol.shot, "shot") for protocol in protocols]


def is_highest(standing: Standing, row: Row) -> bool:
    """Return whether a method has the highest mean on a task set; several may."""
    leader = standing.by_method.get(standing.leader or "")
    return leader is not None and row.rank is not None and row.rank == leader.rank


def mark(standing: Standing, row: Row) -> str:
    """Return a method's mark on a task set: the narrowest claim by which it could be best."""
    if is_highest(standing, row):
        return HIGHEST
    claims = {
        sign: row.intervals[kind].could_be_best
        for about, sign in BEST_FOR.items()
        if (kind := standing.kind_about(about)) is not None
    }
    if None in claims.values():
        return SILENT
    return next((sign for sign, could_be_best in claims.items() if could_be_best), "")


def _suite_table(suite: SuiteStandings, level: float) -> Table:
    """Return a suite's methods on its task sets, best first."""
    entries: dict[str, list[Entry]] = {}
    for standing in suite.sets:
        for row in standing.by_method.values():
            entries.setdefault(row.method, []).append(row.entry)
    transductive = {name for name in entries if any(e.transductive for e in entries[name])}
    stopped = {name for name in entries if any(e.stopped for e in entries[name])}

    def label(method: str) -> str:
        return marked(method, transductive=method in transductive, stopped=method in stopped)

    title = (
        f"{suite.suite}: accuracy (%) ± half-width of the {percent(level)} interval for new "
        "images; ordered by mean rank, which is no test"
    )
    missing = [str(standing.scored) for standing in suite.sets if not standing.kind_about(CLASSES)]
    notes = [
        *_cut_note(suite.methods, MOST_METHODS, "csv", " methods"),
        *([f"No interval for new classes on {', '.join(missing)}."] if missing else []),
        *([TRANSDUCTIVE_NOTE] if transductive else []),
        *([STOPPED_NOTE] if stopped else []),
    ]
    columns = [
        _column(dataset, name, standing)
        for dataset, sets in suite.datasets.items()
        for name, standing in zip(_shots(sets), sets, strict=True)
    ]
    sender = Column("from", lambda method: origins(entries[method][0]))
    return Table(
        title,
        (Column("method", label), *columns, sender),
        suite.methods[:MOST_METHODS],
        notes=(*notes,),
        shaded=lambda method: entries[method][0].source != REFERENCE,
    )


def _column(dataset: str, name: str, standing: Standing) -> Column:
    """Return the column of the methods' accuracies on a task set."""
    kind, rows = standing.kind_about(IMAGES), standing.by_method
    displayed = kind or standing.kinds[0]

    def cell(method: str) -> str | None:
        return plus_minus(rows[method].intervals[displayed].accuracy) if method in rows else None

    return Column(
        name if kind else f"{name} (same images only)",
        cell,
        "right",
        missing="–",
        group=dataset,
        strong=lambda method: method in rows and is_highest(standing, rows[method]),
        marks=lambda method: mark(standing, rows[method]) if method in rows else "",
    )


def _sources_table(board: Board) -> Table:
    """Return a table of a release's submissions, with the commands that reproduce the numbers."""
    methods: dict[str, set[str]] = defaultdict(set)
    task_sets: dict[str, set[str]] = defaultdict(set)
    for standing in board.sets:
        for row in standing.rows:
            for source in row.entry.sources:
                methods[source].add(row.method)
                task_sets[source].add(str(standing.scored))
    embedded = board.release.startswith(f"{EMBEDDED}@")
    release = board.signature.hub or ("" if embedded else board.release)
    release_option = ["--release", release] if release else []

    def command(source: str) -> str:
        file = [] if source == REFERENCE else [submission_name(source)]
        return shlex.join(["fslbench", "score", *file, *release_option, "--details"])

    arrivals: dict[str, int | None] = dict.fromkeys([REFERENCE, *board.submissions])
    if any(board.arrivals):
        arrivals |= zip(board.submissions, (n + 1 for n in board.arrivals), strict=True)
    columns = (
        Column("file", lambda source: source if source == REFERENCE else source[:DIGITS]),
        right("came", lambda source: arrivals[source], missing="–"),
        Column("methods", lambda source: listing(sorted(methods[source]), MOST_OF_FILE)),
        right("task sets", lambda source: len(task_sets[source])),
        Column("its numbers again", command),
    )
    sources = [source for source in arrivals if source in methods]
    notes = [
        "came: the order of the commits that brought the files; –: not known.",
        *_cut_note(sources, MOST_FILES),
    ]
    title = f"Submissions to {board.release}, and its reference methods"
    return Table(title, columns, sources[:MOST_FILES], (*notes,))


def _left_out_table(ranking: Leaderboard) -> Table | None:
    """Return the files that are in no table, and why; None if there are none."""
    reasons = ranking.files_left_out
    files = [(name, what, reason) for what, pairs in reasons.items() for name, reason in pairs]
    if not files:
        return None
    columns, notes = of_tuples("file", "what", "why"), (*_cut_note(files, MOST_LEFT_OUT),)
    title = ", ".join(f"{len(pairs)} {what}" for what, pairs in reasons.items() if pairs)
    return Table(title, columns, files[:MOST_LEFT_OUT], notes)


def _cut_note(
    entries: Sequence[object], most: int, form: str = "json", what: str = ""
) -> Iterator[str]:
    if (more := len(entries) - most) > 0:
        yield f"… and {more} more{what}: fslbench leaderboard --format {form}."
