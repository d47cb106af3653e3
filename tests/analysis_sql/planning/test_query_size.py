"""The variance model, its estimators and the choice of Q: by hand, by loops, by simulation."""

import importlib
import math

import numpy as np
import pytest
from full_checks import check_module
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.planning.planning import plan
from analysis_sql.planning.query_size import (
    Estimate,
    best_query,
    choose,
    choose_for_comparisons,
    estimate_difference,
    estimate_set,
    jackknife_images,
    pool,
    ratio_interval,
    width_factors,
)
from analysis_sql.planning.variance_budget import Components
from benchmark_spec.errors import SpecError


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


def test_jackknife_over_images_by_hand():
    x = np.random.default_rng(3).binomial(5, 0.7, (4, 30, 5))
    whole, *without = (pool([[estimate_set(part, 5)]], 5) for part in x)
    found = jackknife_images(whole, without)
    values = np.array([(each.alpha, each.w) for each in without])
    away = values - values.mean(axis=0)
    assert np.asarray(found.covariance) == pytest.approx(2 / 3 * away.T @ away)
    assert (found.alpha, found.w, found.sets) == (whole.alpha, whole.w, whole.sets)
    assert (found.freedom, found.parts, whole.parts) == (2.0, 3, 0)


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


@pytest.mark.slow
def test_a_jackknife_over_images_sees_what_new_images_change(example):
    """The jackknife's standard error of w, whose seeds' error is small, against the true one."""
    rng = np.random.default_rng(4)
    part = np.arange(example.PER_CLASS) % 10
    model = example.exact(1)

    def fit(images):
        tasks = images.shape[1] // 6
        shuffled = [rng.permuted(images, axis=1)[:, : tasks * 6] for _ in range(20)]
        return pool([[estimate_set(example.task_counts(x, 1, 5), 5)] for x in shuffled], 1)

    found = []
    for _ in range(40):
        images = rng.standard_normal((2, example.PER_CLASS)) + np.array([[-1.0], [1.0]])
        without = [fit(images[:, part != i]) for i in range(10)]
        found.append(jackknife_images(fit(images), without))
    for i, name in enumerate(("alpha", "w")):
        values = [getattr(each, name) for each in found]
        error = math.sqrt(np.mean([each.covariance[i][i] for each in found]))
        seeds = math.sqrt(np.mean([(each.seed_errors or (0, 0))[i] ** 2 for each in found]))
        data = max(np.var(values, ddof=1) - seeds**2, 0.0)
        expected = math.sqrt(data + 81 / 10 * seeds**2)  # (G-1)²/G times the seeds' own
        assert error == pytest.approx(expected, rel=0.25)
        assert abs(np.mean(values) - getattr(model, name)) < 4 * stats.sem(values)


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


def test_an_accuracy_is_the_special_case():
    x = np.random.default_rng(0).binomial(6, 0.8, (20, 5))
    assert estimate_difference(x, x, 6) == estimate_set(x, 6)
    against_nothing = estimate_difference(-x, x, 6)
    assert against_nothing.alpha == pytest.approx(estimate_set(x, 6).alpha)


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
        *[
            (lambda seeds=seeds: pool(seeds, 1), ".")
            for seeds in ([], [[]], [[FEW], []], [[FEW], [estimate_set(np.eye(5, dtype=int), 2)]])
        ],
        (lambda: jackknife_images(FEW, [FEW, FEW]), "2 parts"),
        (lambda: width_factors({4: 1}, 0.95), "no number of queries"),
        (lambda: width_factors({4: 9}, 95), "confidence level"),
        (lambda: choose(estimate(0.05, 0.3), 5, {2: 9, 3: 8}).cost_of(4), "was not tried"),
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
    """For comparisons; of one pair it is that for a method."""
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
