"""Results of a log with all classes at once, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import isnan, nan
from operator import itemgetter
from typing import Any

import numpy as np
from msgspec.structs import replace

from analysis_sql.comparisons import holm
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.interval_text import (
    VERDICT_WORDS,
    percent,
    sentences,
    verdict_of,
    width_text,
)
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.own_release import DrawFacts
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.task_set_report import TaskSetReport

KINDS: dict[IntervalKind, str] = {"images": "", "classes": "_new_classes"}
"""Kinds of interval, and the infix of their columns."""


Row = dict[str, Any]
"""A method or a difference, by column of CSV; ``images_`` weights all test images alike,
``classes_`` all classes."""


def tables(report: Report, log: DrawFacts, form: str = "table") -> list[Table]:
    """Return a table of methods, and one of paired differences if there are some.

    With the form ``latex`` they fit a column of a paper; only those of ``table`` name options.
    """
    results, differences = rows(report, log)
    has_draws = any(n > 1 for by_shots in log.draws.values() for n in by_shots.values())
    has_classes = any("classes" in task_set.kinds for task_set in report.sets)
    about = f"{percent(report.signature.level)} intervals for new test images"
    about += " and draws" if has_draws else ""
    about += ", and for new classes" if has_classes else ""
    several = len({row["shots"] for row in results}) > 1
    first = [Column("method", itemgetter("method"))]
    shots = [Column("shots", itemgetter("shots"))] if several else []
    all_rows = [*results, *differences]
    same = all(_interval("images", row) == _interval("classes", row) for row in all_rows)
    narrow = form == "latex"
    columns = [
        *first,
        *shots,
        right("draws", lambda row: row["draws"] or "none"),
        right("accuracy", partial(_interval, "images")),
    ]
    note = _SAME if same else _ALIKE
    if has_classes:
        columns.append(right(f"± {_CLASSES}", _of_classes))
    if has_draws and not narrow:
        columns.append(right("from draws", _share))
        note += _FROM_DRAWS
    if not (same or narrow):
        columns.append(right(MEAN, partial(_interval, "classes")))
    title = f"All classes: {log.images:,} test images, {log.classes} classes at once; {about}"
    methods = Table(title, tuple(columns), results, (note,))
    below = [*_notes(differences, log, report.signature.level)]
    if not has_classes:
        below.append(_NO_SECOND if log.classes > 2 else _TWO_CLASSES)
    if has_draws:
        unknown = f"{_MANY_IMAGES}{_GIVE_POOL}." if form == "table" else f"{_MANY_IMAGES}."
        below.insert(0, _POOL.format(log.pool) if log.pool else unknown)
    if not differences:
        return [replace(methods, notes=(*methods.notes, *below))]
    verdict = "images" if narrow and has_classes else "verdict"
    columns = [
        *first,
        Column("versus", itemgetter("versus")),
        *shots,
        right("difference", partial(_interval, "images", signed=True)),
        Column(verdict, itemgetter("images_verdict")),
    ]
    if has_classes:
        heading = "classes" if narrow else _CLASSES
        columns.append(right(f"± {heading}", _of_classes))
        columns.append(Column(heading, itemgetter("images_new_classes_verdict")))
    if not (same or narrow):
        columns.append(right(MEAN, partial(_interval, "classes", signed=True)))
    title = f"Paired differences, all classes: {about}"
    return [methods, Table(title, tuple(columns), differences, tuple(below))]


MEAN = "mean over classes"
_CLASSES = "new classes"
_ALIKE = "Accuracy: all test images alike, as papers print it. Percentage points."
_SAME = "Accuracy, which is the mean over classes here, too. Percentage points."
_FROM_DRAWS = " From draws: draws' share of the variance."
_NO_SECOND = (
    "Nothing is said about new classes: that needs a column `second`, the second-best class."
)
_TWO_CLASSES = "Nothing is said about new classes: that needs three classes."
_POOL = "Draws of the support take their images from {} of a class."
_MANY_IMAGES = "Draws of the support are taken to be from many images"
_GIVE_POOL = "; if a class has N to train on, --pool N (pool=N) makes ± wider"


def rows(report: Report, log: DrawFacts) -> tuple[list[Row], list[Row]]:
    """Return each method at each number of shots once, and the pairs that are compared."""
    order = {name: number for number, name in enumerate(log.draws)}
    shots_known = any(task_set.scored.protocol.shot for task_set in report.sets)
    methods: dict[tuple[int, int], Row] = {}
    pairs: dict[tuple[int, int, int], Row] = {}
    for task_set in report.sets:
        shots, over = task_set.scored.protocol.shot, task_set.over_classes or task_set
        logged = shots if shots_known else None
        for i, name in enumerate(task_set.methods):
            if (key := (shots, order[name])) not in methods:
                draws = log.draws[name][shots]
                about = {"method": name, "versus": "", "shots": logged, "draws": draws}
                values = _of_method("images", task_set, i) | _of_method("classes", over, i)
                methods[key] = about | values
        of_pairs = zip(_of_pairs("images", task_set), _of_pairs("classes", over), strict=True)
        for images, classes in of_pairs:
            method, versus = images["method"], images["versus"]
            about = {"method": method, "versus": versus, "shots": logged, "draws": None}
            pairs.setdefault((shots, order[method], order[versus]), about | images | classes)
    return [methods[key] for key in sorted(methods)], [pairs[key] for key in sorted(pairs)]


def _of_method(over: str, task_set: TaskSetReport, i: int) -> Row:
    """Return a mean and its half-widths, without p-values and verdicts."""
    intervals, n_tasks = task_set.scores[i].intervals, task_set.scored.n_tasks
    row = _values(over, intervals)
    spread = task_set.designs["images"].own(task_set.counts, n_tasks, task_set.level)
    share = float(spread.images.monte_carlo_share[i, 0])
    known = n_tasks > 1 and intervals["images"].halfwidth and not isnan(share)
    return row | {f"{over}_from_draws": share if known else None}


def _of_pairs(over: str, task_set: TaskSetReport) -> Iterator[Row]:
    """Yield the paired differences of a task set, in the order of the methods."""
    p_values = {kind: task_set.p_values(kind) for kind in KINDS if kind in task_set.kinds}
    for i in range(len(task_set.requested)):
        versus = np.flatnonzero(task_set.requested[i])
        for pair, j in zip(task_set.comparisons_of(i), versus, strict=True):
            row = _values(over, {kind: c.difference for kind, c in pair.intervals.items()})
            for kind, infix in KINDS.items():
                p = float(p_values[kind][i, j]) if kind in pair.intervals else nan
                row[f"{over}{infix}_p"] = None if isnan(p) else p
                row[f"{over}{infix}_verdict"] = VERDICT_WORDS[verdict_of(pair, kind)]
            yield {"method": pair.method, "versus": pair.versus, **row}


def _values(over: str, intervals: Mapping[IntervalKind, Interval]) -> Row:
    """Return the columns of a mean or a difference, with its half-widths."""
    row: Row = {f"{over}_mean": intervals["images"].mean}
    for kind, infix in KINDS.items():
        name, width = f"{over}{infix}", intervals[kind].halfwidth if kind in intervals else None
        row |= {f"{name}_halfwidth": width, f"{name}_p": None, f"{name}_verdict": None}
    return row | {f"{over}_from_draws": None}


def _notes(differences: list[Row], log: DrawFacts, level: float) -> Iterator[str]:
    """Say what weakens the intervals, and that verdicts are not corrected."""
    if len(differences) > 1:
        significant = [row["images_verdict"] in ("better", "worse") for row in differences]
        adjusted_p = holm(np.array([row["images_p"] for row in differences], float))
        adjusted = ""
        if any(significant):
            adjusted = f", {int((adjusted_p[significant] < 1.0 - level).sum())} by Holm"
        yield (
            f"Not corrected for multiple comparisons: {len(differences)} pairs, "
            f"{sum(significant)} significant{adjusted}."
        )
    yield from sentences(*log.warnings)


def _interval(over: str, row: Row, *, signed: bool = False) -> str:
    mean, width = row[f"{over}_mean"], row[f"{over}_halfwidth"]
    return f"{mean:{'+' if signed else ''}z.2f} ± {'?' if width is None else width_text(width)}"


def _of_classes(row: Row) -> str:
    width = row["images_new_classes_halfwidth"]
    return "n/a" if width is None else width_text(width)


def _share(row: Row) -> str:
    draws, share = row["draws"], row["images_from_draws"]
    if draws is not None and draws < 2:
        return "one draw" if draws else ""
    return "n/a" if share is None else f"{100 * min(share, 1.0):.0f} %"


def values(report: Report, log: DrawFacts) -> Table:
    """Return methods and pairs unrounded, in percentage points: for CSV and JSON."""
    results, differences = rows(report, log)
    columns = (Column(name, itemgetter(name)) for name in results[0])
    return Table("", tuple(columns), (*results, *differences))
