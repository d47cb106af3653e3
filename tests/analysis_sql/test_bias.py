"""Bias: by hand, against enumeration, by scipy, by the jackknife, by simulation."""

import itertools
from functools import partial
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import integrate, optimize, stats
from scipy.special import expit

from analysis_sql.bias import (
    AtLevel,
    ClassSpread,
    contrast,
    excess,
    expectations,
    expectations_if_unequal,
    expected_if_equal,
    expected_if_independent,
    gap,
    interval_of,
    rank_correlation,
    step_score,
    worst_class,
)
from analysis_sql.intervals.counts import RunTerms, for_new_runs, run_terms
from benchmark_spec.errors import SpecError


@pytest.mark.parametrize(("way", "queries"), [(2, 2), (3, 2), (2, 4), (4, 3), (3, 4)])
def test_the_conditional_expectation_is_that_of_all_arrangements(way, queries):
    sums = np.zeros(way * queries + 1)
    for right in itertools.product((0, 1), repeat=way * queries):
        classes = np.array(right).reshape(way, queries).sum(axis=1)
        sums[sum(right)] += classes.min() / queries
    ways = [comb(way * queries, n) for n in range(way * queries + 1)]
    np.testing.assert_allclose(expectations(way, queries), sums / ways, rtol=1e-14)


@given(st.integers(2, 6), st.integers(2, 12), st.floats(0.01, 0.99, allow_nan=False))
def test_averaged_over_binomial_totals_it_is_the_independent_one(way, queries, p):
    total = way * queries
    weights = stats.binom.pmf(np.arange(total + 1), total, p)
    mean = float(weights @ expectations(way, queries))
    assert mean == pytest.approx(expected_if_independent(p, way, queries), rel=1e-9, abs=1e-12)


def test_simulation_of_tasks_whose_difficulty_varies():
    """Classes of a task are equally hard, tasks are not: no excess, and the binomial is too low."""
    rng = np.random.default_rng(0)
    p = rng.beta(6, 2, 40_000)
    correct = rng.binomial(15, p[:, None], (p.size, 5))
    over = excess(correct, 15)
    assert abs(over.mean()) < 4 * over.std() / np.sqrt(p.size)
    observed = worst_class(correct, 15).mean()
    assert expected_if_independent(correct.mean() / 15, 5, 15) < observed - 0.01


@pytest.mark.parametrize(
    ("correct", "queries", "message"),
    [
        ([[1, 1]], 1, "one query a class"),
        ([[1, 3]], 2, "from 0 to 2"),
        ([[-1, 1]], 2, "not the correct queries"),
        ([[1]], 2, "two classes or more"),
        ([1, 2], 2, "whole numbers"),
        ([[0.5, 1.0]], 2, "whole numbers"),
        ([[1, 1]], 600, "at most 512"),
    ],
)
def test_counts_that_are_none(correct, queries, message):
    with pytest.raises(SpecError, match=message):
        expected_if_equal(np.array(correct), queries)


def test_steps_and_gaps_by_hand():
    before, after = np.array([[2, 2], [2, 1], [1, 2]]), np.array([[1, 2], [0, 1], [0, 2]])
    score, lost = step_score(after, 2, "open"), gap(before, after, 2, "open")
    # given 3, 1 and 2 of 4 right, equal classes have a minimum of 1, 0 and 4/6 of 2
    equal = 100 * (0.5 + 0 + 1 / 3) / 3
    assert score.equal == pytest.approx(equal)
    assert score.independent == pytest.approx(100 * ((0.75**2) + (0.25**2)) / 2)
    found = [each.mean for each in (score.accuracy, score.worst, score.excess)]
    assert found == pytest.approx([100 * 6 / 12, 100 * 1 / 6, equal - 100 / 6])
    found = [each.mean for each in (lost.accuracy, lost.worst, lost.excess)]
    assert found == pytest.approx([100 * 4 / 12, 100 * 3 / 6, score.excess.mean])


def test_contrasts_of_methods_and_of_gaps():
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


