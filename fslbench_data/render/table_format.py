"""The terminal's tables: at most a screenful a task set, and a word on what is left out."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis_sql.comparison.verdicts import Comparison, Verdict
from analysis_sql.interval_kinds import BESIDE, ESTIMANDS
from fslbench_data.render.forest_lines import LINES_NOTE, forest_lines
from fslbench_data.render.interval_text import (
    difference_text,
    in_brackets,
    labels,
    plus_minus,
    verdict_of,
    with_bracket,
)
from fslbench_data.render.limits_text import near_perfect_text, unseen_text, zeros_text
from fslbench_data.render.report_grids import report_notes, runs_text
from fslbench_data.render.sentences import (
    counts_text,
    power_text,
    prefix_text,
    stopped_text,
    summary,
    ties_text,
)
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.task_set_report import TaskSetReport

_STYLES = {Verdict.BETTER: "green", Verdict.WORSE: "red"}
_FIXED_LINES = 15
"""Lines of a task set besides its comparisons, which take two each: title, headers, sentences."""
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
        forest_lines(each.comparisons[:limit], labels(each.scores), width) for each in report.sets
    ]
    for each, drawn in zip(report.sets, lines, strict=True):
        parts.append(_block(each, limit, drawn, narrow=narrow))
    if len(report.comparisons) > 1 and (counted := counts_text(report.verdict_counts)):
        parts.append(Text(f"\n{counted}"))
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
    title.append(
        f"  {each.scored.n_tasks} tasks, {100 * each.level:.8g} % {each.interval_kind} intervals: "
        f"{ESTIMANDS[each.interval_kind]}{in_brackets(each.kinds)}",
        style="not bold",
    )
    parts: list[RenderableType] = [title]
    total = len(each.comparisons)
    if total:
        shown = each.comparisons[:limit]
        parts.append(_comparison_table(shown, each, narrow=narrow))
        parts += lines
    else:
        parts.append(_score_table(each, limit))
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
    parts.extend(Text(line) for line in stopped_text(each.scores[:limit]))
    parts.extend(Text(line) for line in prefix_text(each.scores, each.scored.n_tasks))
    rows = [row for row in range(len(each.asked)) if each.asked[row].any()]
    zeros = zeros_text(each.scores[:limit], ())
    for row in rows[:3]:
        comparisons, beside = each.comparisons_of(row), each.evidence_of(row)
        said = summary(each.methods[row], comparisons)
        if each.interval_kind == "open" and (more := power_text(comparisons, beside)):
            said += f" {more}"
        parts.append(Text(said))
        zeros += zeros_text((), list(zip(comparisons, beside, strict=True)))
    if len(rows) > 3:
        parts.append(Text(f"… and a sentence each on {len(rows) - 3} more", style="yellow"))
    parts.extend(Text(line) for line in [*near_perfect_text(each.scores[:limit]), *zeros][:3])
    if rows and each.interval_kind == "open" and each.ties is not None:
        parts.append(Text(ties_text(each.ties)))
    if rows and each.design is not None:
        parts.append(Text(unseen_text(each.design.classes, each.level)))
    return Group(*parts)


def _comparison_table(
    comparisons: Sequence[Comparison], each: TaskSetReport, *, narrow: bool
) -> Table:
    """One row a comparison; a narrow one leaves out the other methods' own accuracies."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("method", "accuracy", "versus", *(() if narrow else ("accuracy",)), "difference"):
        _add_column(table, name)
    partial = any(c.difference.tasks != each.scored.n_tasks for c in comparisons)
    last = ("closed",) if each.has_closed else ()
    beside = [BESIDE[kind].about for kind in each.kinds[1:]]
    for name in (*(("T",) if partial else ()), "paired", *beside, "direct", *last):
        table.add_column(name, justify="center", overflow="fold")
    label = labels(each.scores)
    previous = None
    for c in comparisons:
        again = previous is not None and (previous.method, previous.mean) == (c.method, c.mean)
        closed = c.verdict_closed
        table.add_row(
            Text("" if again else label[c.method]),
            "" if again else plus_minus(c.mean),
            Text(label[c.versus]),
            *(() if narrow else (plus_minus(c.versus_mean),)),
            difference_text(c),
            *((str(c.difference.tasks),) if partial else ()),
            _verdict(c.verdict),
            *(_verdict(verdict_of(c, kind)) for kind in each.kinds[1:]),
            c.verdict_direct.value,
            *((closed.value if closed is not None else "",) if each.has_closed else ()),
        )
        previous = c
    return table


def _verdict(verdict: Verdict) -> Text:
    return Text(verdict.value, style=f"bold {_STYLES.get(verdict, '')}")


def _add_column(table: Table, name: str) -> None:
    """Where the terminal is too narrow names and numbers are folded, never cut."""
    text = name in ("method", "versus")
    table.add_column(name, justify="left" if text else "right", overflow="fold")


def _score_table(each: TaskSetReport, limit: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("method", "accuracy", "T"):
        _add_column(table, name)
    label = labels(each.scores)
    for score in each.scores[:limit]:
        tasks = f"{score.accuracy.tasks} of {each.scored.n_tasks}"
        table.add_row(Text(label[score.method]), with_bracket(score.intervals), tasks)
    return table
