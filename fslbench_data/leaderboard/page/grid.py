"""The page's first table: methods on data sets and shots, each with its mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from fslbench_data.leaderboard.page.suites import CLASSES, IMAGES, OfSet, OfSuite, shots_of
from fslbench_data.leaderboard.standing import Row
from fslbench_data.leaderboard.tables import origins
from fslbench_data.render.interval_text import (
    STOPPED,
    STOPPED_NOTE,
    TRANSDUCTIVE,
    TRANSDUCTIVE_NOTE,
    plus_minus,
)
from fslbench_data.render.table import Column, Table

MOST_METHODS = 200
"""Methods of a suite that the table holds, best first."""

HIGHEST, SILENT = "*", "?"
BEST_FOR = {IMAGES: "~", CLASSES: "°", "new superclasses": "^"}
MARKS = {
    HIGHEST: "the highest mean",
    "~": "may be best for new images",
    "°": "may be best for new classes, not for new images",
    "^": "may be best for new superclasses, not for new images or new classes",
    SILENT: "nothing is claimed: not all tasks answered, as many as the submitter chose, or a run "
    "under a rule to stop",
}
"""What hangs behind a number, in words."""


def mark(of_set: OfSet, row: Row) -> str:
    """Return a method's mark on a task set: the narrowest claim by which it may be best."""
    if row.method == of_set.standing.leader:
        return HIGHEST
    claims = {about: of_set.kind(about) for about in BEST_FOR}
    verdicts = {
        about: row.intervals[kind].could_be_best
        for about, kind in claims.items()
        if kind is not None
    }
    if any(could is None for could in verdicts.values()):
        return SILENT
    return next((BEST_FOR[about] for about, could in verdicts.items() if could), "")


def suite_table(of_suite: OfSuite, level: float) -> Table:
    """Return a suite's methods on its task sets, best first."""
    methods = of_suite.methods[:MOST_METHODS]
    columns = [
        Column("method", partial(_label, of_suite)),
        *_columns(of_suite),
        Column("from", partial(_from, of_suite)),
    ]
    title = (
        f"{of_suite.suite}: accuracy in per cent ± half-width of the {100 * level:.8g} % interval "
        "for new images; the best first by the mean place, which is no verdict"
    )
    return Table(title, (*columns,), methods, notes=(*_notes(of_suite, len(methods)),))


def _columns(of_suite: OfSuite) -> Iterator[Column]:
    for dataset, sets in of_suite.datasets.items():
        for name, of_set in zip(shots_of(sets), sets, strict=True):
            yield Column(
                name if of_set.kind(IMAGES) else f"{name} (these images)",
                partial(_cell, of_set),
                "right",
                missing="–",
                group=dataset,
                strong=partial(_leads, of_set),
                marks=partial(_mark, of_set),
            )


def _cell(of_set: OfSet, method: str) -> str | None:
    row = of_set.rows.get(method)
    if row is None:
        return None
    return plus_minus(row.intervals[of_set.kind(IMAGES) or of_set.standing.kinds[0]].accuracy)


def _mark(of_set: OfSet, method: str) -> str:
    row = of_set.rows.get(method)
    return "" if row is None else mark(of_set, row)


def _leads(of_set: OfSet, method: str) -> bool:
    return method == of_set.standing.leader


def _rows(of_suite: OfSuite, method: str) -> list[Row]:
    return [of_set.rows[method] for of_set in of_suite.sets if method in of_set.rows]


def _label(of_suite: OfSuite, method: str) -> str:
    rows = _rows(of_suite, method)
    marks = TRANSDUCTIVE if any(row.transductive for row in rows) else ""
    marks += STOPPED if any(row.stopped for row in rows) else ""
    return f"{method} {marks}" if marks else method


def _from(of_suite: OfSuite, method: str) -> str:
    row = _rows(of_suite, method)[0]
    return origins(row.submission, row.also)


def _notes(of_suite: OfSuite, shown: int) -> Iterator[str]:
    rows = [row for of_set in of_suite.sets for row in of_set.rows.values()]
    if left := len(of_suite.methods) - shown:
        yield f"… and {left} more methods: fslbench leaderboard --format csv."
    if missing := _missing(of_suite.sets):
        yield f"No interval for new classes on {missing}."
    if any(row.transductive for row in rows):
        yield TRANSDUCTIVE_NOTE
    if any(row.stopped for row in rows):
        yield STOPPED_NOTE


def _missing(sets: Sequence[OfSet]) -> str:
    return ", ".join(str(of_set.standing.scored) for of_set in sets if not of_set.kind(CLASSES))


def used_marks(suites: Iterable[OfSuite]) -> dict[str, str]:
    """Return the marks that some tables hold, in words."""
    used = {
        mark(of_set, row)
        for of_suite in suites
        for of_set in of_suite.sets
        for row in of_set.rows.values()
    }
    return {sign: words for sign, words in MARKS.items() if sign in used}
