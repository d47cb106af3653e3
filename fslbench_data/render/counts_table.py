"""How many comparisons each kind of interval calls conclusive: a line a task set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import BETTER, WORSE
from analysis_sql.interval_kinds import BESIDE
from fslbench_data.render.interval_text import CARRIED, SHOWN_AS, STOPPED_NOTE
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.report import Report, counts_where_reused, verdict_counts
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.task_set_report import TaskSetReport

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


@dataclass(frozen=True)
class _Counted:
    """Conclusive comparisons of one or several task sets, by kind of interval.

    `kept` is None where nothing stands beside the carried interval; `turned` and `inverted`
    compare verdicts for the same images with those for new ones, None where there are not both.
    """

    name: str
    tasks: int | str | None
    comparisons: int
    conclusive: Mapping[str, int]
    kept: int | None
    turned: int | None
    inverted: int | None


def counts_table(report: Report) -> Table:
    """Count conclusive comparisons: a row a task set that says something of new images, and sums.

    For machines: every kind of interval has a column of its own.
    """
    rows = [row for group in _groups(report) for row in group]
    return Table(_title(report), _columns(rows), rows, _notes(report))


def counts_tables(report: Report) -> list[Table]:
    """Return the same for people: a table of sets that share no image, one of those that do."""
    made = []
    names = {beside.heading: beside.about for beside in BESIDE.values()} | SHOWN_AS
    reused = names | {"closed": CARRIED["closed"]}
    for rows, shared, own in zip(
        _groups(report), ("share no image", "reuse images"), (names, reused), strict=True
    ):
        columns = tuple(replace(c, name=own.get(c.name, c.name)) for c in _columns(rows))
        rows = [replace(row, name="all") if row.tasks is None else row for row in rows]
        made += [Table(f"{_title(report)}: tasks that {shared}", columns, rows)] if rows else []
    made = made or [Table(_title(report), _columns([]), [])]
    return [*made[:-1], replace(made[-1], notes=_notes(report))]


def _groups(report: Report) -> list[list[_Counted]]:
    """Count those of sets that share no image, and of sets that reuse some, with their sums."""
    groups = []
    for reuses, name in ((False, "all"), (True, "all that reuse images")):
        sets = [s for s in _of_new_images(report) if s.counted.any() and s.leaves_out is reuses]
        rows = [_counted(each) for each in sets]
        if len(rows) > 1:
            conclusive: Counter[str] = Counter()
            for row in rows:
                conclusive.update(row.conclusive)
            number = sum(row.comparisons for row in rows)
            sums = [_sum([getattr(row, of) for row in rows]) for of in _LAST]
            rows.append(_Counted(name, None, number, conclusive, *sums))
        groups.append(rows)
    return groups


_LAST = ("kept", "turned", "inverted")


def _sum(numbers: Sequence[int | None]) -> int | None:
    there = [number for number in numbers if number is not None]
    return sum(there) if there else None


def _of_new_images(report: Report) -> list[TaskSetReport]:
    return [each for each in report.sets if each.interval_kind == "open" or each.leaves_out]


def _counted(each: TaskSetReport) -> _Counted:
    counts = counts_where_reused([each]) if each.leaves_out else verdict_counts([each])
    tasks = np.unique(each.pairs.tasks[each.counted]).tolist()
    kept = None
    if any(beside.heading in counts for beside in BESIDE.values()):
        codes = np.stack([each.pairs_of(kind).verdict[each.counted] for kind in each.kinds])
        kept = int((np.isin(codes[0], (BETTER, WORSE)) & (codes == codes[0]).all(axis=0)).sum())
    same, new = _same_and_new(each)
    turned = inverted = None
    if (same >= 0).any():
        both = np.isin(same, (BETTER, WORSE)), np.isin(new, (BETTER, WORSE))
        turned = int(((both[0] != both[1]) & (same >= 0)).sum())
        inverted = int((both[0] & both[1] & (same != new)).sum())
    return _Counted(
        str(each.scored),
        tasks[0] if len(tasks) == 1 else f"{tasks[0]}-{tasks[-1]}",
        int(each.counted.sum()),
        {kind: count.conclusive for kind, count in counts.items()},
        kept,
        turned,
        inverted,
    )


def _same_and_new(each: TaskSetReport) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return verdicts for the same images, -1 where there are none, and for new images."""
    if each.leaves_out:
        kinds = each.pairs, each.pairs_of("images")
        same, new = (found.verdict[each.counted] for found in kinds)
        return same, new
    return each.closed_verdicts[each.counted], each.pairs.verdict[each.counted]


def _title(report: Report) -> str:
    return f"Conclusive comparisons, {100 * report.signature.level:.8g} % intervals"


def _columns(rows: Sequence[_Counted]) -> tuple[Column, ...]:
    def conclusive(kind: str, row: _Counted) -> int | None:
        return row.conclusive.get(kind)

    kinds = ("paired", *(beside.heading for beside in BESIDE.values()), "direct", "closed")
    return (
        Column("task set", lambda row: row.name),
        right("T", lambda row: row.tasks),
        right("comparisons", lambda row: row.comparisons),
        *(
            right(kind, partial(conclusive, kind), "–")
            for kind in kinds
            if any(kind in row.conclusive for row in rows)
        ),
        right("kept", attrgetter("kept"), "–"),
        *(
            right(name, attrgetter(name), "–")
            for name in _LAST[1:]
            if any(getattr(row, name) is not None for row in rows)
        ),
    )


def _notes(report: Report) -> tuple[str, ...]:
    """Say what the columns mean, and what they leave out."""
    sets = _of_new_images(report)
    counted = [each for each in sets if each.counted.any()]
    stopped = any(score.stopped for each in counted for score in each.scores)
    left = sum(int((each.asked & ~each.counted).sum()) for each in sets)
    return (
        COUNTS_NOTE if counted else "No comparisons on new images: methods alone are not counted.",
        *([STOPPED_NOTE] if stopped else []),
        *([f"Not counted, {PREFIX}: {left}."] if left else []),
    )
