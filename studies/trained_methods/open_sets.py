"""Trainings, and what they answer of open task sets: rows of tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from fslbench_data.scoring.report import Report
from fslbench_data.submission.model import Submission
from studies.trained_methods import FIVE, MEANS, ONE, OPEN, TRAININGS, TUNED, UNTRAINED, named

HEADS = (
    ("open-5w1s1q", "NCC", f"-{MEANS}/NCC"),
    *(("open-5w1s1q", head, f"/{head}") for head in ("NCC", "LR")),
    *((TUNED, head, f"/{head}") for head in ("NCC", "MatchingNet", "LR", "FT")),
)
"""Task set, head, and how methods end on it; with one shot MatchingNet is NCC."""


def training_rows() -> Iterator[Sequence[str]]:
    """A row for the seeds of a training: steps, and the step and validation of the kept weights."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(TRAININGS.glob("*/trained.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(path.parent.name.rpartition("-")[0], []).append(about)
    for name, seeds in found.items():
        how = seeds[0]["settings"]["training"]
        drawn = f"{how['steps']:,}" + (f" x {how['episodes']}" if how["episodes"] > 1 else "")
        kept = (f"{about['step']:,}" for about in seeds)
        best = (f"{about['accuracy']:.2f}" for about in seeds)
        yield name, drawn, " / ".join(kept), " / ".join(best)


def brought_rows(report: Report) -> Iterator[Sequence[str]]:
    """A row a method: accuracy on open sets, and how far it is above the untrained one.

    The latter's interval is for new classes: for other characters of these scripts.
    """
    accuracy = accuracies(report)
    brought = differences(report)
    for name, key in named({method for _, method in accuracy}, FIVE):
        cells = []
        for task_set in OPEN:
            if (task_set, key) in accuracy:
                cells += [accuracy[task_set, key], brought[task_set, key, f"{name}-{UNTRAINED}"]]
            else:
                cells += ["", ""]
        yield name, *cells


def open_shot_rows(report: Report) -> Iterator[Sequence[str]]:
    """A row a method: by how much training with one shot is above training with five."""
    above, accuracy = differences(report), accuracies(report)
    for name, key in named({method for _, method in accuracy}, ONE):
        yield name, *(above.get((task_set, key, f"{name}-{FIVE}"), "") for task_set in OPEN)


def differences(report: Report) -> dict[tuple[str, str, str], str]:
    """Write by how much one method is above another on a task set, for new classes.

    Where they answer alike there is no interval, and nothing is written.
    """
    found: dict[tuple[str, str, str], str] = {}
    for row in report.comparisons.to_arrow().to_pylist():
        if row["interval"] == "class-aware" and row["halfwidth"] is not None:
            task_set, one, other = row["task_set"], row["method"], row["versus"]
            for sign, pair in ((1, (one, other)), (-1, (other, one))):
                above = sign * row["difference"]
                found[task_set, *pair] = f"{above:+.2f} ± {row['halfwidth']:.2f}"
    return found


def accuracies(report: Report) -> dict[tuple[str, str], str]:
    """Write accuracies by task set and method, with intervals for new images."""
    return {
        (row["task_set"], row["method"]): f"{row['mean']:.2f} ± {row['halfwidth']:.2f}"
        for row in report.scores.to_arrow().to_pylist()
        if row["interval"] == "open"
    }


def seed_rows(answers: Submission) -> Iterator[Sequence[str]]:
    """A row a method of several seeds: what each has on open sets, and their standard deviation."""
    keys, sums = ["method", "task_set", "run"], [("n_correct", "sum"), ("n_query", "sum")]
    found: dict[tuple[str, str], list[float]] = {}
    rows = answers.table.group_by(keys).aggregate(sums).to_pylist()
    for row in sorted(rows, key=itemgetter("run")):
        share = 100 * row["n_correct_sum"] / row["n_query_sum"]
        found.setdefault((row["method"], row["task_set"]), []).append(share)
    for name, key in named({method for method, _ in found}, FIVE):
        seeds = [found.get((key, task_set), []) for task_set in OPEN]
        if len(seeds[0]) > 1:
            yield name, *(_apart(of) for of in seeds)


def _apart(seeds: Sequence[float]) -> str:
    """Write what seeds have, and their standard deviation."""
    each = " / ".join(f"{of:.2f}" for of in seeds)
    return f"{each} ({np.std(seeds, ddof=1):.2f})" if seeds else ""


def head_rows(report: Report) -> Iterator[Sequence[str]]:
    """A row a method: accuracy of heads on the maps of the network that it trained."""
    accuracy = accuracies(report)
    for name, key in named({method for _, method in accuracy}, FIVE):
        cells = [accuracy.get((of, f"{key}{end}"), "") for of, _, end in HEADS]
        yield name, *cells
