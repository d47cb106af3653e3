"""A leaderboard for machines: CSV and JSON, everything unrounded, in percentage points."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, NamedTuple

from analysis_sql.interval_kinds import BESIDE, ESTIMANDS
from analysis_sql.intervals.intervals import Interval
from analysis_sql.ranking.best import claim
from fslbench_data.leaderboard.leaderboard import Leaderboard
from fslbench_data.leaderboard.standing import RankedInterval, Row, Standing
from fslbench_data.leaderboard.tables import claim_text
from fslbench_data.render.table import Column, Table, csv_text, json_text
from fslbench_data.scoring.scores import PREFIX

_COLUMNS = (
    Column("release", lambda line: line.release),
    Column("dataset", lambda line: line.standing.scored.dataset),
    Column("task_set", lambda line: line.standing.scored.task_set),
    Column("rank", lambda line: line.row.rank),
    Column("method", lambda line: line.row.method),
    Column("submission", lambda line: " ".join((line.row.submission, *line.row.also))),
    Column("T", lambda line: line.interval.accuracy.tasks),
    Column("mean", lambda line: line.interval.accuracy.mean),
    Column("mean_halfwidth", lambda line: line.interval.accuracy.halfwidth),
    Column("diff", lambda line: getattr(line.interval.difference, "mean", None)),
    Column("diff_halfwidth", lambda line: getattr(line.interval.difference, "halfwidth", None)),
    Column("diff_T", lambda line: getattr(line.interval.difference, "tasks", None)),
    Column("could_be_best", lambda line: claim_text(line.interval)),
    Column("interval", lambda line: line.interval.accuracy.kind),
    Column("level", lambda line: line.standing.level),
    Column("runs", lambda line: line.row.runs),
    Column("transductive", lambda line: "yes" if line.row.transductive else "no"),
    Column("stopped_versus", lambda line: line.row.stopped),
    Column("reason", lambda line: PREFIX if line.row.prefix else ""),
)


class _Line(NamedTuple):
    """What one kind of interval says of a method on a task set."""

    release: str
    standing: Standing
    row: Row
    interval: RankedInterval


def leaderboard_csv(ranking: Leaderboard) -> str:
    """Write the signature as a line beginning with ``#``, a header, and a line a method and kind.

    Methods stand best first, with the interval that the task set carries, and in further lines
    with those beside it.  What is not claimed, or not there, is empty.
    """
    lines = (
        _Line(board.release, standing, row, interval)
        for board in ranking.boards
        for standing in board.sets
        for row in standing.rows()
        for interval in row.intervals.values()
    )
    return csv_text(Table("", _COLUMNS, lines), ranking.signature)


def leaderboard_json(ranking: Leaderboard) -> str:
    """Signature, tables, and the files that are refused or ignored, all of them."""
    sets = [standing for board in ranking.boards for standing in board.sets]
    kinds = {kind for standing in sets for kind in standing.kinds}
    claims = any(standing.claims for standing in sets)
    content = {
        "signature": {
            "text": ranking.signature,
            "boards": [
                {
                    **asdict(board.signature),
                    "submissions": list(board.submissions),
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
        "refused": [asdict(file) for file in ranking.rejected],
        "ignored": [asdict(file) for file in ranking.ignored],
    }
    return json_text(content)


def _set(standing: Standing) -> dict[str, Any]:
    return {
        **asdict(standing.scored),
        "interval": standing.interval_kind,
        "level": standing.level,
        "leader": standing.leader,
        "methods_compared": standing.compared,
        "methods_could_be_best": standing.could_be_best(standing.interval_kind),
        **{f"methods_could_be_best_{b.key}": standing.could_be_best(k) for k, b in BESIDE.items()},
        "identical": [[entry.label for entry in group] for group in standing.duplicates],
        "rows": [_row(row) for row in standing.rows()],
    }


def _row(row: Row) -> dict[str, Any]:
    """The row with what belongs to each kind of interval: its key stands behind the name."""
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    del values["intervals"]
    head = {name: values.pop(name) for name in ("rank", "method", "submission", "also")}
    carried = next(iter(row.intervals.values()))
    by_key = {"": carried} | {f"_{b.key}": row.intervals.get(k) for k, b in BESIDE.items()}
    for name in ("accuracy", "difference", "could_be_best"):
        for key, interval in by_key.items():
            value = getattr(interval, name, None)
            shown = key[1:] if name == "accuracy" and key else f"{name}{key}"
            head[shown] = asdict(value) if isinstance(value, Interval) else value
    return head | values
