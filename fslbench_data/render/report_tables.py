"""The tables of a report, and what stands below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial as bound
from operator import itemgetter

import numpy as np

from analysis_sql.comparison.ties import VerdictCounts
from analysis_sql.comparison.verdicts import Comparison, Verdict
from analysis_sql.interval_kinds import BESIDE
from analysis_sql.intervals.intervals import INDEPENDENT_TASKS
from analysis_sql.ranking.evidence import FEW_TASKS
from fslbench_data.render.interval_text import (
    STOPPED_NOTE,
    TRANSDUCTIVE_NOTE,
    VERDICT_STYLES,
    difference_text,
    labels,
    missing_text,
    plus_minus,
    set_title,
    verdict_of,
    with_bracket,
)
from fslbench_data.render.limits_text import near_perfect_text, unseen_text
from fslbench_data.render.sentences import prefix_text, stopped_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.report import Report, counts_where_reused, verdict_counts
from fslbench_data.scoring.scores import PREFIX, Score
from fslbench_data.scoring.task_set_report import TaskSetReport

LEGEND = (
    "+ better, - worse, 0 not told apart, = identical, ? not estimable; each verdict stands alone, "
    "uncorrected for their number. paired: 0 lies outside the interval of the difference. "
    "direct: the two methods' own intervals do not overlap."
)
UNBOUND_NOTE = (
    "unbound: these results do not say which tasks they were made on; everything here rests on "
    "the word of whoever made them."
)
LEGEND_CLOSED = " closed: the same on tasks that reuse images, the field's habit."


def report_tables(report: Report) -> list[Table]:
    """Return one table a task set: its comparisons, or its accuracies where nothing is compared."""
    return [_report_table(each, unbound=bool(report.signature.unbound)) for each in report.sets]


def _report_table(each: TaskSetReport, *, unbound: bool) -> Table:
    columns = score_columns(each)
    if compared := bool(each.asked.any()):
        partial = (np.asarray(each.pairs.tasks)[each.asked] != each.scored.n_tasks).any()
        columns = comparison_columns(each, partial=bool(partial))
    return Table(
        f"{each.scored}: {set_title(each.scored, each.units, each.level, each.shown_kinds)})",
        tuple(columns),
        [c.shown for c in each.comparisons] if compared else each.scores,
        (*_marks(each), *((UNBOUND_NOTE,) if unbound else ())),
    )


def report_notes(report: Report) -> list[str]:
    """What the columns mean, and the marks."""
    transductive = any(score.transductive for score in report.scores)
    few = any(
        each.interval_kind == "open" and each.scored.n_tasks < FEW_TASKS for each in report.sets
    )
    return [
        *([UNBOUND_NOTE] if report.signature.unbound else []),
        *legend(report),
        *([f"sign-flip test: {INDEPENDENT_TASKS}."] if few else []),
        *([TRANSDUCTIVE_NOTE] if transductive else []),
        *([STOPPED_NOTE] if any(score.stopped for score in report.scores) else []),
    ]


def legend(report: Report) -> list[str]:
    """What the columns of comparisons mean; nothing where there are none."""
    if not any(each.asked.any() for each in report.sets):
        return []
    closed = any(each.has_closed for each in report.sets)
    beside = dict.fromkeys(kind for each in report.sets for kind in each.shown_kinds)
    legends = [f" {BESIDE[k].about}: {BESIDE[k].legend}" for k in beside if k in BESIDE]
    return [LEGEND + "".join(legends) + (LEGEND_CLOSED if closed else "")]


def comparison_columns(
    each: TaskSetReport, *, partial: bool, both: bool = False
) -> Iterator[Column]:
    """Give the columns of comparisons.

    Parameters
    ----------
    partial
        Whether T is another than that of the task set somewhere, and so has a column.
    both
        Whether the other method's accuracy is shown too.
    """
    label = labels(each.scores)

    def of_method(c: Comparison) -> object:
        return c.method, c.mean

    yield Column("method", lambda c: label[c.method], once=of_method)
    yield Column("accuracy", lambda c: plus_minus(c.mean), "right", once=of_method)
    yield Column("versus", lambda c: label[c.versus])
    if both:
        yield right("accuracy", lambda c: plus_minus(c.versus_mean))
    yield right("difference", difference_text)
    if partial:
        yield Column("T", lambda c: c.difference.tasks, "right")
    first, *beside = each.shown_kinds
    paired = BESIDE[first].about if first in BESIDE else "paired"
    yield Column(paired, lambda c: c.verdict, "center", style=_style)
    for kind in beside:
        about = BESIDE[kind].about
        yield Column(about, bound(verdict_of, kind=kind), "center", style=_style)
    yield Column("direct", lambda c: c.verdict_direct, "center")
    if each.has_closed or each.leaves_out:
        yield Column("closed", lambda c: c.verdict_closed, "center")


def _style(verdict: Verdict) -> str:
    return f"bold {VERDICT_STYLES.get(verdict, '')}"


def score_columns(each: TaskSetReport, *, of_all: bool = False) -> Iterator[Column]:
    """Give the columns of accuracies; T as ``20 of 20`` if `of_all`."""
    label = labels(each.scores)
    yield Column("method", lambda score: label[score.method])
    yield right("accuracy", lambda score: with_bracket(score.intervals, each.shown_kinds))
    total = f" of {each.scored.n_tasks}" if of_all else ""
    yield right("T", lambda score: f"{score.accuracy.tasks}{total}")


def runs_text(scores: Sequence[Score]) -> str:
    """One line on the methods that were run several times; empty if there are none."""
    return "; ".join(
        f"{s.method}: {s.runs} runs, standard deviation between them {s.run_spread:.2f}"
        for s in scores
        if s.run_spread is not None
    )


def _marks(each: TaskSetReport) -> tuple[str, ...]:
    """What a reader of this one table must know: runs, and the mark of transductive methods."""
    runs = runs_text(each.scores)
    marked = any(score.transductive for score in each.scores)
    stopped = stopped_text(each.scores)
    aware = each.design if each.asked.any() else None
    return (
        *near_perfect_text(each.scores),
        *missing_text(each.units),
        *((unseen_text(aware.classes, each.level),) if aware is not None else ()),
        *((f"{runs}.",) if runs else ()),
        *((TRANSDUCTIVE_NOTE,) if marked else ()),
        *stopped,
        *((STOPPED_NOTE,) if stopped else ()),
        *prefix_text(each.scores, each.scored.n_tasks),
    )


KINDS = ("paired", *(beside.heading for beside in BESIDE.values()), "direct", "closed")
NOTE = (
    "paired: 0 lies outside the interval of the difference, for new images of these classes. new "
    "classes: outside the class-aware one, or, where tasks reuse images, outside the one that "
    "leaves classes out.{superclasses} direct: two separate intervals do not overlap. closed: the "
    "field's habit, on tasks that reuse images. kept: claimed, and also for everything new that "
    "there is an interval for.{missing}"
)
NOTE_SUPERCLASSES = (
    " new superclasses: as new classes, with the superclasses as a sample too, of which it takes "
    "six; new classes are then new ones of these superclasses."
)
NO_INTERVAL = "–"
NOTE_MISSING = f" {NO_INTERVAL}: no such interval."
NOTHING = "No comparisons on new images: methods alone are not counted."


def conclusive_table(report: Report) -> Table:
    """Return one row a task set that says something of new images, and one of each kind of set."""
    told = [each for each in report.sets if each.interval_kind == "open" or each.leaves_out]
    sets = [each for each in told if each.counted.any()]
    groups = [[each for each in sets if each.leaves_out is reuses] for reuses in (False, True)]
    counts = [_counts(group) for group in groups if group]
    kinds = [kind for kind in KINDS if any(kind in some for some in counts)]
    rows: list[tuple[object, ...]] = []
    for group, name in zip(groups, ("all", "all that reuse images"), strict=True):
        rows += [(str(each.scored), _tasks(each), *_numbers([each], kinds)) for each in group]
        if len(group) > 1:
            rows.append((name, None, *_numbers(group, kinds)))
    stopped = any(score.stopped for each in sets for score in each.scores)
    left = sum(int((each.asked & ~each.counted).sum()) for each in told)
    numbers = enumerate(("comparisons", *kinds, "kept"), 2)
    return Table(
        title=f"Conclusive comparisons, {100 * report.signature.level:.8g} % intervals",
        columns=(
            Column("task set", itemgetter(0)),
            right("T", itemgetter(1)),
            *(right(name, itemgetter(i), NO_INTERVAL) for i, name in numbers),
        ),
        rows=rows,
        notes=(
            _note(kinds, rows) if rows else NOTHING,
            *([STOPPED_NOTE] if stopped else []),
            *([f"Not counted, {PREFIX}: {left}."] if left else []),
        ),
    )


def _note(kinds: Sequence[str], rows: Sequence[tuple[object, ...]]) -> str:
    """Say what the columns mean: of superclasses and missing intervals only where there are any."""
    asked = (BESIDE[kind].heading for kind in ("superclass-aware", "superclasses"))
    superclasses = any(heading in kinds for heading in asked)
    missing = any(cell is None for row in rows for cell in row[2:])
    return NOTE.format(
        superclasses=NOTE_SUPERCLASSES if superclasses else "",
        missing=NOTE_MISSING if missing else "",
    )


def _tasks(each: TaskSetReport) -> int | str:
    """Return T of the comparisons, or the least and the most."""
    low, high = each.counted_tasks[0], each.counted_tasks[-1]
    return low if low == high else f"{low}-{high}"


def _counts(sets: Sequence[TaskSetReport]) -> dict[str, VerdictCounts]:
    return counts_where_reused(sets) if sets[0].leaves_out else verdict_counts(sets)


def _numbers(sets: list[TaskSetReport], kinds: list[str]) -> list[int | None]:
    """Count comparisons, conclusive ones and those kept; all sets reuse images, or none does."""
    counts = _counts(sets)
    conclusive = [counts[kind].conclusive if kind in counts else None for kind in kinds]
    kept = None
    if any(beside.heading in counts for beside in BESIDE.values()):
        kept = sum(
            c.verdict in (Verdict.BETTER, Verdict.WORSE)
            and all(verdict_of(c, kind) is c.verdict for kind in each.kinds)
            for each in sets
            for c in each.counted_comparisons
        )
    return [sum(int(each.counted.sum()) for each in sets), *conclusive, kept]
