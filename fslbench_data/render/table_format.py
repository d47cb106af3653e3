"""The terminal's tables: at most a screenful a task set, and a word on what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.text import Text

from fslbench_data.render.console import rich_table
from fslbench_data.render.forest_lines import LINES_NOTE, forest_lines
from fslbench_data.render.interval_text import labels, missing_text, one_model_text, set_title
from fslbench_data.render.limits_text import near_perfect_text, unseen_text, zeros_text
from fslbench_data.render.report_tables import (
    comparison_columns,
    report_notes,
    runs_text,
    score_columns,
)
from fslbench_data.render.sentences import (
    counts_text,
    power_text,
    prefix_text,
    reused_text,
    stopped_text,
    summary,
    ties_text,
)
from fslbench_data.render.table import Table
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.task_set_report import TaskSetReport

_FIXED_LINES = 15
"""Lines of a task set besides its comparisons, which take two each: title, headers, sentences."""
HEADING = 8
"""Characters of a line of a heading at least: verdicts have narrow columns."""
_WIDE = 96
"""Characters that all columns need with names of usual length."""


def render_table(report: Report, *, width: int, height: int) -> list[RenderableType]:
    """Renderables for a rich console: a block for each task set, and a legend.

    Parameters
    ----------
    width, height
        Of the terminal, in characters and lines; a task set's block has at most about as many.
    """
    parts: list[RenderableType] = []
    limit = max(5, (height - _FIXED_LINES) // 2)
    narrow = width < _WIDE
    lines = [
        forest_lines([c.shown for c in each.comparisons[:limit]], labels(each.scores), width)
        for each in report.sets
    ]
    for each, drawn in zip(report.sets, lines, strict=True):
        parts.append(_block(each, limit, drawn, narrow=narrow))
    if len(report.comparisons) > 1 and (counted := counts_text(report.verdict_counts)):
        parts.append(Text(f"\n{counted}"))
    if len(report.comparisons) > 1 and (reused := reused_text(report.counts_where_reused)):
        parts.append(Text(f"\n{reused}"))
    notes = [*report_notes(report), *([LINES_NOTE] if any(lines) else [])]
    parts.extend(Text(f"\n{note}", style="dim") for note in notes)
    return parts


def print_table(report: Report, console: Console) -> None:
    """Print the report to a console: the signature on one line, then the tables."""
    console.print(Text(str(report.signature), style="dim"), soft_wrap=True)
    for part in render_table(report, width=console.width, height=console.height):
        console.print(part)


def _block(
    each: TaskSetReport, limit: int, lines: Sequence[Text], *, narrow: bool
) -> RenderableType:
    title = Text(f"\n{each.scored}", style="bold")
    about = set_title(each.scored, each.units, each.level, each.shown_kinds, ": ")
    title.append(f"  {about}", style="not bold")
    parts: list[RenderableType] = [title]
    total = len(each.comparisons)
    if total:
        shown = [c.shown for c in each.comparisons[:limit]]
        partial = any(c.difference.tasks != each.scored.n_tasks for c in shown)
        columns = comparison_columns(each, partial=partial, both=not narrow)
        centred = (replace(c, align="center") if c.name == "T" else c for c in columns)
        parts += [rich_table(Table("", tuple(centred), shown), HEADING), *lines]
    else:
        columns = score_columns(each, of_all=True)
        parts.append(rich_table(Table("", tuple(columns), each.scores[:limit])))
    if (left := (total or len(each.scores)) - limit) > 0:
        what = "comparisons" if total else "methods"
        parts.append(
            Text(
                f"… {left} more {what} left out: --format csv or json gives all, "
                "--against and --task-set choose",
                style="yellow",
            )
        )
    if runs := runs_text(each.scores[:limit]):
        parts.append(Text(runs))
    if single := one_model_text([s.method for s in each.scores[:limit] if s.of_one_model]):
        parts.append(Text(single))
    parts.extend(Text(line) for line in stopped_text(each.scores[:limit]))
    parts.extend(Text(line) for line in prefix_text(each.scores, each.scored.n_tasks))
    rows = [row for row in range(len(each.asked)) if each.asked[row].any()]
    zeros = zeros_text(each.scores[:limit], ())
    for row in rows[:3]:
        comparisons, beside = each.comparisons_of(row), each.evidence_of(row)
        sentences = summary(each.methods[row], [c.shown for c in comparisons])
        if each.interval_kind == "open" and (power := power_text(comparisons, beside)):
            sentences += f" {power}"
        parts.append(Text(sentences))
        zeros += zeros_text((), list(zip(comparisons, beside, strict=True)))
    if len(rows) > 3:
        parts.append(Text(f"… and a sentence each on {len(rows) - 3} more", style="yellow"))
    parts.extend(Text(line) for line in [*near_perfect_text(each.scores[:limit]), *zeros][:3])
    if rows and each.shown_kinds[0] != "closed" and each.ties is not None:
        parts.append(Text(ties_text(each.ties)))
    parts.extend(Text(line) for line in missing_text(each.units))
    if rows and each.design is not None:
        parts.append(Text(unseen_text(each.design.classes, each.level)))
    return Group(*parts)
