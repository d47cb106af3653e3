"""Training runs in intervals: by hand, by another implementation, and at their ends."""

from math import isnan, sqrt

import numpy as np
import pytest
from scipy import optimize, stats

from analysis_sql.comparison.pairs import pair_arrays, pair_differences, primary_pairs
from analysis_sql.comparison.verdicts import VERDICTS, Verdict, paired_p
from analysis_sql.intervals.counts import Counts, Moments, RunTerms, for_new_runs, run_terms
from analysis_sql.intervals.intervals import halfwidths
from benchmark_spec.protocol import IntervalKind


def _moments(mean: float, deviation: float, tasks: int, *terms: float) -> Moments:
    """Moments of tasks, half of which are above the mean by as much as the others are below."""
    unit = 1000
    step = round(deviation * sqrt((tasks - 1) / tasks) * unit / 100)
    x = round(mean * unit / 100) + step * np.resize([1, -1], tasks)
    return Moments.of(x, unit, RunTerms(*(terms or (0.0, 0.0))))


def test_terms_by_hand() -> None:
    # runs of 90, 91 and 92 %: s = 1, v = 1/3, v²/2 = 1/18; one run says nothing
    variance, square, _ = run_terms([1.0, None, 0.0], [3, 1, 2])
    assert variance == pytest.approx([1 / 3, 0, 0])
    assert square == pytest.approx([1 / 18, 0, 0])


def test_tasks_of_their_own_by_hand() -> None:
    # runs of 4 and of 2 tasks, of means 60 and 90 %: a run counts by its tasks, (4² + 2²)/6² = 5/9
    y, run = np.array([[0.5, 0.7, 0.5, 0.7, 0.8, 1.0], [0.5] * 6]), np.array([0, 0, 0, 0, 1, 1])
    counts = Counts.of_own_tasks(y, run)
    v = 450 * 5 / 9
    assert counts.run_variance == pytest.approx([v, 0])
    assert counts.run_square == pytest.approx([v**2, 0])
    assert counts.moments().mean == pytest.approx([70, 50])
    apart = counts.differences([0], [1], 6)
    assert (apart.run_variance, apart.run_square) == (pytest.approx([v]), pytest.approx([v**2]))
    # within runs, four times (10 * 4/3)² and twice (10 * 2)²: c = 1511.1/5/6
    c = (4 * (40 / 3) ** 2 + 2 * 20**2) / 5 / 6
    assert counts.moments().run_terms.of_tasks == pytest.approx([c, 0])
    assert apart.moments().run_terms.of_tasks == pytest.approx([c])
    # of v a part, c, is of the same tasks as h, here t(5) √c; h' is at least that of the runs alone
    tasks, t = stats.t.isf(0.025, 5) ** 2 * c, stats.t.isf(0.025, 1)
    assert tasks < t**2 * c
    terms = counts.moments().run_terms
    assert halfwidths(counts.moments(), "open", 0.95)[0] == pytest.approx(t * sqrt(v))
    expected = sqrt(200**2 + t**2 * (v - c)), 0.0
    assert for_new_runs(np.array([200.0, 0.0]), terms, 0.95) == pytest.approx(expected)


@pytest.mark.parametrize("sizes", [(100,) * 2, (100,) * 4, (310, 30, 30, 30)])
def test_tasks_of_their_own_hold_the_mean(sizes: tuple[int, ...]) -> None:
    """Of runs that differ by four points, where tasks alone differ by ten."""
    rng, run, held = np.random.default_rng(0), np.repeat(np.arange(len(sizes)), sizes), 0
    for _ in range(1000):
        y = 0.6 + rng.normal(0, 0.04, len(sizes))[run] + rng.normal(0, 0.1, run.size)
        moments = Counts.of_own_tasks(y[None], run).moments()
        held += abs(moments.mean[0] - 60) <= halfwidths(moments, "open", 0.95)[0]
    assert held >= 940


def test_widths_by_hand() -> None:
    # v = 1/3, df = (1/9)/(1/18) = 2, t = 4.3027: of h = 2, 4 + 18.513/3
    moments = _moments(1, 1, 4, 1 / 3, 1 / 18)
    width = for_new_runs(2.0, moments.run_terms, 0.95)
    assert width == pytest.approx(sqrt(4 + 4.3027**2 / 3), rel=1e-4)
    # two methods of three runs each, s 1 and 2: v = 1/3 + 4/3, df = (25/9)/(1/18 + 16/18) = 50/17
    terms = run_terms([1.0, 2.0], [3, 3]).sum()
    expected = stats.t.isf(0.025, 50 / 17) * sqrt(5 / 3)
    assert for_new_runs(0.0, terms, 0.95) == pytest.approx(expected)
    # two runs s apart, and twenty s = 1: df at most twice that of two, whatever s is
    for s in (1e-3, 1.0, 30.0):
        few = run_terms([s, 1.0], [2, 20]).sum()
        df = few.variance**2 / (s**4 / 4 + 1 / 20**2 / 19)
        assert for_new_runs(0.0, few, 0.95) == pytest.approx(
            stats.t.isf(0.025, min(df, 2)) * sqrt(s**2 / 2 + 1 / 20)
        )
    # nothing but two runs 2 points apart: t of one degree of freedom, 12.7062 times 1
    v = 2.0 / 2
    assert for_new_runs(0.0, RunTerms(v, v**2), 0.95) == pytest.approx(12.7062, rel=1e-5)
    assert isnan(for_new_runs(np.nan, moments.run_terms, 0.95))


