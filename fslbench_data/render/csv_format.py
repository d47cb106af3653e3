"""CSV: one line a comparison, numbers unrounded, in percentage points."""

from __future__ import annotations

import csv
import io

import numpy as np

from analysis_sql.comparison import Comparison
from fslbench_data.report import Report, Score

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
)


def render_csv(report: Report) -> str:
    """The signature as a line beginning with ``#``, a header, and one line a comparison.

    A method that there is nothing to compare with gets a line of its own with an empty
    `versus`, so that its mean is not lost.  What is not estimable, or not there, is empty.
    """
    out = io.StringIO()
    out.write(f"# {report.signature}\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for each in report.sets:
        writer.writerows(_comparison(c) for c in each.comparisons)
        own = len(each.asked)
        alone = ~(each.asked.any(axis=1) | each.asked[:, :own].any(axis=0))
        writer.writerows(_lone(each.scores[int(i)]) for i in np.flatnonzero(alone))
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def _comparison(c: Comparison) -> dict[str, object]:
    return {
        "dataset": c.dataset,
        "task_set": c.task_set,
        "method": c.method,
        "versus": c.versus,
        "T": c.difference.tasks,
        "mean": _number(c.mean.mean),
        "mean_halfwidth": _number(c.mean.halfwidth),
        "diff": _number(c.difference.mean),
        "diff_halfwidth": _number(c.difference.halfwidth),
        "verdict": c.verdict.value,
        "verdict_direct": c.verdict_direct.value,
        "verdict_closed": "" if c.verdict_closed is None else c.verdict_closed.value,
        "interval": c.difference.kind,
        "level": repr(c.difference.level),
    }


def _lone(s: Score) -> dict[str, object]:
    return {
        "dataset": s.dataset,
        "task_set": s.task_set,
        "method": s.method,
        "T": s.accuracy.tasks,
        "mean": _number(s.accuracy.mean),
        "mean_halfwidth": _number(s.accuracy.halfwidth),
        "interval": s.accuracy.kind,
        "level": repr(s.accuracy.level),
    }
