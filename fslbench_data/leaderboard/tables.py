"""Write a leaderboard as tables, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from analysis_sql.interval_kinds import ADDITIONAL_KINDS, ESTIMANDS
from analysis_sql.multiple_comparisons import claim
from benchmark_spec.errors import listing
from benchmark_spec.protocol import IntervalKind
from fslbench_data.leaderboard.leaderboard import Board, Leaderboard
from fslbench_data.leaderboard.repository import IGNORED
from fslbench_data.leaderboard.standing import REFERENCE, Entry, RankedInterval, Row, Standing
from fslbench_data.render.interval_text import (
    STOPPED,
    TRANSDUCTIVE_NOTE,
    ended,
    marked,
    missing_text,
    one_model_text,
    paired_text,
    percent,
    set_title,
    with_bracket,
)
from fslbench_data.render.table import Column, Table, csv_text, json_text, right
from fslbench_data.scoring.scores import PREFIX

DIGITS = 8
"""Digits of a submission's name that tables show; CSV and JSON have all."""
_MOST_FILES, _MOST_NAMES = 3, 10

NO_CLAIM = "These tasks reuse images: which methods could be best is not judged."
PARTIAL_NOTE = (
    "Methods without a rank did not answer all tasks; they are compared with the leader over those "
    "that they did."
)
PREFIX_NOTE = (
    f"{PREFIX}, neither excluded nor the leader: a partial submission, whose tasks may have been "
    "chosen after seeing results."
)
STOPPED_NOTE = (
    f"{STOPPED} run under a rule to stop when conclusive: its ordinary intervals do not hold and "
    "are left out; it is neither excluded nor the leader."
)
COPIES_NOTE = (
    "Several files under from: they say the same, and no history of the repository tells which "
    "came first."
)


def leaderboard_tables(
    ranking: Leaderboard, most: int | None = None
) -> Iterator[tuple[Table, int]]:
    """Yield the table of each release and task set, best first, and how many methods it leaves out.

    A table has at most `most` methods; None for all.
    """
    for board in ranking.boards:
        before = f"{board.release}: " if len(ranking.boards) > 1 else ""
        for standing in board.sets:
            rows = standing.rows[:most]
            yield set_table(standing, rows, before), len(standing.rows) - len(rows)


def legend(boards: Sequence[Board]) -> list[str]:
    """Return the legend of the columns; empty without a table."""
    sets = [standing for board in boards for standing in board.sets]
    if not sets:
        return []
    text = ""
    if any(standing.claiming for standing in sets):
        level = sets[0].level
        text = (
            f"could be best: on new images of these classes, {claim(level)}. no: the leader is "
            f"better in a one-sided paired test at {100 * (1 - level):.6g} % / (methods - 1). new "
            "classes: the same for new classes. "
        )
    return [
        f"{text}behind: paired difference from the leader, the highest mean of the methods that "
        "answered most tasks; its interval is not corrected for multiple comparisons, and the "
        "highest of several means is likely too high."
    ]


def set_table(standing: Standing, rows: Sequence[Row], before: str = "") -> Table:
    """Return some rows of a task set's table, with its title and notes."""
    scored, kinds = standing.scored, standing.kinds
    return Table(
        title=f"{before}{scored}: {set_title(scored, standing.units, standing.level, kinds)})",
        columns=tuple(_columns(standing, rows)),
        rows=rows,
        shaded=lambda row: row.entry.source != REFERENCE,
        notes=(
            summary(standing),
            *missing_text(standing.units),
            *marks(rows),
        ),
    )


def _columns(standing: Standing, rows: Sequence[Row]) -> Iterator[Column]:
    yield right("rank", lambda row: row.rank or "-")
    yield Column("method", label)
    yield right("accuracy", accuracy)
    yield right("behind", behind)
    if any(row.accuracy.tasks != standing.scored.n_tasks for row in rows):
        yield right("T", lambda row: row.accuracy.tasks)
    for kind in standing.claiming:
        heading = ADDITIONAL_KINDS[kind].about if kind in ADDITIONAL_KINDS else "could be best"
        yield Column(heading, partial(_claim, kind))
    yield Column("from", lambda row: origins(row.entry))