@pytest.mark.parametrize("runs", [(2, 1), (3, 3), (5, 2), (10, 10)])
@pytest.mark.parametrize("mean", [0.3, 1.0, 2.5, 9.0])
def test_p_is_where_the_interval_ends(mean: float, runs: tuple[int, int]) -> None:
    # another implementation: Student's interval of 40 tasks, widened at every level, by search
    spreads = [0.8, 0.5 if runs[1] > 1 else None]
    variance, square, _ = run_terms(spreads, runs).sum()
    moments = _moments(mean, 4.0, 40, variance, square)
    error, degrees = float(moments.deviation) / sqrt(40), 39

    def reaches(z: float) -> float:
        tail = stats.norm.sf(z)
        of_tasks = stats.t.isf(tail, degrees) * error
        of_runs = stats.t.isf(tail, variance**2 / square) * sqrt(variance)
        return float(np.hypot(of_tasks, of_runs) - abs(moments.mean))

    expected = 2 * stats.norm.sf(optimize.brentq(reaches, 1e-9, 30))
    found = float(paired_p(moments, "open"))
    assert found == pytest.approx(expected, rel=0.02 if expected > 1e-4 else 0.7)
    assert found > float(paired_p(_moments(mean, 4.0, 40), "open"))
    for level in (0.8, 0.95, 0.99):
        inside = abs(moments.mean) <= halfwidths(moments, "open", level)
        assert inside == (expected > 1 - level)
    assert (found > 0.05) == (abs(moments.mean) <= halfwidths(moments, "open", 0.95))


@pytest.mark.parametrize("tasks", [8, 16, 40])
@pytest.mark.parametrize("level", [0.99, 0.999])
@pytest.mark.parametrize("share", [0.5, 3.0, 10.0])
def test_p_of_few_tasks_is_the_interval_s(tasks: int, level: float, share: float) -> None:
    """Two runs that differ by as much as tasks do, or more."""
    v = share * 16.0 / tasks
    width = float(halfwidths(_moments(0, 4.0, tasks, v, v**2), "open", level))
    for mean, inside in ((0.97 * width, True), (1.03 * width, False)):
        if mean < 99:
            p = float(paired_p(_moments(mean, 4.0, tasks, v, v**2), "open"))
            assert (p > 1 - level) == inside
            assert 0.5 < p / (1 - level) < 2


def test_differences_and_blocks_keep_the_terms() -> None:
    rng = np.random.default_rng(0)
    x = rng.binomial(75, 0.8, (3, 60))
    counts = Counts.of(list(x), [25, 25, 75], [1.0, 2.0, None], [3, 2, 1])
    apart = counts.differences(0, np.array([1, 2]), 60)
    assert apart.run_variance == pytest.approx([1 / 3 + 2, 1 / 3])
    assert apart.run_square == pytest.approx([1 / 18 + 4, 1 / 18])
    assert counts.some([2]).first(5).run_variance == 0
    assert Moments.join([apart.moments(), apart.moments()]).run_variance.shape == (4,)


@pytest.mark.parametrize(
    ("kind", "verdict"), [("open", Verdict.INCONCLUSIVE), ("closed", Verdict.BETTER)]
)
def test_the_usual_verdict_of_a_constant_difference_leaves_out_runs(
    kind: IntervalKind, verdict: Verdict
) -> None:
    # 4 points on each of 20 tasks; runs of the first are 8 points apart: ± 12.7 * 4
    x = np.arange(20) % 5 + 10
    counts = Counts.of([x + 1, x], [25, 25], [8 / sqrt(2), None], [2, 1])
    (pair,) = primary_pairs(counts, kind, 0.95).columns(0, np.array([1])).intervals()
    assert pair.difference.halfwidth == pytest.approx(0 if kind == "closed" else 50.8248, rel=1e-5)
    assert pair.verdict is verdict
    arrays = pair_arrays(counts, np.ones((2, 2), bool), kind, 0.95)
    assert VERDICTS[arrays.verdict[0, 1]] is verdict
    # p-values tell the same
    (told,) = paired_p(pair_differences(counts, np.array([0]), np.array([1])), kind) <= 0.05
    assert told == (verdict is Verdict.BETTER)


@pytest.mark.parametrize("tasks", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_p_of_a_constant_difference_is_where_its_verdict_ends(tasks: int, spread: float) -> None:
    counts = Counts.of(
        [np.full(tasks, 65), np.full(tasks, 60)], [100, 100], [spread, spread], [4, 4]
    )
    first, second = np.array([0]), np.array([1])
    (p,) = paired_p(pair_differences(counts, first, second), "open")
    of_runs = 2 * stats.t.sf(5 / (spread / sqrt(2)), 6)
    assert p == pytest.approx(max(2.0 ** (1 - tasks), of_runs))
    for level, verdict in ((1 - 1.01 * p, Verdict.BETTER), (1 - 0.99 * p, None)):
        (pair,) = primary_pairs(counts, "open", level).columns(first, second).intervals()
        assert (pair.verdict is Verdict.BETTER) == (verdict is Verdict.BETTER)


@pytest.mark.filterwarnings("error")
def test_far_p_values_of_what_does_not_bend_are_told_without_a_warning() -> None:
    difference = _moments(20.0, 5.0, 400, 0.25, 0.25**2)
    (p,) = np.atleast_1d(difference.p_for_new_runs(np.array([1e-200]), lambda: 1.3, bends=False))
    assert 1e-200 < p < 0.05
