"""Plans and the choice of Q: by hand, by loops, against tasks drawn at the planned T."""

import importlib
import math
from math import comb, log, sqrt

import numpy as np
import pytest
from full_checks import check_module
from hypothesis import given
from hypothesis import strategies as st
from leave_one_out_tasks import uniform_tasks, values_on
from msgspec.structs import replace
from scipy import stats
from scipy.special import ndtr, ndtri, stdtrit

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.power import (
    detectable_difference,
    detectable_difference_of,
    detectable_factor,
)
from analysis_sql.intervals.random_stream import Stream
from analysis_sql.leave_one_out.design import LEFT_OUT, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences
from analysis_sql.planning.leave_one_out_plan import LeftOutPilot, Part, plan_left_out, to_halve
from analysis_sql.planning.planned_runs import PlannedRuns
from analysis_sql.planning.planning import Planned, class_uses, draw_classes, most_tasks, plan
from analysis_sql.planning.query_size import (
    Estimate,
    best_query,
    choose,
    choose_for_comparisons,
    estimate_difference,
    estimate_set,
    pool,
    ratio_interval,
    width_factors,
)
from analysis_sql.planning.variance_budget import (
    Components,
    LikelyComponents,
    Shares,
    between_classes,
    components_of,
)
from benchmark_spec.errors import SpecError
from benchmark_spec.protocol import Protocol
from builders.sampling.balanced import draw_balanced
from builders.sampling.balanced import most_tasks as sampler_most_tasks
from fslbench_data.sampling.draw import draw_open


@pytest.fixture
def plans():
    return check_module("plans")


PARTS = Components(classes=4e-4, images=8e-4, queries=0.017)


def test_widths_by_hand():
    """10 classes of 100 images, S = Q = 5: u = 10, and balanced sets use every class 10 times.

    T = 20, V = 10·100/400 = 2.5, R = (100 - 50)/19; σ_e² = 8e-4 + 0.0034 = 0.0042.
    """
    (row,) = plan(
        PARTS, [100] * 10, way=5, shot=5, queries=[5], suite="balanced", level=0.99, power=0.9
    )
    assert row.tasks == (20, 20, 20)
    s2 = 4e-4 * 50 / 19 + 0.0042
    assert row.open == pytest.approx(100 * stats.t.isf(0.005, 19) * math.sqrt(s2 / 20))
    closed = 4e-4 * 5 * (1 - 5 / 10) + 0.0042
    assert row.closed == pytest.approx(100 * stats.norm.isf(0.005) * math.sqrt(closed / 600))
    factor = detectable_factor(20, 0.99, 0.9)
    assert row.detectable_open == pytest.approx(100 * factor * math.sqrt(s2 / 20))
    total = 4e-4 * 2.5 + 0.0042 / 20
    assert row.budget.classes == pytest.approx(1e-3 / total)
    assert row.budget.queries == pytest.approx(0.0034 / 20 / total)
    assert row.open_budget.classes == pytest.approx(4e-4 * 50 / 19 / s2)


@pytest.mark.parametrize("effect", [0.0, 4e-4, 4e-3])
@pytest.mark.parametrize(("number", "size", "seeds"), [(7, 120, 3), (15, 100, 1), (43, 200, 1)])
def test_class_aware_widths_and_power_are_those_of_results(effect, number, size, seeds, plans):
    """Mean half-width within 4 %, power at the planned difference within 3 points, of 1500 sets.

    ``python -m studies.checks plans`` has more sets of more designs.
    """
    row, width, power = plans.simulated(effect, number, size, 1500 // seeds, seeds)
    assert row.class_aware == pytest.approx(width, rel=0.04)
    assert abs(power - 0.8) < 0.03


def test_a_class_used_once_makes_all_kinds_equal():
    (row,) = plan(PARTS, [10] * 40, way=5, shot=5, queries=[5])
    assert row.tasks == (8, 8, 8)
    assert row.class_aware == row.open
    assert row.detectable_class_aware == row.detectable_open


@pytest.mark.parametrize(("effect", "luck"), [(0.0, 0.0), (0.1, 0.06)])
def test_the_range_holds_what_the_pilot_estimates_badly(effect, luck, plans):
    """95 % ranges of 40 pilots of about 32 tasks of 10 classes, of 500 in the check."""
    opened, aware = plans.in_ranges(plans.of_binomials(effect, luck), [178] * 10, 5, 40, 1)
    assert opened > 0.9
    assert aware > 0.9


def test_what_cannot_be_planned():
    rows = plan(PARTS, [20] * 6, way=5, shot=5, queries=[5, 15, 16])
    assert [row.query for row in rows] == [5, 15]  # 21 images of a class there are not
    assert rows[1].tasks == (1, 1, 1)
    (nothing,) = plan(Components(0.0, 0.0, 0.0), [50] * 9, way=5, shot=5, queries=[5])
    for row in (rows[1], nothing):
        assert {row.open, row.class_aware, row.detectable_open, row.detectable_class_aware} == {
            None
        }
    with pytest.raises(SpecError, match="no 5-way 5-shot task can be drawn from 6 classes"):
        plan(PARTS, [20] * 6, way=5, shot=5, queries=[16])


USES = st.lists(st.integers(0, 12), min_size=1, max_size=9).map(np.array)


@given(USES, st.integers(1, 4))
def test_the_bound_is_the_largest_that_fits(uses, way):
    fitting = [t for t in range(200) if np.minimum(uses, t).sum() >= way * t]
    assert most_tasks(uses, way) == max(fitting)


@given(st.sampled_from(["open", "balanced"]), USES, st.integers(1, 4), st.integers(0, 5))
def test_drawn_classes(suite, uses, way, seed):
    """Open sets stop only when they must; balanced ones are as long and as even as can be."""
    found = draw_classes(suite, uses, way, Stream("test", seed))
    used = np.bincount(found.reshape(-1), minlength=uses.size)
    assert (used <= uses).all()
    assert all(len(set(task)) == way for task in found.tolist())
    more = used < uses
    if suite == "open":
        assert more.sum() < way
        few = draw_classes("open", uses, way, Stream("test", seed), most=3)
        assert np.array_equal(few, found[:3])
        return
    assert len(found) == most_tasks(uses, way)
    if more.any() and len(found):  # what is used less than it could be is used as often as any
        assert used[more].min() >= used.max() - 1


@pytest.mark.slow
def test_first_tasks_choose_classes_alike():
    """Each of 7 classes stands in each place of the first task equally often (4 errors)."""
    uses = np.full(7, 3)
    for suite in ("open", "balanced"):
        first = np.array([draw_classes(suite, uses, 3, Stream("x", s))[0] for s in range(3000)])
        share = np.bincount(first.reshape(-1), minlength=7) / 3000
        assert np.abs(share - 3 / 7).max() < 4 * np.sqrt(12 / 49 / 3000)


@pytest.mark.parametrize("sizes", [[178] * 10, [50, 60, 90, 200, 30, 44, 71, 300]])
def test_as_many_tasks_as_the_samplers_draw(sizes):
    protocol = Protocol(5, 5, 5)
    uses = class_uses(sizes, 10)
    ours = [len(draw_classes("open", uses, 5, Stream("x", s))) for s in range(60)]
    theirs = [len(draw_open(sizes, protocol, dataset="x", seed=s)) for s in range(60)]
    error = np.sqrt((np.var(ours) + np.var(theirs)) / 60)
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * error
    most = sampler_most_tasks(sizes, protocol)
    assert most_tasks(uses, 5) == most
    assert len(draw_balanced(sizes, protocol, dataset="x", seed=0)) == most


def ids_of(tasks, classes, way, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(classes)[:way] for _ in range(tasks)])


