"""CSV: one line a comparison, numbers unrounded, in percentage points."""

from __future__ import annotations

import csv
import io

import numpy as np

from analysis_sql.comparison.verdicts import Comparison
from benchmark_spec.protocol import IntervalKind
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX, Score

COLUMNS = (
    "dataset",
    "task_set",
    "method",
    "versus",
    "T",
    "mean",
    "mean_halfwidth",
    "diff",
    "diff_halfwidth",
    "verdict",
    "verdict_direct",
    "verdict_closed",
    "interval",
    "level",
    "reason",
)


def render_csv(report: Report) -> str:
    """The signature as a line beginning with ``#``, a header, and the comparisons.

    One line a comparison and kind of interval, first the one that the task set carries; the column
    `interval` tells them apart.

    A method that there is nothing to compare with gets a line of its own with an empty
    `versus`, so that its mean is not lost.  What is not estimable, or not there, is empty; `reason`
    says why nothing is concluded where the tasks as such would allow it.
    """
    out = io.StringIO()
    out.write(f"# {report.signature}\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for each in report.sets:
        for c in each.comparisons:
            writer.writerows(_comparison(c, kind) for kind in c.intervals)
        own = len(each.asked)
        alone = ~(each.asked.any(axis=1) | each.asked[:, :own].any(axis=0))
        for i in np.flatnonzero(alone).tolist():
            writer.writerows(_lone(each.scores[i], kind) for kind in each.kinds)
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def _comparison(c: Comparison, kind: IntervalKind) -> dict[str, object]:
    pair = c.intervals[kind]
    closed = c.verdict_closed if kind == c.interval_kind else None
    return {
        "dataset": c.dataset,
        "task_set": c.task_set,
        "method": c.method,
        "versus": c.versus,
        "T": pair.difference.tasks,
        "mean": _number(pair.mean.mean),
        "mean_halfwidth": _number(pair.mean.halfwidth),
        "diff": _number(pair.difference.mean),
        "diff_halfwidth": _number(pair.difference.halfwidth),
        "verdict": pair.verdict.value,
        "verdict_direct": pair.verdict_direct.value,
        "verdict_closed": "" if closed is None else closed.value,
        "interval": kind,
        "level": repr(pair.difference.level),
        "reason": c.reason,
    }


def _lone(s: Score, kind: IntervalKind) -> dict[str, object]:
    interval = s.intervals[kind]
    return {
        "dataset": s.dataset,
        "task_set": s.task_set,
        "method": s.method,
        "T": interval.tasks,
        "mean": _number(interval.mean),
        "mean_halfwidth": _number(interval.halfwidth),
        "interval": kind,
        "level": repr(interval.level),
        "reason": PREFIX if s.prefix else "",
    }
