"""Figures as files: PDF and SVG with text as text, PNG."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmark_spec.errors import OutputError
from benchmark_spec.extras import require
from fslbench_data.files import whole_file
from fslbench_data.render.figures.canvas import Canvas, captioned, stacked
from fslbench_data.render.figures.charts import CHARTS
from fslbench_data.render.figures.png import packed
from fslbench_data.render.figures.rows import Figure
from fslbench_data.render.figures.style import COLUMN_WIDTHS, PRINT

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
    chart = CHARTS[figure.chart](Canvas(PRINT, width), figure.rows)
    spec: dict[str, Any] = captioned(chart, figure.title, figure.caption, width).to_dict()
    return stacked(spec) if columns == 1 else spec


def svg_of(figure: Figure, columns: int = 2) -> str:
    """Return a figure as SVG, ``columns`` columns wide.

    Raises
    ------
    MissingPackageError
        Without the extra ``report``.
    """
    return str(require("vl_convert", "report").vegalite_to_svg(drawn(figure, columns)))


def svg_with_room(figure: Figure, columns: int = 2) -> str:
    """Return a figure as SVG for a browser, whose letters may be wider than those laid out with.

    Labels stand to the left, and may grow by a twelfth of the figure's width.
    """
    svg = svg_of(figure, columns)
    size = re.search(r' width="(\d+)" height="\d+" viewBox="0 0 (\d+) (\d+)"', svg)
    if size is None:
        return svg
    room = int(size[1]) // 12
    width = int(size[1]) + room
    box = f' width="{width}" height="{size[3]}" viewBox="{-room} 0 {width} {size[3]}"'
    return svg.replace(size[0], f'{box} style="background: white"', 1)


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
    check_figure_path(path)
    convert = require("vl_convert", "report")
    ending = path.suffix.lower()
    if ending == ".svg":
        content = svg_of(figure, columns).encode()
    elif ending == ".pdf":
        content = convert.vegalite_to_pdf(drawn(figure, columns))
    else:
        content = packed(convert.vegalite_to_png(drawn(figure, columns), scale=_PNG_SCALE))
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