def test_variances_are_those_of_dense_matrices():
    ids = ids_of(14, 6, 3)
    design = ClassDesign.of(ids)
    z = (ids[:, :, None] == np.arange(6)).any(axis=1).astype(float)
    parts = Components(classes=0.3, images=0.2, queries=0.8)
    whole = 0.3 * z @ z.T + (0.2 + 0.8 / 4) * np.eye(14)
    mean = np.full(14, 1 / 14)
    assert parts.variance_of_mean(design, 4) == pytest.approx(mean @ whole @ mean)
    centring = np.eye(14) - 1 / 14
    assert parts.between_tasks(design, 4) == pytest.approx(np.trace(centring @ whole) / 13)
    shares = parts.budget(design, 4)
    assert shares.classes + shares.images + shares.queries == pytest.approx(1)
    assert shares.classes == pytest.approx(1 - 0.4 / 14 / parts.variance_of_mean(design, 4))
    reported = parts.open_budget(design, 4)
    assert (
        reported.images == reported.queries == pytest.approx(0.2 / parts.between_tasks(design, 4))
    )


@given(st.integers(0, 10_000), st.integers(3, 30), st.integers(2, 9))
def test_a_plan_for_the_pilots_own_tasks_says_what_its_report_says(seed, tasks, query):
    """Whatever the signs of the estimates: the parts are at least 0 and add up to s²."""
    rng = np.random.default_rng(seed)
    ids = ids_of(tasks, 8, 3, seed)
    design = ClassDesign.of(ids)
    x = rng.binomial(query, rng.uniform(0.2, 0.95), (tasks, 3))
    if design.obstacle is not None or len(set(x.sum(axis=1).tolist())) == 1:
        return
    estimate = estimate_set(x, query)
    parts = components_of(design, x, estimate)
    assert min(parts.classes, parts.images, parts.queries) >= 0.0
    assert parts.between_tasks(design, query) == pytest.approx(estimate.variance)
    planned = 100 * detectable_difference_of(tasks, parts.between_tasks(design, query))
    reported = detectable_difference(Moments.of(x.sum(axis=1), 3 * query))
    assert planned == pytest.approx(float(reported), rel=1e-9)


def test_equal_tasks_and_equal_classes():
    ids = ids_of(8, 6, 3)
    x = np.tile([2, 1, 2], (8, 1))
    design, estimate = ClassDesign.of(ids), estimate_set(x, 4)
    assert components_of(design, x, estimate).classes == 0.0
    assert LikelyComponents.of(design, x, estimate) is None
    same = ClassDesign.of(np.tile([0, 1, 2], (8, 1)))
    with pytest.raises(SpecError, match="same classes"):
        components_of(same, x, estimate)


def test_classes_images_and_queries_are_found_again():
    """60 classes, 300 tasks, 200 times: estimates within 4 standard errors, or 5 % for REML's."""
    rng = np.random.default_rng(5)
    found, query = [], 20
    ids = ids_of(300, 60, 5)
    design = ClassDesign.of(ids)
    for _ in range(200):
        effect = rng.normal(0, 0.05, 60)  # of a class's own accuracy: b is a fifth of it
        luck = rng.normal(0, 0.04, (300, 1))
        p = 0.6 + effect[ids] + luck
        x = rng.binomial(query, p)
        estimate = estimate_set(x, query)
        parts = components_of(design, x, estimate)
        found.append((parts.classes, parts.images, parts.queries))
    true = (0.01**2, 0.04**2, (0.24 - 0.05**2 - 0.04**2) / 5)
    for values, right in zip(np.array(found).T, true, strict=True):
        assert abs(values.mean() - right) < max(4 * stats.sem(values), 0.05 * right)


