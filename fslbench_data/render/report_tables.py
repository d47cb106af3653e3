"""The tables of a report, and what stands below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial as bound
from types import MappingProxyType

import numpy as np

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
    one_model_text,
    plus_minus,
    set_title,
    verdict_of,
    with_bracket,
)
from fslbench_data.render.limits_text import near_perfect_text, unseen_text
from fslbench_data.render.sentences import prefix_text, stopped_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score
from fslbench_data.scoring.task_set_report import TaskSetReport

LEGEND = (
    "+ better, - worse, 0 not told apart, = identical, ? not estimable; each verdict stands alone, "
    "uncorrected for their number."
)
LEGEND_IMAGES = " new images: 0 lies outside the interval of the difference."
LEGEND_THESE = (
    " these images: 0 lies outside the closed interval of the difference, which speaks of other "
    "tasks of the very same images."
)
LEGEND_BARS = " error bars: the two methods' own intervals do not overlap."
CARRIED: Mapping[str, str] = MappingProxyType({"open": "new images", "closed": "these images"})
"""What the verdicts hold for that rest on the interval which a task set carries."""
UNBOUND_NOTE = (
    "unbound: these results do not say which tasks they were made on; everything here rests on "
    "the word of whoever made them."
)
LEGEND_CLOSED = " closed error bars: the same on tasks that reuse images, the field's habit."


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
    kinds = dict.fromkeys(kind for each in report.sets for kind in each.shown_kinds)
    reused = any(each.interval_kind == "closed" for each in report.sets)
    return [
        LEGEND
        + (LEGEND_IMAGES if "open" in kinds else "")
        + "".join(f" {BESIDE[k].about}: {BESIDE[k].legend}" for k in kinds if k in BESIDE)
        + (LEGEND_THESE if reused else "")
        + LEGEND_BARS
        + (LEGEND_CLOSED if any(map(_closed_beside, report.sets)) else "")
    ]


def _closed_beside(each: TaskSetReport) -> bool:
    """Whether closed intervals of another set stand beside a set that shares no image."""
    return each.interval_kind != "closed" and each.has_closed


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
    about = BESIDE[first].about if first in BESIDE else CARRIED[first]
    yield Column(about, bound(verdict_of, kind=first), "center", style=_style)
    for kind in beside:
        about = BESIDE[kind].about
        yield Column(about, bound(verdict_of, kind=kind), "center", style=_style)
    yield Column("error bars", lambda c: c.verdict_direct, "center")
    if each.leaves_out:
        yield Column(CARRIED["closed"], _of_these_images, "center")
    elif _closed_beside(each):
        yield Column("closed error bars", lambda c: c.verdict_closed, "center")


def _of_these_images(comparison: Comparison) -> Verdict | None:
    """Return the verdict for the images of a set that reuses them; a rule to stop is of that."""
    of_rule = comparison.interval_kind == "closed"
    return comparison.verdict if of_rule else comparison.verdict_closed


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
        f"{s.method}: {s.runs} runs, standard deviation between them {s.run_spread:.2f}, counted "
        "in intervals and verdicts"
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
        *(
            (f"{one}.",)
            if (one := one_model_text([s.method for s in each.scores if s.of_one_model]))
            else ()
        ),
        *((TRANSDUCTIVE_NOTE,) if marked else ()),
        *stopped,
        *((STOPPED_NOTE,) if stopped else ()),
        *prefix_text(each.scores, each.scored.n_tasks),
    )
