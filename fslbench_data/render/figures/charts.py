"""Draw figures with Vega-Altair, in colours that the colour-blind tell apart, sized for papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from benchmark_spec.extras import require
from fslbench_data.render.fonts import FAMILY

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
Chart = Any
"""An ``altair`` chart."""

VERDICT_NAMES = {
    "+": "better",
    "-": "worse",
    "0": "not told apart",
    "=": "identical",
    "?": "not estimable",
}
"""Verdicts in words, by their sign."""

TIES = ("highest or not told apart", "told apart from it", "accuracy")
"""What the row of a method may say of ties."""

COLUMN_WIDTHS = {1: 234, 2: 486}
"""Width of a figure in points: one column of 3.25 inches, or two, 6.75."""

INK, MUTED, GRID = "#000000", "#595959", "#e3e3e3"
VERDICT_COLOURS = ("#0072b2", "#d55e00", "#595959", "#7f7f7f", "#9c9c9c")
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#595959")
"""Okabe and Ito's colours, on white paper."""

SHAPES = ("triangle-up", "triangle-down", "circle", "square", "cross")
"""Of the verdicts, in the same order: a figure can be read without its colours."""

LETTERS = 8
"""Points of a letter."""

BETWEEN = " – "
"""Stands between the names of two methods in a label."""

CHARACTERS = "characters"
"""The parameter of a chart that says how long names may be."""

_SHORT_LABEL = (
    f"length(datum.label) <= {CHARACTERS} ? datum.label : indexof(datum.label, '{BETWEEN}') < 0 "
    f"? '…' + slice(datum.label, 1 - {CHARACTERS}) "
    f": '…' + slice(split(datum.label, '{BETWEEN}')[0], 3 - {CHARACTERS} / 2) + '{BETWEEN}…' "
    f"+ slice(split(datum.label, '{BETWEEN}')[1], 3 - {CHARACTERS} / 2)"
)
"""Names that are too long lose their beginnings: methods differ at the end."""


@dataclass(frozen=True)
class Figure:
    """A figure without its drawing.

    Attributes
    ----------
    chart
        Of :data:`CHARTS`.
    caption
        Says the level, the kind of interval and the number of tasks.
    """

    chart: str
    title: str
    caption: str
    rows: tuple[Row, ...]


def drawn(figure: Figure, columns: int = 2) -> dict[str, Any]:
    """Return the Vega-Lite of a figure for a paper, with title and caption."""
    width = COLUMN_WIDTHS[columns]
    chart = CHARTS[figure.chart](require("altair", "report"), width, figure.rows)
    spec: dict[str, Any] = finished(chart, figure.title, figure.caption, width).to_dict()
    if columns == 1:  # legends below each other, for which Altair has no name
        spec["config"]["legend"]["layout"] = {"bottom": {"direction": "vertical"}}
    return spec


def finished(chart: Chart, title: str, caption: str, width: int = COLUMN_WIDTHS[2]) -> Chart:
    """Return the chart with its width, letters, colours and title, and the caption below it."""
    alt = require("altair", "report")
    per_line = int(width / 3.9)
    titles = alt.TitleParams(wrap(title, round(per_line * 0.75)), subtitle=wrap(caption, per_line))
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = chart.properties(width=width, autosize=fit, title=titles)
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": LETTERS}
    titled = text | {"titleFontSize": LETTERS, "titleFontWeight": "normal"}
    return chart.add_params(alt.param(name=CHARACTERS, value=_characters(width))).configure(
        font=FAMILY,
        background="white",
        view={"stroke": None},
        axis=titled
        | {
            "labelSeparation": LETTERS // 2,
            "gridColor": GRID,
            "domainColor": MUTED,
            "tickColor": MUTED,
        },
        axisY={"labelLimit": 0},
        legend=titled
        | {
            "orient": "bottom",
            "symbolBaseFillColor": INK,
            "labelLimit": 0,
            "columns": 1 if width == COLUMN_WIDTHS[1] else 3,
        },
        header=text,
        title={
            "color": INK,
            "subtitleColor": INK,
            "fontSize": LETTERS + 1,
            "subtitleFontSize": LETTERS - 1,
            "anchor": "start",
            "frame": "bounds",
        },
    )


