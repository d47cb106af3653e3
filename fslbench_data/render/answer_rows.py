"""The table of one method's answer: a row or two for each task set that leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from analysis_sql.comparison.verdicts import Comparison, Verdict
from fslbench_data.render.answer_fit import Fitted, set_columns, width_of
from fslbench_data.render.interval_text import VERDICT_STYLES, labels, plus_minus
from fslbench_data.render.short_names import shortened
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.answer import Answer, Row
from fslbench_data.scoring.headlines import Headline
from fslbench_data.scoring.scores import Score

BESIDE = "^"
"""Marks a comparison that is shown, but is not among those that are counted."""

LEAST_NAME = 12
"""Characters of the other method's name, at most, where there is no room for more."""


@dataclass(frozen=True)
class _Line:
    row: Row
    comparison: Comparison | None


def beside(row: Row, comparison: Comparison) -> bool:
    """Whether a row shows a comparison that is not among those that its method meets."""
    return comparison not in row.met


def _lines(rows: Sequence[Row], *, every: bool) -> list[_Line]:
    return [
        _Line(row, comparison)
        for row in rows
        for comparison in (row.best if every else row.best[:1]) or (None,)
    ]


def rows_table(answer: Answer) -> Table:
    """Return the whole table."""
    return _table(answer, _lines(answer.rows, every=True), str)


def fitted_rows(answer: Answer, width: int, rows: int) -> Fitted:
    """Return what has room; where not every comparison has, the first of each task set."""
    lines = _lines(answer.rows, every=True)
    if len(lines) > rows:
        lines = _lines(answer.rows, every=False)
    left = max(0, len(lines) - rows)
    lines = lines[:rows]
    room = width
    table = _table(answer, lines, lambda name: shortened(name, room))
    over = width_of(table) - width
    if over > 0:
        label = labels(answer.scores)
        versus = [cell_len(label[c.comparison.versus]) for c in lines if c.comparison]
        room = max(LEAST_NAME, max(versus, default=0) - over)
        table = _table(answer, lines, lambda name: shortened(name, room))
    return Fitted(table, left, 0, "task sets")


def _table(answer: Answer, lines: Sequence[_Line], name: Callable[[str], object]) -> Table:
    label = labels(answer.scores)

    def of_set(line: _Line) -> Headline:
        return line.row.headline

    def versus(row: Row, comparison: Comparison) -> str:
        text = str(name(label[comparison.versus]))
        return f"{text} {BESIDE}" if beside(row, comparison) else text

    columns = [
        replace(column, cell=_through(of_set, column.cell), once=of_set)
        for column in set_columns([row.headline for row in answer.rows])
    ]
    columns[0] = replace(columns[0], once=lambda line: line.row.headline.scored.dataset)
    columns.append(
        Column(
            "accuracy",
            lambda line: _accuracy(line.row.score, line.row.headline),
            "right",
            once=of_set,
        )
    )
    if len({_tasks(row) for row in answer.rows}) > 1:
        columns.append(Column("tasks", lambda line: _tasks(line.row), "right", once=of_set))
    if any(line.comparison for line in lines):
        columns += [
            Column("versus", lambda line: line.comparison and versus(line.row, line.comparison)),
            right("difference", lambda line: line.comparison and _difference(line.comparison)),
        ]
        kinds = {line.comparison.interval_kind for line in lines if line.comparison}
        if kinds - {"closed"}:
            columns.append(_verdicts("new images", _of_images))
        if "closed" in kinds:
            columns.append(_verdicts("these images", _of_these))
        if any(row.headline.classes for row in answer.rows):
            columns.append(_verdicts("new classes", _of_classes))
    return Table("", tuple(columns), lines)


def _through(
    first: Callable[[_Line], Headline], then: Callable[[Headline], object]
) -> Callable[[_Line], object]:
    return lambda line: then(first(line))


def _tasks(row: Row) -> str:
    answered, every = row.score.accuracy.tasks, row.headline.scored.n_tasks
    number = f"{answered}" if answered == every else f"{answered} of {every}"
    return f"{number} {row.headline.name.suite}"


def _accuracy(score: Score, headline: Headline) -> str:
    return plus_minus(score.intervals[headline.images])


def _difference(c: Comparison) -> str:
    if c.verdict is Verdict.IDENTICAL:
        return "identical"
    return plus_minus(c.difference, signed=True)


def _verdicts(name: str, verdict: Callable[[Row, Comparison], Verdict | None]) -> Column:
    def of_line(line: _Line) -> Verdict | None:
        return None if line.comparison is None else verdict(line.row, line.comparison)

    return Column(name, of_line, "center", style=_style)


def _of_images(row: Row, comparison: Comparison) -> Verdict | None:
    return None if comparison.interval_kind == "closed" else comparison.verdict


def _of_these(row: Row, comparison: Comparison) -> Verdict | None:
    return comparison.verdict if comparison.interval_kind == "closed" else None


def _of_classes(row: Row, comparison: Comparison) -> Verdict | None:
    pair = comparison.intervals.get(row.headline.classes) if row.headline.classes else None
    return None if pair is None else pair.verdict


def _style(verdict: Verdict | None) -> str:
    return "" if verdict is None else f"bold {VERDICT_STYLES.get(verdict, '')}"
