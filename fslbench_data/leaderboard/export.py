"""A leaderboard for machines: CSV and JSON, everything unrounded, in percentage points."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis_sql.intervals.intervals import ESTIMANDS, Interval
from analysis_sql.ranking.best import claim
from benchmark_spec.version import OUTPUT_SCHEMA
from fslbench_data.leaderboard.leaderboard import Board, Leaderboard
from fslbench_data.leaderboard.standing import Row, Standing
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
    kinds = {each.kind for board in found.boards for each in board.sets}
    if any(each.aware for board in found.boards for each in board.sets):
        kinds.add("class-aware")
    claims = any(kind != "closed" for kind in kinds)
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
        "interval": each.kind,
        "level": each.level,
        "leader": each.leader,
        "methods_compared": each.compared,
        "methods_could_be_best": each.could_be_best,
        "methods_could_be_best_new_classes": each.could_be_best_new_classes if each.aware else None,
        "identical": [[entry.label for entry in group] for group in each.coincident],
        "rows": [asdict(row) for row in each.rows()],
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
    yield about | _numbers(row.accuracy, row.difference, row.could_be_best)
    if row.new_classes is not None:
        could = row.could_be_best_new_classes
        yield about | _numbers(row.new_classes, row.difference_new_classes, could)


def _numbers(own: Interval, difference: Interval | None, could: bool | None) -> dict[str, object]:
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
