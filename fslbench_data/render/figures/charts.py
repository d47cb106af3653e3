"""Draw the charts, each from rows of :mod:`fslbench_data.render.figures.rows` and a caption."""

from __future__ import annotations

from collections.abc import Callable

from benchmark_spec.extras import require
from fslbench_data.render.figures.canvas import (
    SHORT_LABEL,
    Canvas,
    Chart,
    Rows,
    data,
    finished,
    occurring,
    placed,
    scale,
    series,
)
from fslbench_data.render.figures.style import SHAPES, VERDICT_NAMES


def forest(canvas: Canvas, rows: Rows) -> Chart:
    """Paired differences: thick lines are the first interval, thin ones the next.

    The axis says which method a difference to the right speaks for.
    """
    alt = require("altair", "report")
    verdicts = occurring("verdict", [*VERDICT_NAMES.values()], rows)
    base = alt.Chart(data(rows))
    y = alt.Y("label:N", sort=placed(alt), title=None, axis=alt.Axis(labelExpr=SHORT_LABEL))
    zero = (
        alt.Chart(alt.Data(values=[{"zero": 0}]))
        .mark_rule(color=canvas.palette.ink, strokeDash=[3, 2])
        .encode(x="zero:Q")
    )
    parts = [
        base.mark_rule(strokeWidth=1.2).encode(x="low_new:Q", x2="high_new:Q", y=y),
        base.mark_rule(strokeWidth=4, opacity=0.75).encode(
            x=alt.X("low:Q", title=_direction(canvas, rows)), x2="high:Q", y=y
        ),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x="mean:Q",
            y=y,
            shape=alt.Shape(
                "verdict:N",
                title=None,
                scale=scale(alt, verdicts, SHAPES),
            ),
            tooltip=["label:N", "shown:N", "verdict:N"],
        ),
    ]
    colour = alt.Color(
        "verdict:N",
        title=None,
        scale=scale(alt, verdicts, canvas.palette.verdicts),
    )
    coloured = alt.layer(*(part.encode(color=colour) for part in parts))
    return finished((zero + coloured).properties(height=canvas.lines(alt, 5)), canvas)


def _direction(canvas: Canvas, rows: Rows) -> list[str]:
    """Title of the axis of differences, in two lines."""
    subjects = {row["subject"] for row in rows}
    subject = subjects.pop() if len(subjects) == 1 else "the first of two"
    most = 2 * canvas.characters
    subject = subject if len(subject) <= most else f"…{subject[1 - most :]}"
    return ["difference, points", f"{subject} better →"]


def accuracies(canvas: Canvas, rows: Rows) -> Chart:
    """Mean accuracies with both intervals; diamonds are not told from the highest."""
    alt = require("altair", "report")
    base = alt.Chart(data(rows))
    y = alt.Y("label:N", sort=placed(alt), title=None, axis=alt.Axis(labelExpr=SHORT_LABEL))
    ties = occurring("standing", [*TIES], rows)
    muted = canvas.palette.muted
    colours = scale(alt, ties, (canvas.palette.verdicts[0], muted, muted))
    colour = alt.Color("standing:N", title=None, scale=colours)
    shapes = scale(alt, ties, ("diamond", "circle", "circle"))
    shape = alt.Shape("standing:N", title=None, scale=shapes)
    parts = [
        base.mark_rule(strokeWidth=1.2).encode(x="low_new:Q", x2="high_new:Q", y=y, color=colour),
        base.mark_rule(strokeWidth=4, opacity=0.75).encode(
            x=alt.X("low:Q", title="accuracy, %", scale=alt.Scale(zero=False)),
            x2="high:Q",
            y=y,
            color=colour,
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x="mean:Q", y=y, color=colour, shape=shape, tooltip=["label:N", "shown:N", "standing:N"]
        ),
    ]
    return finished(alt.layer(*parts).properties(height=canvas.lines(alt, 5)), canvas)


TIES = ("highest or not told apart", "told apart from it", "accuracy")
"""What the row of a method may say of ties."""


