"""Steps of a ladder and their gaps: by hand, by scipy, by simulation."""

import numpy as np
import pytest
from scipy import stats

from analysis_sql.bias import contrast, excess, gap, interval_of, step_score
from analysis_sql.intervals.counts import run_terms
from benchmark_spec.errors import SpecError


def test_by_hand() -> None:
    before = np.array([[2, 2], [2, 1], [1, 2]])
    after = np.array([[1, 2], [0, 1], [0, 2]])
    score = step_score(after, 2, "open")
    assert score.accuracy.mean == pytest.approx(100 * 6 / 12)
    assert score.worst.mean == pytest.approx(100 * 1 / 6)
    # given 3, 1 and 2 of 4 right, equal classes have a minimum of 1, 0 and 4/6 of 2
    assert score.equal == pytest.approx(100 * (0.5 + 0 + 1 / 3) / 3)
    assert score.excess.mean == pytest.approx(100 * (0.5 + 1 / 3) / 3 - 100 / 6)
    assert score.independent == pytest.approx(100 * ((0.75**2) + (0.25**2)) / 2)
    lost = gap(before, after, 2, "open")
    assert lost.accuracy.mean == pytest.approx(100 * 4 / 12)
    assert lost.worst.mean == pytest.approx(100 * 3 / 6)
    assert lost.excess.mean == pytest.approx(score.excess.mean - 0.0)


def test_contrasts_of_methods_and_of_gaps() -> None:
    rng = np.random.default_rng(0)
    a, b, c, d = (rng.binomial(5, p, (30, 4)) for p in (0.9, 0.7, 0.8, 0.7))
    found = contrast([(1, a), (-1, c)], 5, "open", 0.9)
    for interval, values in (
        (found.accuracy, (a - c).mean(axis=1) / 5),
        (found.worst, (a.min(axis=1) - c.min(axis=1)) / 5),
        (found.excess, excess(a, 5) - excess(c, 5)),
    ):
        expected = stats.ttest_1samp(100 * values, 0).confidence_interval(0.9)
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    closed = interval_of(values, "closed", 0.9)
    assert closed.halfwidth == pytest.approx(stats.norm.isf(0.05) * stats.sem(values))
    gaps = contrast([(1, a), (-1, b), (-1, c), (1, d)], 5, "open")
    lost = gap(a, b, 5, "open"), gap(c, d, 5, "open")
    assert gaps.worst.mean == pytest.approx(lost[0].worst.mean - lost[1].worst.mean)
    same = contrast([(1, a), (-1, a)], 5, "open")
    assert same.worst.constant
    assert same.worst.mean == 0


def test_one_query_a_class() -> None:
    ones = np.array([[1, 0], [1, 1]])
    score = step_score(ones, 1, "closed")
    assert (score.equal, score.excess) == (None, None)
    assert score.worst.mean == 50
    assert gap(ones, ones, 1, "closed").excess is None
    assert gap(ones, ones, 1, "closed").accuracy.constant


def test_other_tasks() -> None:
    with pytest.raises(SpecError, match="of the same tasks"):
        gap(np.ones((2, 2), int), np.ones((3, 2), int), 2, "open")
    alone = interval_of(np.array([3.0]), "open", 0.95)
    assert (alone.halfwidth, alone.constant) == (None, True)