def test_a_width_is_the_mean_of_those_that_runs_may_show():
    """Of runs of 90, 91 and 92 %, against one: s² varies as chi-square/2, and t(2) is 4.3027."""
    runs = PlannedRuns(("a", "b"), (3, 1), (1.0, None))
    told = runs.widths(2.0, 0.95, 1.0)
    assert runs.error == pytest.approx(sqrt(1 / 3))

    def expected(width, number):
        law, t = stats.chi2(number - 1), stats.t.isf(0.025, number - 1)
        at = law.ppf((np.arange(20_000) + 0.5) / 20_000)
        return float(np.sqrt(width**2 + t**2 * at / (number - 1) / number).mean())

    assert told.halfwidth == pytest.approx(expected(2.0, 3), rel=2e-3)
    assert told.tasks_alone == pytest.approx(expected(1.0, 3), rel=4e-3)
    assert dict(told.more) == pytest.approx({n: expected(2.0, n) for n in (5, 10, 20)}, rel=1e-3)
    # two are planned in place of three; b has one run still
    two = PlannedRuns(("a", "b"), (3, 1), (1.0, None), planned=2)
    assert two.numbers == (2, 1)
    again = two.widths(2.0, 0.95)
    assert again.halfwidth == pytest.approx(expected(2.0, 2), rel=1e-2)
    assert [n for n, _ in again.more] == [3, 5, 10, 20]
    more = PlannedRuns(("a", "b"), (3, 5), (1.0, 1.0)).widths(1.0, 0.95).more
    assert [n for n, _ in more] == [10, 20]
    assert PlannedRuns(("a", "b"), (1, 1), (None, None)).widths(1.0, 0.95) is None
    assert PlannedRuns(("a",), (1,), (None,), None, ("a",)).error is None


@pytest.mark.parametrize("numbers", [(3, 3), (2, 5)])
def test_widths_of_two_methods_are_those_of_experiments(numbers):
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
def test_runs_that_differ_by_rounding_change_nothing(spread):
    part = Part(4e-4, 3e-4, 0.1, 1000, 0.0, 0.5)
    pilot = LeftOutPilot(100, 0.04, np.full(10, 200), 5, 10, True, 50.0, {"images": part}, {})
    for numbers in ((3, 3), (2, 7), (5, 1)):
        runs = PlannedRuns(("a", "b"), numbers, (spread, spread if numbers[1] > 1 else None))
        rows = plan_left_out(pilot, range(100, 900, 40), runs=runs)
        plain = plan_left_out(pilot, range(100, 900, 40))
        for row, own in zip(rows, plain, strict=True):
            assert row.halfwidth == pytest.approx(own.halfwidth, abs=1e-4)
            assert row.detectable == pytest.approx(own.detectable, abs=1e-4)


def test_a_row_by_hand():
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


def test_tasks_that_reuse_images():
    # classes only: V = 4e-4 and s² = .04, of very many classes without a doubt
    part = Part(4e-4, 0.0, 0.0, 100_000, 0.0, 0.5)
    pilot = LeftOutPilot(
        100, 0.04, np.full(10, 200), 5, 10, False, 50.0, {"images": part, "classes": part}, {}
    )
    runs = PlannedRuns(("a", "b"), (3, 1), (1.0, None))
    rows = plan_left_out(pilot, [100], runs=runs)
    plain = plan_left_out(pilot, [100])
    for row, own in zip(rows, plain, strict=True):
        assert row.of_tasks == own.halfwidth == own.of_tasks
        assert row.halfwidth == runs.widen(own.halfwidth, 0.95)
        added = (1 + 0.8416 / 1.96) ** 2 * (row.halfwidth**2 - own.halfwidth**2)
        assert row.detectable == pytest.approx(sqrt(own.detectable**2 + added), rel=1e-4)
    # of 4 + 4 + 1/3 points², tasks would take away 4; endless tasks none
    shares = [row.monte_carlo_share for row in rows if row.kind == "images"]
    assert shares == pytest.approx([4 / (8 + 1 / 3), 0.0])


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_estimates_are_of_means_over_runs(runs):
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


CLASSES, SIZE, WAY, PER_CLASS = 24, 50, 5, 10
SUPERCLASS = np.arange(CLASSES) // 3
Z = -float(ndtri(0.025))


def by_hand(**parts):
    sizes = np.full(CLASSES, SIZE)
    used = 600 * WAY * PER_CLASS / (CLASSES * SIZE)
    return LeftOutPilot(600, 0.006, sizes, WAY, PER_CLASS, True, used, parts, {})


IMAGES = Part(2e-5, 3e-5, 0.05, CLASSES * SIZE)
OF_CLASSES = Part(9e-5, 8e-6, sqrt(2 / (CLASSES - 1)), CLASSES, 0.5, 1 - WAY / CLASSES)
OF_SUPERCLASSES = Part(1.5e-4, 1e-5, sqrt(2 / 7), 8, None, 0.4)
ALL = {"images": IMAGES, "classes": OF_CLASSES, "superclasses": OF_SUPERCLASSES}