def scatter(canvas: Canvas, rows: Rows) -> Chart:
    """Accuracies of two methods, task by task (Figure 1 of Lafargue et al., TMLR 2024)."""
    alt = require("altair", "report")
    base = alt.Chart(data(rows))
    axis = alt.Scale(zero=False, nice=False, padding=6)
    diagonal = base.mark_line(color=canvas.palette.muted, strokeDash=[3, 2], strokeWidth=1).encode(
        x=alt.X("end:Q", scale=axis), y=alt.Y("end:Q", scale=axis)
    )
    points = base.mark_circle(color=canvas.palette.series[0], opacity=0.45).encode(
        x=alt.X("first:Q", title="accuracy of the first method on a task, %", scale=axis),
        y=alt.Y("second:Q", title="accuracy of the second method, %", scale=axis),
        size=alt.Size(
            "tasks:Q",
            title="tasks",
            scale=alt.Scale(range=[30, 260], zero=False),
            legend=alt.Legend(values=_sizes(rows), format="d"),
        ),
        tooltip=["first:Q", "second:Q", "tasks:Q"],
    )
    return finished((diagonal + points).properties(height=round(0.62 * canvas.width)), canvas)


def _sizes(rows: Rows) -> list[int]:
    """Numbers of tasks that a legend shows."""
    tasks = [row["tasks"] for row in rows if "tasks" in row]
    return sorted({min(tasks), (min(tasks) + max(tasks)) // 2, max(tasks)})


def queries(canvas: Canvas, rows: Rows) -> Chart:
    """Half-width of the open interval by queries a class (Figure 4 of the same)."""
    alt = require("altair", "report")
    base = alt.Chart(data(rows))
    colour = alt.Color("sweep:N", title=None, scale=series(alt, canvas))
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
    return finished(alt.layer(*parts).properties(height=220), canvas)


def ladder(canvas: Canvas, rows: Rows) -> Chart:
    """Accuracy and worst-class accuracy of some methods on the steps of a ladder."""
    alt = require("altair", "report")
    base = alt.Chart(data(rows))
    x = alt.X("step:N", sort=placed(alt), title=None, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("method:N", sort=None)
    colour = alt.Color("method:N", title=None, sort=None, scale=series(alt, canvas))
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
    return finished(alt.layer(*parts).properties(height=240), canvas)


def worst(canvas: Canvas, rows: Rows) -> Chart:
    """Accuracy against worst-class accuracy of methods on the last step of a ladder."""
    alt = require("altair", "report")
    base = alt.Chart(data(rows))
    axis = alt.Scale(zero=False)
    x = alt.X("accuracy:Q", title="accuracy, %", scale=axis)
    y = alt.Y("worst:Q", title="wAcc, %", scale=axis)
    names = list(dict.fromkeys(row["named"] for row in rows))
    colours = alt.Scale(domain=names, range=[*canvas.palette.series])
    bold = alt.Legend(symbolOpacity=1)
    colour = alt.Color("named:N", title=None, scale=colours, legend=bold)
    shapes = alt.Scale(domain=names, range=["circle", "square", "triangle-up", "cross", "diamond"])
    rule = {"strokeWidth": 1, "opacity": 0.5}
    parts = [
        base.mark_rule(**rule).encode(x=alt.X("low:Q", scale=axis), x2="high:Q", y=y),
        base.mark_rule(**rule).encode(x=x, y=alt.Y("worst_low:Q", scale=axis), y2="worst_high:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x=x,
            y=y,
            shape=alt.Shape("named:N", title=None, scale=shapes, legend=bold),
            tooltip=["method:N", "accuracy:Q", "worst:Q"],
        ),
    ]
    parts = [part.encode(color=colour) for part in parts]
    return finished(alt.layer(*parts).properties(height=260), canvas)


def conclusive(canvas: Canvas, rows: Rows) -> Chart:
    """How many comparisons each kind of interval calls conclusive (Figure 6 of the same)."""
    alt = require("altair", "report")
    base = alt.Chart(data(rows))
    y = alt.Y("kind:N", sort=placed(alt), title=None)
    letters = {"fontSize": canvas.letters, "color": canvas.palette.ink}
    parts = [
        base.mark_bar(color=canvas.palette.series[0], height=11).encode(
            x=alt.X(
                "share:Q",
                title=["conclusive,", "% of the comparisons"],
                scale=alt.Scale(domain=[0, 100]),
                axis=alt.Axis(values=[0, 25, 50, 75, 100]),
            ),
            y=y,
        ),
        base.mark_text(align="left", dx=4, **letters).encode(x="share:Q", y=y, text="shown:N"),
    ]
    return finished(alt.layer(*parts).properties(height=canvas.lines(alt, 8)), canvas)


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
