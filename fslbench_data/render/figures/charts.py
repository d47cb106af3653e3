"""Figures drawn with Vega-Altair, in colours for the colour-blind, sized for papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from textwrap import wrap
from typing import Any

from msgspec import Struct

from benchmark_spec.extras import require
from fslbench_data.render.fonts import FAMILY
from fslbench_data.render.interval_text import VERDICT_WORDS

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
Chart = Any
"""An ``altair`` chart."""

VERDICT_NAMES = {verdict.value: word for verdict, word in VERDICT_WORDS.items()}
"""Verdicts in words, by their sign."""

TIES = ("highest, or ns from it", "significantly lower", "not judged")
"""How a method compares to the highest mean."""

WIDTHS: dict[str, float] = {"column": 234, "page": 486}
"""Width of a figure in points: one column of 3.25 inches, or a page of two, 6.75."""

SQUARE, AXIS_WIDTH = 260, 36
"""Most points of the side of a square figure, and those that its vertical axis takes."""

MOST_TICKS = 8
"""Most numbers of queries at an axis."""

NARROW = 300
"""Points below which legends are stacked."""

OWN, REFERENCE = "methods of the results", "reference methods"
"""Where the methods of a figure of accuracies come from."""

INK, MUTED, GRID = "#000000", "#595959", "#e3e3e3"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#595959")
"""Okabe and Ito's colours, on white paper."""

COLOURS = ("#0072b2", "#d55e00", "#595959", "#7f7f7f", "#9c9c9c")
SHAPES = ("triangle-up", "triangle-down", "circle", "square", "cross")
"""Colours and shapes of the verdicts, in their order; shapes suffice to read a figure."""

LETTERS = 8
"""Font size in points."""

LEGENDS = {
    "forest": ("verdict",),
    "accuracies": ("whose", "standing"),
    "queries": ("sweep",),
    "ladder": ("method", "measure"),
    "worst": ("named",),
}
"""Fields with a legend, by figure."""

OTHERS = "other methods"
"""The name of all methods that a figure does not name."""

BETWEEN = " – "
"""The separator of the names of two methods in a label."""

CHARACTERS = "characters"
"""The parameter of a chart with the most characters of a name."""

_FIRST, _SECOND = (f"split(datum.label, '{BETWEEN}')[{i}]" for i in (0, 1))


def _shorter(name: str, most: str) -> str:
    """Return the Vega expression of a name of at most `most` characters, without its beginning."""
    return f"(length({name}) <= {most} ? {name} : '…' + slice({name}, 1 - {most}))"


def _beside(name: str) -> str:
    """Return the Vega expression of how many characters are left beside a name, at least half."""
    return f"(max({CHARACTERS} / 2 - 2, {CHARACTERS} - 3 - length({name})))"


_SHORT_LABEL = (
    f"length(datum.label) <= {CHARACTERS} || indexof(datum.label, '{BETWEEN}') < 0 "
    f"? {_shorter('datum.label', CHARACTERS)} : "
    f"{_shorter(_FIRST, _beside(_SECOND))} + '{BETWEEN}' + {_shorter(_SECOND, _beside(_FIRST))}"
)
"""Names that are too long lose their beginnings: methods differ at the end."""


class Figure(Struct, frozen=True):
    """The content of a figure.

    Attributes
    ----------
    chart
        One of :data:`CHARTS`.
    caption
        The level, the kind of interval and the number of tasks.
    """

    chart: str
    title: str
    caption: str
    rows: tuple[Row, ...]


def drawn(figure: Figure, width: float, title: str = "") -> dict[str, Any]:
    """Return the Vega-Lite of a figure for a paper, `width` points wide, without its caption."""
    width = min(width, SQUARE) if figure.chart == "scatter" else width
    rows = _short_rows(figure.rows)
    chart = CHARTS[figure.chart](require("altair", "report"), width, rows)
    context = {"pre_transform": False}  # whatever transformer a notebook has set
    spec: dict[str, Any] = finished(chart, title, "", width).to_dict(context=context)
    legend = spec["config"]["legend"]
    fields = LEGENDS.get(figure.chart, ())
    fitting = _fitting_entries(rows, fields, width)
    legend["columns"] = min(3, fitting)
    entries = sum(len({row.get(field) for row in rows}) for field in fields)
    if width < NARROW or (len(fields) > 1 and entries > fitting):
        # one legend below the other, for which Altair has no name
        legend["layout"] = {"bottom": {"direction": "vertical"}}
    return spec


