"""The one comparison of two methods, of several on the same data and protocol, that leads."""

from __future__ import annotations

from collections.abc import Iterable

from analysis_sql.comparison.verdicts import Comparison
from benchmark_spec.protocol import TaskSetName

ORDER = ("pooled", "closed")
"""Suites whose verdicts on new images lead, first to last: they use the most of the images.

Of others, whose tasks share no image, the first of a report leads.
"""


def headlines(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Choose for each data set, protocol and pair of methods the comparison that leads.

    Those that say something of new images, led by it (:attr:`Comparison.shown`): of the pooled set,
    else the closed, else another.  Where none says anything of new images, what there is.  They
    stand in the order in which their pairs first came.
    """
    chosen: dict[tuple[str, str, str, str], tuple[int, Comparison]] = {}
    for comparison in comparisons:
        name = TaskSetName.parse(comparison.task_set)
        key = comparison.dataset, str(name.protocol), comparison.method, comparison.versus
        rank = ORDER.index(name.suite) if name.suite in ORDER else len(ORDER)
        if comparison.about_new_images is None:
            rank = len(ORDER) + 1
        if key not in chosen or rank < chosen[key][0]:
            chosen[key] = rank, comparison.shown
    return [comparison for _, comparison in chosen.values()]
