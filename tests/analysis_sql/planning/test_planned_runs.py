"""Training runs in a plan: by hand, and from pilots of several runs."""

from math import sqrt

import numpy as np
import pytest
from scipy import optimize, stats

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.planning.leave_one_out_plan import LeftOutPilot, Part, plan_left_out
from analysis_sql.planning.planning import Planned, PlannedRuns
from analysis_sql.planning.query_size import estimate_difference
from analysis_sql.planning.variance_budget import Shares, between_classes, components_of


def test_a_width_by_hand() -> None:
    # (h/z)² = 1; runs of 90, 91 and 92 %: s = 1, v = 1/3: T = 4/3, df = (16/9)/(1/18) = 32
    runs = PlannedRuns(("a", "b"), (3, 1), (1.0, None))
    told = runs.of(1.959964, 0.95)
    assert told is not None
    assert runs.error == pytest.approx(sqrt(1 / 3))
    assert told.halfwidth == pytest.approx(2.0369 * sqrt(4 / 3), rel=1e-4)
    # five runs: v = .2, T = 1.2, df = 1.44/(.04/4) = 144; twenty: v = .05, df = 8379
    five, ten, twenty = told.more
    assert five == (5, pytest.approx(1.97658 * sqrt(1.2), rel=1e-4))
    assert (ten[0], twenty) == (10, (20, pytest.approx(1.96024 * sqrt(1.05), rel=1e-4)))
    # with fewer tasks' variance t has fewer degrees of freedom: the least is in between
    least = optimize.minimize_scalar(
        lambda x: stats.t.isf(0.025, 18 * (x + 1 / 3) ** 2) * sqrt(x + 1 / 3),
        bounds=(0, 1),
        method="bounded",
    )
    assert told.tasks_alone == pytest.approx(least.fun, rel=1e-3)
    assert told.tasks_alone < told.halfwidth
    # two are planned in place of three: v = .5, T = 1.5, df = 2.25/.25 = 9; b has one run still
    two = PlannedRuns(("a", "b"), (3, 1), (1.0, None), planned=2)
    assert two.numbers == (2, 1)
    again = two.of(1.959964, 0.95)
    assert again is not None
    assert again.halfwidth == pytest.approx(2.26216 * sqrt(1.5), rel=1e-4)
    assert [n for n, _ in again.more] == [3, 5, 10, 20]
    assert PlannedRuns(("a", "b"), (1, 1), (None, None)).of(1.0, 0.95) is None
    assert PlannedRuns(("a",), (1,), (None,), None, ("a",)).error is None


def test_a_row_by_hand() -> None:
    shares = Shares(0.0, 0.0, 1.0)
    row = Planned(5, (30,), 0.5, 1.959964, 3.919928, 2.8, 5.6, shares, shares, None, (1.4, 5.6))
    wider = row.for_new_runs((1 / 3, 1 / 18), 0.95)
    assert (wider.open_of_tasks, wider.class_aware_of_tasks) == (row.open, row.class_aware)
    assert wider.open == pytest.approx(2.0369 * sqrt(4 / 3), rel=1e-4)
    # T = 4 + 1/3, df = 338
    assert wider.class_aware == pytest.approx(1.96701 * sqrt(13 / 3), rel=1e-4)
    assert wider.closed == row.closed
    assert wider.detectable_open == pytest.approx(2.8 * wider.open / row.open)
    # the ends, as of half as wide and twice as wide intervals: T = 1/4 + 1/3, df = 6.125
    assert wider.range_open is not None
    low, high = wider.range_open
    assert low == pytest.approx(2.8 / 1.959964 * stats.t.isf(0.025, 6.125) * sqrt(7 / 12), rel=1e-6)
    assert high == pytest.approx(2.8 / 1.959964 * 1.96701 * sqrt(13 / 3), rel=1e-4)
    assert wider.range_class_aware is None


def test_new_classes_are_never_planned_narrower_than_new_images() -> None:
    """By Satterthwaite's law the half-width of two runs falls as that of the tasks grows."""
    shares, ranges = Shares(0.0, 0.0, 1.0), ((1.0, 3.0), (1.5, 9.0))
    row = Planned(5, (30,), 0.5, 1.0, 2.0, 1.4, 2.8, shares, shares, None, *ranges)
    v = 2.0
    wider = row.for_new_runs((v, v**2), 0.95)

    def width(h: float) -> float:
        whole = (h / stats.norm.isf(0.025)) ** 2 + v
        return float(stats.t.isf(0.025, whole**2 / v**2) * sqrt(whole))

    assert width(2.0) < width(1.0) == pytest.approx(wider.open)
    assert wider.class_aware == wider.open
    assert wider.detectable_class_aware == wider.detectable_open
    assert wider.range_open is not None
    assert wider.range_class_aware is not None
    assert all(np.greater_equal(wider.range_class_aware, wider.range_open))


def test_tasks_that_reuse_images() -> None:
    # classes only: V = 4e-4 and s² = .04, of very many classes without a doubt
    part = Part(4e-4, 0.0, 0.0, 100_000, 0.0, 0.5)
    pilot = LeftOutPilot(
        100, 0.04, np.full(10, 200), 5, 10, False, 50.0, {"images": part, "classes": part}, {}
    )
    rows = plan_left_out(pilot, [100], terms=(1 / 3, 1 / 18)).rows
    plain = plan_left_out(pilot, [100]).rows
    for row, own in zip(rows, plain, strict=True):
        assert row.halfwidth is not None
        assert own.halfwidth is not None
        assert row.of_tasks == own.halfwidth == own.of_tasks
        tasks = (own.halfwidth / 1.959964) ** 2
        df = 18 * (tasks + 1 / 3) ** 2
        expected = stats.t.isf(0.025, df) * sqrt(tasks + 1 / 3)
        assert row.halfwidth >= expected * (1 - 1e-9)
        if row.kind == "images":
            assert row.halfwidth == pytest.approx(expected)
            assert row.detectable == pytest.approx(
                (own.detectable or 0.0) * row.halfwidth / own.halfwidth
            )
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
