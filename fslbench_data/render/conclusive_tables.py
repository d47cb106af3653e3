"""How many comparisons are conclusive by each kind of interval: `score --summary`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.interval_kinds import BESIDE
from fslbench_data.render.interval_text import CARRIED, SHOWN_AS, STOPPED_NOTE, verdict_of
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.report import Report, counts_where_reused, verdict_counts
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.task_set_report import TaskSetReport

KINDS = ("paired", *(beside.heading for beside in BESIDE.values()), "direct", "closed")
NOTE = (  # for machines, whose columns are named by keys
    "paired: 0 lies outside the interval of the difference, for new images of these classes. new "
    "classes: outside the class-aware one, or, where tasks reuse images, outside the one that "
    "leaves classes out.{superclasses} direct: two separate intervals do not overlap. closed: the "
    "field's habit: two intervals of tasks that reuse images do not overlap; on such tasks "
    "themselves, 0 lies outside the closed interval of the difference. kept: claimed, and also for "
    "everything new that there is an interval for.{missing}"
)
NOTE_SHOWN = (
    "new images: 0 lies outside the interval of the difference, or, where tasks reuse images, "
    "outside the one that leaves images out. new classes: outside the class-aware one, or the one "
    "that leaves classes out.{superclasses} error bars: two separate intervals do not overlap. "
    "closed error bars: the field's habit, the same of tasks that reuse images. these images: 0 "
    "lies outside the closed interval of the difference. kept: claimed, and also for everything "
    "new that there is an interval for.{missing}"
)
NOTE_SUPERCLASSES = (
    " new superclasses: as new classes, with the superclasses as a sample too, of which it takes "
    "six; new classes are then new ones of these superclasses."
)
NO_INTERVAL = "–"
NOTE_MISSING = f" {NO_INTERVAL}: no such interval."
NOTHING = "No comparisons on new images: methods alone are not counted."


@dataclass(frozen=True)
class _Counted:
    """What a row says: of a task set, or of several that all reuse images, or none does.

    `conclusive` is by kind of interval, of those that there are; `kept` is None where nothing
    stands beside the carried interval.
    """

    name: str
    tasks: int | str | None
    comparisons: int
    conclusive: Mapping[str, int]
    kept: int | None


def conclusive_table(report: Report) -> Table:
    """Return one row a task set that says something of new images, and one of each kind of set.

    For machines: every kind of interval has a column of its own.
    """
    groups = _groups(report)
    names = ("all", "all that reuse images")
    rows = [row for group, name in zip(groups, names, strict=True) for row in _rows(group, name)]
    kinds = _kinds(rows)
    notes = _notes(report, [rows], NOTE)
    return Table(_title(report), _columns(kinds), rows, notes)


def conclusive_tables(report: Report) -> list[Table]:
    """Return the same for people: a table of sets that share no image, one of those that do.

    Each has the columns that its sets have, and the notes stand below the last.
    """
    abouts = {beside.heading: beside.about for beside in BESIDE.values()} | SHOWN_AS
    made: list[Table] = []
    groups: list[list[_Counted]] = []
    for group, shared in zip(_groups(report), ("share no image", "reuse images"), strict=True):
        if group:
            own = _rows(group, "all")
            names = abouts | ({"closed": CARRIED["closed"]} if shared == "reuse images" else {})
            columns = [replace(c, name=names.get(c.name, c.name)) for c in _columns(_kinds(own))]
            made.append(Table(f"{_title(report)}: tasks that {shared}", tuple(columns), own))
            groups.append(own)
    made = made or [Table(_title(report), _columns([]), [])]
    return [*made[:-1], replace(made[-1], notes=_notes(report, groups, NOTE_SHOWN))]


def _groups(report: Report) -> list[list[TaskSetReport]]:
    """Return the sets that have comparisons: those that share no image, those that reuse some."""
    sets = [each for each in _told(report) if each.counted.any()]
    return [[each for each in sets if each.leaves_out is reuses] for reuses in (False, True)]


def _told(report: Report) -> list[TaskSetReport]:
    """Return the sets that might say something of new images."""
    return [each for each in report.sets if each.interval_kind == "open" or each.leaves_out]


def _kinds(rows: Iterable[_Counted]) -> list[str]:
    present = {kind for row in rows for kind in row.conclusive}
    return [kind for kind in KINDS if kind in present]


def _rows(group: Sequence[TaskSetReport], name: str) -> list[_Counted]:
    """Count the comparisons of each set, and of all if there are several."""
    rows = [_counted(each) for each in group]
    if len(rows) < 2:
        return rows
    conclusive: Counter[str] = Counter()
    for row in rows:
        conclusive.update(row.conclusive)
    kept = [row.kept for row in rows if row.kept is not None]
    comparisons = sum(row.comparisons for row in rows)
    total = _Counted(name, None, comparisons, conclusive, sum(kept) if kept else None)
    return [*rows, total]


def _counted(each: TaskSetReport) -> _Counted:
    """Count comparisons, conclusive ones and those kept."""
    counts = counts_where_reused([each]) if each.leaves_out else verdict_counts([each])
    low, high = each.counted_tasks[0], each.counted_tasks[-1]
    kept = None
    if any(beside.heading in counts for beside in BESIDE.values()):
        kept = sum(
            c.verdict in (Verdict.BETTER, Verdict.WORSE)
            and all(verdict_of(c, kind) is c.verdict for kind in each.kinds)
            for c in each.counted_comparisons
        )
    return _Counted(
        str(each.scored),
        low if low == high else f"{low}-{high}",
        int(each.counted.sum()),
        {kind: count.conclusive for kind, count in counts.items()},
        kept,
    )


def _title(report: Report) -> str:
    return f"Conclusive comparisons, {100 * report.signature.level:.8g} % intervals"


def _columns(kinds: Sequence[str]) -> tuple[Column, ...]:
    def conclusive(kind: str, row: _Counted) -> int | None:
        return row.conclusive.get(kind)

    return (
        Column("task set", lambda row: row.name),
        right("T", lambda row: row.tasks),
        right("comparisons", lambda row: row.comparisons),
        *(right(kind, partial(conclusive, kind), NO_INTERVAL) for kind in kinds),
        right("kept", lambda row: row.kept, NO_INTERVAL),
    )


def _notes(report: Report, groups: Sequence[Sequence[_Counted]], note: str) -> tuple[str, ...]:
    """Say what the columns of some tables mean, and what they leave out."""
    told = _told(report)
    stopped = any(score.stopped for each in told if each.counted.any() for score in each.scores)
    left = sum(int((each.asked & ~each.counted).sum()) for each in told)
    return (
        _note(groups, note) if any(groups) else NOTHING,
        *([STOPPED_NOTE] if stopped else []),
        *([f"Not counted, {PREFIX}: {left}."] if left else []),
    )


def _note(groups: Sequence[Sequence[_Counted]], note: str) -> str:
    """Speak of superclasses and missing intervals only where there are any."""
    kinds = [_kinds(rows) for rows in groups]
    superclasses = any("new superclasses" in kind for own in kinds for kind in own)
    missing = any(
        row.kept is None or not row.conclusive.keys() >= set(own)
        for own, rows in zip(kinds, groups, strict=True)
        for row in rows
    )
    return note.format(
        superclasses=NOTE_SUPERCLASSES if superclasses else "",
        missing=NOTE_MISSING if missing else "",
    )