def row_of(plan, kind, tasks):
    (row,) = (row for row in plan if row.kind == kind and row.tasks == tasks)
    return row


def test_a_class_width_by_hand():
    row = row_of(plan_left_out(by_hand(**ALL), [2400]), "classes", 2400)
    whole = 9e-5 + 0.006 / 2400
    tau = sqrt(2 / 23) * 8e-6 / 4
    t = -float(stdtrit(1 / (1 / 23 + 2.5 / 48), 0.025))
    expected = t * sqrt(whole + (Z**2 + 1) / 4 * tau**2 / (whole + 2 * tau))
    assert row.halfwidth == pytest.approx(100 * expected, rel=1e-12)
    assert row.monte_carlo_share == pytest.approx(0.006 / 2400 / whole, rel=1e-12)
    d, h, sd = row.detectable / 100, row.halfwidth / 100, sqrt(whole)
    assert ndtr((d - h) / sd) + ndtr((-d - h) / sd) == pytest.approx(0.8, abs=1e-9)


def test_a_width_that_is_that_for_new_images_has_its_parts():
    parts = {"images": Part(9e-5, 3e-5, 0.05, 1200), "classes": Part(0.0, 8e-6, 0.3, 24)}
    images, classes, *_ = plan_left_out(by_hand(**parts), [2400])
    assert (classes.halfwidth, classes.detectable) == (images.halfwidth, images.detectable)
    assert classes.monte_carlo_share == images.monte_carlo_share < 0.1


def test_a_superclass_width_by_hand():
    plan = plan_left_out(by_hand(**ALL), [1200, 300], level=0.99)
    assert [row.tasks for row in plan[::3]] == [300, 1200, None]
    whole, tau, z = 1.5e-4 + 0.006 / 1200, sqrt(2 / 7) * 1e-5 / 2, float(ndtri(0.995))
    expected = sqrt(whole + (z**2 + 1) / 4 * tau**2 / (whole + 2 * tau))
    row = row_of(plan, "superclasses", 1200)
    assert row.halfwidth == pytest.approx(-100 * float(stdtrit(7, 0.005)) * expected, rel=1e-12)


def test_an_image_width_by_hand():
    chance = WAY * PER_CLASS / (CLASSES * SIZE)

    def chances(tasks):
        ways = [log(comb(tasks, k)) for k in range(2, 300)]
        n = np.arange(2, 300)
        return np.exp(ways + n * log(chance) + (tasks - n) * log(1 - chance))

    def noise(tasks):
        p, n = chances(tasks), np.arange(2, 300)
        left = (p / n).sum() / p.sum() - CLASSES / (tasks * WAY)
        return float((1 - CLASSES / tasks) * left)

    p, n = chances(2400), np.arange(2, 300)
    effective = CLASSES * SIZE * (p / n).sum() ** 2 / (p / n**2).sum() * (1 - 1 / SIZE)
    whole = 2e-5 + 0.006 / 2400
    tau = sqrt(2 / effective) * (2e-5 + 3e-5 * noise(2400) / noise(600))
    expected = Z * sqrt(whole + (Z**2 + 1) / 4 * tau**2 / (whole + 2 * tau))
    row = row_of(plan_left_out(by_hand(**ALL), [2400]), "images", 2400)
    assert row.halfwidth == pytest.approx(100 * expected, rel=1e-9)
    # where images are in many tasks, chance leaves a share that falls as 1/B, but for C/B of it
    assert noise(4800) / noise(2400) == pytest.approx(0.5, rel=0.03)


def test_a_class_width_is_at_least_that_of_images():
    small = Part(0.0, 8e-6, sqrt(2 / 23), CLASSES, 0.0, 0.8)
    plan = plan_left_out(by_hand(images=IMAGES, classes=small), [4000])
    assert row_of(plan, "classes", None).halfwidth == row_of(plan, "images", None).halfwidth


def test_half_the_width_takes_about_four_times_the_units():
    pilot = by_hand(**ALL)
    half = {kind: to_halve(pilot, kind) for kind in pilot.parts}
    assert half["images"].units == CLASSES * SIZE
    assert half["images"].needed == pytest.approx((4 * (SIZE - 1) + 1) * CLASSES, rel=0.01)
    # more classes bring more degrees of freedom, too
    assert 3 < half["classes"].needed / CLASSES < 4
    assert 2 < half["superclasses"].needed / 8 < 4
    larger = by_hand(images=Part(5e-6, 3e-5, 0.05, CLASSES * SIZE))
    assert row_of(plan_left_out(larger, [600]), "images", None).halfwidth == pytest.approx(
        row_of(plan_left_out(pilot, [600]), "images", None).halfwidth / 2, rel=1e-2
    )


def test_twice_the_images_halve_the_variance():
    """Of means over a class's images, also where a task has half of them."""
    rng, variance = np.random.default_rng(0), {20: 0.0, 40: 0.0}
    for images in 16 * [*variance]:
        ids = np.argsort(rng.random((1500, 10)), axis=1)[:, :5]
        own = np.argpartition(rng.random((1500, 5, images)), 10, axis=2)[..., :10]
        tasks = TaskDesign.of(ids, ids[..., None] * images + own, np.repeat(np.arange(10), images))
        value = rng.normal(size=10 * images)[ids[..., None] * images + own].mean(axis=(1, 2))
        pilot = LeftOutPilot.of(tasks, value)
        variance[images] += pilot.parts["images"].variance
        factor = pilot.reduction(40 / images)
        assert factor == pytest.approx(1 if images == 40 else 19 / 39)
    assert variance[40] / variance[20] == pytest.approx(19 / 39, rel=0.1)