def _characters(width: int) -> int:
    """Return how many of a name's characters there is room for at an axis."""
    return round(0.4 * width / (0.55 * LETTERS))


def series(alt: Any) -> Any:
    """Return the colours of things side by side."""
    return alt.Scale(range=[*SERIES])


def _base(alt: Any, rows: Rows) -> Chart:
    return alt.Chart(alt.Data(values=[dict(row) for row in rows]))


def _placed(alt: Any) -> Any:
    """Return the order of `place`; without it rows that come later would keep that of others."""
    return alt.EncodingSortField(field="place", op="min", order="ascending")


def _intervals(
    alt: Any, rows: Rows, x: Any, field: str, names: Sequence[str], looks: Sequence[Sequence[str]]
) -> Chart:
    """A row a label: the first interval as a thick line, the next as a thin one, the mean a mark.

    The marks' colours and shapes are the `looks` of the names that a field has.
    """
    base = _base(alt, rows)
    present = {row.get(field) for row in rows}
    at = {name: i for i, name in enumerate(names) if name in present}
    scales = [alt.Scale(domain=[*at], range=[values[i] for i in at.values()]) for values in looks]
    y = alt.Y("label:N", sort=_placed(alt), title=None, axis=alt.Axis(labelExpr=_SHORT_LABEL))
    colour = alt.Color(f"{field}:N", title=None, scale=scales[0])
    shape = alt.Shape(f"{field}:N", title=None, scale=scales[1])
    parts = [
        base.mark_rule(strokeWidth=1.2).encode(x="low_new:Q", x2="high_new:Q"),
        base.mark_rule(strokeWidth=4, opacity=0.75).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, size=55 if field == "verdict" else 60, opacity=1).encode(
            x="mean:Q", shape=shape, tooltip=["label:N", "shown:N", f"{field}:N"]
        ),
    ]
    return alt.layer(*(part.encode(y=y, color=colour) for part in parts))


def _forest(alt: Any, width: int, rows: Rows) -> Chart:
    """Paired differences; the axis says which method a difference to the right speaks for."""
    subjects = {row["subject"] for row in rows}
    subject = subjects.pop() if len(subjects) == 1 else "the first of two"
    most = 2 * _characters(width)
    subject = subject if len(subject) <= most else f"…{subject[1 - most :]}"
    x = alt.X("low:Q", title=["difference, points", f"{subject} better →"])
    zero = _base(alt, [{"zero": 0}]).mark_rule(color=INK, strokeDash=[3, 2]).encode(x="zero:Q")
    looks = (VERDICT_COLOURS, SHAPES)
    intervals = _intervals(alt, rows, x, "verdict", [*VERDICT_NAMES.values()], looks)
    return (zero + intervals).properties(height=alt.Step(LETTERS + 5))


def _accuracies(alt: Any, _width: int, rows: Rows) -> Chart:
    """Mean accuracies with both intervals; diamonds are not told from the highest."""
    x = alt.X("low:Q", title="accuracy, %", scale=alt.Scale(zero=False))
    looks = ((VERDICT_COLOURS[0], MUTED, MUTED), ("diamond", "circle", "circle"))
    chart = _intervals(alt, rows, x, "standing", TIES, looks)
    return chart.properties(height=alt.Step(LETTERS + 5))


