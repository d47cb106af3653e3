"""How many comparisons of each method came to which verdict, on the task sets that lead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.ties import VerdictCounts
from analysis_sql.comparison.verdicts import BETTER, NOT_ESTIMABLE, VERDICTS, WORSE
from benchmark_spec.suites import IntervalKind
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.summary import PrimarySet, comparisons_to_show
from fslbench_data.scoring.task_set_report import TaskSetReport


@dataclass(frozen=True)
class Brief:
    """The verdicts on one method, from its side, for new images and for new classes."""

    method: str
    images: VerdictCounts
    classes: VerdictCounts


def briefs(report: Report, *, all_references: bool = False) -> list[Brief]:
    """Count the verdicts on each method that the report's answer compares.

    Of runs that had a rule to stop, and where there is no interval about new ones, nothing is
    estimable.
    """
    totals: dict[str, NDArray[np.int64]] = {}
    for each, meeting in comparisons_to_show(report, all_references=all_references):
        about = PrimarySet.of(each)
        images = None if about.images == "closed" else about.images
        for row, others in meeting.items():
            counts = [_counts(each, row, others, kind) for kind in (images, about.classes)]
            before = totals.get(each.methods[row], np.zeros((2, len(VERDICTS)), np.int64))
            totals[each.methods[row]] = before + np.array(counts)
    return [
        Brief(name, *(VerdictCounts(*of.tolist()) for of in counted))
        for name, counted in totals.items()
    ]


def _counts(
    each: TaskSetReport, row: int, others: list[int], kind: IntervalKind | None
) -> NDArray[np.int64]:
    """How many comparisons of a method came to each verdict."""
    if kind is None:
        return np.bincount([NOT_ESTIMABLE] * len(others), minlength=len(VERDICTS))
    verdict = each.pairs_of(kind).verdict
    columns = np.array(others, np.int64)
    codes = np.full(columns.size, NOT_ESTIMABLE, np.int64)
    asked = each.asked[row, columns]
    codes[asked] = verdict[row, columns[asked]]
    turned = ~asked & (columns < len(each.asked))
    backward = verdict[columns[turned], row]
    codes[turned] = np.where(
        backward == BETTER, WORSE, np.where(backward == WORSE, BETTER, backward)
    )
    codes[codes < 0] = NOT_ESTIMABLE
    return np.bincount(codes, minlength=len(VERDICTS))
