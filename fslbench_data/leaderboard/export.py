"""A leaderboard for machines: CSV and JSON, everything unrounded, in percentage points."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

from analysis_sql.interval_kinds import BESIDE, ESTIMANDS
from analysis_sql.intervals.intervals import Interval
from analysis_sql.ranking.best import claim
from benchmark_spec.version import OUTPUT_SCHEMA
from fslbench_data.leaderboard.leaderboard import Board, Leaderboard
from fslbench_data.leaderboard.standing import RankedInterval, Row, Standing
from fslbench_data.scoring.scores import PREFIX

COLUMNS = (
    "release",
    "dataset",
    "task_set",
    "rank",
    "method",
    "submission",
    "T",
    "mean",
    "mean_halfwidth",
    "diff",
    "diff_halfwidth",
    "diff_T",
    "could_be_best",
    "interval",
    "level",
    "runs",
    "transductive",
    "stopped_versus",
    "reason",
)


def leaderboard_csv(found: Leaderboard) -> str:
    """The signature as a line beginning with ``#``, a header, and a line a method and interval.

    Methods stand best first, with the interval that the task set carries, and in a second line
    with the class-aware one where there is one.  What is not claimed, or not there, is empty.
    """
    out = io.StringIO()
    out.write(f"# {found.signature}\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for board in found.boards:
        for each in board.sets:
            for row in each.rows():
                writer.writerows(_lines(board, each, row))
    return out.getvalue()


def leaderboard_json(found: Leaderboard) -> str:
    """Signature, tables, and the files that are refused or ignored, all of them."""
    sets = [each for board in found.boards for each in board.sets]
    kinds = {kind for each in sets for kind in each.kinds}
    claims = any(each.claims for each in sets)
    content = {
        "schema": OUTPUT_SCHEMA,
        "signature": {
            "text": found.signature,
            "boards": [
                {
                    **asdict(board.signature),
                    "submissions": list(board.submissions),
                    "submissions_digest": board.submissions_digest,
                }
                for board in found.boards
            ],
        },
        "title": found.title,
        "estimands": {str(kind): ESTIMANDS[kind] for kind in sorted(kinds)},
        "claim": claim(found.boards[0].signature.level) if claims else None,
        "boards": [
            {"release": board.release, "sets": [_set(each) for each in board.sets]}
            for board in found.boards
        ],
        "refused": [asdict(each) for each in found.rejected],
        "ignored": [asdict(each) for each in found.ignored],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _set(each: Standing) -> dict[str, Any]:
    return {
        **asdict(each.scored),
        "interval": each.interval_kind,
        "level": each.level,
        "leader": each.leader,
        "methods_compared": each.compared,
        "methods_could_be_best": each.could_be_best(each.interval_kind),
        **{f"methods_could_be_best_{b.key}": each.could_be_best(k) for k, b in BESIDE.items()},
        "identical": [[entry.label for entry in group] for group in each.duplicates],
        "rows": [_row(row) for row in each.rows()],
    }


def _lines(board: Board, each: Standing, row: Row) -> Iterator[dict[str, object]]:
    about = {
        "release": board.release,
        "dataset": each.scored.dataset,
        "task_set": each.scored.task_set,
        "rank": row.rank,
        "method": row.method,
        "submission": " ".join((row.submission, *row.also)),
        "level": repr(each.level),
        "runs": row.runs,
        "transductive": "yes" if row.transductive else "no",
        "stopped_versus": row.stopped,
        "reason": PREFIX if row.prefix else "",
    }
    for interval in row.intervals.values():
        yield about | _numbers(interval)


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


def _numbers(interval: RankedInterval) -> dict[str, object]:
    own, difference, could = interval.accuracy, interval.difference, interval.could_be_best
    found: dict[str, object] = {
        "T": own.tasks,
        "mean": repr(own.mean),
        "mean_halfwidth": _number(own.halfwidth),
        "could_be_best": "" if could is None else "yes" if could else "no",
        "interval": own.kind,
    }
    if difference is not None:
        found |= {
            "diff": repr(difference.mean),
            "diff_halfwidth": _number(difference.halfwidth),
            "diff_T": difference.tasks,
        }
    return found


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)
