"""From counts to verdicts, on a release small enough to compute by hand."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from recorded import recorded_sets
from scipy import stats

from analysis_sql.comparison.verdicts import Verdict
from benchmark_spec.errors import SubmissionError
from fslbench_data.release.release import Release
from fslbench_data.scoring.score import pooled_instead, score
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission

CLOSED, OPEN = "cats/closed-2w1s2q", "cats/open-2w1s2q"


def test_by_hand(toy: Release) -> None:
    n_open = len(toy.task_set("cats", "open-2w1s2q"))
    assert n_open == 4
    a = recorded_sets(toy, {OPEN: [4, 3, 4, 2], CLOSED: [4, 4, 4, 4, 3]}, "a")
    b = recorded_sets(toy, {OPEN: [3, 2, 3, 2], CLOSED: [2, 2, 1, 2, 2]}, "b")
    report = score(merge([a, b]), toy)
    # the release's order of task sets, whatever the file's
    assert [(c.task_set, c.method, c.versus) for c in report.comparisons] == [
        ("open-2w1s2q", "a", "b"),
        ("closed-2w1s2q", "a", "b"),
    ]
    opened, closed = report.comparisons
    # differences 1, 1, 1, 0 of 4: mean 18.75, sd 12.5; t(3) at 97.5 % is 3.182446
    assert opened.difference.mean == 18.75
    assert opened.difference.halfwidth == pytest.approx(3.182446 * 12.5 / 2, abs=1e-5)
    assert opened.verdict is Verdict.INCONCLUSIVE
    # 81.25 against 62.5 with half-widths 38 and 23
    assert (opened.mean.mean, opened.versus_mean.mean) == (81.25, 62.5)
    assert opened.verdict_direct is Verdict.INCONCLUSIVE
    # closed means 95 and 45, sd 11.18: 95 ± 9.8 against 45 ± 9.8
    assert opened.verdict_closed is Verdict.BETTER
    assert closed.difference.kind == "closed"
    assert closed.difference.mean == 50.0
    # differences 2, 2, 3, 2, 1 of 4: sd 17.6777; z = 1.959964
    assert closed.difference.halfwidth == pytest.approx(1.959964 * 17.677670 / 5**0.5, abs=1e-5)
    assert [s.method for s in report.scores] == ["a", "b", "a", "b"]


def test_pairs_use_the_tasks_that_both_answered(toy: Release) -> None:
    a = recorded_sets(toy, {CLOSED: [4, 3, 4, 2, 0]}, "a")
    b = recorded_sets(toy, {CLOSED: [3, 2, 4]}, "b")
    report = score(merge([a, b]), toy)
    (found,) = report.comparisons
    assert found.difference.tasks == found.mean.tasks == found.versus_mean.tasks == 3
    assert found.mean.mean == pytest.approx(100 * 11 / 12)
    expected = stats.norm.interval(0.95, 100 * 2 / 12, stats.sem([25, 25, 0]))
    assert (found.difference.low, found.difference.high) == pytest.approx(expected)
    assert [(s.method, s.accuracy.tasks) for s in report.scores] == [("a", 5), ("b", 3)]


def test_the_order_of_rows_does_not_matter(example: Submission, embedded: Release) -> None:
    order = np.random.default_rng(0).permutation(example.table.num_rows)
    shuffled = replace(example, table=example.table.take(pa.array(order)))
    assert score(shuffled, embedded) == score(example, embedded)


def test_pooled_sets_of_the_same_data_ways_and_shots_are_named(
    example: Submission, embedded: Release, toy: Release
) -> None:
    report = score(example, embedded, task_sets=["closed-5w1s1q", "closed-5w10s7q"])
    named = [str(info) for info in pooled_instead(report, embedded)]
    assert named == ["digits/pooled-5w1s1q", "digits/pooled-5w10s7q"]
    assert pooled_instead(report, toy) == []  # which has no such task sets
    assert pooled_instead(score(None, embedded, datasets="digits"), embedded) == []
    with pytest.raises(SubmissionError, match="has no reference methods"):
        score(None, toy)


def test_a_signature_names_the_commit_of_a_release_of_the_hub(toy: Release) -> None:
    signature = score(recorded_sets(toy, {CLOSED: [4, 4, 4, 4, 3]}, "a"), toy).signature
    assert "hub:" not in str(signature)
    of_hub = replace(signature, hub="org/toy@0123456789ab" + "c" * 28)
    assert "|hub:org/toy@0123456789ab|" in str(of_hub)
