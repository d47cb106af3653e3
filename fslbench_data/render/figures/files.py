"""Figures as files: PDF and SVG with text as text, PNG."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmark_spec.errors import OutputError
from fslbench_data.files import whole_file
from fslbench_data.render.figures.canvas import Canvas, captioned, stacked
from fslbench_data.render.figures.charts import CHARTS
from fslbench_data.render.figures.png import packed
from fslbench_data.render.figures.rows import Figure
from fslbench_data.render.figures.style import COLUMN_WIDTHS
from fslbench_data.render.fonts import font_faces, renderer

ENDINGS = (".pdf", ".png", ".svg")

_PNG_SCALE = 300 / 72
"""Pixels of a PNG for each point: 300 dots an inch."""


def check_figure_path(path: Path) -> None:
    """Refuse a file whose ending names no format.

    Raises
    ------
    OutputError
    """
    if path.suffix.lower() not in ENDINGS:
        raise OutputError(
            f"{path} names no format of a figure", expected=f"a name ending in {', '.join(ENDINGS)}"
        )


def drawn(figure: Figure, columns: int = 2) -> dict[str, Any]:
    """Vega-Lite of a figure for a paper, with title and caption, ``columns`` columns wide."""
    width = COLUMN_WIDTHS[columns]
    chart = CHARTS[figure.chart](Canvas(width), figure.rows)
    spec: dict[str, Any] = captioned(chart, figure.title, figure.caption, width).to_dict()
    return stacked(spec) if columns == 1 else spec


def svg_of(figure: Figure, columns: int = 2) -> str:
    """Return a figure as SVG that holds its fonts, ``columns`` columns wide.

    Raises
    ------
    MissingPackageError
        Without the extra ``report``.
    """
    return _svg(drawn(figure, columns))


def _svg(spec: dict[str, Any]) -> str:
    svg = str(renderer().vegalite_to_svg(spec))
    return re.sub(r"(<svg[^>]*>)", rf"\1<style>{font_faces()}</style>", svg, count=1)


def write_figure(figure: Figure, path: Path, columns: int = 2) -> None:
    """Write a figure as PDF, PNG (300 dots an inch) or SVG.

    Parameters
    ----------
    columns
        1 (3.25 inches wide) or 2 (6.75).

    Raises
    ------
    OutputError
        If the file's name has another ending, or it cannot be written.
    MissingPackageError
        Without the extra ``report``.
    """
    check_figure_path(path)  # before anything is drawn
    write_chart(drawn(figure, columns), path)


def write_chart(spec: dict[str, Any], path: Path) -> None:
    """Write a chart, given as Vega-Lite, as :func:`write_figure` does a figure."""
    check_figure_path(path)
    ending = path.suffix.lower()
    if ending == ".svg":
        content = _svg(spec).encode()
    elif ending == ".pdf":
        content = renderer().vegalite_to_pdf(spec)
    else:
        content = packed(renderer().vegalite_to_png(spec, scale=_PNG_SCALE))
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
