"""Training runs, and tasks of one's own."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
import own_logs

from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.leave_one_out.design import LEFT_OUT
from fslbench_data.render.log_text import notes
from fslbench_data.scoring.score import interval
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt

SIZES = dict.fromkeys(range(15), 60)


@attempt(
    "two equal methods of three runs each, which differ by 1.5 points, told apart, 1,000 times"
)
def _(world: World) -> str:
    rng = np.random.default_rng(0)
    x = rng.binomial(25, 0.7 + 0.015 * rng.standard_normal((2000, 3, 1)), (2000, 3, 200))
    spreads = (4 * x.mean(axis=2)).std(axis=1, ddof=1).tolist()
    counted = Counts.of(list(x.sum(axis=1)), [75] * len(x), spreads, [3] * len(x))
    shares = []
    for counts in (counted, replace(counted, run_variance=0.0, run_square=0.0)):
        pairs = counts.differences(np.arange(0, 2000, 2), np.arange(1, 2000, 2), 200).moments()
        shares.append(100 * np.mean(np.abs(pairs.mean) > halfwidths(pairs, "open", 0.95)))
    return f"{shares[0]:.0f} %; {shares[1]:.0f} % if runs are not counted"


def _of_runs(**of_methods: int) -> list[dict[str, Any]]:
    """Rows of a log whose methods have so many runs on the same tasks."""
    return [
        {**row, "run": run}
        for method, runs in of_methods.items()
        for run in range(runs)
        for row in own_logs.rows(own_logs.log(methods={method: 0.01 * run}, tasks=200))
    ]


@attempt("a log of three runs of `a` and one of `b`, which `interval` reads")
def _(world: World) -> str:
    found = interval(_of_runs(a=3, b=1), class_sizes=SIZES)
    said = notes(found, found.log)
    return " ".join(note for note in said if "raining run" in note)


@attempt("three runs that nothing tells apart")
def _(world: World) -> str:
    rows = [{name: row[name] for name in own_logs.ROW} for row in _of_runs(a=3)]
    return str(interval(rows, class_sizes=SIZES))


@attempt("a run that lacks a task")
def _(world: World) -> str:
    return str(interval(_of_runs(a=3)[:-1], class_sizes=SIZES))


@attempt("one query more right on each of 600 tasks, which reuse 900 images of 15 classes")
def _(world: World) -> str:
    rows = own_logs.rows(own_logs.log(methods={"better": 0.0}))
    less = [{**row, "method": "less", "n_correct": row["n_correct"] - 1} for row in rows]
    (pair,) = own_logs.pairs(interval([*rows, *less], class_sizes=SIZES))
    found = {kind: pair.widths[kind].p for kind in LEFT_OUT[:2]}
    return "; ".join(
        f"new {kind}: p = 2^{np.log2(p):g}, verdict `{pair.verdicts[kind]}`"
        for kind, p in found.items()
    )


def _changed(change: Any) -> str:
    rows = own_logs.rows(own_logs.log(methods={"a": 0.0}, tasks=200))
    return str(interval([change(row) for row in rows], class_sizes=SIZES))


@attempt("a log whose `image_ids` are those of the queries alone")
def _(world: World) -> str:
    return _changed(lambda row: {**row, "image_ids": [own[:5] for own in row["image_ids"]]})


@attempt("a log whose tasks stand there twice, under other names")
def _(world: World) -> str:
    rows = own_logs.rows(own_logs.log(methods={"a": 0.0}, tasks=200))
    again = [{**row, "task": 200 + row["task"]} for row in rows]
    return str(interval([*rows, *again], class_sizes=SIZES))


@attempt("a log of classes that are drawn together, one of three alphabets at a time")
def _(world: World) -> str:
    rng = np.random.default_rng(5)

    def alphabet(row: dict[str, Any]) -> dict[str, Any]:
        classes = 5 * rng.integers(3) + np.arange(5)
        images = 1000 * classes[:, None] + np.argsort(rng.random((5, 60)))[:, :10]
        return {**row, "class_ids": classes.tolist(), "image_ids": images.tolist()}

    return _changed(alphabet)


def _disjoint() -> list[dict[str, Any]]:
    """40 tasks of 8 classes, of which no two share an image."""
    rng = np.random.default_rng(0)
    pools = {c: rng.permutation(600).tolist() for c in range(8)}
    rows = []
    for task in range(40):
        chosen = rng.permutation(8)[:2].tolist()
        ids = [[1000 * c + pools[c].pop() for _ in range(3)] for c in chosen]
        values = ("m", task, chosen, ids, 1 + task % 2, 4)
        rows.append(dict(zip(own_logs.ROW, values, strict=True)))
    return rows


@attempt("40 tasks, no image in two of them")
def _(world: World) -> str:
    return str(interval(_disjoint()))


@attempt("the same, with `--class-sizes`")
def _(world: World) -> str:
    (found,) = own_logs.means(interval(_disjoint(), class_sizes=dict.fromkeys(range(8), 600)))
    width = found.widths["images"]
    return f"{found.mean:.1f} ± {width.halfwidth:.1f}{', at most' if width.is_bound else ''}"


@attempt("20 tasks of 2,000 and of 10,000 images: .8 and .16 appearances of each", slow=True)
def _(world: World) -> str:
    with patch.object(sys, "path", [*sys.path, str(world.root)]):  # of no installed package
        line_of = import_module("studies.coverage.few_appearances").Line
    rng = np.random.default_rng(0)
    held = []
    for size in (100, 500):
        line = line_of("20 tasks", (size,) * 20, 1, 20, "images")
        of_difference = [line.judged(rng, line.centres(rng))[:, 1] for _ in range(200)]
        held.append(100 * np.mean([abs(mean) <= width for mean, width, _ in of_difference]))
    return f"intervals for new images hold the truth in {held[0]:.0f} and {held[1]:.0f} %"
