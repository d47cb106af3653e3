"""Training runs in a plan: by hand, and from pilots of several runs."""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.planning.leave_one_out_plan import LeftOutPilot, Part, plan_left_out
from analysis_sql.planning.planned_runs import PlannedRuns
from analysis_sql.planning.planning import Planned
from analysis_sql.planning.query_size import estimate_difference
from analysis_sql.planning.variance_budget import Shares, between_classes, components_of


def test_a_width_is_the_mean_of_those_that_runs_may_show() -> None:
    """Of runs of 90, 91 and 92 %, against one: s² varies as chi-square/2, and t(2) is 4.3027."""
    runs = PlannedRuns(("a", "b"), (3, 1), (1.0, None))
    told = runs.of(2.0, 0.95, 1.0)
    assert told is not None
    assert runs.error == pytest.approx(sqrt(1 / 3))

    def expected(width: float, number: int) -> float:
        """Integrate over the law of s² of so many runs."""
        law, t = stats.chi2(number - 1), stats.t.isf(0.025, number - 1)
        at = law.ppf((np.arange(20_000) + 0.5) / 20_000)
        return float(np.sqrt(width**2 + t**2 * at / (number - 1) / number).mean())

    assert told.halfwidth == pytest.approx(expected(2.0, 3), rel=2e-3)
    assert told.tasks_alone == pytest.approx(expected(1.0, 3), rel=4e-3)
    assert dict(told.more) == pytest.approx({n: expected(2.0, n) for n in (5, 10, 20)}, rel=1e-3)
    # two are planned in place of three; b has one run still
    two = PlannedRuns(("a", "b"), (3, 1), (1.0, None), planned=2)
    assert two.numbers == (2, 1)
    again = two.of(2.0, 0.95)
    assert again is not None
    assert again.halfwidth == pytest.approx(expected(2.0, 2), rel=1e-2)
    assert [n for n, _ in again.more] == [3, 5, 10, 20]
    assert PlannedRuns(("a", "b"), (1, 1), (None, None)).of(1.0, 0.95) is None
    assert PlannedRuns(("a",), (1,), (None,), None, ("a",)).error is None


@pytest.mark.parametrize("numbers", [(3, 3), (2, 5)])
def test_widths_of_two_methods_are_those_of_experiments(numbers: tuple[int, int]) -> None:
    """Simulated: the mean half-width of a difference, and that 80 % find what is detectable."""
    rng, width, s = np.random.default_rng(0), stats.norm.isf(0.025), 1.0
    runs = PlannedRuns(("a", "b"), numbers, (s, s))
    v = [s**2 / n * rng.chisquare(n - 1, 20_000) / (n - 1) for n in numbers]
    df = sum(v) ** 2 / sum(own**2 / (n - 1) for own, n in zip(v, numbers, strict=True))
    df = np.minimum(df, 2 * (min(numbers) - 1))
    found = np.sqrt(width**2 + stats.t.isf(0.025, df) ** 2 * sum(v))
    assert runs.widen(width, 0.95) == pytest.approx(found.mean(), rel=0.01)
    shares = Shares(0.0, 0.0, 1.0)
    row = Planned(5, (30,), 0.5, width, None, width + 0.8416, None, shares, shares)
    least = row.with_runs(runs, 0.95).detectable_open
    means = least + rng.normal(0, sqrt(1 + sum(s**2 / n for n in numbers)), 20_000)
    assert 0.78 < (np.abs(means) > found).mean() < 0.84


@pytest.mark.parametrize("spread", [1e-9, 1e-8, 1e-7, 1e-6])
def test_runs_that_differ_by_rounding_change_nothing(spread: float) -> None:
    part = Part(4e-4, 3e-4, 0.1, 1000, 0.0, 0.5)
    pilot = LeftOutPilot(100, 0.04, np.full(10, 200), 5, 10, True, 50.0, {"images": part}, {})
    for numbers in ((3, 3), (2, 7), (5, 1)):
        runs = PlannedRuns(("a", "b"), numbers, (spread, spread if numbers[1] > 1 else None))
        rows = plan_left_out(pilot, range(100, 900, 40), runs=runs).rows
        plain = plan_left_out(pilot, range(100, 900, 40)).rows
        for row, own in zip(rows, plain, strict=True):
            assert row.halfwidth == pytest.approx(own.halfwidth, abs=1e-4)
            assert row.detectable == pytest.approx(own.detectable, abs=1e-4)


