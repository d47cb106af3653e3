"""What is printed: the same numbers in every format, and never a ±0."""

import csv
import json
import re
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from recorded import recorded

from analysis_sql.intervals.intervals import Interval
from fslbench_data.release.release import Release
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.render.report_formats import json_pieces, render_csv
from fslbench_data.scoring.score import score
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission


def _counts(release: Release, method: str, counts: list[int]) -> Submission:
    return recorded(release.task_set("cats", "open-2w1s2q"), np.asarray(counts), method)


def test_what_is_said_of_methods_that_differ_by_the_same_on_every_task(toy: Release) -> None:
    methods = {"a": [4, 4, 4, 4], "b": [3, 3, 3, 3], "c": [3, 3, 3, 3]}
    report = score(merge([_counts(toy, name, counts) for name, counts in methods.items()]), toy)
    comparisons = json.loads("".join(json_pieces(report)))["comparisons"]
    said = {(each["method"], each["versus"]): each["sentence"] for each in comparisons}
    assert said["a", "b"] == (
        "a and b differ by the same 25.00 points on each of 4 tasks, too few to conclude from; "
        "error bars would say better."
    )
    assert said["b", "c"] == "b and c answer alike: identical counts on all 4 tasks."


def test_one_task_is_a_question(toy: Release) -> None:
    merged = merge([_counts(toy, "a", [4]), _counts(toy, "b", [3])])
    beforehand = {key: replace(b, of_release=True) for key, b in merged.bindings.items()}
    report = score(replace(merged, bindings=beforehand), toy)
    row, aware = csv.DictReader(render_csv(report).splitlines()[1:])
    assert [aware[key] for key in ("interval", "diff_halfwidth", "verdict")] == [
        "class-aware", "", "?",
    ]  # fmt: skip
    assert (row["T"], row["diff"], row["diff_halfwidth"]) == ("1", "25.0", "")
    assert (row["verdict"], row["verdict_direct"], row["mean_halfwidth"]) == ("?", "?", "")


def test_no_number_is_a_negative_zero(root: Path) -> None:
    below = Interval("open", 0.95, 9, -0.004, 0.3, False)
    assert (plus_minus(below, signed=True), plus_minus(below)) == ("+0.00 ± 0.30", "0.00 ± 0.30")
    assert str(below).startswith("0.00 ±")
    paths = [p for name in ("analysis_sql", "fslbench_data") for p in (root / name).rglob("*.py")]
    assert not [p for p in paths if re.search(r":\+\.\d|'\}\.\d", p.read_text(encoding="utf-8"))]


def test_tiny_widths_are_not_rounded_to_nothing() -> None:
    assert plus_minus(Interval("open", 0.95, 9, 99.0, 0.0012, False)) == "99.00 ± 0.0012"
    assert plus_minus(Interval("open", 0.95, 9, 99.0, 0.3, False)) == "99.00 ± 0.30"
    assert plus_minus(Interval("open", 0.95, 9, 1.0, 0.3, False), signed=True) == "+1.00 ± 0.30"
