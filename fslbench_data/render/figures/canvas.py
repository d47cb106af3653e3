"""What every chart is drawn on: its size and colours, its data, axes and letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, ClassVar

from benchmark_spec.extras import require
from fslbench_data.render.figures.style import COLUMN_WIDTHS, PRINT, Palette, config

Rows = Sequence[Mapping[str, Any]]
Chart = Any
"""An ``altair`` chart."""


@dataclass(frozen=True)
class Canvas:
    """What a chart is drawn on, as wide as so many points, all included."""

    width: int = COLUMN_WIDTHS[2]
    palette: ClassVar[Palette] = PRINT
    letters: ClassVar[int] = 8

    def lines(self, alt: Any, gap: int) -> Any:
        """Height of a chart of one line a row."""
        return alt.Step(self.letters + gap)

    @property
    def characters(self) -> int:
        """How many of a name's characters there is room for at an axis."""
        return round(0.4 * self.width / (0.55 * self.letters))


CHARACTERS = "characters"
"""The parameter of a chart that says how long names may be."""

BETWEEN = " – "
"""Stands between the names of two methods in a label."""

SHORT_LABEL = (
    f"length(datum.label) <= {CHARACTERS} ? datum.label : indexof(datum.label, '{BETWEEN}') < 0 "
    f"? '…' + slice(datum.label, 1 - {CHARACTERS}) "
    f": '…' + slice(split(datum.label, '{BETWEEN}')[0], 3 - {CHARACTERS} / 2) + '{BETWEEN}…' "
    f"+ slice(split(datum.label, '{BETWEEN}')[1], 3 - {CHARACTERS} / 2)"
)
"""Names that are too long lose their beginnings: methods differ at the end."""


def captioned(chart: Chart, title: str, caption: str, width: int) -> Chart:
    """Return the chart with its title, and the caption below it."""
    alt = require("altair", "report")
    per_line = int(width / 3.9)
    title = alt.TitleParams(wrap(title, round(per_line * 0.75)), subtitle=wrap(caption, per_line))
    return chart.properties(title=title)


def stacked(spec: dict[str, Any]) -> dict[str, Any]:
    """Set a chart's legends below each other, for which Altair has no name; returns its spec."""
    spec["config"]["legend"]["layout"] = {"bottom": {"direction": "vertical"}}
    return spec


def data(rows: Rows) -> Any:
    """Return the rows as a chart's data."""
    return require("altair", "report").Data(values=[dict(row) for row in rows])


def placed(alt: Any) -> Any:
    """Return the order of `place`; without it rows that come later would keep that of others."""
    return alt.EncodingSortField(field="place", op="min", order="ascending")


def occurring(field: str, names: Sequence[str], rows: Rows) -> dict[str, int]:
    """Return those of some names that occur in the rows, with their places."""
    present = {row.get(field) for row in rows}
    return {name: i for i, name in enumerate(names) if name in present}


def scale(alt: Any, domain: Mapping[str, int], values: Sequence[str]) -> Any:
    """Return the scale that gives each name the value at its place."""
    return alt.Scale(domain=[*domain], range=[values[i] for i in domain.values()])


def series(alt: Any, canvas: Canvas) -> Any:
    """Return the colours of things side by side."""
    return alt.Scale(range=[*canvas.palette.series])


def finished(chart: Chart, canvas: Canvas) -> Chart:
    """Return the chart as wide as its canvas, with its letters and colours."""
    alt = require("altair", "report")
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = chart.properties(width=canvas.width, autosize=fit)
    settings = config(canvas.palette, canvas.letters)
    settings["axisY"] = {"labelLimit": 0}
    settings["legend"] |= {"labelLimit": 0, "columns": 3}
    if canvas.width == COLUMN_WIDTHS[1]:
        settings["legend"]["columns"] = 1
    chart = chart.add_params(alt.param(name=CHARACTERS, value=canvas.characters))
    return chart.configure(**settings)
