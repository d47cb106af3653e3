"""What a log of results with all classes at once shows, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isnan, nan
from operator import itemgetter
from typing import Any

import numpy as np
from msgspec.structs import replace

from analysis_sql.comparison.verdicts import holm
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.interval_text import VERDICT_WORDS, capital, verdict_of, width_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.own_release import DrawFacts
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.task_set_report import TaskSetReport

KINDS: dict[IntervalKind, str] = {"images": "", "classes": "_new_classes"}
"""Kinds of intervals, and what names of columns have for them."""


Row = dict[str, Any]
"""A method, or a difference, by CSV's columns: over all test images alike, and over classes."""


def tables(report: Report, log: DrawFacts, form: str = "table") -> list[Table]:
    """Return methods, and their paired differences where there are some.

    Those of LaTeX fit a column of a paper; neither they nor Markdown's name options.
    """
    results, differences = rows(report, log)
    drawn = any(n > 1 for own in log.draws.values() for n in own.values())
    new = any("classes" in each.kinds for each in report.sets)
    about = f"{100 * report.signature.level:g} % intervals for new test images"
    about += f"{' and draws' * drawn}{', and for new classes' * new}"
    several = len({one["shots"] for one in results}) > 1
    shots = [Column("shots", itemgetter("shots"))] if several else []
    both = [*results, *differences]
    same = all(_interval("images", one) == _interval("classes", one) for one in both)
    narrow = form == "latex"
    methods = Table(
        f"All classes: {log.images:,} test images, {log.classes} classes at once; {about}",
        (
            Column("method", itemgetter("method")),
            *shots,
            right("draws", lambda one: one["draws"] or "none"),
            right("accuracy", partial(_interval, "images")),
            *([right(f"± {_CLASSES}", _of_classes)] if new else []),
            *([right("from draws", _share)] if drawn and not narrow else []),
            *([] if same or narrow else [right(MEAN, partial(_interval, "classes"))]),
        ),
        results,
        (f"{_SAME if same else _ALIKE}{_FROM if drawn and not narrow else ''}",),
    )
    below = [*_notes(differences, log, report.signature.level)]
    if not new:
        below.append(_NEW if log.classes > 2 else _FEW)
    if drawn:
        many = _MANY if form != "table" else f"{_MANY}{_GIVE}"
        below.insert(0, _POOL.format(log.pool) if log.pool else f"{many}.")
    if not differences:
        return [replace(methods, notes=(*methods.notes, *below))]
    called = "classes" if narrow else _CLASSES
    new_classes = [
        right(f"± {called}", _of_classes),
        Column(called, itemgetter("images_new_classes_verdict")),
    ]
    pairs = Table(
        f"Paired differences, all classes: {about}",
        (
            Column("method", itemgetter("method")),
            Column("versus", itemgetter("versus")),
            *shots,
            right("difference", partial(_interval, "images", signed=True)),
            Column("images" if narrow and new else "verdict", itemgetter("images_verdict")),
            *(new_classes if new else []),
            *([] if same or narrow else [right(MEAN, partial(_interval, "classes", signed=True))]),
        ),
        differences,
        tuple(below),
    )
    return [methods, pairs]


MEAN = "mean over classes"
_CLASSES = "new classes"
_ALIKE = "Accuracy: all test images alike, as papers print it. Percentage points."
_SAME = "Accuracy, which is the mean over classes here, too. Percentage points."
_FROM = " From draws: draws' share of the variance."
_NEW = "Nothing is said about new classes: that needs a column `second`, the second-best class."
_FEW = "Nothing is said about new classes: that needs three classes."
_POOL = "Draws of the support take their images from {} of a class."
_MANY = "Draws of the support are taken to be from many images"
_GIVE = "; if a class has N to train on, --pool N (pool=N) makes ± wider"


