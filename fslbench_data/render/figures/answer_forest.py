"""The comparisons that a report's answer rests on, as one forest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from analysis_sql.comparison.verdicts import Comparison
from fslbench_data.render.figures.rows import Figure, difference_row, placed, set_caption
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.summary import Summary
from fslbench_data.scoring.task_set_report import TaskSetReport

MOST_ROWS = 30


def answer_forest(report: Report, summary: Summary) -> Figure | None:
    """Return the differences of the first method, by data set and shots; None without any.

    A single method is compared with those that its answer's table has, the best of several with
    the others.
    """
    pairs = [(each, c.shown) for each, c in islice(_pairs(report, summary), MOST_ROWS)]
    if not pairs:
        return None
    others = {c.versus for _, c in pairs}
    sets = {str(each.scored): each for each, _ in pairs}
    rows = [
        {
            "label": _label(each, c, len(others), len(sets)),
            "subject": c.method,
            **difference_row(c),
        }
        for each, c in pairs
    ]
    versus = min(others) if len(others) == 1 else "others"
    where = min(sets) if len(sets) == 1 else f"{len(sets)} task sets"
    title = f"{pairs[0][1].method} compared with {versus} on {where}"
    caption = set_caption([*sets.values()], [c.difference.tasks for _, c in pairs])
    return Figure("forest", title, caption, placed(rows))


def _pairs(report: Report, summary: Summary) -> Iterator[tuple[TaskSetReport, Comparison]]:
    by_set = {each.scored: each for each in report.sets}
    for row in summary.rows:
        yield from ((by_set[row.primary.scored], comparison) for comparison in row.shown)
    for column in summary.columns:
        each, (first, *others) = by_set[column.primary.scored], summary.methods
        there = [name for name in others if name in column.by_method]
        if first in column.by_method and there:
            of = each.methods.index
            compared = each.comparisons_of(of(first), np.array([of(name) for name in there]))
            yield from ((each, comparison) for comparison in compared)


def _label(each: TaskSetReport, comparison: Comparison, methods: int, sets: int) -> str:
    parts = [str(each.scored)] if sets > 1 else []
    parts += [comparison.versus] if methods > 1 or not parts else []
    return ": ".join(parts)
