"""What a log of one's own tasks shows, as the CSV and the JSON of ``fslbench interval``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from math import isfinite, isnan
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.special import ndtri

from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.intervals.intervals import Interval
from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut
from fslbench_data.render.log_text import estimands, sentence
from fslbench_data.render.table import Column, Table, csv_text, json_text
from fslbench_data.scoring.own_release import LogFacts
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.task_set_report import TaskSetReport

_WIDTH = ("halfwidth", "p", "df", "monte_carlo_share", "widened", "is_bound", "run_share")


@dataclass(frozen=True)
class _Row:
    """A method by itself, or with `versus` the paired difference of two."""

    method: str
    versus: str
    tasks: int
    mean: float
    level: float
    runs: int
    widths: Mapping[LeftOut, Mapping[str, Any]]


def log_csv(report: Report) -> str:
    """Write one row a method and one a pair, after the signature as a line beginning with ``#``."""
    columns = [
        Column(name, attrgetter(name)) for name in ("method", "versus", "tasks", "mean", "level")
    ]
    columns += [
        Column(f"{kind}_{name}", partial(_of_width, kind, name))
        for kind in LEFT_OUT
        for name in (*_WIDTH, "verdict")
    ]
    rows = (row for each in report.sets for row in (*_means(each), *_pairs(each)))
    return csv_text(Table("", tuple(columns), rows), str(report.signature))


def _of_width(kind: LeftOut, name: str, row: _Row) -> object:
    return row.widths.get(kind, {}).get(name)


def log_json(report: Report, log: LogFacts) -> str:
    """Write everything; null is not estimable, or not there."""
    facts = asdict(log)
    warnings = facts.pop("warnings")
    trained = {score.trained for score in report.scores}
    return json_text(
        {
            "signature": str(report.signature),
            "level": report.signature.level,
            **facts,
            "trained": trained.pop() if len(trained) == 1 else None,
            "estimands": estimands(report, log),
            "sets": [_set(each) for each in report.sets],
            "warnings": list(warnings),
            "sentence": sentence(report, log),
        }
    )


def _set(each: TaskSetReport) -> dict[str, Any]:
    protocol = each.scored.name.protocol
    return {
        "tasks": each.scored.n_tasks,
        "way": protocol.way,
        "images_per_class": protocol.per_class,
        "digest": each.scored.fingerprint[:12],
        "unit": "groups" if each.units.groups else "images",
        "why": dict(each.designs["images"].whole.why),
        "bounded": dict(each.units.bounded),
        "methods": [
            {"method": row.method, "mean": row.mean, "runs": row.runs, **_all(row)}
            for row in _means(each)
        ],
        "pairs": [
            {"method": row.method, "versus": row.versus, "difference": row.mean, **_all(row)}
            for row in _pairs(each)
        ],
    }


def _all(row: _Row) -> dict[str, Any]:
    return {kind: row.widths.get(kind) for kind in LEFT_OUT}


def _means(each: TaskSetReport) -> Iterator[_Row]:
    """Every method by itself."""
    for i, score in enumerate(each.scores):
        own = {kind: _width(each, kind, i, i, score.intervals[kind]) for kind in _kinds(each)}
        interval = score.accuracy
        yield _Row(score.method, "", interval.tasks, interval.mean, each.level, score.runs, own)


def _pairs(each: TaskSetReport) -> Iterator[_Row]:
    """Every pair of methods, the first of the log minus the later."""
    p = {kind: each.p_values(kind) for kind in _kinds(each)}
    for comparison in each.comparisons:
        i, j = (each.methods.index(name) for name in (comparison.method, comparison.versus))
        widths = {}
        for kind in _kinds(each):
            pair = comparison.intervals[kind]
            identical = pair.verdict is Verdict.IDENTICAL
            own = _width(each, kind, i, j, pair.difference, identical=identical)
            own["p"] = None if isnan(p[kind][i, j]) else float(f"{p[kind][i, j]:.9g}")
            widths[kind] = {**own, "verdict": pair.verdict}
        apart = comparison.difference
        about = comparison.method, comparison.versus, apart.tasks, apart.mean, each.level
        yield _Row(*about, each.scores[i].runs, widths)


def _kinds(each: TaskSetReport) -> list[LeftOut]:
    return [kind for kind in LEFT_OUT if kind in each.designs]


def _width(
    each: TaskSetReport, kind: LeftOut, i: int, j: int, shown: Interval, *, identical: bool = False
) -> dict[str, Any]:
    """Return a half-width with what it is made of; see docs/schemas.md."""
    found, row = each.designs[kind].pairs(each.counts, each.level).row(kind, i, shown.tasks)
    terms = (
        each.counts.some([i]) if i == j else each.counts.differences(i, np.array([j]), shown.tasks)
    )
    spread, variance = getattr(found, kind), float(terms.run_variance[0])
    tasks = 100.0 * float(spread.halfwidth[row, j])
    halfwidth = shown.halfwidth
    if shown.constant and not halfwidth and not identical:
        halfwidth = None
    share = 0.0
    if halfwidth is not None and isfinite(tasks) and variance > 0:
        z = -float(ndtri((1.0 - each.level) / 2.0))
        share = variance / ((tasks / z) ** 2 + variance)
    df = float(spread.df[row, j])
    return {
        "halfwidth": halfwidth,
        "p": None,
        "df": df if isfinite(df) else None,
        "monte_carlo_share": float(spread.monte_carlo_share[row, j]),
        "widened": bool(spread.widened[row, j]),
        "is_bound": spread.is_bound,
        "run_share": share,
    }