def test_of_several_runs_every_measure_is_the_mean_of_each_runs() -> None:
    rng = np.random.default_rng(2)
    three, one = rng.binomial(5, 0.7, (30, 4, 3)), rng.binomial(5, 0.8, (30, 4))
    score = step_score(three, 5, "closed")
    alone = [step_score(three[:, :, run], 5, "closed") for run in range(3)]
    for measure in ("accuracy", "worst", "excess"):
        means = [getattr(of_run, measure).mean for of_run in alone]
        assert getattr(score, measure).mean == pytest.approx(np.mean(means))
    worst = 100 * np.mean([three[:, :, run].min(axis=1) / 5 for run in range(3)], axis=0)
    expected = interval_of(worst, "closed", 0.95)
    assert score.worst.halfwidth == pytest.approx(expected.halfwidth)
    between = contrast([(1, one), (-1, three)], 5, "open")
    of_runs = 100 * three.min(axis=1).mean(axis=0) / 5
    terms = run_terms([of_runs.std(ddof=1)], [3]).sum()
    expected = interval_of(100 * one.min(axis=1) / 5 - worst, "open", 0.95, terms)
    assert between.worst.mean == pytest.approx(expected.mean)
    assert between.worst.halfwidth == pytest.approx(expected.halfwidth)
    over = np.mean([excess(three[:, :, run], 5) for run in range(3)], axis=0)
    assert between.excess.mean == pytest.approx(100 * (excess(one, 5) - over).mean())
    of_tasks = interval_of(100 * over, "closed", 0.95).halfwidth  # closed ones leave out runs
    assert score.excess.halfwidth == pytest.approx(of_tasks)


def test_what_training_anew_adds_by_hand() -> None:
    # 2 classes of 5 queries; in runs 1 and 2 all tasks have 4 and 3, 2 and 1 right: 70 and 30 %,
    # wAcc 60 and 20 %: s = 28.284, s/√2 = 20, and t of one degree of freedom is 12.7062
    before = np.tile(np.array([[4, 2], [3, 1]]), (6, 1, 1))
    score = step_score(before, 5, "open")
    for interval, mean in ((score.accuracy, 50), (score.worst, 40)):
        assert (interval.mean, interval.halfwidth) == pytest.approx((mean, 254.124), rel=1e-5)
    assert step_score(before, 5, "closed").accuracy.halfwidth == 0
    # each run loses 20 points from step to step: the runs' gaps do not differ at all
    lost = gap(before, before - 1, 5, "open")
    assert (lost.accuracy.mean, lost.accuracy.halfwidth) == pytest.approx((20, 0))
    # but of two methods each has a term: 20² + 20², two degrees of freedom, t = 4.30265
    apart = contrast([(1, before), (-1, before)], 5, "open")
    assert apart.accuracy.halfwidth == pytest.approx(4.30265 * np.sqrt(800), rel=1e-5)
    assert apart.worst.halfwidth == pytest.approx(4.30265 * np.sqrt(800), rel=1e-5)
    # of excess: 0.7 and 0.3 of 10 queries; its runs' means, by the measure itself
    runs = 100 * np.array([excess(before[:, :, run], 5)[0] for run in range(2)])
    expected = 12.7062 * abs(runs[0] - runs[1]) / 2
    assert score.excess.halfwidth == pytest.approx(expected, rel=1e-5)
    # other numbers of runs on two steps: a term each, and none of one run
    some = contrast([(1, before), (-1, before[:, :, :1])], 5, "open", methods=(0, 0))
    assert some.accuracy.halfwidth == pytest.approx(254.124, rel=1e-5)


def test_equal_methods_of_different_runs_are_not_told_apart() -> None:
    """Runs differ by 5 points: without them four in five data sets would show a difference."""
    rng = np.random.default_rng(0)
    data_sets, wrong, without = 100, np.zeros(3), 0
    for _ in range(data_sets):
        levels = np.clip(0.7 + 0.05 * rng.standard_normal((2, 1, 1, 3)), 0, 1)
        a, b = rng.binomial(5, np.broadcast_to(levels, (2, 200, 4, 3)))
        found = contrast([(1, a), (-1, b)], 5, "open")
        for i, interval in enumerate((found.accuracy, found.worst, found.excess)):
            wrong[i] += abs(interval.mean) > interval.halfwidth
        joined = [(1, a.reshape(200, 12)), (-1, b.reshape(200, 12))]
        alone = contrast(joined, 5, "open").accuracy
        without += abs(alone.mean) > alone.halfwidth
    assert (wrong <= 0.09 * data_sets).all()
    assert without > 0.6 * data_sets