def test_what_cannot_be_planned_says_why():
    plan = plan_left_out(by_hand(**ALL), [4, 25, 60], power=None)
    assert row_of(plan, "images", 4).why.startswith("images are in 0.17 of 4 tasks")
    grouped = plan_left_out(replace(by_hand(**ALL), unit="groups"), [4])
    assert row_of(grouped, "classes", 4).why.startswith("groups are in 0.17 of 4 tasks")
    assert row_of(plan, "classes", 4).halfwidth is None
    assert row_of(plan, "images", 25).why == "some of 24 classes is in fewer than 3 of 25 tasks"
    few = replace(by_hand(images=IMAGES), sizes=np.full(7, SIZE))  # t(28) in place of z
    fewer, more, _ = (row.halfwidth for row in plan_left_out(few, [29, 30]))
    assert fewer / more == pytest.approx(stats.t.isf(0.025, 28) / Z * np.sqrt(30 / 29), rel=0.01)
    told = row_of(plan, "images", 60)
    assert told.halfwidth
    assert (told.why, told.detectable) == ("", None)
    assert "24 of 60 tasks are without" in row_of(plan, "superclasses", 60).why
    lost = by_hand(images=Part(0.0, 3e-5, 0.05, 1200))
    few, endless = plan_left_out(lost, [600])
    assert few.halfwidth
    assert endless.halfwidth is to_halve(lost, "images").needed is None


def test_a_variance_within_two_standard_errors_is_uncertain_in_more_tasks():
    """By hand: of 1,200 images V = 4e-5, and τ = .25 (V + 4e-5) = 2e-5 in the pilot's tasks."""
    for variance, uncertain in ((3.9e-5, True), (4.1e-5, False)):
        pilot = replace(by_hand(images=Part(variance, 4e-5, 0.25, 1200)), one_each=False)
        plan = plan_left_out(pilot, [pilot.tasks, pilot.tasks + 1, 4 * pilot.tasks])
        found = [row_of(plan, "images", own.tasks).uncertain for own in plan]
        assert found == [False, uncertain, uncertain, uncertain]


def test_what_has_no_variance_cannot_be_planned():
    ids, images, owner = uniform_tasks([SIZE] * CLASSES, 300, WAY, PER_CLASS, 0)
    with pytest.raises(SpecError, match="nothing varies"):
        LeftOutPilot.of(TaskDesign.of(ids, images, owner), np.full(300, 0.5))
    some = TaskDesign.of(ids, images, owner).prefix(20)
    with pytest.raises(SpecError, match=r"0\.83 tasks on average|in . tasks, fewer than 3"):
        LeftOutPilot.of(some, np.arange(20) / 20)


def test_the_pilots_own_number_of_tasks_is_its_own_width():
    ids, images, owner = uniform_tasks([SIZE] * CLASSES, 900, WAY, PER_CLASS, 3)
    design = TaskDesign.of(ids, images, owner, None, SUPERCLASS)
    y = values_on(ids, images, 1, 3)
    own = Influences(design, y).own(0.95)
    plan = plan_left_out(LeftOutPilot.of(design, y[0]), [900])
    for kind in LEFT_OUT:
        width = 100 * getattr(own, kind).halfwidth[0, 0]
        # that of images by the expected number of an image's tasks, not by what it was
        assert row_of(plan, kind, 900).halfwidth == pytest.approx(width, rel=2e-3)


def drawn(seed, tasks):
    rng = np.random.default_rng(seed)
    ids = np.argsort(rng.random((tasks, CLASSES)), axis=1)[:, :WAY]
    images = np.argsort(rng.random((tasks, WAY, SIZE)), axis=2)[:, :, :PER_CLASS]
    images = images + SIZE * ids[..., None]
    of_class = rng.normal(size=(2, CLASSES)) + rng.normal(size=(2, 8))[:, SUPERCLASS]
    of_image = 3.0 * rng.normal(size=(2, CLASSES * SIZE))
    of_image[1] = 0.7 * of_image[0] + 0.7 * of_image[1]
    y = of_class[:, ids].mean(2) + of_image[:, images].mean((2, 3))
    y = y + 0.3 * rng.normal(size=y.shape)
    return ids, images, np.repeat(np.arange(CLASSES), SIZE), 0.7 + 0.05 * y


