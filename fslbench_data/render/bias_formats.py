"""Ladders for machines: one row a figure, as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis_sql.bias.spurious_bias import Contrast, StepScore
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.version import OUTPUT_SCHEMA
from fslbench_data.scoring.bias import BiasReport
from fslbench_data.scoring.bias_report import MethodBias, PairBias
from fslbench_data.scoring.scores import PREFIX

COLUMNS = (
    "dataset", "ladder", "method", "versus", "is_reference", "step", "to", "measure", "mean",
    "halfwidth", "T", "interval", "level", "reason",
)  # fmt: skip
MEASURES = ("accuracy", "worst_class", "excess")
LOST = ("accuracy_lost", "worst_class_lost", "excess_gained")


def bias_csv(report: BiasReport) -> str:
    """One row a figure, after the signature as a line beginning with ``#``.

    Measures of a step (`to` is empty): accuracy, worst_class, independent, equal, excess.  Of a
    gap, from `step` to `to`: accuracy_lost, worst_class_lost, excess_gained.  Where there is a
    `versus`, the figure is that of `method` minus that of `versus`, paired by task.  `reason` says
    why nothing is concluded from it.
    """
    out = io.StringIO()
    out.write(f"# {report.signature}\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rows(report))
    return out.getvalue()


def bias_json(report: BiasReport) -> str:
    """The same rows as JSON, and the rank correlations of the methods."""
    rankings = [
        {
            "dataset": ladder.dataset,
            "ladder": ladder.name,
            "first": each.first,
            "second": each.second,
            **asdict(each.found),
        }
        for ladder in report.ladders
        for each in ladder.rankings
    ]
    agreement = [
        {"first": each.first, "second": each.second, **asdict(each.found)}
        for each in report.agreement
    ]
    content = {
        "schema": OUTPUT_SCHEMA,
        "signature": str(report.signature),
        "rows": list(_rows(report)),
        "rankings": rankings,
        "agreement": agreement,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _rows(report: BiasReport) -> Iterator[dict[str, Any]]:
    for ladder in report.ladders:
        about = {"dataset": ladder.dataset, "ladder": ladder.name}
        last: dict[str, Any] = {"level": report.signature.level}
        for each in ladder.methods:
            own = {"method": each.method, "versus": "", "is_reference": each.is_reference}
            last["reason"] = PREFIX if each.method in ladder.prefixes else ""
            for row in (*_steps(each), *_gaps(each)):
                yield about | own | row | last
        for pair in ladder.pairs:
            both = {"method": pair.method, "versus": pair.versus, "is_reference": False}
            last["reason"] = PREFIX if {pair.method, pair.versus} & {*ladder.prefixes} else ""
            for row in _pair(pair):
                yield about | both | row | last


def _steps(each: MethodBias) -> Iterator[dict[str, Any]]:
    for step, found in each.steps.items():
        accuracy, worst, *excess = _three(step, "", found, MEASURES)
        yield from (accuracy, worst)
        kind, tasks = found.accuracy.kind, found.accuracy.tasks
        for measure, mean in (("independent", found.independent), ("equal", found.equal)):
            if mean is not None:
                yield {"step": step, "to": ""} | _figure(measure, mean, None, tasks, kind)
        yield from excess


def _gaps(each: MethodBias) -> Iterator[dict[str, Any]]:
    for before, after, found in each.gaps:
        yield from _three(before, after, found, LOST)


def _pair(pair: PairBias) -> Iterator[dict[str, Any]]:
    for step, found in pair.steps.items():
        yield from _three(step, "", found, MEASURES)
    if pair.lost is not None:
        first, *_, last = pair.steps
        yield from _three(first, last, pair.lost, LOST)


def _three(
    step: str, to: str, found: StepScore | Contrast, names: tuple[str, str, str]
) -> Iterator[dict[str, Any]]:
    """Accuracy, wAcc and, where there is one, the excess, under these names."""
    for name, of in zip(names, (found.accuracy, found.worst, found.excess), strict=True):
        if of is not None:
            yield {"step": step, "to": to} | _interval(name, of)


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
