"""Pooled sets are named to whoever answers other sets of the same data."""

from pathlib import Path

from click.testing import CliRunner

import fslbench_data as fb
from fslbench_data.cli import main
from fslbench_data.scoring.score import pooled_instead


def test_sets_of_the_same_data_ways_and_shots_are_named(embedded, toy, example) -> None:
    report = fb.score(example, embedded, task_sets=["closed-5w1s1q", "closed-5w10s7q"])
    named = [str(info) for info in pooled_instead(report, embedded)]
    assert named == ["digits/pooled-5w1s1q", "digits/pooled-5w10s7q"]
    assert pooled_instead(report, toy) == []  # which has no such task sets
    answered = fb.score(None, embedded, datasets="digits")
    assert pooled_instead(answered, embedded) == []


def test_the_line_stands_behind_the_answer_alone(root: Path) -> None:
    mine = str(root / "examples/my_results.parquet")
    answered = CliRunner().invoke(main, ["score", mine])
    assert answered.stderr.startswith("tip: evaluate the pooled sets (digits/pooled-5w1s1q and 2")
    assert "tip:" not in answered.stdout
    for options in (["--format", "csv"], ["--task-set", "open-5w5s5q"], ["--counts"]):
        assert "tip:" not in CliRunner().invoke(main, ["score", mine, *options]).stderr