def test_one_query_a_class():
    ones = np.array([[1, 0], [1, 1]])
    score, none = step_score(ones, 1, "closed"), gap(ones, ones, 1, "closed")
    assert (score.equal, score.excess, score.worst.mean) == (None, None, 50)
    assert (none.excess, none.accuracy.constant) == (None, True)


def test_gaps_of_other_tasks_and_of_one():
    with pytest.raises(SpecError, match="of the same tasks"):
        gap(np.ones((2, 2), int), np.ones((3, 2), int), 2, "open")
    alone = interval_of(np.array([3.0]), "open", 0.95)
    assert (alone.halfwidth, alone.constant) == (None, True)


def test_of_several_runs_every_measure_is_the_mean_of_each_runs():
    rng = np.random.default_rng(2)
    three, one = rng.binomial(5, 0.7, (30, 4, 3)), rng.binomial(5, 0.8, (30, 4))
    score = step_score(three, 5, "closed")
    alone = [step_score(three[:, :, run], 5, "closed") for run in range(3)]
    for measure in ("accuracy", "worst", "excess"):
        means = [getattr(of_run, measure).mean for of_run in alone]
        assert getattr(score, measure).mean == pytest.approx(np.mean(means))
    worst = 100 * three.min(axis=1).mean(axis=1) / 5
    over = np.mean([excess(three[:, :, run], 5) for run in range(3)], axis=0)
    for own, values in ((score.worst, worst), (score.excess, 100 * over)):  # without runs
        expected = interval_of(values, "closed", 0.95)
        assert own.halfwidth == pytest.approx(expected.halfwidth)
    between = contrast([(1, one), (-1, three)], 5, "open")
    terms = run_terms([(100 * three.min(axis=1).mean(axis=0) / 5).std(ddof=1)], [3]).sum()
    expected = interval_of(100 * one.min(axis=1) / 5 - worst, "open", 0.95, terms)
    assert between.worst.mean == pytest.approx(expected.mean)
    assert between.worst.halfwidth == pytest.approx(expected.halfwidth)
    assert between.excess.mean == pytest.approx(100 * (excess(one, 5) - over).mean())


def test_what_training_anew_adds_by_hand():
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


def test_equal_methods_of_different_runs_are_not_told_apart():
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


def _class(queries, spread, accuracy):
    """How often a class has 0..Q queries right, by scipy's quadrature."""

    def mean(of, centre):
        def weighted(z):
            return of(expit(centre + spread * z)) * stats.norm.pdf(z)

        return float(integrate.quad(weighted, -10, 10, epsabs=1e-12, limit=200)[0])

    centre = optimize.brentq(lambda mu: mean(lambda p: p, mu) - accuracy, -40, 40, xtol=1e-13)
    of_counts = [partial(stats.binom.pmf, right, queries) for right in range(queries + 1)]
    return [mean(chance, centre) for chance in of_counts]


def test_the_spread_of_two_classes_of_two_queries_by_hand():
    counts = np.array([[0, 2], [1, 1], [1, 2], [2, 2], [2, 2]])
    spread = ClassSpread.of(counts, 2)  # one each in half of the tasks that have two right
    none, one, both = _class(2, spread.variance**0.5, 15 / 20)
    assert one**2 / (one**2 + 2 * none * both) == pytest.approx(1 / 2, rel=1e-6)


@pytest.mark.parametrize(("spread", "accuracy"), [(0.5, 0.9), (1.3, 0.6), (4.0, 0.3)])
def test_it_is_that_of_all_counts(spread, accuracy):
    way, queries = 3, 4
    classes = _class(queries, spread, accuracy)
    lowest, often = np.zeros((2, way * queries + 1))
    for counts in itertools.product(range(queries + 1), repeat=way):
        chance = np.prod([classes[right] for right in counts])
        often[sum(counts)] += chance
        lowest[sum(counts)] += chance * min(counts) / queries
    found = expectations_if_unequal(way, queries, spread, accuracy)
    np.testing.assert_allclose(found, lowest / often, rtol=1e-8)


