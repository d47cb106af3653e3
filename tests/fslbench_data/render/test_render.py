"""What is printed: the same numbers in every format, and never a ±0."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
from recorded import recorded
from rich.console import Console

from fslbench_data.release.release import Release
from fslbench_data.render.details_text import print_details
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.render.report_formats import json_pieces, render_csv
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission


def _table(report: Report, height: int = 50, width: int = 120) -> str:
    console = Console(
        file=io.StringIO(), record=True, width=width, height=height, highlight=False, markup=False
    )
    print_details(report, console)
    return console.export_text()


def _sentences(report: Report) -> dict[tuple[str, str], str]:
    comparisons = json.loads("".join(json_pieces(report)))["comparisons"]
    return {(each["method"], each["versus"]): each["sentence"] for each in comparisons}


def _counts(
    release: Release, method: str, counts: object, task_set: str = "open-2w1s2q"
) -> Submission:
    return recorded(release.task_set("cats", task_set), np.asarray(counts), method)


def test_what_stands_in_for_no_interval(toy: Release) -> None:
    a = _counts(toy, "a", [4, 4, 4, 4])
    b = _counts(toy, "b", [3, 3, 3, 3])
    c = _counts(toy, "c", [3, 3, 3, 3])
    report = score(merge([a, b, c]), toy)
    text = _table(report)
    assert "± 0" not in text
    assert "nan" not in text.lower()
    assert "100.00 on every task" in text
    assert "+25.00 on every task" in text
    assert "identical" in text
    said = _sentences(report)
    assert said["a", "b"] == (
        "a and b differ by the same 25.00 points on each of 4 tasks, too few to conclude from; "
        "error bars would say better."
    )
    assert said["b", "c"] == "b and c answer alike: identical counts on all 4 tasks."
    rows = list(csv.DictReader(render_csv(report).splitlines()[1:]))
    assert [(r["diff"], r["diff_halfwidth"], r["verdict"]) for r in rows] == [
        ("25.0", "", "?"),
        ("25.0", "", "?"),
        ("25.0", "", "?"),
        ("25.0", "", "?"),
        ("0.0", "0.0", "="),
        ("0.0", "", "="),
    ]


def test_one_task_is_a_question(toy: Release) -> None:
    merged = merge([_counts(toy, "a", [4]), _counts(toy, "b", [3])])
    beforehand = {key: replace(b, of_release=True) for key, b in merged.bindings.items()}
    report = score(replace(merged, bindings=beforehand), toy)
    text = _table(report)
    assert "100.00, no interval" in text
    assert "n/a" in text
    row, aware = csv.DictReader(render_csv(report).splitlines()[1:])
    assert (aware["interval"], aware["diff_halfwidth"], aware["verdict"]) == (
        "class-aware",
        "",
        "?",
    )
    assert (row["T"], row["diff"], row["diff_halfwidth"]) == ("1", "25.0", "")
    assert (row["verdict"], row["verdict_direct"], row["mean_halfwidth"]) == ("?", "?", "")


def test_tiny_widths_are_not_rounded_to_nothing() -> None:
    from analysis_sql.intervals.intervals import Interval

    assert plus_minus(Interval("open", 0.95, 9, 99.0, 0.0012, False)) == "99.00 ± 0.0012"
    assert plus_minus(Interval("open", 0.95, 9, 99.0, 0.3, False)) == "99.00 ± 0.30"
    assert plus_minus(Interval("open", 0.95, 9, 1.0, 0.3, False), signed=True) == "+1.00 ± 0.30"
