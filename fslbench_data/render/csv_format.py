"""CSV: one line a comparison, numbers unrounded, in percentage points."""

from __future__ import annotations

import csv
import io

import numpy as np

from analysis_sql.comparison.verdicts import Comparison, NewClasses
from analysis_sql.intervals.intervals import Interval
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

    One line a comparison with the interval that the task set carries, and one more with the
    class-aware interval where there is one; the column `interval` tells them apart.

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
            writer.writerow(_comparison(c))
            if c.new_classes is not None:
                writer.writerow(_for_new_classes(c, c.new_classes))
        own = len(each.asked)
        alone = ~(each.asked.any(axis=1) | each.asked[:, :own].any(axis=0))
        for i in np.flatnonzero(alone).tolist():
            found, new_classes = each.scores[i], each.new_classes[i]
            writer.writerow(_lone(found, found.accuracy))
            if new_classes is not None:
                writer.writerow(_lone(found, new_classes))
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
        "reason": c.reason,
    }


def _for_new_classes(c: Comparison, found: NewClasses) -> dict[str, object]:
    return {
        **_comparison(c),
        "mean_halfwidth": _number(found.mean.halfwidth),
        "diff_halfwidth": _number(found.difference.halfwidth),
        "verdict": found.verdict.value,
        "verdict_direct": found.verdict_direct.value,
        "verdict_closed": "",
        "interval": found.difference.kind,
    }


def _lone(s: Score, interval: Interval) -> dict[str, object]:
    return {
        "dataset": s.dataset,
        "task_set": s.task_set,
        "method": s.method,
        "T": interval.tasks,
        "mean": _number(interval.mean),
        "mean_halfwidth": _number(interval.halfwidth),
        "interval": interval.kind,
        "level": repr(interval.level),
        "reason": PREFIX if s.prefix else "",
    }
