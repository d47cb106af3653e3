"""What people meet in Python shows itself in one to three short lines, fast."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import fslbench_data as fb
from fslbench_data.scoring.report import Report

SHOWN: dict[str, tuple[Callable[[fb.Release, Report], Any], str]] = {
    "release": (lambda release, _: release, "16 data sets, 156 task sets, 22 reference methods"),
    "manifest": (lambda release, _: release.manifest, "211 tables"),
    "task set": (
        lambda release, _: release.task_set("digits", "open-5w1s1q"),
        "digits/open-5w1s1q: 176 tasks of 5 classes",
    ),
    "task": (lambda release, _: release.task_set("digits", "open-5w1s1q")[3], "Task 3 of digits/"),
    "submission": (lambda release, _: release.references()[0], "pixels-NCC.parquet"),
    "report": (lambda _, report: report, "comparisons"),
    "signature": (lambda _, report: report.signature, "embedded@3.1.0"),
    "report on a set": (lambda _, report: report.sets[0], "3 methods, 3 comparisons"),
    "score": (lambda _, report: report.scores[0], "pixels/NCC\n = 71.70 ± 3.19 (open"),
    "scores": (lambda _, report: report.scores, "Scores"),
    "comparison": (
        lambda _, report: report.comparisons[0],
        "pixels/NCC minus pixels/MatchingNet\n = 0.00 ± 0.00 (open, level 0.95, 176 tasks), "
        "verdict '='; other intervals: class-aware",
    ),
    "comparisons": (lambda _, report: report.comparisons, "34 "),
    "interval": (lambda _, report: report.scores[0].accuracy, "tasks=176"),
    "plan": (lambda release, _: fb.plan(release=release, datasets="digits"), "Plan of open tasks"),
    "validated": (
        lambda release, _: fb.validate(release.references()[0], release, taken=()),
        "41 task sets",
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


def test_a_comparison_prints_a_sentence(example: fb.Submission) -> None:
    compared = fb.score(example, datasets="digits", task_sets="closed-5w10s7q").comparisons
    text = next(str(c) for c in compared if c.versus == "pixels/LR")
    assert text.startswith(
        "pixels/Ridge against pixels/LR on digits/closed-5w10s7q: +0.98 points, "
        "± 0.51 for new images (better), ± "
    )


def test_no_file_is_read_for_a_repr() -> None:
    no_files: Any = SimpleNamespace(where="nowhere", hub="")
    release = fb.Release(fb.load_release().manifest, no_files)
    assert repr(release).endswith("22 reference methods\n in nowhere>")