def test_a_row_by_hand() -> None:
    shares = Shares(0.0, 0.0, 1.0)
    row = Planned(5, (30,), 0.5, 2.0, 4.0, 2.8, 5.6, shares, shares, None, (1.4, 5.6))
    runs = PlannedRuns(("a",), (3,), (1.0,))
    wider = row.with_runs(runs, 0.95)
    assert (wider.open_of_tasks, wider.class_aware_of_tasks) == (row.open, row.class_aware)
    assert wider.open == runs.widen(2.0, 0.95)
    assert wider.class_aware == runs.widen(4.0, 0.95)
    assert wider.closed == row.closed
    assert wider.detectable_open == pytest.approx(2.8 * wider.open / row.open)
    # the ends, as of half as wide and twice as wide intervals
    ends = 1.4 * runs.widen(1.0, 0.95), 1.4 * runs.widen(4.0, 0.95)
    assert wider.range_open == pytest.approx(ends)
    assert wider.range_class_aware is None


def test_tasks_that_reuse_images() -> None:
    # classes only: V = 4e-4 and s² = .04, of very many classes without a doubt
    part = Part(4e-4, 0.0, 0.0, 100_000, 0.0, 0.5)
    pilot = LeftOutPilot(
        100, 0.04, np.full(10, 200), 5, 10, False, 50.0, {"images": part, "classes": part}, {}
    )
    runs = PlannedRuns(("a", "b"), (3, 1), (1.0, None))
    rows = plan_left_out(pilot, [100], runs=runs).rows
    plain = plan_left_out(pilot, [100]).rows
    for row, own in zip(rows, plain, strict=True):
        assert row.halfwidth is not None
        assert own.halfwidth is not None
        assert own.detectable is not None
        assert row.of_tasks == own.halfwidth == own.of_tasks
        assert row.halfwidth == runs.widen(own.halfwidth, 0.95)
        added = (1 + 0.8416 / 1.96) ** 2 * (row.halfwidth**2 - own.halfwidth**2)
        assert row.detectable == pytest.approx(sqrt(own.detectable**2 + added), rel=1e-4)
    # of 4 + 4 + 1/3 points², tasks would take away 4; endless tasks none
    shares = [row.monte_carlo_share for row in rows if row.kind == "images"]
    assert shares == pytest.approx([4 / (8 + 1 / 3), 0.0])


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_estimates_are_of_means_over_runs(runs: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    level = np.clip(rng.normal(0.7, 0.15, (25, 4, 6, 1)), 0, 1)  # of a query, in all runs
    right = [rng.binomial(1, level, (25, 4, 6, number)) for number in runs]
    unit = int(np.lcm.reduce(runs))
    signs = (1, -1)[: len(runs)]
    d = sum(s * x.sum(axis=3) * (unit // n) for s, x, n in zip(signs, right, runs, strict=True))
    sums, squares = d.sum(axis=2), (d * d).sum(axis=2)
    found = estimate_difference(sums, squares, 6, unit)
    values = sum(s * x.mean(axis=3) for s, x in zip(signs, right, strict=True))
    between = values.mean(axis=(1, 2)).var(ddof=1)
    w = values.var(axis=2, ddof=1).mean() / 4
    assert found.variance == pytest.approx(between)
    assert (found.w, found.alpha) == pytest.approx((w, between - w / 6))
    assert found.m1 == pytest.approx((values**2).mean())
    design = ClassDesign.of(np.array([rng.permutation(9)[:4] for _ in range(25)]))
    parts = components_of(design, sums, found, unit)
    assert parts.between_tasks(design, 6) == pytest.approx(between)
    assert parts.classes * between_classes(design) <= between
