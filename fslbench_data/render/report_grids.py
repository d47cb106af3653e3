"""Reports as grids, for Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.interval_kinds import BESIDE, ESTIMANDS
from analysis_sql.intervals.intervals import INDEPENDENT_TASKS
from analysis_sql.ranking.evidence import FEW_TASKS
from fslbench_data.render.grid import Grid
from fslbench_data.render.interval_text import (
    STOPPED_NOTE,
    TRANSDUCTIVE_NOTE,
    difference_text,
    in_brackets,
    labels,
    plus_minus,
    verdict_of,
    with_bracket,
)
from fslbench_data.render.limits_text import near_perfect_text, unseen_text
from fslbench_data.render.sentences import prefix_text, stopped_text
from fslbench_data.scoring.report import Report, verdict_counts
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


def report_grids(report: Report) -> list[Grid]:
    """One grid a task set: its comparisons, or its accuracies where nothing is compared."""
    grids = [_comparisons(each) if each.asked.any() else _scores(each) for each in report.sets]
    if not report.signature.unbound:
        return grids
    return [replace(grid, notes=(*grid.notes, UNBOUND_NOTE)) for grid in grids]


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
    beside = dict.fromkeys(kind for each in report.sets for kind in each.kinds[1:])
    legends = [f" {BESIDE[kind].about}: {BESIDE[kind].legend}" for kind in beside]
    return [LEGEND + "".join(legends) + (LEGEND_CLOSED if closed else "")]


def _title(each: TaskSetReport) -> str:
    return (
        f"{each.scored}: {each.scored.n_tasks} tasks, {100 * each.level:.8g} % "
        f"{each.interval_kind} intervals ({ESTIMANDS[each.interval_kind]}{in_brackets(each.kinds)})"
    )


def _comparisons(each: TaskSetReport) -> Grid:
    label = labels(each.scores)
    tasks = np.asarray(each.pairs.tasks)[each.asked]
    partial = bool((tasks != each.scored.n_tasks).any())  # else T stands in the title
    columns = ["method", "accuracy", "versus", "difference", *(["T"] if partial else [])]
    columns += ["paired", *(BESIDE[kind].about for kind in each.kinds[1:]), "direct"]
    columns += ["closed"] if each.has_closed else []
    rows = []
    for c in each.comparisons:
        closed = c.verdict_closed.value if c.verdict_closed is not None else ""
        rows.append(
            (
                label[c.method],
                plus_minus(c.mean),
                label[c.versus],
                difference_text(c),
                *((str(c.difference.tasks),) if partial else ()),
                c.verdict.value,
                *(verdict_of(c, kind).value for kind in each.kinds[1:]),
                c.verdict_direct.value,
                *((closed,) if each.has_closed else ()),
            )
        )
    right = frozenset({"accuracy", "difference", "T"})
    return Grid(_title(each), tuple(columns), right, tuple(rows), _marks(each))


def _scores(each: TaskSetReport) -> Grid:
    label = labels(each.scores)
    rows = tuple(
        (label[s.method], with_bracket(s.intervals), str(s.accuracy.tasks)) for s in each.scores
    )
    columns = ("method", "accuracy", "T")
    return Grid(_title(each), columns, frozenset({"accuracy", "T"}), rows, _marks(each))


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
        *((unseen_text(aware.classes, each.level),) if aware is not None else ()),
        *((f"{runs}.",) if runs else ()),
        *((TRANSDUCTIVE_NOTE,) if marked else ()),
        *stopped,
        *((STOPPED_NOTE,) if stopped else ()),
        *prefix_text(each.scores, each.scored.n_tasks),
    )


KINDS = ("paired", *(beside.about for beside in BESIDE.values()), "direct", "closed")
NOTE = (
    "paired: 0 lies outside the interval of the difference, for new images "
    "of these classes. new classes: outside the class-aware one. direct: two separate intervals do "
    "not overlap. closed: these on tasks that reuse images. kept: paired and also for new classes."
)


NOTHING = "No comparisons on new images: closed sets, and methods alone, are not counted."


def conclusive_grid(report: Report) -> Grid:
    """One row a task set that reuses no image, and one of all together."""
    sets = [each for each in report.sets if each.interval_kind == "open" and each.counted.any()]
    kinds = [kind for kind in KINDS if kind != "closed" or any(each.has_closed for each in sets)]
    rows = [(str(each.scored), _tasks(each), *_cells([each], kinds)) for each in sets]
    if len(sets) > 1:
        rows.append(("all", "", *_cells(sets, kinds)))
    columns = ("T", "comparisons", *kinds, "kept")
    stopped = any(score.stopped for each in sets for score in each.scores)
    left = sum(int((e.asked & ~e.counted).sum()) for e in report.sets if e.interval_kind == "open")
    return Grid(
        title=f"Conclusive comparisons, {100 * report.signature.level:.8g} % intervals",
        columns=("task set", *columns),
        right=frozenset(columns),
        rows=tuple(rows),
        notes=(
            *((NOTE,) if rows else (NOTHING,)),
            *([STOPPED_NOTE] if stopped else []),
            *([f"Not counted, {PREFIX}: {left}."] if left else []),
        ),
    )


def _tasks(each: TaskSetReport) -> str:
    """T of the comparisons, or the least and the most."""
    low, high = each.counted_tasks[0], each.counted_tasks[-1]
    return str(low) if low == high else f"{low}-{high}"


def _cells(sets: list[TaskSetReport], kinds: list[str]) -> list[str]:
    counts = verdict_counts(sets)
    shown = [str(counts[kind].conclusive) if kind in counts else "" for kind in kinds]
    kept = ""
    if any(beside.about in counts for beside in BESIDE.values()):
        conclusive = (Verdict.BETTER, Verdict.WORSE)
        kept = str(
            sum(
                c.verdict in conclusive and all(verdict_of(c, k) is c.verdict for k in each.kinds)
                for each in sets
                for c in each.counted_comparisons
            )
        )
    return [str(sum(int(each.counted.sum()) for each in sets)), *shown, kept]
