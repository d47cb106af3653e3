"""Comparisons as lines of a forest plot in the terminal."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from analysis_sql.comparison.verdicts import Comparison
from fslbench_data.release.release import Release
from fslbench_data.render.forest_lines import _Axis, _scale, forest_lines
from fslbench_data.scoring.score import score
from fslbench_data.submission.model import Submission


@pytest.fixture(scope="module")
def comparisons(embedded: Release, example: Submission) -> list[Comparison]:
    return list(score(example, embedded, task_sets="open-5w10s7q").comparisons)


def _label(comparisons: list[Comparison]) -> dict[str, str]:
    return {name: name for c in comparisons for name in (c.method, c.versus)}


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_marks_and_ends_stand_where_the_numbers_are(
    comparisons: list[Comparison], width: int
) -> None:
    head, *lines = forest_lines(comparisons, _label(comparisons), width)
    assert len(lines) == len(comparisons)
    assert all(len(line.plain) <= width for line in (head, *lines))
    zero = {line.plain.index("┊") for line in lines}
    assert len(zero) == 1
    start = max(len(c.versus) for c in comparisons) + 2
    ends = [
        end
        for c in comparisons
        for i in (pair.difference for pair in c.intervals.values())
        for end in (i.low, i.high)
    ]
    low, high = min(0.0, *ends), max(0.0, *ends)

    def column(value: float) -> int:
        return start + round((value - low) / (high - low) * (width - start - 1))

    assert zero == {column(0.0)}
    for c, line in zip(comparisons, lines, strict=True):
        text = line.plain
        assert text.startswith(c.versus)
        mark = {"+": "▲", "-": "▼"}.get(c.verdict.value, "●")
        assert text.index(mark) == column(c.difference.mean)
        assert c.difference.low is not None
        assert text.index("━") in (column(c.difference.low), column(c.difference.low) + 1)
        assert re.search("[─━]", text[start:]).start() + start == column(  # type: ignore[union-attr]
            c.intervals["class-aware"].difference.low or 0.0
        )
        assert (line.spans[-1].style == "green") is (c.verdict.value == "+") if line.spans else True


def test_the_axis_has_round_numbers_above_their_columns(comparisons: list[Comparison]) -> None:
    head, first, *_ = forest_lines(comparisons, _label(comparisons), 100)
    zero = first.plain.index("┊")
    assert head.plain[zero] == "0"
    values = [float(text) for text in head.plain.split()]
    steps = {round(b - a, 9) for a, b in pairwise(values)}
    assert len(steps) == 1


def test_where_there_is_no_room_or_nothing_to_draw(comparisons: list[Comparison]) -> None:
    assert forest_lines(comparisons, _label(comparisons), 30) == []
    assert forest_lines([], {}, 100) == []


def test_several_methods_and_long_names(embedded: Release) -> None:
    report = score(None, embedded, datasets="groceries", task_sets="open-5w5s5q")
    shown = list(report.comparisons)[:30]
    _, *lines = forest_lines(shown, _label(shown), 90)
    assert all(len(line.plain) <= 90 for line in lines)
    assert "…" in lines[0].plain


@pytest.mark.parametrize("width", range(24, 80))
def test_every_width_and_span_has_an_axis(width: int) -> None:
    for span in (0.9, 1.0, 4.9, 5.0, 9.9, 51.0):
        for low in (-span, -span / 2, 0.0):
            axis = _Axis(low, low + span, width)
            assert len(_scale(axis)) <= width
            assert _scale(axis).split()
