"""CSV: one line a comparison, numbers unrounded, in percentage points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fslbench_data.render.table import Column, Table, csv_text
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.result_rows import Row, comparison_rows, lone_row
from fslbench_data.scoring.scores import PREFIX

_OTHER_NAMES = {"T": "tasks", "diff": "difference", "diff_halfwidth": "halfwidth"}
"""What columns are called here that have another name in frames and in SQL."""

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
    "trained",
    "versus_trained",
    "run_error",
    "of_one_model",
)


def render_csv(report: Report) -> str:
    """Write the signature as a line beginning with ``#``, a header, and the comparisons.

    One line a comparison and kind of interval, first the one that the task set carries; the column
    `interval` tells them apart.

    A method that there is nothing to compare with gets a line of its own with an empty
    `versus`, so that its mean is not lost.  What is not estimable, or not there, is empty; `reason`
    says why nothing is concluded where the tasks as such would allow it.
    """
    return csv_text(Table("", tuple(map(_column, COLUMNS)), _rows(report)), str(report.signature))


def _column(name: str) -> Column:
    of_row = _OTHER_NAMES.get(name, name)
    return Column(name, lambda row: row.get(of_row))


def _rows(report: Report) -> Iterator[Row]:
    for task_set in report.sets:
        trained = {score.method: score.trained for score in task_set.scores}
        for comparison in task_set.comparisons:
            said = trained[comparison.method], trained[comparison.versus]
            both = dict(zip(("trained", "versus_trained"), said, strict=True))
            for row in comparison_rows(comparison):
                yield row | both
        own = len(task_set.asked)
        alone = ~(task_set.asked.any(axis=1) | task_set.asked[:, :own].any(axis=0))
        for i in np.flatnonzero(alone).tolist():
            score = task_set.scores[i]
            for kind in task_set.kinds:
                row = lone_row(score, kind, PREFIX if score.prefix else "")
                yield row | {"trained": score.trained}