def rows(report: Report, log: DrawFacts) -> tuple[list[Row], list[Row]]:
    """Return methods at every number of shots, each once, and the pairs that are compared."""
    order = {name: number for number, name in enumerate(log.draws)}
    shots_known = any(each.scored.protocol.shot for each in report.sets)
    methods: dict[tuple[int, int], Row] = {}
    pairs: dict[tuple[int, int, int], Row] = {}
    for each in report.sets:
        shots, over = each.scored.protocol.shot, each.over_classes or each
        logged = shots if shots_known else None
        for i, name in enumerate(each.methods):
            if (key := (shots, order[name])) not in methods:
                draws = log.draws[name][shots]
                about = {"method": name, "versus": "", "shots": logged, "draws": draws}
                own = _of_method("images", each, i) | _of_method("classes", over, i)
                methods[key] = about | own
        both = (_of_pairs("images", each), _of_pairs("classes", over))
        for images, classes in zip(*both, strict=True):
            one, other = images["method"], images["versus"]
            about = {"method": one, "versus": other, "shots": logged, "draws": None}
            pairs.setdefault((shots, order[one], order[other]), about | images | classes)
    return [methods[key] for key in sorted(methods)], [pairs[key] for key in sorted(pairs)]


def _of_method(over: str, each: TaskSetReport, i: int) -> Row:
    """Return a mean and its half-widths; no p-value, and no verdict."""
    own, tasks = each.scores[i].intervals, each.scored.n_tasks
    row: Row = {f"{over}_mean": own["images"].mean}
    for kind, of in KINDS.items():
        width = own[kind].halfwidth if kind in own else None
        row |= {f"{over}{of}_halfwidth": width, f"{over}{of}_p": None, f"{over}{of}_verdict": None}
    found = each.designs["images"].own(each.counts, tasks, each.level)
    share = float(found.images.monte_carlo_share[i, 0])
    known = tasks > 1 and own["images"].halfwidth and not isnan(share)
    return row | {f"{over}_from_draws": share if known else None}


def _of_pairs(over: str, each: TaskSetReport) -> Iterator[Row]:
    p = {kind: each.p_values(kind) for kind in KINDS if kind in each.kinds}
    for i in range(len(each.requested)):
        for pair, j in zip(each.comparisons_of(i), np.flatnonzero(each.requested[i]), strict=True):
            row: Row = {"method": each.methods[i], "versus": each.methods[j]}
            row[f"{over}_mean"] = pair.intervals["images"].difference.mean
            for kind, of in KINDS.items():
                found = pair.intervals.get(kind)
                of_pair = nan if found is None else float(p[kind][i, j])
                row |= {
                    f"{over}{of}_halfwidth": None if found is None else found.difference.halfwidth,
                    f"{over}{of}_p": None if isnan(of_pair) else of_pair,
                    f"{over}{of}_verdict": VERDICT_WORDS[verdict_of(pair, kind)],
                }
            yield row | {f"{over}_from_draws": None}


def _notes(differences: list[Row], log: DrawFacts, level: float) -> Iterator[str]:
    """Say what weakens the intervals, and that verdicts are not corrected."""
    if len(differences) > 1:
        differ = [one["images_verdict"] in ("better", "worse") for one in differences]
        p = holm(np.array([one["images_p"] for one in differences], float))
        adjusted = f", {int((p[differ] < 1.0 - level).sum())} by Holm" if any(differ) else ""
        yield (
            f"Not corrected for multiple comparisons: {len(differences)} pairs, "
            f"{sum(differ)} significant{adjusted}."
        )
    yield from (f"{capital(text)}." for text in log.warnings)


def _interval(over: str, one: Row, *, signed: bool = False) -> str:
    mean, width = one[f"{over}_mean"], one[f"{over}_halfwidth"]
    return f"{mean:{'+' if signed else ''}z.2f} ± {'?' if width is None else width_text(width)}"


def _of_classes(one: Row) -> str:
    width = one["images_new_classes_halfwidth"]
    return "n/a" if width is None else width_text(width)


def _share(one: Row) -> str:
    draws, share = one["draws"], one["images_from_draws"]
    if draws is not None and draws < 2:
        return "one draw" if draws else ""
    return "n/a" if share is None else f"{100 * min(share, 1.0):.0f} %"


def values(report: Report, log: DrawFacts) -> Table:
    """Return methods and pairs unrounded, in percentage points: for CSV and JSON."""
    results, differences = rows(report, log)
    columns = (Column(name, itemgetter(name)) for name in results[0])
    return Table("", tuple(columns), (*results, *differences))