def test_without_spread_it_is_that_of_equally_hard_classes():
    for way, queries, accuracy in ((5, 5, 0.8), (20, 5, 0.99), (4, 128, 0.976)):
        found = expectations_if_unequal(way, queries, 0.0, accuracy)
        np.testing.assert_allclose(found, expectations(way, queries), rtol=1e-10, atol=1e-14)


def _step(rng, logits, accuracy, queries):
    by = optimize.brentq(lambda by: expit(logits + by).mean() - accuracy, -20, 20)
    return np.asarray(rng.binomial(queries, expit(logits + by)))


@pytest.mark.parametrize("queries", [5, 15])
def test_where_the_level_falls_and_nothing_else_it_is_the_excess(queries):
    """Classes differ and there is no bias: the excess grows tenfold, all of it the level's."""
    rng = np.random.default_rng(0)
    logits = 1.2 * rng.standard_normal((20_000, 5))
    first, then = (_step(rng, logits, accuracy, queries) for accuracy in (0.976, 0.61))
    spread = ClassSpread.of(first, queries)
    assert spread.variance**0.5 == pytest.approx(1.2, abs=0.1)
    score = step_score(then, queries, "closed", at_level=spread.at(then))
    assert score.excess.mean > 9 * 100 * excess(first, queries).mean()
    assert score.of_level == pytest.approx(score.excess.mean, abs=score.beyond_level.halfwidth)
    assert score.beyond_level.halfwidth < 2
    assert score.of_level + score.beyond_level.mean == pytest.approx(score.excess.mean)
    logits[:, 0] -= 2.5  # a class of each task loses more
    unfair = step_score(then := _step(rng, logits, 0.61, queries), queries, "closed",
                        at_level=spread.at(then))  # fmt: skip
    assert unfair.beyond_level.low > 2


def test_on_the_first_step_it_is_the_excess_and_nothing_lies_beyond():
    rng = np.random.default_rng(1)
    first = _step(rng, rng.standard_normal((200, 5, 1)) + np.zeros(3), 0.7, 5)
    at = ClassSpread.of(first, 5).at(first)
    assert at.excess == pytest.approx(excess(first, 5).mean())
    np.testing.assert_allclose(at.beyond, 0, atol=1e-8)


def test_the_error_is_the_jackknifes():
    rng = np.random.default_rng(2)
    logits = 1.2 * rng.standard_normal((60, 5))
    first, then = (_step(rng, logits, accuracy, 5) for accuracy in (0.8, 0.5))

    def beyond(of):
        spread = ClassSpread.of(first[of], 5)
        return float(spread.at(then[of]).beyond.mean())

    left = [beyond(np.arange(60) != task) for task in range(60)]
    error = np.sqrt(59 * np.var(left))
    spread = ClassSpread.of(first, 5)
    values = spread.at(then).beyond
    assert values.std(ddof=1) / np.sqrt(60) == pytest.approx(error, rel=0.1)
    assert values.mean() == pytest.approx(excess(then, 5).mean() - spread.at(then).excess)


def test_runs_and_fewer_tasks():
    rng = np.random.default_rng(3)
    logits = rng.standard_normal((80, 4, 1)) + np.zeros(2)
    first, then = (_step(rng, logits, accuracy, 6) for accuracy in (0.8, 0.6))
    spread = ClassSpread.of(first[:50], 6)
    at = spread.at(then)
    assert at.beyond.shape == (50,)
    known = expectations_if_unequal(4, 6, spread.variance**0.5, then[:50].mean() / 6)
    expected = known[then[:50].sum(axis=1)].mean() - worst_class(then[:50], 6).mean()
    assert at.beyond.mean() == pytest.approx(expected)
    # by another way: each run's own σ² of its first step, at its own second one
    runs = [ClassSpread.of(first[:50, :, run], 6).at(then[:, :, run]) for run in range(2)]
    apart = runs[1].beyond.mean() - runs[0].beyond.mean()
    assert at.of_runs[1] - at.of_runs[0] == pytest.approx(apart, rel=0.05)
    fixed = [spread.at(then[:, :, run]).beyond.mean() for run in range(2)]
    assert abs(fixed[1] - fixed[0] - apart) > 0.2 * abs(apart)  # σ² of each run counts
    longer = rng.standard_normal(70)
    other = AtLevel(0.0, longer, np.zeros(1))
    parts = [(1, then[:60]), (-1, first[:60])]
    found = contrast(parts, 6, "open", beyond=[at, other])
    alone = contrast(parts, 6, "open", beyond=[replace(at, of_runs=np.zeros(1)), other])
    assert found.beyond_level.tasks == 50
    assert found.beyond_level.mean == pytest.approx(100 * (at.beyond - longer[:50]).mean())
    v = (100 * at.of_runs).var(ddof=1) / 2
    width = for_new_runs(alone.beyond_level.halfwidth, RunTerms(v, v**2), 0.95)
    assert found.beyond_level.halfwidth == pytest.approx(width)


