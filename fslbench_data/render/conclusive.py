"""How many comparisons each kind of interval calls conclusive, task set by task set."""

from __future__ import annotations

from analysis_sql.comparison import Verdict
from fslbench_data.render.grid import Grid
from fslbench_data.render.wording import STOPPED_NOTE
from fslbench_data.report import Report, verdict_counts
from fslbench_data.scores import PREFIX
from fslbench_data.set_report import SetReport

KINDS = ("paired", "new classes", "direct", "closed")
NOTE = (
    "paired: 0 lies outside the interval of the difference, for new images "
    "of these classes. new classes: outside the class-aware one. direct: two separate intervals do "
    "not overlap. closed: these on tasks that reuse images. kept: paired and also for new classes."
)


NOTHING = "No comparisons on new images: closed sets, and methods alone, are not counted."


def conclusive_grid(report: Report) -> Grid:
    """One row a task set that reuses no image, and one of all together."""
    sets = [each for each in report.sets if each.kind == "open" and each.counted.any()]
    kinds = [kind for kind in KINDS if kind != "closed" or any(each.has_closed for each in sets)]
    rows = [(str(each.scored), _tasks(each), *_cells([each], kinds)) for each in sets]
    if len(sets) > 1:
        rows.append(("all", "", *_cells(sets, kinds)))
    columns = ("T", "comparisons", *kinds, "kept")
    stopped = any(score.stopped for each in sets for score in each.scores)
    left = sum(int((e.asked & ~e.counted).sum()) for e in report.sets if e.kind == "open")
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


def _tasks(each: SetReport) -> str:
    """T of the comparisons, or the least and the most."""
    low, high = each.counted_tasks[0], each.counted_tasks[-1]
    return str(low) if low == high else f"{low}-{high}"


def _cells(sets: list[SetReport], kinds: list[str]) -> list[str]:
    counts = verdict_counts(sets)
    shown = [str(counts[kind].conclusive) if kind in counts else "" for kind in kinds]
    kept = ""
    if "new classes" in counts:
        conclusive = (Verdict.BETTER, Verdict.WORSE)
        kept = str(
            sum(
                c.verdict in conclusive
                and c.new_classes is not None
                and c.new_classes.verdict is c.verdict
                for each in sets
                for c in each.counted_comparisons
            )
        )
    return [str(sum(int(each.counted.sum()) for each in sets)), *shown, kept]
