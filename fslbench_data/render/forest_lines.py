"""Comparisons as lines of a forest plot, for terminals.

A line a comparison, all on one axis: thick is the interval of the difference, thin that for
new classes, the mark the mean: ▲ better, ▼ worse, ● not told apart; ┊ stands at zero::

                      -5         0          5
    pixels/NCC             ─────━┊━━●━━━━────────
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from analysis_sql.comparison.verdicts import Comparison, Verdict
from analysis_sql.intervals.intervals import Interval
from fslbench_data.render.interval_text import VERDICT_STYLES

LINES_NOTE = (
    "lines: thick, the interval of the difference; thin, that for new classes; the mark, its mean."
)
_LEAST = 24
"""Characters of the axis, below which no line is drawn."""
_LABELS = 0.4
"""Share of the width that names may take."""
_THIN, _THICK, _ZERO, _MARK = "─━┊●"
_MARKS = {Verdict.BETTER: "▲", Verdict.WORSE: "▼"}


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    width: int

    def at(self, value: float) -> int:
        """The column of a value."""
        share = (value - self.low) / (self.high - self.low)
        return int(np.clip(round(share * (self.width - 1)), 0, self.width - 1))


def forest_lines(
    comparisons: Sequence[Comparison], label: Mapping[str, str], width: int
) -> list[Text]:
    """The axis and a line for each comparison, at most `width` characters wide.

    Parameters
    ----------
    label
        What each method is called.

    Returns
    -------
    list of Text
        Empty where there is no room, or no interval to draw.
    """
    drawn = [c for c in comparisons if c.difference.halfwidth]
    if not drawn:
        return []
    one = len({c.method for c in drawn}) == 1
    names = [label[c.versus] if one else f"{label[c.method]} - {label[c.versus]}" for c in drawn]
    room = min(max(map(len, names)), int(_LABELS * width))
    if (across := width - room - 2) < _LEAST:
        return []
    ends = [
        end for c in drawn for interval in _intervals(c) for end in (interval.low, interval.high)
    ]
    numbers = [end for end in ends if end is not None]
    axis = _Axis(min(0.0, *numbers), max(0.0, *numbers), across)
    head = Text(" " * (room + 2) + _scale(axis), style="dim")
    lines = [_line(c, _cut(name, room), axis) for c, name in zip(drawn, names, strict=True)]
    return [head, *lines]


def _intervals(c: Comparison) -> list[Interval]:
    return [pair.difference for pair in c.intervals.values()]


def _line(c: Comparison, name: str, axis: _Axis) -> Text:
    cells = [" "] * axis.width
    for number, interval in reversed([*enumerate(_intervals(c))]):
        sign = _THIN if number else _THICK
        if interval.low is not None and interval.high is not None:
            low, high = axis.at(interval.low), axis.at(interval.high)
            cells[low : high + 1] = sign * (high - low + 1)
    cells[axis.at(0.0)] = _ZERO
    cells[axis.at(c.difference.mean)] = _MARKS.get(c.verdict, _MARK)
    text = Text(f"{name}  ")
    text.append("".join(cells).rstrip(), style=VERDICT_STYLES.get(c.verdict, ""))
    return text


def _cut(name: str, room: int) -> str:
    return name.ljust(room) if len(name) <= room else f"{name[: room - 1]}…"


def _scale(axis: _Axis) -> str:
    """Round numbers above their columns."""
    span = axis.high - axis.low
    step = 10.0 ** np.floor(np.log10(span))
    step = next(
        s
        for s in (step / 5, step / 2, step, 2 * step, 5 * step, 10 * step)
        if span / s <= axis.width / 10
    )
    cells = [" "] * axis.width
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    free = 0
    for k in range(int(np.ceil(axis.low / step)), int(np.floor(axis.high / step)) + 1):
        text = f"{k * step:.{digits}f}" if k else "0"
        at = min(max(axis.at(k * step) - len(text) // 2, 0), axis.width - len(text))
        if at >= free:
            cells[at : at + len(text)] = text
            free = at + len(text) + 1
    return "".join(cells).rstrip()
