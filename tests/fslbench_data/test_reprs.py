"""What people meet in Python shows itself in one to three short lines, fast."""

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import fslbench_data as fb
from fslbench_data.scoring.report import Report
from fslbench_data.submission.streaming import Streamed

SHOWN: dict[str, tuple[Callable[[fb.Release, Report], Any], str]] = {
    "release": (lambda release, _: release, "16 data sets, 147 task sets, 19 reference methods"),
    "manifest": (lambda release, _: release.manifest, "199 tables"),
    "task set": (
        lambda release, _: release.task_set("digits", "open-5w1s1q"),
        "digits/open-5w1s1q: 176 tasks of 5 classes",
    ),
    "task": (lambda release, _: release.task_set("digits", "open-5w1s1q")[3], "Task 3 of digits/"),
    "submission": (lambda release, _: release.references()[0], "pixels-NCC.parquet"),
    "report": (lambda _, report: report, "comparisons"),
    "signature": (lambda _, report: report.signature, "embedded@2.3.0"),
    "report on a set": (lambda _, report: report.sets[0], "3 methods, 3 comparisons"),
    "score": (lambda _, report: report.scores[0], "pixels/NCC\n = 71.70 ± 3.19 (open"),
    "scores": (lambda _, report: report.scores, "Scores"),
    "comparison": (
        lambda _, report: report.comparisons[0],
        "pixels/NCC minus pixels/MatchingNet\n = 0.00 ± 0.00 (open, level 0.95, 176 tasks), "
        "verdict '='; other intervals: class-aware",
    ),
    "comparisons": (lambda _, report: report.comparisons, "27 "),
    "interval": (lambda _, report: report.scores[0].accuracy, "tasks=176"),
    "plan": (lambda release, _: fb.plan(release=release, datasets="digits"), "Plan of open tasks"),
    "validated": (
        lambda release, _: fb.validate(release.references()[0], release, taken=()),
        "35 task sets",
    ),
}


@pytest.fixture(scope="module")
def shown() -> tuple[fb.Release, Report]:
    release = fb.load_release()
    return release, fb.score(None, release, datasets="digits")


@pytest.mark.parametrize("name", SHOWN)
def test_a_repr_is_one_to_three_lines(name: str, shown: tuple[fb.Release, Report]) -> None:
    make, part = SHOWN[name]
    text = repr(make(*shown))
    assert part in text
    assert text.count("\n") <= 2
    assert len(text) <= 300


def test_no_file_is_read_for_a_repr(tmp_path: Path) -> None:
    release = fb.load_release()
    gone = fb.Release(release.manifest, _NoFiles())
    assert repr(gone) == (
        "<Release embedded@2.3.0: 16 data sets, 147 task sets, 19 reference methods\n in nowhere>"
    )
    assert "<td" in gone._repr_html_()


class _NoFiles:
    where, hub = "nowhere", ""

    def path(self, table: object) -> Path:
        raise AssertionError(f"{table} was asked for")


_NAME = "<script>alert('a')</script>&\"b\""


class _Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.shown = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attributes if name.startswith("on")]
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.shown += data


@pytest.fixture
def named_badly() -> fb.Submission:
    recorder = fb.Recorder(_NAME)
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    recorder.add_task_set(tasks, tasks.query_label)
    return recorder.submission()


def test_a_submission_is_a_table_in_a_notebook(named_badly: fb.Submission) -> None:
    elements = _Elements(named_badly._repr_html_())
    assert elements.tags == {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert f"{_NAME}digitsopen-5w5s5q31yes" in elements.shown


def test_many_rows_are_cut_in_a_notebook() -> None:
    reference = max(fb.load_release().references(), key=lambda one: len(one.bindings))
    elements = _Elements(reference._repr_html_())
    groups = {(r["dataset"], r["task_set"]) for r in reference.table.to_pylist()}
    assert f"and {len(groups) - 20} more" in elements.shown


def test_a_file_that_is_streamed_is_not_read_for_a_notebook(
    named_badly: fb.Submission, tmp_path: Path
) -> None:
    path = tmp_path / "<b>.parquet"
    named_badly.write(path)
    streamed = Streamed(path)
    path.unlink()
    elements = _Elements(streamed._repr_html_())
    assert elements.tags == {"pre"}
    assert elements.shown == repr(streamed)
    assert str(path) in elements.shown
