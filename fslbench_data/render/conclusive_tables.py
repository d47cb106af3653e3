"""How many comparisons are conclusive by each kind of interval: `score --summary`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter

from analysis_sql.comparison.ties import VerdictCounts
from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.interval_kinds import BESIDE
from fslbench_data.render.interval_text import STOPPED_NOTE, verdict_of
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.report import Report, counts_where_reused, verdict_counts
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.task_set_report import TaskSetReport

KINDS = ("paired", *(beside.heading for beside in BESIDE.values()), "direct", "closed")
NOTE = (
    "paired: 0 lies outside the interval of the difference, for new images of these classes. new "
    "classes: outside the class-aware one, or, where tasks reuse images, outside the one that "
    "leaves classes out.{superclasses} direct: two separate intervals do not overlap. closed: the "
    "field's habit: two intervals of tasks that reuse images do not overlap; on such tasks "
    "themselves, 0 lies outside the closed interval of the difference. kept: claimed, and also for "
    "everything new that there is an interval for.{missing}"
)
NOTE_SUPERCLASSES = (
    " new superclasses: as new classes, with the superclasses as a sample too, of which it takes "
    "six; new classes are then new ones of these superclasses."
)
NO_INTERVAL = "–"
NOTE_MISSING = f" {NO_INTERVAL}: no such interval."
NOTHING = "No comparisons on new images: methods alone are not counted."


def conclusive_table(report: Report) -> Table:
    """Return one row a task set that says something of new images, and one of each kind of set.

    For machines: every kind of interval has a column of its own.
    """
    told, sets = _told(report)
    groups = _groups(sets)
    kinds = _kinds(groups)
    rows: list[tuple[object, ...]] = []
    for group, name in zip(groups, ("all", "all that reuse images"), strict=True):
        rows += _rows(group, kinds, name)
    return Table(_title(report), _columns(kinds), rows, _notes(told, sets, kinds, rows))


def conclusive_tables(report: Report) -> list[Table]:
    """Return the same for people: a table of sets that share no image, one of those that do.

    Each has the columns that its sets have, and the notes stand below the last.
    """
    told, sets = _told(report)
    abouts = {beside.heading: beside.about for beside in BESIDE.values()}
    made = []
    for group, shared in zip(_groups(sets), ("share no image", "reuse images"), strict=True):
        if group:
            kinds = _kinds([group])
            columns = [
                replace(column, name=abouts.get(column.name, column.name))
                for column in _columns(kinds)
            ]
            title = f"{_title(report)}: tasks that {shared}"
            made.append(Table(title, tuple(columns), _rows(group, kinds, "all")))
    if not made:
        return [conclusive_table(report)]
    rows = [row for table in made for row in table.rows]
    notes = _notes(told, sets, _kinds(_groups(sets)), rows)
    return [*made[:-1], replace(made[-1], notes=notes)]


def _told(report: Report) -> tuple[list[TaskSetReport], list[TaskSetReport]]:
    """Return the sets that might say something of new images, and those that have comparisons."""
    told = [each for each in report.sets if each.interval_kind == "open" or each.leaves_out]
    return told, [each for each in told if each.counted.any()]


def _groups(sets: Sequence[TaskSetReport]) -> list[list[TaskSetReport]]:
    return [[each for each in sets if each.leaves_out is reuses] for reuses in (False, True)]


def _kinds(groups: Iterable[Sequence[TaskSetReport]]) -> list[str]:
    counts = [_counts(group) for group in groups if group]
    return [kind for kind in KINDS if any(kind in some for some in counts)]


def _rows(group: list[TaskSetReport], kinds: list[str], name: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (str(each.scored), _tasks(each), *_numbers([each], kinds)) for each in group
    ]
    return [*rows, (name, None, *_numbers(group, kinds))] if len(group) > 1 else rows


def _title(report: Report) -> str:
    return f"Conclusive comparisons, {100 * report.signature.level:.8g} % intervals"


def _columns(kinds: Sequence[str]) -> tuple[Column, ...]:
    numbers = enumerate(("comparisons", *kinds, "kept"), 2)
    return (
        Column("task set", itemgetter(0)),
        right("T", itemgetter(1)),
        *(right(name, itemgetter(i), NO_INTERVAL) for i, name in numbers),
    )


def _notes(
    told: Sequence[TaskSetReport],
    sets: Sequence[TaskSetReport],
    kinds: Sequence[str],
    rows: Sequence[tuple[object, ...]],
) -> tuple[str, ...]:
    stopped = any(score.stopped for each in sets for score in each.scores)
    left = sum(int((each.asked & ~each.counted).sum()) for each in told)
    return (
        _note(kinds, rows) if rows else NOTHING,
        *([STOPPED_NOTE] if stopped else []),
        *([f"Not counted, {PREFIX}: {left}."] if left else []),
    )


def _note(kinds: Sequence[str], rows: Sequence[tuple[object, ...]]) -> str:
    """Say what the columns mean: of superclasses and missing intervals only where there are any."""
    superclasses = any("new superclasses" in kind for kind in kinds)
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
