"""What a log of results with all classes at once shows, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan
from operator import attrgetter

import numpy as np

from analysis_sql.comparison.verdicts import adjust
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.interval_text import VERDICT_WORDS, capital, verdict_of, width_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.own_release import DrawFacts
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.task_set_report import TaskSetReport

KINDS: tuple[IntervalKind, IntervalKind] = ("images", "classes")


@dataclass(frozen=True)
class Numbers:
    """A mean with its intervals for new images and for new classes; NaN where there is none."""

    mean: float
    halfwidth: tuple[float, float]
    p: tuple[float, float] = (nan, nan)
    verdict: tuple[str, str] = ("", "")
    share: float = nan
    """Draws' share of the variance for new images."""


@dataclass(frozen=True)
class Row:
    """A method, or a difference: over all test images alike, and over classes."""

    method: str
    versus: str
    shots: int | None
    draws: int | None
    images: Numbers
    classes: Numbers


def tables(report: Report, log: DrawFacts, form: str = "table") -> list[Table]:
    """Return methods, and their paired differences where there are some.

    Those of LaTeX fit a column of a paper; neither they nor Markdown's name options.
    """
    results, differences = rows(report, log)
    drawn = any(n > 1 for own in log.draws.values() for n in own.values())
    new = any("classes" in each.kinds for each in report.sets)
    about = f"{100 * report.signature.level:g} % intervals for new test images"
    about += f"{' and draws' * drawn}{', and for new classes' * new}"
    several = len({one.shots for one in results}) > 1
    shots = [Column("shots", lambda one: one.shots)] if several else []
    both = [*results, *differences]
    same = all(_interval(one.images) == _interval(one.classes) for one in both)
    narrow = form == "latex"
    methods = Table(
        f"All classes: {log.images:,} test images, {log.classes} classes at once; {about}",
        (
            Column("method", lambda one: one.method),
            *shots,
            right("draws", lambda one: one.draws or "none"),
            right("accuracy", lambda one: _interval(one.images)),
            *([right(f"± {_CLASSES}", _of_classes)] if new else []),
            *([right("from draws", _share)] if drawn and not narrow else []),
            *([] if same or narrow else [right(MEAN, lambda one: _interval(one.classes))]),
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
        Column(called, lambda one: one.images.verdict[1]),
    ]
    pairs = Table(
        f"Paired differences, all classes: {about}",
        (
            Column("method", lambda one: one.method),
            Column("versus", lambda one: one.versus),
            *shots,
            right("difference", lambda one: _interval(one.images, signed=True)),
            Column("images" if narrow and new else "verdict", lambda one: one.images.verdict[0]),
            *(new_classes if new else []),
            *(
                []
                if same or narrow
                else [right(MEAN, lambda one: _interval(one.classes, signed=True))]
            ),
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
    told = any(each.scored.name.protocol.shot for each in report.sets)
    methods: dict[tuple[int, int], Row] = {}
    pairs: dict[tuple[int, int, int], Row] = {}
    for each in report.sets:
        shots, both = each.scored.name.protocol.shot, (each, each.over_classes or each)
        logged = shots if told else None
        for i, name in enumerate(each.methods):
            if (key := (shots, order[name])) not in methods:
                own = [_of_method(one, i) for one in both]
                methods[key] = Row(name, "", logged, log.draws[name][shots], *own)
        for images, classes in zip(*(_of_pairs(one) for one in both), strict=True):
            (one, other), *own = images[0], images[1], classes[1]
            pairs.setdefault((shots, order[one], order[other]), Row(one, other, logged, None, *own))
    return [methods[key] for key in sorted(methods)], [pairs[key] for key in sorted(pairs)]


def _of_method(each: TaskSetReport, i: int) -> Numbers:
    own, tasks = each.scores[i].intervals, each.scored.n_tasks
    widths = [_width(own[kind].halfwidth if kind in own else None) for kind in KINDS]
    found = each.designs["images"].pairs(each.counts, each.level).own("images", tasks)
    share = float(found.images.monte_carlo_share[i, 0]) if tasks > 1 and widths[0] > 0 else nan
    return Numbers(own["images"].mean, (widths[0], widths[1]), share=share)


def _of_pairs(each: TaskSetReport) -> Iterator[tuple[tuple[str, str], Numbers]]:
    p = {kind: each.p_values(kind) for kind in KINDS if kind in each.kinds}
    for i in range(len(each.asked)):
        for pair, j in zip(each.comparisons_of(i), np.flatnonzero(each.asked[i]), strict=True):
            there = [kind if kind in pair.intervals else None for kind in KINDS]
            widths = [_width(pair.intervals[k].difference.halfwidth if k else None) for k in there]
            of_pair = [float(p[kind][i, j]) if kind else nan for kind in there]
            verdicts = [VERDICT_WORDS[verdict_of(pair, kind)] for kind in KINDS]
            mean = pair.intervals["images"].difference.mean
            both = (widths[0], widths[1]), (of_pair[0], of_pair[1]), (verdicts[0], verdicts[1])
            yield (each.methods[i], each.methods[j]), Numbers(mean, *both)


def _width(halfwidth: float | None) -> float:
    return nan if halfwidth is None else halfwidth


def _notes(differences: list[Row], log: DrawFacts, level: float) -> Iterator[str]:
    """Say what weakens the intervals, and that verdicts are not corrected."""
    if len(differences) > 1:
        apart = [one.images.verdict[0] in ("better", "worse") for one in differences]
        p = adjust(np.array([one.images.p[0] for one in differences]), "holm").p
        holm = f", {int((p[apart] < 1.0 - level).sum())} by Holm" if any(apart) else ""
        yield (
            f"Not corrected for multiple comparisons: {len(differences)} pairs, "
            f"{sum(apart)} significant{holm}."
        )
    yield from (f"{capital(text)}." for text in log.warnings)


def _interval(one: Numbers, *, signed: bool = False) -> str:
    mean, width = f"{one.mean:+.2f}" if signed else f"{one.mean:.2f}", one.halfwidth[0]
    return f"{mean} ± {'?' if isnan(width) else width_text(width)}"


def _of_classes(one: Row) -> str:
    width = one.images.halfwidth[1]
    return "n/a" if isnan(width) else width_text(width)


def _share(one: Row) -> str:
    if one.draws is not None and one.draws < 2:
        return "one draw" if one.draws else ""
    return "n/a" if isnan(one.images.share) else f"{100 * min(one.images.share, 1.0):.0f} %"


def values(report: Report, log: DrawFacts) -> Table:
    """Return methods and pairs unrounded, in percentage points: for CSV and JSON."""
    columns = [Column(name, attrgetter(name)) for name in ("method", "versus", "shots", "draws")]
    for kind in KINDS:
        columns.append(Column(f"{kind}_mean", attrgetter(f"{kind}.mean")))
        columns += [
            Column(f"{kind}{of}_{name}", partial(_value, kind, name, number))
            for number, of in enumerate(("", "_new_classes"))
            for name in ("halfwidth", "p", "verdict")
        ]
        columns.append(Column(f"{kind}_from_draws", partial(_value, kind, "share", None)))
    results, differences = rows(report, log)
    return Table("", tuple(columns), (*results, *differences))


def _value(kind: str, name: str, number: int | None, one: Row) -> object:
    found = getattr(getattr(one, kind), name)
    found = found if number is None else found[number]
    return None if found == "" or found != found else found
