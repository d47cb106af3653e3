"""Logs of random tasks that reuse images: seeded, drawn uniformly, with an effect of each image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import fslbench_data as fb
from analysis_sql.comparison.verdicts import Verdict

Columns = dict[str, list[Any]]


def log(
    *,
    methods: dict[str, float] | None = None,
    classes: int = 15,
    images: int = 60,
    way: int = 5,
    per_class: int = 10,
    tasks: int = 600,
    seed: int = 0,
) -> Columns:
    """A log with counts; `methods` says by how much each is better than 70 %.

    Image ids are 1000 times the class and a number within it.
    """
    rng = np.random.default_rng(seed)
    ease = 0.1 * rng.standard_normal(classes)
    of_image = 0.2 * rng.standard_normal((classes, images))
    columns: Columns = {name: [] for name in ROW}
    drawn = [
        (
            chosen := rng.permutation(classes)[:way],
            np.stack([rng.permutation(images)[:per_class] for _ in chosen]),
        )
        for _ in range(tasks)
    ]
    for method, better in (methods or {"weak": 0.0, "strong": 0.1, "strong too": 0.1}).items():
        for task, (chosen, numbers) in enumerate(drawn):
            skill = ease[chosen].mean() + of_image[chosen[:, None], numbers].mean()
            share = 0.7 + better + skill + 0.03 * rng.standard_normal()
            right = int(np.clip(np.rint(25 * share), 0, 25))
            ids = (1000 * chosen[:, None] + numbers).tolist()
            for name, value in zip(
                ROW, (method, task, chosen.tolist(), ids, right, 25), strict=True
            ):
                columns[name].append(value)
    return columns


ROW = ("method", "task", "class_ids", "image_ids", "n_correct", "n_query")


def rows(columns: Columns) -> list[dict[str, Any]]:
    """The same, row by row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def with_roles(columns: Columns, shots: int = 5) -> Columns:
    """The same with support and query apart, in place of both together."""
    rest = {name: values for name, values in columns.items() if name != "image_ids"}
    return {
        **rest,
        "support_ids": [[own[:shots] for own in ids] for ids in columns["image_ids"]],
        "query_ids": [[own[shots:] for own in ids] for ids in columns["image_ids"]],
    }


@dataclass(frozen=True)
class Width:
    """A half-width of a report, None of a constant, with its p-value and whether it is a bound."""

    halfwidth: float | None
    p: float | None
    is_bound: bool


@dataclass(frozen=True)
class Estimate:
    """A method's mean, or with `versus` a difference, and its widths and verdicts by kind."""

    method: str
    versus: str
    tasks: int
    mean: float
    widths: dict[str, Width]
    verdicts: dict[str, Verdict]
    runs: tuple[int, ...]


def means(report: fb.Report) -> list[Estimate]:
    """Every method of a report by itself."""
    return [
        Estimate(
            score.method,
            "",
            score.accuracy.tasks,
            score.accuracy.mean,
            {kind: _width(each, kind, score.intervals[kind]) for kind in each.shown_kinds},
            {},
            (score.runs,),
        )
        for each in report.sets
        for score in each.scores
    ]


def pairs(report: fb.Report) -> list[Estimate]:
    """Every pair of methods of a report."""
    found = []
    for each in report.sets:
        for c in each.comparisons:
            i, j = each.methods.index(c.method), each.methods.index(c.versus)
            found.append(
                Estimate(
                    c.method,
                    c.versus,
                    c.difference.tasks,
                    c.difference.mean,
                    {
                        kind: _width(
                            each, kind, c.intervals[kind].difference, each.p_values(kind)[i, j]
                        )
                        for kind in each.shown_kinds
                    },
                    {kind: c.intervals[kind].verdict for kind in each.shown_kinds},
                    (each.scores[i].runs, each.scores[j].runs),
                )
            )
    return found


def _width(each: Any, kind: str, interval: Any, p: float | None = None) -> Width:
    none = interval.constant and not interval.halfwidth and interval.mean != 0
    halfwidth = None if none else interval.halfwidth
    return Width(halfwidth, p, kind in each.units.bounded)
