"""How figures look: colours that the colour-blind tell apart, and sizes for papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fslbench_data.render.fonts import FAMILY

VERDICT_NAMES = {
    "+": "better",
    "-": "worse",
    "0": "not told apart",
    "=": "identical",
    "?": "not estimable",
}
"""Verdicts in words, by their sign."""

SHAPES = ("triangle-up", "triangle-down", "circle", "square", "cross")
"""Of the verdicts, in the same order: a figure can be read without its colours."""

COLUMN_WIDTHS = {1: 234, 2: 486}
"""Width of a figure in points: one column of 3.25 inches, or two, 6.75."""


@dataclass(frozen=True)
class Palette:
    """Colours, as SVG takes them (Okabe and Ito's for verdicts and series).

    Attributes
    ----------
    verdicts
        In the order of :data:`VERDICT_NAMES`.
    series
        Of things side by side.
    """

    paper: str
    ink: str
    muted: str
    grid: str
    verdicts: tuple[str, ...]
    series: tuple[str, ...]


PRINT = Palette(
    paper="white",
    ink="#000000",
    muted="#595959",
    grid="#e3e3e3",
    verdicts=("#0072b2", "#d55e00", "#595959", "#7f7f7f", "#9c9c9c"),
    series=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#595959"),
)
"""On white paper."""


def config(palette: Palette, size: int) -> dict[str, Any]:
    """The configuration of a chart with letters of some size."""
    text = {"labelColor": palette.ink, "titleColor": palette.ink, "labelFontSize": size}
    return {
        "font": FAMILY,
        "background": palette.paper,
        "view": {"stroke": None},
        "axis": text
        | {
            "titleFontSize": size,
            "titleFontWeight": "normal",
            "labelSeparation": size // 2,
            "gridColor": palette.grid,
            "domainColor": palette.muted,
            "tickColor": palette.muted,
        },
        "legend": text
        | {
            "titleFontSize": size,
            "titleFontWeight": "normal",
            "orient": "bottom",
            "symbolBaseFillColor": palette.ink,
        },
        "header": text,
        "title": {
            "color": palette.ink,
            "subtitleColor": palette.ink,
            "fontSize": size + 1,
            "subtitleFontSize": size - 1,
            "anchor": "start",
            "frame": "bounds",
        },
    }
