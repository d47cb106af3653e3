"""An answer in a notebook: what is shown, the table, and the comparisons as a figure."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from html import escape
from itertools import islice

from benchmark_spec.errors import MissingPackageError
from fslbench_data.render.answer_format import MOST_ROWS, answer_paper
from fslbench_data.render.figures.answer_forest import answer_forest
from fslbench_data.render.html import html
from fslbench_data.scoring.answer import Answer, answer
from fslbench_data.scoring.report import Report


def report_html(report: Report) -> str:
    """Write a report's answer: sentences, a table, and a forest as an image; nothing in it works.

    The table has as many rows as on the terminal.  Without the extra ``report`` the forest is left
    out, and said to be.
    """
    found = answer(report)
    (table,), _, sentences = answer_paper(found)
    rows = list(table.rows)
    more = len(rows) - MOST_ROWS
    cut = (f"and {more} more rows: report.scores.to_pandas()",) if more > 0 else ()
    table = replace(table, rows=[*islice(rows, MOST_ROWS)], notes=(*table.notes, *cut))
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    signature = f"<p><small>{escape(found.signature.short)}</small></p>"
    body = f'<div style="overflow-x:auto">{html([table], "")}</div>'
    return f"<div>{said}{body}{_forest(report, found)}{signature}</div>"


def _forest(report: Report, found: Answer) -> str:
    """The figure as an image that holds itself: notebooks take elements of SVG for unsafe."""
    figure = answer_forest(report, found)
    if figure is None:
        return ""
    from fslbench_data.render.figures.files import svg_of

    try:
        drawn = b64encode(svg_of(figure).encode()).decode()
    except MissingPackageError as error:
        return f"<p>The figure is left out: {escape(error.what)}; {escape(error.fix)}</p>"
    about = escape(f"{figure.title}. {figure.caption}")
    return f'<p><img alt="{about}" src="data:image/svg+xml;base64,{drawn}"></p>'
