"""Ladders for machines: one row a figure, as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from analysis_sql.intervals import Interval
from fslbench_data.bias import BiasReport, LadderReport, MethodBias

COLUMNS = (
    "dataset", "ladder", "method", "is_reference", "step", "to", "measure", "mean", "halfwidth",
    "T", "interval", "level",
)  # fmt: skip


def bias_csv(report: BiasReport) -> str:
    """One row a figure, after the signature as a line beginning with ``#``.

    Measures of a step (`to` is empty): accuracy, worst_class, independent, equal, excess.  Of a
    gap, from `step` to `to`: accuracy_lost, worst_class_lost, excess_gained.
    """
    out = io.StringIO()
    out.write(f"# {report.signature}\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rows(report))
    return out.getvalue()


def bias_json(report: BiasReport) -> str:
    """The same rows as JSON."""
    content = {"signature": str(report.signature), "rows": list(_rows(report))}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _rows(report: BiasReport) -> Iterator[dict[str, Any]]:
    for ladder in report.ladders:
        for each in ladder.methods:
            for row in (*_steps(each), *_gaps(each)):
                yield {**_about(ladder, each), **row, "level": report.signature.level}


def _about(ladder: LadderReport, each: MethodBias) -> dict[str, Any]:
    return {
        "dataset": ladder.dataset,
        "ladder": ladder.name,
        "method": each.method,
        "is_reference": each.is_reference,
    }


def _steps(each: MethodBias) -> Iterator[dict[str, Any]]:
    for step, found in each.steps.items():
        here = {"step": step, "to": ""}
        kind, tasks = found.accuracy.kind, found.accuracy.tasks
        yield here | _interval("accuracy", found.accuracy)
        yield here | _interval("worst_class", found.worst)
        for measure, mean in (("independent", found.independent), ("equal", found.equal)):
            if mean is not None:
                yield here | _figure(measure, mean, None, tasks, kind)
        if found.excess is not None:
            yield here | _interval("excess", found.excess)


def _gaps(each: MethodBias) -> Iterator[dict[str, Any]]:
    for before, after, found in each.gaps:
        here = {"step": before, "to": after}
        yield here | _interval("accuracy_lost", found.accuracy)
        yield here | _interval("worst_class_lost", found.worst)
        if found.excess is not None:
            yield here | _interval("excess_gained", found.excess)


def _interval(measure: str, found: Interval) -> dict[str, Any]:
    return _figure(measure, found.mean, found.halfwidth, found.tasks, found.kind)


def _figure(
    measure: str, mean: float, halfwidth: float | None, tasks: int, kind: str
) -> dict[str, Any]:
    return {
        "measure": measure,
        "mean": mean,
        "halfwidth": halfwidth,
        "T": tasks,
        "interval": kind,
    }
