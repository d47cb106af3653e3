"""A figure of lines and points, as a table of Markdown and as a drawing (the extra ``report``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Figure:
    """What a figure shows.

    Attributes
    ----------
    rows
        Each with `series` and `x`; `line` and `point` are the heights of the line and the point
        there, None for none, `error` the point's standard error. Other values are columns of the
        table only.
    names
        What the line and the points are.
    logarithmic
        Which axes are: ``x``, ``y``, ``xy`` or none.
    """

    title: str
    caption: str
    x: str
    y: str
    rows: Sequence[dict[str, Any]]
    logarithmic: str = ""
    names: tuple[str, str] = ("exact", "simulated")


def table(figure: Figure) -> str:
    """Write the numbers as Markdown: a line each x."""
    cells: dict[str, dict[Any, str]] = {}
    line, point = figure.names
    for row in figure.rows:
        values = {name: value for name, value in row.items() if name not in ("series", "x")}
        error = values.pop("error", None)
        texts = {{"line": line, "point": point}.get(k, k): text_of(v) for k, v in values.items()}
        texts[point] += "" if error is None else f" ({text_of(error)})"
        for name, text in texts.items():
            cells.setdefault(f"{row['series']}: {name}", {})[row["x"]] = text
    shown = {name: column for name, column in cells.items() if any(column.values())}
    places = sorted({row["x"] for row in figure.rows})
    lines = [
        [figure.x.rpartition(", ")[2], *shown],
        ["---:"] * (1 + len(shown)),
        *([str(x), *(column.get(x, "") for column in shown.values())] for x in places),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def text_of(value: float | None) -> str:
    """Write a number with three digits, and two decimals at most."""
    if value is None:
        return ""
    return (
        f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.{1 + (value < 10)}f}"
    )


TICKS = [digit * power for power in (0.01, 0.1, 1, 10, 100, 1000) for digit in (1, 2, 3, 5)]
"""Of logarithmic axes."""


def draw(figure: Figure, path: Path) -> None:
    """Draw lines and points of each series; the file's ending chooses SVG, PDF or PNG."""
    from benchmark_spec.extras import require
    from fslbench_data.render.figures.charts import finished, series
    from fslbench_data.render.figures.plot import check_figure_path, write_chart

    check_figure_path(path)
    alt = require("altair", "report")
    keys = ("series", "x", "line", "point")
    rows = [{key: native(row[key]) for key in keys} for row in figure.rows]
    axes = {}
    for name in "xy":
        logarithmic = name in figure.logarithmic
        kind = "log" if logarithmic else "linear"
        axes[name] = {
            "scale": alt.Scale(type=kind, nice=False, zero=False, padding=6),
            "axis": alt.Axis(values=TICKS) if logarithmic else alt.Axis(),
        }
    x = alt.X("x:Q", title=figure.x, **axes["x"])
    colour = alt.Color("series:N", title=None, sort=None, scale=series(alt))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, color=colour)
    height = alt.Y("line:Q", title=figure.y, **axes["y"])
    lines = base.mark_line(strokeWidth=1.5).encode(y=height)
    points = base.mark_point(filled=True, size=40).encode(
        y=alt.Y("point:Q", title=figure.y, **axes["y"]),
        shape=alt.Shape("series:N", title=None, legend=None),
    )
    chart = alt.layer(lines, points).properties(height=240)
    write_chart(finished(chart, figure.title, figure.caption).to_dict(), path)


def native(value: Any) -> Any:
    """Return a number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value
