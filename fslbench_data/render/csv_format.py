"""CSV: one line a comparison and kind of interval, numbers unrounded, in percentage points."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fslbench_data.render.table import one_line
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
    lines = [f"# {one_line(str(report.signature))}\n", _line(COLUMNS)]
    for each in report.sets:
        for batch in each.batches(with_p=False):
            columns = [_texts(batch.column(name)) for name in COLUMNS.values()]
            joined = pc.binary_join_element_wise(*columns, ",")
            lines.append("\n".join([*joined.to_pylist(), ""]))
        lines += map(_line, _alone(each))
    return "".join(lines)


def _line(values: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(values)
    return out.getvalue()


def _texts(column: pa.Array) -> pa.Array:
    """Write the values of a column; the same ones once."""
    coded = column.dictionary_encode()
    if pa.types.is_string(column.type):
        texts = [_line([text, ""])[:-2] for text in coded.dictionary.to_pylist()]
    else:
        texts = [*map(repr, coded.dictionary.to_pylist())]
    return pa.array(texts, pa.string()).take(coded.indices).fill_null("")


def _alone(each: TaskSetReport) -> Iterator[list[object]]:
    """Give lines of methods that there is nothing to compare with, one a kind of interval."""
    own = len(each.asked)
    alone = ~(each.asked.any(axis=1) | each.asked[:, :own].any(axis=0))
    for i in np.flatnonzero(alone).tolist():
        score = each.scores[i]
        values = {
            "dataset": score.dataset,
            "task_set": score.task_set,
            "method": score.method,
            "reason": PREFIX if score.prefix else "",
            "trained": score.trained,
            "run_error": score.run_error,
            "of_one_model": WHICH_OF_TWO[score.of_one_model, False],
        }
        for kind in each.kinds:
            mean = score.intervals[kind]
            of_kind = {
                "interval": kind,
                "tasks": mean.tasks,
                "mean": mean.mean,
                "mean_halfwidth": mean.halfwidth,
                "level": mean.level,
            }
            yield [(values | of_kind).get(name) for name in COLUMNS.values()]