@pytest.mark.parametrize(
    ("counts", "queries"),
    [
        ([[1, 0], [1, 1]], 1),  # one query a class
        ([[3, 3], [3, 3]], 3),  # all right
        ([[3, 2], [3, 3]], 3),  # at most one error a task, whose class is all that it says
        ([[0, 9], [9, 0], [0, 9]], 9),  # further apart than any spread
    ],
)
def test_where_the_first_step_leaves_it_open(counts, queries):
    assert ClassSpread.of(np.array(counts), queries) is None


def test_equal_classes_have_no_spread_and_an_error_all_the_same():
    first = np.full((40, 3), 2)
    assert ClassSpread.of(first, 4).variance == 0
    mixed = np.concatenate([first, np.random.default_rng(4).binomial(4, 0.5, (40, 3))])
    spread = ClassSpread.of(mixed, 4)
    assert spread.variance == 0
    assert spread.influence.std() > 0
    assert spread.at(mixed).excess == pytest.approx(0, abs=1e-12)


def test_rank_correlation_by_hand():
    # ranks 3 1 2 against 3 1 2, 1 3 2 and 2 1 3: 1 - 6 (0, 4 + 4 + 0, 1 + 0 + 1) / (3 * 8)
    means = np.array([[3.0], [1.0], [2.0]])
    for other, value in ((means, 1.0), (-means, -1.0), ([[2.0], [1.0], [3.0]], 0.5)):
        found = rank_correlation(means, np.array(other))
        assert (found.value, found.low, found.high) == (pytest.approx(value), None, None)
    assert rank_correlation(means, np.ones((3, 1))).value is None


@pytest.mark.parametrize("seed", range(5))
def test_it_is_scipys(seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, (8, 30)).astype(float)
    b = rng.integers(0, 4, (8, 30)) + 0.3 * a
    found = rank_correlation(a, b, resamples=50)
    means = a.mean(axis=1).round(9), b.mean(axis=1).round(9)  # rounding makes no ranking
    assert found.value == pytest.approx(stats.spearmanr(*means).statistic)
    assert found == rank_correlation(a, b, resamples=50)
    assert -1 <= found.low <= found.high <= 1
    wider = rank_correlation(a, b, 0.99, resamples=50)
    assert wider.low <= found.low


def test_rank_correlation_of_other_tasks():
    rng = np.random.default_rng(0)
    skill = np.arange(6)[:, None]
    a, b = skill + rng.normal(size=(6, 300)), skill + rng.normal(size=(6, 50))
    found = rank_correlation(a, b, same_tasks=False)
    assert (found.value, found.tasks, found.other_tasks) == (1.0, 300, 50)
    assert found.low > 0.8
    values = rng.normal(size=(5, 40))
    apart = rank_correlation(values, values, same_tasks=False)
    assert apart.low < 0.9  # chance orders near ties anew
    assert rank_correlation(values, values).low == 1.0  # one and the same in every resample


@pytest.mark.parametrize(
    "shapes", [((2, 5), (2, 5)), ((3, 5), (3, 4)), ((3,), (3,)), ((3, 0), (3, 0))]
)
def test_what_has_no_rank_correlation(shapes):
    with pytest.raises(SpecError, match="same three methods or more"):
        rank_correlation(*map(np.zeros, shapes))
