"""docs/why.md: its picture and its numbers are those of the package."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fslbench_data as fb
from fslbench_data.release.release import Release

DOCS = Path(__file__).parents[1] / "docs"
REUSED, DISJOINT = "closed-5w10s7q", "open-5w10s7q"


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that draws."""
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("draw_four_intervals")


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "why.md").read_text(encoding="utf-8")


def test_the_picture_is_what_its_script_draws(drawing: Any, page: str) -> None:
    answers = drawing.answers()
    drawn = (DOCS / "four_intervals.svg").read_text(encoding="utf-8")
    assert drawn == drawing.draw(answers), "draw it again: python docs/draw_four_intervals.py"
    assert f"![{drawing.alternative(answers)}](four_intervals.svg)" in page
    rows = re.findall(r"\((?:the same )?(\d+) tasks\) \| (\d\S+ ± \S+) \|", page)
    assert rows == [(str(answer.tasks), str(answer)) for answer in answers]


def test_an_interval_beyond_the_axis_is_not_drawn(
    drawing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "LOW", 86)
    with pytest.raises(ValueError, match=r"91\.72 ± 6\.54 reaches beyond the axis from 86 to 100"):
        drawing.answers()


def _numbers(page: str, row: str) -> list[int]:
    """The numbers in the last column of the row that begins so."""
    (cells,) = re.findall(rf"^\| {re.escape(row)}[^|]*\| ([^|]*) \|$", page, flags=re.MULTILINE)
    return [int(number) for number in re.findall(r"\d+", cells)]


def test_how_many_comparisons_are_conclusive(page: str) -> None:
    report = fb.score(datasets="groceries", task_sets=[REUSED, DISJOINT])
    reused, disjoint = (
        [pair for pair in report.comparisons if pair.task_set == name]
        for name in (REUSED, DISJOINT)
    )
    assert len(reused) == len(disjoint) == 105

    def claimed(verdicts: list[str]) -> set[int]:
        return {position for position, verdict in enumerate(verdicts) if verdict in "+-"}

    habit = claimed([pair.verdict_direct for pair in reused])
    closed, images, classes = (
        claimed([pair.intervals[kind].verdict for pair in reused])
        for kind in ("closed", "images", "classes")
    )
    opened, aware = (
        len(claimed([pair.intervals[kind].verdict for pair in disjoint]))
        for kind in ("open", "class-aware")
    )
    assert _numbers(page, "two usual intervals") == [len(habit)]
    assert _numbers(page, "the usual interval of the difference") == [len(closed)]
    assert _numbers(page, "new photos") == [len(images)]
    assert _numbers(page, "new classes") == [len(classes)]
    assert _numbers(page, "for comparison") == [opened, aware]
    text = " ".join(page.split())
    assert f"comparisons of 15 methods {opened} are significant" in text
    assert f"Of the {len(closed)} claims of the usual interval about half" in text
    assert abs(len(closed & images) / len(closed) - 0.5) < 0.05
    lost = f"Of the {len(habit)} claims by non-overlapping intervals {len(habit - images)} are not,"
    assert f"{lost} and {len(habit - classes)} are not significant for new classes" in text


def test_queries_with_another_photo_of_their_burst(page: str, embedded: Release) -> None:
    group = embedded.images("groceries")["group"].to_numpy()
    tasks = embedded.task_set("groceries", REUSED)
    share = np.mean(
        [
            np.isin(group[query], group[support])
            for support, query in zip(tasks.support, tasks.query, strict=True)
        ]
    )
    assert f"{100 * share:.0f} % of the queries" in " ".join(page.split())
