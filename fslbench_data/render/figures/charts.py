"""Draw the charts, each from rows of :mod:`fslbench_data.render.figures.rows` and a caption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from benchmark_spec.extras import require
from fslbench_data.render.figures.style import (
    COLUMN_WIDTHS,
    PRINT,
    SHAPES,
    VERDICT_NAMES,
    Palette,
    config,
)

Rows = Sequence[Mapping[str, Any]]
Chart = Any
"""An ``altair`` chart."""

ROWS = "rows"
"""Name of the data of a chart without its rows, which a page fills in."""


@dataclass(frozen=True)
class Canvas:
    """What a chart is drawn on.

    Attributes
    ----------
    palette
        Its colours.
    width
        In points, all included; None as wide as the page's column.
    """

    palette: Palette = PRINT
    width: int | None = COLUMN_WIDTHS[2]

    @property
    def letters(self) -> int:
        """Size of letters."""
        return 12 if self.width is None else 8

    def lines(self, alt: Any, gap: int) -> Any:
        """Height of a chart of one line a row; a page sets its own as it fills in the rows."""
        return 100 if self.width is None else alt.Step(self.letters + gap)

    @property
    def characters(self) -> int:
        """How many of a name's characters there is room for at an axis."""
        return 40 if self.width is None else round(0.4 * self.width / (0.55 * self.letters))


CHARACTERS = "characters"
"""The parameter of a chart that says how long names may be; a page sets its own."""

BETWEEN = " – "
"""Stands between the names of two methods in a label."""

_SHORT = (
    f"length(datum.label) <= {CHARACTERS} ? datum.label : indexof(datum.label, '{BETWEEN}') < 0 "
    f"? '…' + slice(datum.label, 1 - {CHARACTERS}) "
    f": '…' + slice(split(datum.label, '{BETWEEN}')[0], 3 - {CHARACTERS} / 2) + '{BETWEEN}…' "
    f"+ slice(split(datum.label, '{BETWEEN}')[1], 3 - {CHARACTERS} / 2)"
)
"""Names that are too long lose their beginnings: methods differ at the end."""


def forest(canvas: Canvas, rows: Rows | None) -> Chart:
    """Paired differences: thick lines are the interval, thin ones the class-aware interval."""
    alt = require("altair", "report")
    verdicts = _occurring("verdict", [*VERDICT_NAMES.values()], rows)
    base = alt.Chart(_data(rows))
    y = alt.Y("label:N", sort=_placed(alt), title=None, axis=alt.Axis(labelExpr=_SHORT))
    zero = (
        alt.Chart(alt.Data(values=[{"zero": 0}]))
        .mark_rule(color=canvas.palette.ink, strokeDash=[3, 2])
        .encode(x="zero:Q")
    )
    parts = [
        base.mark_rule(strokeWidth=1.2).encode(x="low_new:Q", x2="high_new:Q", y=y),
        base.mark_rule(strokeWidth=4, opacity=0.75).encode(
            x=alt.X("low:Q", title="difference, points"), x2="high:Q", y=y
        ),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x="mean:Q",
            y=y,
            shape=alt.Shape(
                "verdict:N",
                title=None,
                scale=_scale(alt, verdicts, SHAPES),
            ),
            tooltip=["label:N", "shown:N", "verdict:N"],
        ),
    ]
    colour = alt.Color(
        "verdict:N",
        title=None,
        scale=_scale(alt, verdicts, canvas.palette.verdicts),
    )
    coloured = alt.layer(*(part.encode(color=colour) for part in parts))
    return _finished((zero + coloured).properties(height=canvas.lines(alt, 5)), canvas)


def accuracies(canvas: Canvas, rows: Rows | None) -> Chart:
    """Mean accuracies with both intervals; diamonds are not told from the highest."""
    alt = require("altair", "report")
    base = alt.Chart(_data(rows))
    y = alt.Y("label:N", sort=_placed(alt), title=None, axis=alt.Axis(labelExpr=_SHORT))
    ties = _occurring("tied", [*TIES], rows)
    muted = canvas.palette.muted
    colours = _scale(alt, ties, (canvas.palette.verdicts[0], muted, muted))
    colour = alt.Color("tied:N", title=None, scale=colours)
    shapes = _scale(alt, ties, ("diamond", "circle", "circle"))
    shape = alt.Shape("tied:N", title=None, scale=shapes)
    parts = [
        base.mark_rule(strokeWidth=1.2).encode(x="low_new:Q", x2="high_new:Q", y=y, color=colour),
        base.mark_rule(strokeWidth=4, opacity=0.75).encode(
            x=alt.X("low:Q", title="accuracy, %", scale=alt.Scale(zero=False)),
            x2="high:Q",
            y=y,
            color=colour,
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x="mean:Q", y=y, color=colour, shape=shape, tooltip=["label:N", "shown:N", "tied:N"]
        ),
    ]
    return _finished(alt.layer(*parts).properties(height=canvas.lines(alt, 5)), canvas)


