"""The answer of a report as a table, one row a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from analysis_sql.comparison.verdicts import Comparison, Verdict
from analysis_sql.interval_kinds import ABOUT
from fslbench_data.scoring.relation import schema
from fslbench_data.scoring.scores import Score
from fslbench_data.scoring.summary import (
    Mark,
    PrimarySet,
    Reported,
    Standings,
    primary_sets,
    summarize,
)
from fslbench_data.scoring.task_set_report import TaskSetReport

ANSWER = schema(
    ("dataset task_set", str),
    ("way shot", int),
    ("method", str),
    ("is_reference", bool),
    ("standing interval", str),
    ("level", float),
    ("tasks", int),
    ("accuracy accuracy_halfwidth", float),
    ("versus", str),
    ("versus_accuracy difference difference_halfwidth", float),
    ("verdict_new_images verdict_new_classes verdict_new_superclasses", str),
    ("verdict_these_images reason", str),
)

STANDINGS: Mapping[Mark, str] = {
    Mark.HIGHEST: "highest",
    Mark.NOT_APART: "not told apart",
    Mark.NEW_IMAGES: "told apart for new images",
    Mark.APART: "told apart",
    Mark.UNJUDGED: "not judged",
}
"""How a method stands to the highest mean, in words."""

_TURNED = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}

Values = dict[str, Any]


def answer_table(report: Reported) -> pa.Table:
    """Return the comparisons of a report's answer, rows of :data:`ANSWER`.

    Of a single method with its baselines; of several with the highest mean on the task set.
    """
    found = summarize(report)
    rows = []
    for row in found.rows:
        compared = [_compared(comparison) for comparison in row.compared]
        about = _about(row.primary, row.score)
        rows += [about | values for values in compared or [_alone(row.primary, row.score)]]
    sets = {each.scored: each for each in primary_sets(report.sets)}
    for column in found.columns:
        rows += _of_several(sets[column.primary.scored], column)
    return pa.Table.from_pylist(rows, ANSWER)


def _of_several(each: TaskSetReport, column: Standings) -> Iterator[Values]:
    """Give a row a method, in the order of the task set."""
    marks = {name: standing.mark for name, standing in column.by_method.items()}
    with_best: dict[str, Comparison] = {}
    if best := next((name for name, mark in marks.items() if mark is Mark.HIGHEST), None):
        every = each.only([best, *(name for name in marks if name != best)])
        compared = replace(every, asked=every.asked[:1]).comparisons_of(0)
        with_best = {comparison.versus: comparison.shown for comparison in compared}
    for name, standing in column.by_method.items():
        if name in with_best:
            values = _compared(with_best[name], turned=True)
        else:
            values = _alone(column.primary, standing.score)
        about = _about(column.primary, standing.score)
        yield about | values | {"standing": STANDINGS[standing.mark]}


def _about(primary: PrimarySet, score: Score) -> Values:
    return {
        "dataset": score.dataset,
        "task_set": score.task_set,
        "way": primary.name.protocol.way,
        "shot": primary.name.protocol.shot,
        "method": score.method,
        "is_reference": score.is_reference,
    }


def _alone(primary: PrimarySet, score: Score) -> Values:
    """Return a method's accuracy where it is compared with none."""
    kind = primary.images if primary.images in score.intervals else score.interval_kind
    mean = score.intervals[kind]
    return {
        "interval": kind,
        "level": mean.level,
        "tasks": mean.tasks,
        "accuracy": mean.mean,
        "accuracy_halfwidth": mean.halfwidth,
        "reason": "",
    }


def _compared(comparison: Comparison, *, turned: bool = False) -> Values:
    """Return a comparison from its method's side, or turned round, from that of the other."""
    means = comparison.mean, comparison.versus_mean
    mean, versus_mean = reversed(means) if turned else means
    difference = comparison.difference
    verdicts = {ABOUT[kind]: pair.verdict for kind, pair in comparison.intervals.items()}
    if turned:
        verdicts = {about: _TURNED.get(verdict, verdict) for about, verdict in verdicts.items()}
    return {
        "interval": comparison.interval_kind,
        "level": difference.level,
        "tasks": difference.tasks,
        "accuracy": mean.mean,
        "accuracy_halfwidth": mean.halfwidth,
        "versus": comparison.method if turned else comparison.versus,
        "versus_accuracy": versus_mean.mean,
        "difference": 0.0 - difference.mean if turned else difference.mean,
        "difference_halfwidth": difference.halfwidth,
        "verdict_new_images": verdicts.get("new images"),
        "verdict_new_classes": verdicts.get("new classes"),
        "verdict_new_superclasses": verdicts.get("new superclasses"),
        "verdict_these_images": verdicts.get(ABOUT["closed"]),
        "reason": comparison.reason,
    }
