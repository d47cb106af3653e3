"""What the reference methods reach on a release's task sets, for its dataset card."""

from __future__ import annotations

from collections.abc import Iterator

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.suites import suite_of
from builders.release.card_text import markdown, table
from fslbench_data.release.release import Release
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.render.paper import table as paper_table
from fslbench_data.scoring.paper import PaperColumn
from fslbench_data.scoring.summary import ORDER
from fslbench_data.tasks import TaskSetInfo

SHOT = 5
"""Shots of the task sets that are shown; of a data set without any the most that it has."""


def results_of(release: Release) -> tuple[str, ...]:
    """Lay out the accuracy of each reference method on a task set of each data set, as Markdown.

    It is the one whose tasks say most of new images: pooled, else closed, else open, else another.
    Nothing without results.
    """
    shown = _one_of_each(release)
    if not shown:
        return ()
    names = {str(info.name) for info in shown.values()}
    try:
        content = paper_table(None, release, all_references=True, task_sets=sorted(names)).content
    except FSLBenchError:  # no method has results that carry an interval
        return ()
    columns = [c for c in content.columns if c.scored.task_set == str(shown[c.scored.dataset].name)]
    rows = [
        [markdown(row.method), *(_cell(column, i) for column in columns)]
        for i, row in enumerate(content.rows)
        if any(column.cells[i] is not None for column in columns)
    ]
    head = [f"{markdown(c.scored.dataset)} `{c.scored.task_set}`" for c in columns]
    return (
        *table(["accuracy, %", *head], rows),
        "",
        "Mean ± half-width of 95 % intervals for new images. Bold: the highest mean.",
    )


def _one_of_each(release: Release) -> dict[str, TaskSetInfo]:
    """Choose a task set with results of each data set, by its name."""
    answered = {
        (dataset, task_set)
        for submission in release.references()
        for _, dataset, task_set in submission.bindings
    }
    chosen: dict[str, TaskSetInfo] = {}
    for info in release.task_sets:
        if (info.dataset, str(info.name)) in answered:
            chosen[info.dataset] = min(chosen.get(info.dataset, info), info, key=_rank)
    return chosen


def _rank(info: TaskSetInfo) -> tuple[int, int]:
    suite = info.name.suite
    others = len(ORDER) + (not suite_of(suite).uniform)
    return abs(info.protocol.shot - SHOT), ORDER.index(suite) if suite in ORDER else others


def _cell(column: PaperColumn, row: int) -> str:
    cell = column.cells[row]
    if cell is None:
        return ""
    text = plus_minus(cell.interval)
    return f"**{text}**" if cell.strong else text


def lines_of(results: tuple[str, ...]) -> Iterator[str]:
    """Give the part of the card that holds them."""
    if results:
        yield from ("", "## Reference methods", "", *results)
