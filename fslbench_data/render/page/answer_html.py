"""The answer at the top of the page: the terminal's sentences and table, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby
from types import MappingProxyType
from typing import Any

from analysis_sql.comparison.verdicts import Verdict
from fslbench_data.render.answer_format import answer_paper
from fslbench_data.render.figures.style import VERDICT_NAMES
from fslbench_data.render.table import Column, Table
from fslbench_data.scoring.answer import Answer

MOST_METHODS = 50
"""Methods of the results that the table holds."""

MOST_NARROW = 8
"""Columns that a phone shows side by side, their cells in several lines."""

_CLASSES = {Verdict.BETTER: "better", Verdict.WORSE: "worse"}


def answers_html(answers: Mapping[float, Answer], level: float) -> str:
    """Write answers by level, of which that at `level` is shown until another is chosen."""
    return "\n".join(
        f'<div class="answer" data-level="{at}"{"" if at == level else " hidden"}>'
        f"{_answer_html(whole, at)}</div>"
        for at, whole in answers.items()
    )


def _answer_html(whole: Answer, level: float) -> str:
    shown = replace(whole, methods=whole.methods[:MOST_METHODS])
    (table,), _, sentences = answer_paper(shown)
    parts = [paragraph(sentence, "said") for sentence in sentences]
    if any(True for _ in table.rows):
        parts.append(table_html(table, f"answer-{level}"))
    left = len(whole.methods) - len(shown.methods)
    notes = [*table.notes, *([f"… and {left} more methods: fslbench score."] if left else [])]
    return "".join([*parts, *(paragraph(note, "note") for note in notes)])


def paragraph(text: str, kind: str) -> str:
    """A paragraph of some class."""
    return f'<p class="{kind}">{escape(text)}</p>'


def table_html(table: Table, name: str, marks: Mapping[str, str] = MappingProxyType({})) -> str:
    """A table that scrolls by itself; what a row has in common with the one before is paler.

    Parameters
    ----------
    name
        Of the element that holds its title.
    marks
        What stands behind values, in words.
    """
    heading = "".join(f"<th{_aligned(c)} scope=col>{escape(c.name)}</th>" for c in table.columns)
    few = ' class="few"' if len(table.columns) <= MOST_NARROW else ""
    rows = "".join(
        f"<tr>{''.join(_cells(table.columns, *two, marks))}</tr>" for two in _pairs(table.rows)
    )
    return (
        f'<p class="note" id="{name}">{escape(table.title)}.</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{name}"><table{few}>'
        f"<thead>{_groups(table.columns)}<tr>{heading}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _groups(columns: Sequence[Column]) -> str:
    """The line above the headings, where columns belong together."""
    if not any(column.group for column in columns):
        return ""
    wide = [(name, len([*some])) for name, some in groupby(columns, lambda column: column.group)]
    cells = (
        f"<th colspan={width} scope=colgroup>{escape(name)}</th>"
        if name
        else f"<td colspan={width}></td>"
        for name, width in wide
    )
    return f"<tr>{''.join(cells)}</tr>"


def _pairs(rows: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    """Each row with the one before, None before the first."""
    before = None
    for row in rows:
        yield row, before
        before = row


def _cells(
    columns: Sequence[Column], row: Any, before: Any, marks: Mapping[str, str]
) -> Iterable[str]:
    for number, column in enumerate(columns):
        value = column.cell(row)
        text = escape(column.text_of(value)).replace("/", "/<wbr>")
        again = column.once and before is not None and column.once(row) == column.once(before)
        if isinstance(value, Verdict):
            name = VERDICT_NAMES[value.value]
            kind = f"verdict {_CLASSES.get(value, '')}".rstrip()
            yield f'<td class="{kind}">{_signed(text, name)}</td>'
        elif number == 0:
            yield f"<th scope=row{_again(again)}>{text}</th>"
        else:
            text = f"<b>{text}</b>" if column.strong is not None and column.strong(row) else text
            if column.marks is not None:
                sign = column.marks(row)
                hung = _signed(escape(sign), marks.get(sign, sign)) if sign else ""
                text += f"<i>{hung}</i>"
            yield f"<td{_aligned(column, again)}>{text}</td>"


def _signed(sign: str, name: str) -> str:
    """A sign that is read out, and told when pointed at, by its name."""
    name = escape(name)
    return f'<span role="img" aria-label="{name}" title="{name}">{sign}</span>'


def _aligned(column: Column, again: object = False) -> str:
    names = [*(["number"] if column.align == "right" else []), *(["again"] if again else [])]
    return f' class="{" ".join(names)}"' if names else ""


def _again(again: object) -> str:
    return ' class="again"' if again else ""
