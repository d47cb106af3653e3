"""Task sets on which intervals would be narrower are named where the references show it."""

from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner

import fslbench_data as fb
from fslbench_data.cli import main
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import narrower

PROTOCOLS = ("5w1s1q", "5w5s5q", "5w10s7q")


@pytest.fixture(scope="module")
def report(embedded, example) -> Report:
    return fb.score(example, embedded, task_sets=[f"closed-{name}" for name in PROTOCOLS])


def test_by_how_much_is_what_the_references_have(report: Report, embedded) -> None:
    pooled = fb.score(None, embedded, datasets="digits", task_sets="pooled-5w1s1q").sets[0]
    closed = next(each for each in report.sets if "5w1s1q" in str(each.scored))
    width = {s.method: s.intervals["images"].halfwidth for s in closed.scores if s.is_reference}
    ratios = [s.intervals["images"].halfwidth / width[s.method] for s in pooled.scores]
    found = narrower(report, embedded)
    assert found is not None
    info, share, more = found
    assert (str(info), more) == ("digits/pooled-5w1s1q", 2)
    assert share == pytest.approx(1 - median(ratios))
    assert 0.1 < share < 0.5


def test_who_answers_pooled_sets_is_told_nothing(embedded) -> None:
    pooled = fb.score(None, embedded, datasets="digits")
    assert {each.scored.task_set.partition("-")[0] for each in pooled.sets} >= {"pooled", "open"}
    assert narrower(pooled, embedded) is None


def test_where_no_reference_tells_nothing_is_said(report: Report, toy, embedded) -> None:
    assert narrower(report, toy) is None  # which has no such task sets
    alone = fb.score(
        embedded.references()[0], embedded, references=False, task_sets="closed-5w5s5q",
        datasets="digits",
    )  # fmt: skip
    assert narrower(alone, embedded) is None


def test_the_line_stands_behind_the_answer_alone(root: Path) -> None:
    mine = str(root / "examples/my_results.parquet")
    answered = CliRunner().invoke(main, ["score", mine])
    line = answered.stderr.strip()
    assert line.startswith("tip: evaluate the pooled sets (digits/pooled-5w1s1q and 2 more)")
    assert line.endswith("% narrower")
    assert "tip:" not in answered.stdout
    for options in (["--format", "csv"], ["--task-set", "open-5w5s5q"], ["--counts"]):
        assert "narrower" not in CliRunner().invoke(main, ["score", mine, *options]).stderr
