"""An answer in a notebook: what is shown, the table, and the comparisons as a figure."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from itertools import islice

from benchmark_spec.errors import MissingPackageError
from fslbench_data.render.answer_format import MOST_ROWS, answer_paper
from fslbench_data.render.figures.answer_forest import answer_forest
from fslbench_data.render.html import html
from fslbench_data.render.templating import template
from fslbench_data.scoring.answer import answer
from fslbench_data.scoring.report import Report


def report_html(report: Report) -> str:
    """Write a report's answer: sentences, a table, and a forest as an image; nothing in it works.

    The table has as many rows as on the terminal.  The figure is an image that holds itself, since
    notebooks take elements of SVG for unsafe; without the extra ``report`` it is left out, and said
    to be.
    """
    found = answer(report)
    (table,), _, sentences = answer_paper(found)
    rows = list(table.rows)
    more = len(rows) - MOST_ROWS
    cut = (f"and {more} more rows: report.scores.to_pandas()",) if more > 0 else ()
    table = replace(table, rows=[*islice(rows, MOST_ROWS)], notes=(*table.notes, *cut))
    figure = answer_forest(report, found)
    drawn, missing = "", None
    if figure is not None:
        from fslbench_data.render.figures.files import svg_of

        try:
            drawn = b64encode(svg_of(figure).encode()).decode()
        except MissingPackageError as error:
            missing = error
    return template("render/templates/answer.html.j2").render(
        sentences=sentences,
        table=html([table], ""),
        figure=figure,
        drawn=drawn,
        error=missing,
        signature=found.signature.short,
    )