TIES = ("tied with the highest", "told apart from it", "accuracy")
"""What the row of a method may say of ties."""


def scatter(canvas: Canvas, rows: Rows | None) -> Chart:
    """Accuracies of two methods, task by task (Figure 1 of Lafargue et al., TMLR 2024)."""
    alt = require("altair", "report")
    base = alt.Chart(_data(rows))
    scale = alt.Scale(zero=False, nice=False, padding=6)
    diagonal = base.mark_line(color=canvas.palette.muted, strokeDash=[3, 2], strokeWidth=1).encode(
        x=alt.X("end:Q", scale=scale), y=alt.Y("end:Q", scale=scale)
    )
    points = base.mark_circle(color=canvas.palette.series[0], opacity=0.45).encode(
        x=alt.X("first:Q", title="accuracy of the first method on a task, %", scale=scale),
        y=alt.Y("second:Q", title="accuracy of the second method, %", scale=scale),
        size=alt.Size(
            "tasks:Q",
            title="tasks",
            scale=alt.Scale(range=[14, 260]),
            legend=alt.Legend(tickCount=3),
        ),
        tooltip=["first:Q", "second:Q", "tasks:Q"],
    )
    height = 300 if canvas.width is None else round(0.62 * canvas.width)
    return _finished((diagonal + points).properties(height=height), canvas)


def queries(canvas: Canvas, rows: Rows | None) -> Chart:
    """Half-width of the open interval by queries a class (Figure 4 of the same)."""
    alt = require("altair", "report")
    base = alt.Chart(_data(rows))
    colour = alt.Color("sweep:N", title=None, scale=_series(alt, canvas))
    x = alt.X("Q:Q", title="queries a class, Q", axis=alt.Axis(tickMinStep=1))
    parts = [
        base.mark_line(strokeWidth=1.5).encode(x=x, y="model:Q", color=colour),
        base.mark_point(filled=True, size=40).encode(
            x=x,
            y=alt.Y("observed:Q", title="half-width of the open interval, points"),
            color=colour,
            shape=alt.Shape("sweep:N", title=None, legend=None),
            tooltip=["sweep:N", "Q:Q", "observed:Q", "model:Q"],
        ),
    ]
    return _finished(alt.layer(*parts).properties(height=220), canvas)


def ladder(canvas: Canvas, rows: Rows | None) -> Chart:
    """Accuracy and worst-class accuracy of some methods on the steps of a ladder."""
    alt = require("altair", "report")
    base = alt.Chart(_data(rows))
    x = alt.X("step:N", sort=_placed(alt), title=None, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("method:N", sort=None)
    colour = alt.Color("method:N", title=None, sort=None, scale=_series(alt, canvas))
    parts = [
        base.mark_rule(strokeWidth=1.5).encode(
            x=x, xOffset=offset, y=alt.Y("low:Q", title="%"), y2="high:Q", color=colour
        ),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x=x,
            xOffset=offset,
            y="mean:Q",
            color=colour,
            shape=alt.Shape(
                "measure:N",
                title=None,
                scale=alt.Scale(domain=["accuracy", "wAcc"], range=["circle", "triangle-down"]),
            ),
            tooltip=["method:N", "step:N", "measure:N", "shown:N"],
        ),
    ]
    return _finished(alt.layer(*parts).properties(height=240), canvas)


SIDES = ("the method", "compared with", "others")
"""How a page names methods where it speaks of two."""


