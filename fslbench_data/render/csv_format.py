"""CSV: one line a comparison and kind of interval, numbers unrounded, in percentage points."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from fslbench_data.render.table import one_line
from fslbench_data.scoring.relation import Columns
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.task_set_report import WHICH_OF_TWO, TaskSetReport

COLUMNS = {
    name: {"T": "tasks", "diff": "difference", "diff_halfwidth": "halfwidth"}.get(name, name)
    for name in (
        "dataset", "task_set", "method", "versus", "T", "mean", "mean_halfwidth", "diff",
        "diff_halfwidth", "verdict", "verdict_direct", "verdict_closed", "interval", "level",
        "reason", "trained", "versus_trained", "run_error", "of_one_model",
    )
}  # fmt: skip
"""Columns and their names in the relation of comparisons."""


def render_csv(report: Report) -> str:
    """Write the signature as a line beginning with ``#``, a header, and the comparisons.

    One line a comparison and kind of interval, first the one that the task set carries; the column
    `interval` tells them apart.

    A method that there is nothing to compare with gets a line of its own with an empty
    `versus`, so that its mean is not lost.  What is not estimable, or not there, is empty; `reason`
    says why nothing is concluded where the tasks as such would allow it.
    """
    out = io.StringIO()
    out.write(f"# {one_line(str(report.signature))}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in report.sets:
        for rows in _rows(each):
            writer.writerows(zip(*(rows[name] for name in COLUMNS.values()), strict=True))
    return out.getvalue()


def _rows(each: TaskSetReport) -> Iterator[Columns]:
    for row in np.flatnonzero(each.asked.any(axis=1)).tolist():
        yield each.rows_of(row, with_p=False)
    own = len(each.asked)
    alone = ~(each.asked.any(axis=1) | each.asked[:, :own].any(axis=0))
    for i in np.flatnonzero(alone).tolist():
        score = each.scores[i]
        means = [score.intervals[kind] for kind in each.kinds]
        values = {
            "dataset": score.dataset,
            "task_set": score.task_set,
            "method": score.method,
            "reason": PREFIX if score.prefix else "",
            "trained": score.trained,
            "run_error": score.run_error,
            "of_one_model": WHICH_OF_TWO[score.of_one_model, False],
        }
        yield {name: [values.get(name)] * len(means) for name in COLUMNS.values()} | {
            "interval": [*each.kinds],
            "tasks": [mean.tasks for mean in means],
            "mean": [mean.mean for mean in means],
            "mean_halfwidth": [mean.halfwidth for mean in means],
            "level": [mean.level for mean in means],
        }