def _scatter(alt: Any, width: int, rows: Rows) -> Chart:
    """Accuracies of two methods, task by task (Figure 1 of Lafargue et al., TMLR 2024)."""
    base = _base(alt, rows)
    axis = alt.Scale(zero=False, nice=False, padding=6)
    diagonal = base.mark_line(color=MUTED, strokeDash=[3, 2], strokeWidth=1).encode(
        x=alt.X("end:Q", scale=axis), y=alt.Y("end:Q", scale=axis)
    )
    tasks = [row["tasks"] for row in rows if "tasks" in row]
    sizes = sorted({min(tasks), (min(tasks) + max(tasks)) // 2, max(tasks)})
    points = base.mark_circle(color=SERIES[0], opacity=0.45).encode(
        x=alt.X("first:Q", title="accuracy of the first method on a task, %", scale=axis),
        y=alt.Y("second:Q", title="accuracy of the second method, %", scale=axis),
        size=alt.Size(
            "tasks:Q",
            title="tasks",
            scale=alt.Scale(range=[30, 260], zero=False),
            legend=alt.Legend(values=sizes, format="d"),
        ),
        tooltip=["first:Q", "second:Q", "tasks:Q"],
    )
    return (diagonal + points).properties(height=round(0.62 * width))


def _queries(alt: Any, _width: int, rows: Rows) -> Chart:
    """Half-width of the open interval by queries a class (Figure 4 of the same)."""
    base = _base(alt, rows).encode(
        x=alt.X("Q:Q", title="queries a class, Q", axis=alt.Axis(tickMinStep=1)),
        color=alt.Color("sweep:N", title=None, scale=series(alt)),
    )
    points = base.mark_point(filled=True, size=40).encode(
        y=alt.Y("observed:Q", title="half-width of the open interval, points"),
        shape=alt.Shape("sweep:N", title=None, legend=None),
        tooltip=["sweep:N", "Q:Q", "observed:Q", "model:Q"],
    )
    lines = base.mark_line(strokeWidth=1.5).encode(y="model:Q")
    return alt.layer(lines, points).properties(height=220)


def _ladder(alt: Any, _width: int, rows: Rows) -> Chart:
    """Accuracy and worst-class accuracy of some methods on the steps of a ladder."""
    base = _base(alt, rows).encode(
        x=alt.X("step:N", sort=_placed(alt), title=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("method:N", sort=None),
        color=alt.Color("method:N", title=None, sort=None, scale=series(alt)),
    )
    shapes = alt.Scale(domain=["accuracy", "wAcc"], range=["circle", "triangle-down"])
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        y="mean:Q",
        shape=alt.Shape("measure:N", title=None, scale=shapes),
        tooltip=["method:N", "step:N", "measure:N", "shown:N"],
    )
    rules = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title="%"), y2="high:Q")
    return alt.layer(rules, points).properties(height=240)


def _worst(alt: Any, _width: int, rows: Rows) -> Chart:
    """Accuracy against worst-class accuracy of methods on the last step of a ladder."""
    names = list(dict.fromkeys(row["named"] for row in rows))
    bold = alt.Legend(symbolOpacity=1)
    colours = alt.Scale(domain=names, range=[*SERIES])
    shapes = alt.Scale(domain=names, range=["circle", "square", "triangle-up", "cross", "diamond"])
    base = _base(alt, rows).encode(
        color=alt.Color("named:N", title=None, scale=colours, legend=bold)
    )
    axis = alt.Scale(zero=False)
    x = alt.X("accuracy:Q", title="accuracy, %", scale=axis)
    y = alt.Y("worst:Q", title="wAcc, %", scale=axis)
    rules = base.mark_rule(strokeWidth=1, opacity=0.5)
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        x=x,
        y=y,
        shape=alt.Shape("named:N", title=None, scale=shapes, legend=bold),
        tooltip=["method:N", "accuracy:Q", "worst:Q"],
    )
    across = rules.encode(x=alt.X("low:Q", scale=axis), x2="high:Q", y=y)
    up = rules.encode(x=x, y=alt.Y("worst_low:Q", scale=axis), y2="worst_high:Q")
    return alt.layer(across, up, points).properties(height=260)


def _conclusive(alt: Any, _width: int, rows: Rows) -> Chart:
    """How many comparisons each kind of interval calls conclusive (Figure 6 of Lafargue)."""
    base = _base(alt, rows).encode(y=alt.Y("kind:N", sort=_placed(alt), title=None))
    share = alt.X(
        "share:Q",
        title=["conclusive,", "% of the comparisons"],
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100]),
    )
    bars = base.mark_bar(color=SERIES[0], height=11).encode(x=share)
    numbers = base.mark_text(align="left", dx=4, fontSize=LETTERS, color=INK)
    chart = alt.layer(bars, numbers.encode(x="share:Q", text="shown:N"))
    return chart.properties(height=alt.Step(LETTERS + 8))


CHARTS: dict[str, Callable[[Any, int, Rows], Chart]] = {
    "forest": _forest,
    "accuracies": _accuracies,
    "scatter": _scatter,
    "queries": _queries,
    "ladder": _ladder,
    "worst": _worst,
    "conclusive": _conclusive,
}
"""By kind: drawn with Altair, so many points wide, from rows."""