def summary(standing: Standing) -> str:
    """Return a sentence that says among how many methods a best one is."""
    if not standing.claiming or standing.leader is None:
        return NO_CLAIM
    first, *others = standing.claiming
    text = f"With {percent(standing.level)} confidence a best method is among the "
    text += f"{standing.could_be_best(first)} of {standing.compared} marked yes"
    for kind in others:
        text += f"; for {ADDITIONAL_KINDS[kind].about} among {standing.could_be_best(kind)}"
    return f"{text}."


def origins(entry: Entry) -> str:
    """Return the first digits of an entry's first files, or ``reference``."""
    if entry.source == REFERENCE:
        return entry.source
    files = entry.sources
    return ", ".join([*(name[:DIGITS] for name in files[:_MOST_FILES]), *_more(files, _MOST_FILES)])


def _more(items: Sequence[object], most: int) -> list[str]:
    return [f"{len(items) - most} more"] if len(items) > most else []


def label(row: Row) -> str:
    """Return a method's label with its marks, as a table shows it."""
    entry = row.entry
    return marked(row.method, transductive=entry.transductive, stopped=entry.stopped is not None)


def behind(row: Row) -> str:
    """Return the difference from the leader as text."""
    difference = row.difference
    if difference is None:
        return "leader" if row.rank == 1 else ""
    if difference.constant and difference.mean == 0 and difference.tasks:
        return "identical"
    _, *additional = (interval.difference for interval in row.intervals.values())
    return paired_text(difference, additional)


def accuracy(row: Row) -> str:
    """Return the accuracy with its interval, and the other kinds' half-widths in brackets."""
    intervals = {kind: interval.accuracy for kind, interval in row.intervals.items()}
    return with_bracket(intervals, [*intervals])


def claim_text(interval: RankedInterval | None) -> str | None:
    """Return whether a method could be best, as yes or no; None if nothing is claimed."""
    could = None if interval is None else interval.could_be_best
    return None if could is None else "yes" if could else "no"


def _claim(kind: IntervalKind, row: Row) -> str:
    return claim_text(row.intervals[kind]) or "-"


def marks(rows: Sequence[Row]) -> list[str]:
    """Return notes on the marks in these rows, and on the spread of runs."""
    entries = [row.entry for row in rows]
    runs = "; ".join(
        f"{entry.method}: {entry.runs} runs, standard deviation between them "
        f"{entry.run_spread:.2f}, counted in intervals"
        for entry in entries
        if entry.run_spread is not None
    )
    prefixes = list(dict.fromkeys(entry.method for entry in entries if entry.prefix))
    single = list(dict.fromkeys(entry.method for entry in entries if entry.of_one_model))
    partial_results = any(row.rank is None and not row.entry.stopped for row in rows)
    return [
        *ended(runs, one_model_text(single, _MOST_NAMES)),
        *([PARTIAL_NOTE] if partial_results else []),
        *([COPIES_NOTE] if any(entry.copies for entry in entries) else []),
        *([f"{listing(prefixes, _MOST_NAMES)}: {PREFIX_NOTE}"] if prefixes else []),
        *([TRANSDUCTIVE_NOTE] if any(entry.transductive for entry in entries) else []),
        *([STOPPED_NOTE] if any(entry.stopped for entry in entries) else []),
    ]


