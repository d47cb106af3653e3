"""What a table of a paper holds: accuracies or differences on task sets, as plain values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.intervals.intervals import Interval
from analysis_sql.ranking.told_apart import told_apart
from benchmark_spec.suites import IntervalKind
from fslbench_data.scoring.paper_choice import (
    About,
    Asked,
    PaperRow,
    chosen_sets,
    headings,
    rows_of,
)
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.signature import ScoredSet, Signature
from fslbench_data.scoring.task_set_report import TaskSetReport


@dataclass(frozen=True)
class PaperCell:
    """A method's accuracy on a task set, or a difference of two methods there.

    Attributes
    ----------
    interval
        Mean and half-width, of the kind that is asked for.
    strong
        Of accuracies, whether the mean is the highest; of differences, whether it is shown.
    not_told_apart
        From the highest mean, which no difference and not that mean itself is; None where nothing
        is said: not all tasks are answered, or a rule to stop chose how many.
    verdict
        Of a difference.
    stopped, first_tasks, unbound
        Whether a run had a rule to stop; whether only the first tasks are answered; whether
        results do not say which tasks they were made on.
    """

    interval: Interval
    strong: bool = False
    not_told_apart: bool | None = None
    verdict: Verdict | None = None
    stopped: bool = False
    first_tasks: bool = False
    unbound: bool = False


@dataclass(frozen=True)
class PaperColumn:
    """A task set.

    Attributes
    ----------
    heading
        As short as it can be: ``5-shot``, or the protocol, or the whole name.
    kind
        Of the intervals.
    pairs
        Of methods, among which the highest mean is compared; 0 where it is with none.
    cells
        By row; None where a method has no results.
    """

    scored: ScoredSet
    heading: str
    kind: IntervalKind
    pairs: int
    cells: tuple[PaperCell | None, ...]


@dataclass(frozen=True)
class PaperContent:
    """Rows and columns of a table for a paper.

    Attributes
    ----------
    signature
        Of these task sets alone.
    transductive
        Methods that say that they use a task's queries together.
    left_out
        Answered task sets that are not columns, as ``dataset/task_set``.
    of_one_model
        Methods of which one trained model was run, and which may differ from run to run.
    """

    about: About
    signature: Signature
    rows: tuple[PaperRow, ...]
    columns: tuple[PaperColumn, ...]
    transductive: frozenset[str]
    left_out: tuple[str, ...]
    of_one_model: tuple[str, ...]


def paper_content(report: Report, asked: Asked) -> PaperContent:
    """Choose the rows and columns of a report that a paper shows, and fill them in.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such method or suite, nothing to compare, or no interval of that kind.
    """
    chosen = chosen_sets(report, asked)
    sets = [each for each, _ in chosen]
    rows = rows_of(sets, asked)
    names = [str(each.scored) for each in sets]
    unbound = [text for text in report.signature.unbound if text.partition(" on ")[2] in names]
    columns = []
    for (each, kind), heading in zip(chosen, headings([s.scored for s in sets]), strict=True):
        fill = _differences if asked.against else _accuracies
        cells, pairs = fill(each, kind, rows, frozenset(unbound))
        columns.append(PaperColumn(each.scored, heading, kind, pairs, cells))
    scored = tuple(each.scored for each in sets)
    shown = {name for row in rows for name in (row.method, row.versus)}
    return PaperContent(
        asked.about,
        replace(report.signature, sets=scored, unbound=tuple(unbound)),
        tuple(rows),
        tuple(columns),
        frozenset(s.method for s in report.scores if s.transductive and s.method in shown),
        tuple(str(each.scored) for each in report.sets if each.scored not in scored),
        tuple(
            dict.fromkeys(s.method for s in report.scores if s.of_one_model and s.method in shown)
        ),
    )


def _accuracies(
    each: TaskSetReport, kind: IntervalKind, rows: Sequence[PaperRow], unbound: Collection[str]
) -> tuple[tuple[PaperCell | None, ...], int]:
    """Cells of methods, and of how many pairs who is told from the best."""
    there = {name: i for i, name in enumerate(each.methods)}
    positions = {row.method: there[row.method] for row in rows if row.method in there}
    whole = each.counts.tasks == each.scored.n_tasks
    judged = [i for i in positions.values() if each.scores[i].ordinary and whole[i]]
    standing: dict[int, bool] = {}
    highest, pairs = np.inf, 0
    if len(judged) > 1:
        means = [each.scores[i].accuracy.mean for i in judged]
        highest, best = max(means), int(np.argmax(means))
        counts, design = each.counts.some(judged), each.designs.get(kind)
        told = told_apart(counts, kind, each.level, design, only=best)
        pairs = told.family
        standing = dict(zip(judged, (~told.of(best)).tolist(), strict=True))
    cells: list[PaperCell | None] = []
    for row in rows:
        if row.method not in positions:
            cells.append(None)
            continue
        i = positions[row.method]
        score = each.scores[i]
        strong = i in standing and score.accuracy.mean > highest - 1e-9
        cells.append(
            PaperCell(
                score.intervals[kind],
                strong,
                False if strong else standing.get(i),
                stopped=score.stopped is not None,
                first_tasks=not whole[i],
                unbound=f"{row.method} on {each.scored}" in unbound,
            )
        )
    return tuple(cells), pairs


def _differences(
    each: TaskSetReport, kind: IntervalKind, rows: Sequence[PaperRow], unbound: Collection[str]
) -> tuple[tuple[PaperCell | None, ...], int]:
    """Cells of differences; each stands alone."""
    cells: list[PaperCell | None] = []
    for row in rows:
        names = row.method, row.versus
        if not {*names} <= {*each.methods}:
            cells.append(None)
            continue
        (comparison,) = each.only(names).comparisons
        # of a run that had a rule to stop, there is only what follows from the rule
        pair = comparison.intervals.get(kind, comparison.intervals[comparison.interval_kind])
        scores = [each.scores[each.methods.index(name)] for name in names]
        cells.append(
            PaperCell(
                pair.difference,
                pair.verdict in (Verdict.BETTER, Verdict.WORSE),
                verdict=pair.verdict,
                stopped=any(score.stopped is not None for score in scores),
                first_tasks=pair.difference.tasks < each.scored.n_tasks,
                unbound=any(f"{name} on {each.scored}" in unbound for name in names),
            )
        )
    return tuple(cells), 0
