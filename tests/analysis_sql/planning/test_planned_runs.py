"""Training runs in a plan: by hand, and from pilots of several runs."""

from math import sqrt

import numpy as np
import pytest

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.counts import RunTerms
from analysis_sql.planning.leave_one_out_plan import LeftOutPilot, Part, plan_left_out
from analysis_sql.planning.planning import Planned, PlannedRuns
from analysis_sql.planning.query_size import estimate_difference
from analysis_sql.planning.variance_budget import Shares, between_classes, components_of


def test_a_width_by_hand() -> None:
    # runs of 90, 91 and 92 %: s = 1, v = 1/3, t(2) = 4.3027
    runs = PlannedRuns(("a", "b"), (3, 1), (1.0, None))
    told = runs.of(2.0, 0.95, 1.0)
    assert told is not None
    assert runs.error == pytest.approx(sqrt(1 / 3))
    assert told.halfwidth == pytest.approx(sqrt(4 + 4.3027**2 / 3), rel=1e-4)
    # five runs: v = .2, t(4) = 2.7764; twenty: v = .05, t(19) = 2.0930
    five, ten, twenty = told.more
    assert five == (5, pytest.approx(sqrt(4 + 2.7764**2 / 5), rel=1e-4))
    assert (ten[0], twenty) == (10, (20, pytest.approx(sqrt(4 + 2.0930**2 / 20), rel=1e-4)))
    assert told.tasks_alone == pytest.approx(sqrt(1 + 4.3027**2 / 3), rel=1e-4)
    # two are planned in place of three: v = .5, t(1) = 12.7062; b has one run still
    two = PlannedRuns(("a", "b"), (3, 1), (1.0, None), planned=2)
    assert two.numbers == (2, 1)
    again = two.of(2.0, 0.95)
    assert again is not None
    assert again.halfwidth == pytest.approx(sqrt(4 + 12.7062**2 / 2), rel=1e-4)
    assert [n for n, _ in again.more] == [3, 5, 10, 20]
    assert PlannedRuns(("a", "b"), (1, 1), (None, None)).of(1.0, 0.95) is None
    assert PlannedRuns(("a",), (1,), (None,), None, ("a",)).error is None


def test_a_row_by_hand() -> None:
    shares = Shares(0.0, 0.0, 1.0)
    row = Planned(5, (30,), 0.5, 2.0, 4.0, 2.8, 5.6, shares, shares, None, (1.4, 5.6))
    wider = row.for_new_runs(RunTerms(1 / 3, 1 / 18), 0.95)
    assert (wider.open_of_tasks, wider.class_aware_of_tasks) == (row.open, row.class_aware)
    of_runs = 4.30265**2 / 3
    assert wider.open == pytest.approx(sqrt(4 + of_runs), rel=1e-4)
    assert wider.class_aware == pytest.approx(sqrt(16 + of_runs), rel=1e-4)
    assert wider.closed == row.closed
    assert wider.detectable_open == pytest.approx(2.8 * wider.open / row.open)
    # the ends, as of half as wide and twice as wide intervals
    ends = 1.4 * sqrt(1 + of_runs), 1.4 * sqrt(16 + of_runs)
    assert wider.range_open == pytest.approx(ends, rel=1e-4)
    assert wider.range_class_aware is None


def test_tasks_that_reuse_images() -> None:
    # classes only: V = 4e-4 and s² = .04, of very many classes without a doubt
    part = Part(4e-4, 0.0, 0.0, 100_000, 0.0, 0.5)
    pilot = LeftOutPilot(
        100, 0.04, np.full(10, 200), 5, 10, False, 50.0, {"images": part, "classes": part}, {}
    )
    rows = plan_left_out(pilot, [100], terms=RunTerms(1 / 3, 1 / 18)).rows
    plain = plan_left_out(pilot, [100]).rows
    for row, own in zip(rows, plain, strict=True):
        assert row.halfwidth is not None
        assert own.halfwidth is not None
        assert row.of_tasks == own.halfwidth == own.of_tasks
        assert row.halfwidth == pytest.approx(sqrt(own.halfwidth**2 + 4.30265**2 / 3), rel=1e-5)
        if row.kind == "images":
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