_COLUMNS = (
    Column("release", lambda line: line.release),
    Column("dataset", lambda line: line.standing.scored.dataset),
    Column("task_set", lambda line: line.standing.scored.task_set),
    Column("rank", lambda line: line.row.rank),
    Column("method", lambda line: line.row.method),
    Column("submission", lambda line: " ".join(line.row.entry.sources)),
    Column("T", lambda line: line.interval.accuracy.tasks),
    Column("mean", lambda line: line.interval.accuracy.mean),
    Column("mean_halfwidth", lambda line: line.interval.accuracy.halfwidth),
    Column("diff", lambda line: getattr(line.interval.difference, "mean", None)),
    Column("diff_halfwidth", lambda line: getattr(line.interval.difference, "halfwidth", None)),
    Column("diff_T", lambda line: getattr(line.interval.difference, "tasks", None)),
    Column("could_be_best", lambda line: claim_text(line.interval)),
    Column("interval", lambda line: line.interval.accuracy.kind),
    Column("level", lambda line: line.standing.level),
    Column("runs", lambda line: line.row.entry.runs),
    Column("transductive", lambda line: "yes" if line.row.entry.transductive else "no"),
    Column("stopped_versus", lambda line: line.row.entry.stopped),
    Column("reason", lambda line: PREFIX if line.row.entry.prefix else ""),
)


class _Line(NamedTuple):
    """A method's interval of one kind on a task set."""

    release: str
    standing: Standing
    row: Row
    interval: RankedInterval


def leaderboard_csv(ranking: Leaderboard) -> str:
    """Write the signature as a line beginning with ``#``, a header, and a line per method and kind.

    Methods are best first; each has a line for the primary interval, then one for each additional
    kind.  Numbers are unrounded, in percentage points; values that are missing or not claimed are
    empty.
    """
    lines = (
        _Line(board.release, standing, row, interval)
        for board in ranking.boards
        for standing in board.sets
        for row in standing.rows
        for interval in row.intervals.values()
    )
    return csv_text(Table("", _COLUMNS, lines), ranking.signature)


def leaderboard_json(ranking: Leaderboard) -> str:
    """Write the signature, all tables, and all files that are refused or ignored."""
    sets = [standing for board in ranking.boards for standing in board.sets]
    kinds = {kind for standing in sets for kind in standing.kinds}
    claims = any(standing.claiming for standing in sets)
    content = {
        "signature": {
            "text": ranking.signature,
            "boards": [
                {
                    **board.signature.as_json(),
                    "submissions": board.submissions,
                    "submissions_digest": board.submissions_digest,
                }
                for board in ranking.boards
            ],
        },
        "title": ranking.title,
        "estimands": {str(kind): ESTIMANDS[kind] for kind in sorted(kinds)},
        "claim": claim(ranking.boards[0].signature.level) if claims else None,
        "boards": [
            {"release": board.release, "sets": [_set(standing) for standing in board.sets]}
            for board in ranking.boards
        ],
        "left_out": ranking.left_out,
        "refused": ranking.rejected,
        "ignored": [{"name": name, "reason": IGNORED} for name in ranking.ignored],
    }
    return json_text(content)


def _set(standing: Standing) -> dict[str, Any]:
    return {
        **standing.scored.as_json(),
        "interval": standing.interval_kind,
        "level": standing.level,
        "leader": standing.leader,
        "methods_compared": standing.compared,
        "methods_could_be_best": standing.could_be_best(standing.interval_kind),
        **{
            f"methods_could_be_best_{additional.key}": standing.could_be_best(kind)
            for kind, additional in ADDITIONAL_KINDS.items()
        },
        "rows": [_row(row) for row in standing.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    """Return a row as JSON; keys of additional kinds end with the key of the kind."""
    entry = row.entry
    values: dict[str, Any] = {
        "rank": row.rank,
        "method": row.method,
        "submission": entry.source,
        "also": entry.copies,
    }
    by_suffix: dict[str, RankedInterval | None] = {"": row.first}
    for kind, additional in ADDITIONAL_KINDS.items():
        by_suffix[f"_{additional.key}"] = row.intervals.get(kind)
    for name in ("accuracy", "difference", "could_be_best"):
        for suffix, interval in by_suffix.items():
            key = suffix[1:] if name == "accuracy" and suffix else f"{name}{suffix}"
            values[key] = getattr(interval, name, None)
    return values | {name: getattr(entry, name) for name in _ENTRY_KEYS}


_ENTRY_KEYS = ("stopped", "runs", "run_spread", "transductive", "prefix", "of_one_model")
