"""CSV: one line a comparison, numbers unrounded, in percentage points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis_sql.comparison.verdicts import Comparison, PairInterval
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.table import Column, Table, csv_text
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX, Score


@dataclass(frozen=True)
class _Line:
    """What one kind of interval says: of a comparison, or of a method that is compared with none.

    `pair` is None of a lone method.
    """

    of: Comparison | Score
    kind: IntervalKind
    mean: Interval
    pair: PairInterval | None = None
    versus: str = ""
    closed: str | None = None
    reason: str = ""


_COLUMNS = (
    Column("dataset", lambda line: line.of.dataset),
    Column("task_set", lambda line: line.of.task_set),
    Column("method", lambda line: line.of.method),
    Column("versus", lambda line: line.versus),
    Column("T", lambda line: (line.pair.difference if line.pair else line.mean).tasks),
    Column("mean", lambda line: line.mean.mean),
    Column("mean_halfwidth", lambda line: line.mean.halfwidth),
    Column("diff", lambda line: line.pair and line.pair.difference.mean),
    Column("diff_halfwidth", lambda line: line.pair and line.pair.difference.halfwidth),
    Column("verdict", lambda line: line.pair and line.pair.verdict),
    Column("verdict_direct", lambda line: line.pair and line.pair.verdict_direct),
    Column("verdict_closed", lambda line: line.closed),
    Column("interval", lambda line: line.kind),
    Column("level", lambda line: line.mean.level),
    Column("reason", lambda line: line.reason),
)
COLUMNS = tuple(column.name for column in _COLUMNS)


def render_csv(report: Report) -> str:
    """Write the signature as a line beginning with ``#``, a header, and the comparisons.

    One line a comparison and kind of interval, first the one that the task set carries; the column
    `interval` tells them apart.

    A method that there is nothing to compare with gets a line of its own with an empty
    `versus`, so that its mean is not lost.  What is not estimable, or not there, is empty; `reason`
    says why nothing is concluded where the tasks as such would allow it.
    """
    return csv_text(Table("", _COLUMNS, _lines(report)), str(report.signature))


def _lines(report: Report) -> Iterator[_Line]:
    for task_set in report.sets:
        for c in task_set.comparisons:
            for kind, pair in c.intervals.items():
                closed = c.verdict_closed if kind == c.interval_kind else None
                yield _Line(c, kind, pair.mean, pair, c.versus, closed, c.reason)
        own = len(task_set.asked)
        alone = ~(task_set.asked.any(axis=1) | task_set.asked[:, :own].any(axis=0))
        for i in np.flatnonzero(alone).tolist():
            score = task_set.scores[i]
            for kind in task_set.kinds:
                reason = PREFIX if score.prefix else ""
                yield _Line(score, kind, score.intervals[kind], reason=reason)