def worst(canvas: Canvas, rows: Rows | None) -> Chart:
    """Accuracy against worst-class accuracy of methods on the last step of a ladder."""
    alt = require("altair", "report")
    base = alt.Chart(_data(rows))
    scale = alt.Scale(zero=False)
    x = alt.X("accuracy:Q", title="accuracy, %", scale=scale)
    y = alt.Y("worst:Q", title="wAcc, %", scale=scale)
    names = list(SIDES) if rows is None else list(dict.fromkeys(row["named"] for row in rows))
    colours = alt.Scale(domain=names, range=[*canvas.palette.series])
    colour = alt.Color("named:N", title=None, scale=colours)
    shapes = alt.Scale(domain=names, range=["circle", "square", "triangle-up", "cross", "diamond"])
    rule = {"strokeWidth": 1, "opacity": 0.5}
    parts = [
        base.mark_rule(**rule).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y),
        base.mark_rule(**rule).encode(x=x, y=alt.Y("worst_low:Q", scale=scale), y2="worst_high:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x=x,
            y=y,
            shape=alt.Shape("named:N", title=None, scale=shapes),
            tooltip=["method:N", "accuracy:Q", "worst:Q"],
        ),
    ]
    parts = [part.encode(color=colour) for part in parts]
    return _finished(alt.layer(*parts).properties(height=260), canvas)


def conclusive(canvas: Canvas, rows: Rows | None) -> Chart:
    """How many comparisons each kind of interval calls conclusive (Figure 6 of the same)."""
    alt = require("altair", "report")
    base = alt.Chart(_data(rows))
    y = alt.Y("kind:N", sort=_placed(alt), title=None)
    letters = {"fontSize": canvas.letters, "color": canvas.palette.ink}
    parts = [
        base.mark_bar(color=canvas.palette.series[0], height=11).encode(
            x=alt.X(
                "share:Q",
                title="conclusive, % of the comparisons",
                scale=alt.Scale(domain=[0, 100]),
            ),
            y=y,
        ),
        base.mark_text(align="left", dx=4, **letters).encode(x="share:Q", y=y, text="shown:N"),
    ]
    return _finished(alt.layer(*parts).properties(height=canvas.lines(alt, 8)), canvas)


CHARTS: dict[str, Callable[..., Chart]] = {
    "forest": forest,
    "accuracies": accuracies,
    "scatter": scatter,
    "queries": queries,
    "ladder": ladder,
    "worst": worst,
    "conclusive": conclusive,
}
"""By name."""


def captioned(chart: Chart, title: str, caption: str, width: int) -> Chart:
    """The chart with its title, and below it what level, interval and number of tasks it has."""
    alt = require("altair", "report")
    per_line = int(width / 3.9)
    title = alt.TitleParams(wrap(title, round(per_line * 0.75)), subtitle=wrap(caption, per_line))
    return chart.properties(title=title)


def stacked(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart's Vega-Lite with its legends below each other, for which Altair has no name."""
    spec["config"]["legend"]["layout"] = {"bottom": {"direction": "vertical"}}
    return spec


def _data(rows: Rows | None) -> Any:
    alt = require("altair", "report")
    return alt.NamedData(ROWS) if rows is None else alt.Data(values=[dict(row) for row in rows])


def _placed(alt: Any) -> Any:
    """In the order of `place`: without it, rows that come later would keep the order of others."""
    return alt.EncodingSortField(field="place", op="min", order="ascending")


def _occurring(field: str, names: Sequence[str], rows: Rows | None) -> dict[str, int]:
    """Those of some names that occur in the rows, with their places."""
    found = None if rows is None else {row.get(field) for row in rows}
    return {name: i for i, name in enumerate(names) if found is None or name in found}


def _scale(alt: Any, domain: Mapping[str, int], values: Sequence[str]) -> Any:
    return alt.Scale(domain=[*domain], range=[values[i] for i in domain.values()])


def _series(alt: Any, canvas: Canvas) -> Any:
    return alt.Scale(range=[*canvas.palette.series])


def _finished(chart: Chart, canvas: Canvas) -> Chart:
    alt = require("altair", "report")
    if canvas.width is None:
        chart = chart.properties(width="container")
    else:
        fit = alt.AutoSizeParams(type="fit-x", contains="padding")
        chart = chart.properties(width=canvas.width, autosize=fit)
    settings = config(canvas.palette, canvas.letters)
    settings["axisY"] = {"labelLimit": 0}
    settings["legend"] |= {"labelLimit": 0, "columns": 3}
    if canvas.width == COLUMN_WIDTHS[1]:
        settings["legend"]["columns"] = 1
    chart = chart.add_params(alt.param(name=CHARACTERS, value=canvas.characters))
    return chart.configure(**settings)
