"""Counts of the comparisons that each kind of interval calls conclusive, by task set."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np
from msgspec.structs import replace

from analysis_sql.comparisons import BETTER, WORSE
from analysis_sql.interval_kinds import ADDITIONAL_KINDS
from fslbench_data.render.interval_text import CLAIMS, KIND_NAMES, STOPPED_NOTE, percent
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.report import HEADINGS, Report, counts_where_reused, verdict_counts
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.task_set_report import TaskSetReport

Row = dict[str, Any]
"""The counts of a task set, or their sums, by column."""

SET = "task set"

COUNTS_NOTE = (
    "paired, new images: 0 lies outside the interval of the difference, or, where tasks reuse "
    "images, outside the one that leaves images out. new classes: outside the class-aware one, or "
    "the one that leaves classes out; new superclasses: the same with superclasses as a sample "
    "too. direct, error bars: two separate intervals do not overlap. closed, closed error bars: "
    "the field's habit, the same of tasks that reuse images; of such tasks themselves (these "
    "images), 0 lies outside the closed interval of the difference. kept: claimed, and also for "
    "everything new that there is an interval for. turned: significant either for the same images "
    "or for new ones, and not for both; inverted: for both, in opposite directions. –: no such "
    "interval."
)


def counts_table(report: Report) -> Table:
    """Count conclusive comparisons on each task set with an interval for new images, and in sum.

    The table is for machines: each kind of interval has its own column.
    """
    rows = [row for group in _groups(report) for row in group]
    return Table(_title(report), _columns(rows), rows, _notes(report))


def counts_tables(report: Report) -> list[Table]:
    """Return the same for people: a table of sets that share no image, one of those that do."""
    tables = []
    unshared = {kind.heading: kind.about for kind in ADDITIONAL_KINDS.values()} | KIND_NAMES
    reused = unshared | {"closed": CLAIMS["closed"]}
    for rows, which, names in zip(
        _groups(report), ("share no image", "reuse images"), (unshared, reused), strict=True
    ):
        columns = tuple(replace(c, name=names.get(c.name, c.name)) for c in _columns(rows))
        rows = [row | {SET: "all"} if row["T"] is None else row for row in rows]
        if rows:
            tables.append(Table(f"{_title(report)}: tasks that {which}", columns, rows))
    tables = tables or [Table(_title(report), _columns([]), [])]
    return [*tables[:-1], replace(tables[-1], notes=_notes(report))]


def _groups(report: Report) -> list[list[Row]]:
    """Return the rows of sets that share no image, then of those that reuse some, with sums."""
    groups = []
    for reuses, name in ((False, "all"), (True, "all that reuse images")):
        sets = [s for s in _about_new_images(report) if s.counted.any() and s.leaves_out is reuses]
        rows = [_counts(task_set) for task_set in sets]
        sums: Row = {SET: name, "T": None}
        for key in dict.fromkeys(key for row in rows for key in row if key not in sums):
            known = [row[key] for row in rows if row.get(key) is not None]
            sums[key] = sum(known) if known else None
        groups.append([*rows, sums] if len(rows) > 1 else rows)
    return groups


def _about_new_images(report: Report) -> list[TaskSetReport]:
    return [each for each in report.sets if each.interval_kind == "open" or each.leaves_out]


def _counts(task_set: TaskSetReport) -> Row:
    """Count conclusive comparisons of a task set, by kind of interval.

    `kept` is None without additional kinds.  `turned` and `inverted` compare the verdicts for the
    same images with those for new ones, and are None if one of the two is missing.
    """
    counts = counts_where_reused([task_set]) if task_set.leaves_out else verdict_counts([task_set])
    counted, primary = task_set.counted, task_set.pairs
    tasks = np.unique(primary.tasks[counted]).tolist()
    kept = None
    if any(kind.heading in counts for kind in ADDITIONAL_KINDS.values()):
        codes = np.stack([task_set.pairs_of(kind).verdict[counted] for kind in task_set.kinds])
        kept = int((np.isin(codes[0], (BETTER, WORSE)) & (codes == codes[0]).all(axis=0)).sum())
    if task_set.leaves_out:
        same, new = primary.verdict[counted], task_set.pairs_of("images").verdict[counted]
    else:  # -1 where there are none for the same images
        same, new = task_set.closed_verdicts[counted], primary.verdict[counted]
    turned = inverted = None
    if (same >= 0).any():
        same_significant = np.isin(same, (BETTER, WORSE))
        new_significant = np.isin(new, (BETTER, WORSE))
        turned = int(((same_significant != new_significant) & (same >= 0)).sum())
        inverted = int((same_significant & new_significant & (same != new)).sum())
    return {
        SET: str(task_set.scored),
        "T": tasks[0] if len(tasks) == 1 else f"{tasks[0]}-{tasks[-1]}",
        "comparisons": int(counted.sum()),
        **{kind: count.conclusive for kind, count in counts.items()},
        "kept": kept,
        "turned": turned,
        "inverted": inverted,
    }


def _title(report: Report) -> str:
    return f"Conclusive comparisons, {percent(report.signature.level)} intervals"


def _columns(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Return the columns of rows without empty ones; `kept` stays."""
    known = {key for row in rows for key, value in row.items() if value is not None}
    return (
        Column(SET, itemgetter(SET)),
        right("T", itemgetter("T")),
        right("comparisons", itemgetter("comparisons")),
        *(
            right(key, methodcaller("get", key), "–")
            for key in (*HEADINGS, "kept", "turned", "inverted")
            if key in known or key == "kept"
        ),
    )


def _notes(report: Report) -> tuple[str, ...]:
    """Say what the columns mean, and what they leave out."""
    sets = _about_new_images(report)
    counted = [each for each in sets if each.counted.any()]
    stopped = any(score.stopped for each in counted for score in each.scores)
    uncounted = sum(int((each.requested & ~each.counted).sum()) for each in sets)
    return (
        COUNTS_NOTE if counted else "No comparisons on new images: methods alone are not counted.",
        *([STOPPED_NOTE] if stopped else []),
        *([f"Not counted, {PREFIX}: {uncounted}."] if uncounted else []),
    )