@pytest.mark.parametrize(
    ("paired", "tasks", "seeds", "owners", "kinds"),
    [
        (False, 600, 10, {"superclass_of_class": SUPERCLASS}, LEFT_OUT),
        (True, 600, 10, {"superclass_of_class": SUPERCLASS}, LEFT_OUT),
        (False, 1000, 5, {"group_of_image": np.arange(CLASSES * SIZE) // 2}, ("images",)),
    ],
)
def test_planned_widths_are_those_of_tasks_drawn_then(paired, tasks, seeds, owners, kinds):
    planned, realised = [], []
    for seed in range(seeds):
        ids, images, owner, y = drawn(seed, 3000)
        values = y[0] - y[1] if paired else y[0]
        first, then = (
            TaskDesign.of(ids[part], images[part], owner, **owners)
            for part in (slice(tasks), slice(tasks, None))
        )
        pilot = LeftOutPilot.of(first, values[:tasks])
        assert pilot.one_each == ("group_of_image" not in owners)
        plan = plan_left_out(pilot, [3000 - tasks])
        if not pilot.one_each:
            half = to_halve(pilot, "images")
            assert 3.5 < half.needed / half.units < 4.1
        planned.append([row_of(plan, kind, 3000 - tasks).halfwidth for kind in kinds])
        own = Influences(then, values[None, tasks:]).own(0.95)
        realised.append([100 * getattr(own, kind).halfwidth[0, 0] for kind in kinds])
    ratio = np.mean(planned, axis=0) / np.mean(realised, axis=0)
    assert np.abs(ratio - 1).max() < 0.1, ratio


def test_an_accuracy_by_hand():
    # K = 2, Q = 2. Accuracies 3/4, 2/4, 4/4: mean 3/4, s² = (0 + 1/16 + 1/16)/2 = 1/16.
    # X(Q-X) is 1 where one of two is right: 1, 2 and 0 classes of 6 in all: 3/6 = 1/2,
    # over Q(Q-1) = 2 gives m1 - m2 = 1/4, w = 1/8; α = 1/16 - 1/16 = 0; m1 = 3/4, m2 = 1/2.
    found = estimate_set(np.array([[2, 1], [1, 1], [2, 2]]), 2)
    assert (found.m1, found.m2) == (0.75, 0.5)
    assert (found.variance, found.w, found.alpha) == (1 / 16, 1 / 8, 0.0)
    # without task 1, 2, 3: s² = 1/8, 1/32, 1/32; w = 1/8, 1/16, 3/16;
    # α = s² - w/2 = 1/16, 0, -1/16
    # jackknife: 2/3 times the sums of squares and products about the means 0 and 1/8
    assert found.covariance[0][0] == pytest.approx(2 / 3 * 2 / 256)
    assert found.covariance[1][1] == pytest.approx(2 / 3 * 2 / 256)
    assert found.covariance[0][1] == pytest.approx(2 / 3 * -1 / 256)
    assert (found.tasks, found.freedom, found.way, found.query) == (3, 2.0, 2, 2)


def test_pooling_by_hand():
    rng = np.random.default_rng(1)
    seeds = [
        [estimate_set(rng.binomial(q, 0.8, (tasks, 5)), q) for q, tasks in ((2, 30), (6, 20))]
        for _ in range(3)
    ]
    found = pool(seeds, 4)
    # (T-1)/(1 + S/Q)²: 29/9 and 19/(25/9)
    weights = np.array([29 / 9, 19 * 9 / 25]) / (29 / 9 + 19 * 9 / 25)
    by_seed = [weights @ [e.alpha for e in seed] for seed in seeds]
    assert found.alpha == pytest.approx(np.mean(by_seed))
    assert found.seed_errors[0] == pytest.approx(stats.sem(by_seed))
    bound = np.mean([weights @ [e.covariance[1][1] for e in seed] for seed in seeds])
    assert found.covariance[1][1] == pytest.approx(bound)
    assert found.freedom == pytest.approx(weights @ [29, 19])
    assert (found.seeds, found.sets) == (3, 6)


def estimate(alpha, w, v=((0.0, 0.0), (0.0, 0.0))):
    return Estimate(way=5, alpha=alpha, w=w, covariance=v, freedom=30.0)


@given(
    st.floats(-3, 3), st.floats(0.01, 3), st.floats(0.01, 2), st.floats(0.01, 2),
    st.floats(-0.95, 0.95),
)  # fmt: skip
def test_fieller_is_inverting_the_test(alpha, w, sd_alpha, sd_w, correlation):
    both = correlation * sd_alpha * sd_w
    covariance = ((sd_alpha**2, both), (both, sd_w**2))
    found = ratio_interval(estimate(alpha, w, covariance), 0.95)
    q = stats.t.ppf(0.975, 30)
    rho = np.concatenate([[0.0], np.logspace(-6, 6, 4001)])
    error = np.sqrt(sd_w**2 - 2 * rho * both + rho**2 * sd_alpha**2)
    fits = np.abs(w - rho * alpha) <= q * error
    assert (found.low is None) == (alpha + q * sd_alpha < 0)
    if found.low is None:
        return
    high = math.inf if found.high is None else found.high
    inside = (rho >= found.low) & (rho <= high)
    slack = (np.abs(rho / found.low - 1) < 1e-6) if found.low else rho < 0
    slack |= np.abs(rho / high - 1) < 1e-6
    # everything that fits is inside; inside, only a gap where the set is not one piece may not fit
    assert not (fits & ~inside & ~slack).any()
    if alpha - q * sd_alpha > 0:
        assert np.array_equal(fits | slack, inside | slack)
    assert (found.high is None) == (alpha - q * sd_alpha <= 0)
    assert (found.value is None) == (alpha <= 0)


def test_without_uncertainty_the_ratio_is_a_point():
    found = ratio_interval(estimate(0.5, 2.0), 0.95)
    assert (found.value, found.low, found.high) == pytest.approx((4.0, 4.0, 4.0))
    # of 3 shots: S·w, w + α·S and α + w/Q
    model = estimate(0.5, 2.0).model(3)
    assert (model.beta, model.gamma, model.task_variance(4)) == (6.0, 3.5, 1.0)


def test_tasks_of_several_sets_are_averaged_over_widths():
    t = stats.t.ppf(0.975, [1, 3, 5])  # 4 has a set without an interval
    expected = {3: (t[0] / 2**0.5 + t[1] / 2) / 2, 5: t[2] / 6**0.5}
    assert width_factors({3: [2, 4], 4: [1, 9], 5: 6}, 0.95) == pytest.approx(expected)


def test_costs_and_their_intervals():
    tasks = {q: 2000 // (5 + q) for q in range(1, 31)}
    found = choose(estimate(0.05, 0.3, ((1e-4, 0.0), (0.0, 1e-3))), 5, tasks, 0.95)
    assert None not in (found.low, found.high)
    factors = width_factors(tasks, 0.95)

    def cost(query, ratio):
        widths = {q: f * math.sqrt(1 + ratio / q) for q, f in factors.items()}
        return widths[query] / min(widths.values()) - 1

    for query in (1, 3, 7, 15, 30):
        it = found.cost_of(query)
        all_of_them = [cost(query, r) for r in np.linspace(found.ratio.low, found.ratio.high, 400)]
        assert it.cost == pytest.approx(cost(query, 0.3 / 0.05))
        assert it.high == pytest.approx(max(all_of_them))
        assert 0.002 > min(all_of_them) - it.low >= -1e-12


TASKS = {q: 600 // (5 + q) for q in range(1, 16)}


def test_undetermined_is_said():
    noise = ((1e-4, 0.0), (0.0, 1e-6))
    # α not sure to be above 0: no upper end, but costs are bounded over the Q tried
    found = choose(estimate(0.01, 0.05, noise), 5, TASKS)
    assert None not in (found.best, found.low, found.cost_of(1).high)
    assert (found.high, found.root.high) == (None, None)
    # α^ <= 0: no estimate either
    found = choose(estimate(-0.001, 0.05, noise), 5, TASKS)
    assert (found.best, found.high, found.root.value, found.cost_of(3).cost) == (None,) * 4
    assert found.low is not None
    # α^ below 0 by more than noise: nothing fits
    found = choose(estimate(-1.0, 0.05, noise), 5, TASKS)
    assert (found.best, found.low, found.high) == (None, None, None)


@pytest.mark.parametrize(
    ("x", "of_flat", "ends"),
    [
        # every query of every task right: nothing varies, and no Q is better
        ([[4] * 5] * 20, ("alpha", "w"), (None, None, None)),
        # classes all right or all wrong: more queries of a class tell nothing, so few; no upper end
        ([[4, 4], [4, 0], [0, 0], [4, 4]], ("w",), (1, 1, None)),
        # the same accuracy in all tasks, of varying answers: α^ = -w^/Q, and no Q* to tell
        ([[3, 1], [1, 3], [2, 2], [4, 0]], ("variance",), (None, 1, None)),
    ],
)
def test_degenerate_results(x, of_flat, ends):
    it = estimate_set(np.array(x), 4)
    assert all(getattr(it, name) == 0.0 for name in of_flat)
    assert it.alpha == it.variance - it.w / 4
    found = choose(it, 5, TASKS)
    assert (found.best, found.low, found.high) == ends


@pytest.mark.slow
def test_estimates_are_unbiased(example):
    """Means over 200 times 1000 new images, within 4 standard errors, at S = 1, 5, 20."""
    for shot in (1, 5, 20):
        model, found = example.exact(shot), example.simulate(shot, 200)
        for name in ("alpha", "w"):
            values = [getattr(each, name) for each in found.estimates]
            assert abs(np.mean(values) - getattr(model, name)) < 4 * stats.sem(values)


def test_coverage():
    """A single set of 166 tasks: 95 % within 4 standard errors of simulation, 2.8 points.

    ``python -m studies.checks query_intervals`` has 5000 sets of six designs.
    """
    for held in check_module("query_intervals").coverage(1, 2, 1000):
        assert abs(held - 0.95) < 0.028


@pytest.fixture(scope="module")
def example(root):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "examples")
        yield importlib.import_module("query_size")


def test_a_difference_by_hand():
    # K = 2, Q = 2; d of the queries: (1,-1 | 0,0), (1,1 | 0,-1), (0,0 | 1,0).
    # Differences 0/4, 1/4, 1/4: mean 1/6, s² = (1/36 + 1/144 + 1/144)/2 = 1/48.
    # m1 = share of d² = 2+0+2+1+0+1 of 12 = 1/2; D² - E is 0-2, 0, 4-2, 1-1, 0, 1-1: sum 0, m2 = 0.
    # w = (1/2 - 0)/2 = 1/4, α = 1/48 - 1/8 = -5/48.
    sums, squares = np.array([[0, 0], [2, -1], [0, 1]]), np.array([[2, 0], [2, 1], [0, 1]])
    found = estimate_difference(sums, squares, 2)
    assert (found.m1, found.m2, found.w) == (0.5, 0.0, 0.25)
    assert found.variance == pytest.approx(1 / 48)
    assert found.alpha == pytest.approx(-5 / 48)


def plain(d):
    """α^ and w^ of answers d (T, K, Q) by sums over pairs of different queries."""
    tasks, way, query = d.shape
    rate = float((d * d).mean())
    both = [d[t, k, i] * d[t, k, j] for t in range(tasks) for k in range(way)
            for i in range(query) for j in range(query) if i != j]  # fmt: skip
    w = (rate - float(np.mean(both))) / way
    return float(d.mean(axis=(1, 2)).var(ddof=1)) - w / query, w


@st.composite
def answers(draw):
    shape = (draw(st.integers(3, 8)), draw(st.integers(1, 3)), draw(st.integers(2, 4)))
    size = int(np.prod(shape))
    values = draw(st.lists(st.integers(-1, 1), min_size=size, max_size=size))
    return np.array(values).reshape(shape)


@given(answers())
def test_is_the_plain_formulas_and_a_brute_force_jackknife(d):
    found = estimate_difference(d.sum(axis=2), (d * d).sum(axis=2), d.shape[2])
    assert (found.alpha, found.w) == pytest.approx(plain(d), abs=1e-12)
    n = len(d)
    if n > 3:
        out = np.array([plain(np.delete(d, t, axis=0)) for t in range(n)])
        expected = (n - 1) ** 2 / n * np.cov(out.T, ddof=1)
        assert np.asarray(found.covariance) == pytest.approx(expected, abs=1e-12)


ONES = np.ones((5, 2), int)
FEW = estimate_set(np.eye(4, dtype=int), 2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: estimate_set(ONES, 1), "variance"),
        (lambda: estimate_difference(ONES, ONES, 1), "variance"),
        (lambda: estimate_set(ONES[:2], 3), "2 tasks are too few"),
        *[
            (lambda x=x: estimate_set(x, 3), r"integers 0\.\.3")
            for x in (4 * ONES, -ONES, 0.5 * ONES, np.arange(3))
        ],
        *[
            (lambda sums=sums: estimate_difference(sums, ONES, 3), "differences of two methods")
            for sums in (2 * ONES, 0 * ONES, ONES[:, :1], 1.0 * ONES)
        ],
        *[(lambda seeds=seeds: pool(seeds, 1), ".") for seeds in ([], [[]], [[FEW], []])],
        (lambda: width_factors({4: 1}, 0.95), "no number of queries"),
        (lambda: width_factors({4: 9}, 95), "confidence level"),
    ],
)
def test_what_cannot_be_told(asked, message):
    with pytest.raises(SpecError, match=message):
        asked()


def test_the_choice_for_comparisons_by_hand():
    # T of Q = 1, 2, 4 as 4 : 3 : 2, and so many that t is the same for all. (α + w/Q)/T is
    # for α = w = 1: 2/4, 1.5/3, 1.25/2, so widths over the least are 1, 1, sqrt(5/4) = 1.1180;
    # for α = 0, w = 1: 1/4, .5/3, .25/2, so they are sqrt(2) = 1.4142, sqrt(4/3) = 1.1547, 1.
    # Means: 1.2071, 1.0774, 1.0590. With the first pair twice: 1.1381, 1.0516, 1.0787.
    tasks = {1: 4e9, 2: 3e9, 4: 2e9}
    first, never = estimate(1.0, 1.0), estimate(0.0, 0.0)
    second = estimate(0.0, 1.0, ((1e-6, 0.0), (0.0, 1e-6)))
    for pairs, best, costs in (
        ([first, second, never], 4, [0.2071, 0.0774, 0.0590]),
        ([first, first, second], 2, [0.1381, 0.0516, 0.0787]),
    ):
        found = choose_for_comparisons(pairs, tasks)
        assert found.best == best
        assert [one.cost for one in found.costs] == pytest.approx(costs, abs=1e-4)
    assert choose_for_comparisons([never], tasks).best is None


@given(
    st.lists(st.tuples(st.floats(1e-4, 1), st.floats(1e-4, 1)), min_size=1, max_size=4),
    st.integers(1, 20), st.integers(60, 2000), st.sampled_from([0.8, 0.95, 0.99]),
)  # fmt: skip
def test_the_choice_is_the_brute_force(pairs, shot, images, level):
    tasks = {q: [images // (shot + q), images // (shot + q) + 1] for q in range(1, 60)}
    tasks = {q: of for q, of in tasks.items() if min(of) >= 2}
    factor = {q: stats.t.ppf(0.5 + level / 2, np.subtract(tasks[q], 1)) for q in tasks}
    factor = {q: np.mean(t / np.sqrt(tasks[q])) for q, t in factor.items()}
    mean = dict.fromkeys(tasks, 0.0)
    for alpha, w in pairs:
        widths = {q: factor[q] * (alpha + w / q) ** 0.5 for q in tasks}
        for q in tasks:
            mean[q] += (widths[q] / min(widths.values()) - 1) / len(pairs)
    found = choose_for_comparisons([estimate(*pair) for pair in pairs], tasks, level)
    assert [one.cost for one in found.costs] == pytest.approx(list(mean.values()), abs=1e-9)
    assert mean[found.best or 0] == pytest.approx(min(mean.values()), abs=1e-9)
    best = best_query(w / alpha, width_factors(tasks, level))
    assert widths[best] == pytest.approx(min(widths.values()), rel=1e-9)
    single = choose(estimate(alpha, w), shot, tasks, level)
    assert single.root.value == pytest.approx(math.sqrt(shot * w / alpha))
    assert single.tried == tuple(tasks)
    if len(pairs) == 1:
        assert (found.best, found.low, found.high) == (single.best, single.low, single.high)
        assert found.costs == single.costs


@pytest.mark.parametrize("shot", [1, 5, 20])
def test_the_gaussian_example(example, shot):
    """Both classes in all tasks: T and open widths are exact; nothing is told of new classes."""
    model = example.exact(shot)
    rows = plan(
        Components(0.0, model.alpha, model.w), [500, 500], way=2, shot=shot, queries=example.QUERIES
    )
    exact = example.exact_widths(shot)
    for row in rows:
        assert set(row.tasks) == {example.tasks_of(row.query, shot)}
        assert row.open == pytest.approx(exact[row.query])
        assert row.class_aware is None
        assert row.detectable_class_aware is None
        assert row.detectable_open > row.open