def _fitting_entries(rows: Rows, fields: Sequence[str], width: float) -> int:
    """Count the legend entries that fit in a row below a figure, at least one."""

    def longest(field: str) -> int:
        return max((len(str(row.get(field, ""))) for row in rows), default=0)

    room = width - max(AXIS_WIDTH, 0.55 * LETTERS * min(longest("label"), _characters(width)))
    entry = 3 * LETTERS + 0.55 * LETTERS * max(map(longest, fields), default=0)
    return max(1, int(room / entry))


def _short_rows(rows: Rows) -> Rows:
    """Leave the features that all methods share out of their names."""
    fields = ("label", "method", "named")
    names = {row[field] for row in rows for field in fields if field in row} - {OTHERS}
    features = {name.rpartition("/")[0] for name in names}
    shared = len(features) == 1 and len(names) > 1 and "" not in features
    if not shared or any(BETWEEN in name for name in names):
        return rows
    short = {name: name.rpartition("/")[2] for name in names}
    return [
        {**row, **{field: short.get(row[field], row[field]) for field in fields if field in row}}
        for row in rows
    ]


def finished(chart: Chart, title: str, caption: str = "", width: float = WIDTHS["page"]) -> Chart:
    """Return the chart with its width, fonts and colours, and a title and caption, if any."""
    alt = require("altair", "report")
    line_length = int(width / 3.9)
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = chart.properties(width=width, autosize=fit)
    if title or caption:
        above, below = wrap(title, round(line_length * 0.75)), wrap(caption, line_length)
        chart = chart.properties(title=alt.TitleParams(above, subtitle=below))
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": LETTERS}
    titled = text | {"titleFontSize": LETTERS, "titleFontWeight": "normal"}
    lines = {"gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED}
    legend = {"orient": "bottom", "symbolBaseFillColor": INK, "labelLimit": 0}
    title_text = {"color": INK, "subtitleColor": INK, "fontSize": LETTERS + 1}
    title_text |= {"subtitleFontSize": LETTERS - 1, "anchor": "start", "frame": "bounds"}
    return chart.add_params(alt.param(name=CHARACTERS, value=_characters(width))).configure(
        font=FAMILY,
        background="white",
        view={"stroke": None},
        axis=titled | {"labelSeparation": LETTERS // 2} | lines,
        axisY={"labelLimit": 0},
        legend=titled | legend | {"offset": LETTERS // 2},
        header=text,
        title=title_text,
    )


def _characters(width: float) -> int:
    """Return how many characters of a name have room at an axis."""
    return round(0.4 * width / (0.55 * LETTERS))


def series(alt: Any) -> Any:
    """Return the colours of series side by side."""
    return alt.Scale(range=[*SERIES])


def _base(alt: Any, rows: Rows) -> Chart:
    return alt.Chart(alt.Data(values=[dict(row) for row in rows]))


def _placed(alt: Any) -> Any:
    """Sort by `place`; otherwise later layers would keep the order of earlier ones."""
    return alt.EncodingSortField(field="place", op="min", order="ascending")


Looks = tuple[str, Mapping[str, str]]
"""A field, and the colours or the shapes of its values."""


def _intervals(alt: Any, rows: Rows, x: Any, shapes: Looks, colours: Looks) -> Chart:
    """Draw a row per label: a mark, the first interval as a thick line and the next as a thin."""
    base, field = _base(alt, rows), shapes[0]

    def encoding(channel: Any, name: str, looks: Mapping[str, str]) -> Any:
        present = {row.get(name) for row in rows}
        used = {value: look for value, look in looks.items() if value in present}
        scale = alt.Scale(domain=[*used], range=[*used.values()])
        no_legend = {"legend": None} if present == {TIES[2]} else {}
        return channel(f"{name}:N", title=None, scale=scale, **no_legend)

    y = alt.Y("label:N", sort=_placed(alt), title=None, axis=alt.Axis(labelExpr=_SHORT_LABEL))
    colour, shape = encoding(alt.Color, *colours), encoding(alt.Shape, *shapes)
    parts = [
        base.mark_rule(strokeWidth=1.2).encode(x="low_new:Q", x2="high_new:Q"),
        base.mark_rule(strokeWidth=4, opacity=0.75).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, size=55 if field == "verdict" else 60, opacity=1).encode(
            x="mean:Q", shape=shape, tooltip=["label:N", "shown:N", f"{field}:N"]
        ),
    ]
    return alt.layer(*(part.encode(y=y, color=colour) for part in parts))


def _forest(alt: Any, width: float, rows: Rows) -> Chart:
    """Draw paired differences; the axis names the better method of each direction."""
    first, second = _only(rows, "subject", "first"), _only(rows, "versus", "others")
    sides = f"{second} better ← → {first} better"
    if len(sides) > 0.2 * width:
        sides = "worse ← → better"
    axis = alt.Axis(titleAnchor="end" if width < NARROW else "middle")
    x = alt.X("low:Q", title=["difference, points", sides], axis=axis)
    zero = _base(alt, [{"zero": 0}]).mark_rule(color=INK, strokeDash=[3, 2]).encode(x="zero:Q")
    verdicts = VERDICT_NAMES.values()
    shapes: Looks = ("verdict", dict(zip(verdicts, SHAPES, strict=True)))
    colours: Looks = ("verdict", dict(zip(verdicts, COLOURS, strict=True)))
    intervals = _intervals(alt, rows, x, shapes, colours)
    return (zero + intervals).properties(height=alt.Step(LETTERS + 5))


def _only(rows: Rows, field: str, several: str) -> str:
    """Return the last part of the name that all rows have, or `several` if they differ."""
    names = {str(row[field]) for row in rows}
    return names.pop().rpartition("/")[2] if len(names) == 1 else several


def _accuracies(alt: Any, _width: float, rows: Rows) -> Chart:
    """Draw mean accuracies with both intervals; diamonds do not differ from the highest."""
    x = alt.X("low:Q", title="accuracy, %", scale=alt.Scale(zero=False))
    judged = {row["standing"] for row in rows} != {TIES[2]}
    shapes = dict(zip(TIES, ("diamond", "circle", "square" if judged else "circle"), strict=True))
    colours: Looks = ("standing", dict.fromkeys(TIES, COLOURS[0]))
    if len({row["whose"] for row in rows}) > 1:
        colours = ("whose", {OWN: COLOURS[0], REFERENCE: MUTED})
    chart = _intervals(alt, rows, x, ("standing", shapes), colours)
    return chart.properties(height=alt.Step(LETTERS + 5))


def _scatter(alt: Any, width: float, rows: Rows) -> Chart:
    """Draw accuracies of two methods, task by task (Figure 1 of Lafargue et al., TMLR 2024)."""
    base = _base(alt, rows)
    ends = [row["end"] for row in rows if "end" in row]
    axis = alt.Scale(zero=False, nice=False, padding=6, domain=[min(ends), max(ends)])
    names = next(row for row in rows if "x" in row)
    diagonal = base.mark_line(color=MUTED, strokeDash=[3, 2], strokeWidth=1).encode(
        x=alt.X("end:Q", scale=axis), y=alt.Y("end:Q", scale=axis)
    )
    tasks = [row["tasks"] for row in rows if "tasks" in row]
    sizes = sorted({min(tasks), (min(tasks) + max(tasks)) // 2, max(tasks)})
    points = base.mark_circle(color=SERIES[0], opacity=0.45).encode(
        x=alt.X("first:Q", title=f"{_tail(names['x'], width)}, %", scale=axis),
        y=alt.Y("second:Q", title=f"{_tail(names['y'], width)}, %", scale=axis),
        size=alt.Size(
            "tasks:Q",
            title="tasks",
            scale=alt.Scale(range=[30, 260], zero=False),
            legend=alt.Legend(values=sizes, format="d"),
        ),
        tooltip=["first:Q", "second:Q", "tasks:Q"],
    )
    side = min(width, SQUARE)
    return (diagonal + points).properties(height=round(side - AXIS_WIDTH), width=round(side))


def _tail(name: str, width: float) -> str:
    """Return as much of the end of a name, where methods differ, as fits at an axis."""
    most = 2 * _characters(min(width, SQUARE))
    return name if len(name) <= most else f"…{name[1 - most :]}"


def _queries(alt: Any, _width: float, rows: Rows) -> Chart:
    """Draw the half-width of the open interval by queries per class (Figure 4 of Lafargue)."""
    tried = sorted({row["Q"] for row in rows})
    ticks = tried[:: -(-len(tried) // MOST_TICKS)]
    base = _base(alt, rows).encode(
        x=alt.X("Q:Q", title="queries per class", axis=alt.Axis(values=ticks, format="d")),
        color=alt.Color("sweep:N", title=None, scale=series(alt)),
    )
    points = base.mark_point(filled=True, size=40).encode(
        y=alt.Y("observed:Q", title="half-width for new images, points"),
        shape=alt.Shape("sweep:N", title=None, legend=None),
        tooltip=["sweep:N", "Q:Q", "observed:Q", "model:Q"],
    )
    lines = base.mark_line(strokeWidth=1.5).encode(y="model:Q")
    return alt.layer(lines, points).properties(height=220)


def _ladder(alt: Any, _width: float, rows: Rows) -> Chart:
    """Draw the accuracy and worst-class accuracy of methods on the steps of a ladder."""
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
    lines = base.mark_line(strokeWidth=1, opacity=0.6).encode(
        y="mean:Q", detail=["method:N", "measure:N"]
    )
    return alt.layer(lines, rules, points).properties(height=200)


def _worst(alt: Any, _width: float, rows: Rows) -> Chart:
    """Draw accuracy against worst-class accuracy of methods on the last step of a ladder."""
    names = list(dict.fromkeys(row["named"] for row in rows))
    opaque = alt.Legend(symbolOpacity=1)
    series_colours = cycle(SERIES)
    colours = [MUTED if name == OTHERS else next(series_colours) for name in names]
    shapes = alt.Scale(domain=names, range=["circle", "square", "triangle-up", "cross", "diamond"])
    colour = alt.Scale(domain=names, range=colours)
    base = _base(alt, rows).encode(
        color=alt.Color("named:N", title=None, scale=colour, legend=opaque)
    )
    axis = alt.Scale(zero=False)
    x = alt.X("accuracy:Q", title="accuracy, %", scale=axis)
    y = alt.Y("worst:Q", title="worst-class accuracy, %", scale=axis)
    rules = base.mark_rule(strokeWidth=1, opacity=0.5)
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        x=x,
        y=y,
        shape=alt.Shape("named:N", title=None, scale=shapes, legend=opaque),
        tooltip=["method:N", "accuracy:Q", "worst:Q"],
    )
    across = rules.encode(x=alt.X("low:Q", scale=axis), x2="high:Q", y=y)
    up = rules.encode(x=x, y=alt.Y("worst_low:Q", scale=axis), y2="worst_high:Q")
    return alt.layer(across, up, points).properties(height=260)


def _conclusive(alt: Any, _width: float, rows: Rows) -> Chart:
    """Draw how many comparisons are conclusive by kind of interval (Figure 6 of Lafargue)."""
    base = _base(alt, rows).encode(y=alt.Y("kind:N", sort=_placed(alt), title=None))
    share = alt.X(
        "share:Q",
        title="significant, % of the comparisons",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100]),
    )
    bars = base.mark_bar(color=SERIES[0], height=11).encode(x=share)
    numbers = base.mark_text(align="left", dx=4, fontSize=LETTERS, color=INK)
    chart = alt.layer(bars, numbers.encode(x="share:Q", text="shown:N"))
    return chart.properties(height=alt.Step(LETTERS + 8))


CHARTS: dict[str, Callable[[Any, float, Rows], Chart]] = {
    "forest": _forest,
    "accuracies": _accuracies,
    "scatter": _scatter,
    "queries": _queries,
    "ladder": _ladder,
    "worst": _worst,
    "conclusive": _conclusive,
}
"""Functions that draw a figure, by its kind, from Altair, a width in points and rows."""
