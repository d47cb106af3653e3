"""The variance model, its estimators and the choice of Q: by hand, by loops, by simulation."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from full_checks import check_module
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.planning.query_size import (
    Estimate,
    QueryChoice,
    best_query,
    choose,
    estimate_set,
    jackknife_images,
    pool,
    ratio_interval,
    width_factors,
)
from benchmark_spec.errors import SpecError

# ---- one set ------------------------------------------------------------------------------------


def test_by_hand() -> None:
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


def test_what_cannot_be_estimated() -> None:
    with pytest.raises(SpecError, match="variance"):
        estimate_set(np.ones((9, 5), int), 1)
    with pytest.raises(SpecError, match="2 tasks are too few"):
        estimate_set(np.ones((2, 5), int), 3)
    for x in (np.full((9, 5), 4), np.full((9, 5), -1), np.full((9, 5), 0.5), np.arange(3)):
        with pytest.raises(SpecError, match=r"integers 0\.\.3"):
            estimate_set(x, 3)


# ---- several sets -------------------------------------------------------------------------------


def test_pooling_by_hand() -> None:
    rng = np.random.default_rng(1)
    seeds = [
        [estimate_set(rng.binomial(q, 0.8, (tasks, 5)), q) for q, tasks in ((2, 30), (6, 20))]
        for _ in range(3)
    ]
    found = pool(seeds, 4)
    # (T-1)/(1 + S/Q)²: 29/9 and 19/(25/9)
    weights = np.array([29 / 9, 19 * 9 / 25])
    weights /= weights.sum()
    by_seed = [sum(w * e.alpha for w, e in zip(weights, seed, strict=True)) for seed in seeds]
    assert found.alpha == pytest.approx(np.mean(by_seed))
    assert found.seed_errors is not None
    assert found.seed_errors[0] == pytest.approx(stats.sem(by_seed))
    bound = np.mean(
        [w * e.covariance[1][1] for s in seeds for w, e in zip(weights, s, strict=True)]
    )
    assert found.covariance[1][1] == pytest.approx(2 * bound)
    assert found.freedom == pytest.approx(weights @ [29, 19])
    assert (found.seeds, found.sets) == (3, 6)


def test_pooling_nothing() -> None:
    one = estimate_set(np.eye(5, dtype=int), 2)
    other = estimate_set(np.eye(4, dtype=int), 2)
    for seeds in ([], [[]], [[one], []], [[one], [other]]):
        with pytest.raises(SpecError):
            pool(seeds, 1)


def test_jackknife_over_images_by_hand() -> None:
    x = np.random.default_rng(3).binomial(5, 0.7, (4, 30, 5))
    whole, *without = (pool([[estimate_set(part, 5)]], 5) for part in x)
    found = jackknife_images(whole, without)
    values = np.array([(each.alpha, each.w) for each in without])
    away = values - values.mean(axis=0)
    assert np.asarray(found.covariance) == pytest.approx(2 / 3 * away.T @ away)
    assert (found.alpha, found.w, found.sets) == (whole.alpha, whole.w, whole.sets)
    assert (found.freedom, found.parts, whole.parts) == (2.0, 3, 0)
    with pytest.raises(SpecError, match="2 parts"):
        jackknife_images(whole, without[:2])


# ---- the ratio ----------------------------------------------------------------------------------


def estimate(alpha: float, w: float, *, v: Any = ((0.0, 0.0), (0.0, 0.0))) -> Estimate:
    return Estimate(way=5, alpha=alpha, w=w, covariance=v, freedom=30.0)


@given(
    st.floats(-3, 3), st.floats(0.01, 3), st.floats(0.01, 2), st.floats(0.01, 2),
    st.floats(-0.95, 0.95),
)  # fmt: skip
def test_fieller_is_inverting_the_test(
    alpha: float, w: float, sd_alpha: float, sd_w: float, correlation: float
) -> None:
    both = correlation * sd_alpha * sd_w
    it = estimate(alpha, w, v=((sd_alpha**2, both), (both, sd_w**2)))
    found = ratio_interval(it, 0.95)
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


def test_without_uncertainty_the_ratio_is_a_point() -> None:
    found = ratio_interval(estimate(0.5, 2.0), 0.95)
    assert (found.value, found.low, found.high) == pytest.approx((4.0, 4.0, 4.0))
    # of 3 shots: S·w, w + α·S and α + w/Q
    model = estimate(0.5, 2.0).model(3)
    assert (model.beta, model.gamma, model.task_variance(4)) == (6.0, 3.5, 1.0)


# ---- Q* -----------------------------------------------------------------------------------------


def brute_force(alpha: float, w: float, tasks: dict[int, int], level: float) -> int:
    widths = {
        q: stats.t.ppf(0.5 + level / 2, t - 1) * math.sqrt((alpha + w / q) / t)
        for q, t in tasks.items()
        if t >= 2
    }
    return min(widths, key=lambda q: widths[q])


@given(
    st.floats(1e-4, 1), st.floats(1e-4, 1), st.integers(1, 20), st.integers(40, 2000),
    st.sampled_from([0.8, 0.95, 0.99]),
)  # fmt: skip
def test_best_is_the_brute_force_minimum(
    alpha: float, w: float, shot: int, images: int, level: float
) -> None:
    tasks = {q: images // (shot + q) for q in range(1, 60)}
    if tasks[1] < 2:
        return
    found = choose(estimate(alpha, w), shot, tasks, level)
    assert found.best == brute_force(alpha, w, tasks, level)
    assert found.best is not None
    assert found.cost_of(found.best).cost == 0.0
    assert all(c.cost is not None and c.cost >= 0 for c in found.costs)
    assert found.root.value == pytest.approx(math.sqrt(shot * w / alpha))
    assert found.tried == tuple(q for q in tasks if tasks[q] >= 2)


@given(st.lists(st.integers(2, 300), min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_best_never_falls_as_the_ratio_grows(reached: list[int], random: Any) -> None:
    factors = width_factors(dict(enumerate(reached, start=1)), 0.95)  # any T(Q), even a wild one
    ratios = sorted(math.exp(random.uniform(-9, 9)) for _ in range(30))
    best = [best_query(ratio, factors) for ratio in [0.0, *ratios, math.inf]]
    assert all(a <= b for a, b in pairwise(best))


def test_tasks_of_several_sets_are_averaged_over_widths() -> None:
    factors = width_factors({3: [2, 4], 4: [1, 9], 5: 6}, 0.95)
    t = stats.t.ppf(0.975, [1, 3, 5])
    assert factors == pytest.approx(
        {3: (t[0] / 2**0.5 + t[1] / 2) / 2, 5: t[2] / 6**0.5}
    )  # 4 has a set without an interval
    with pytest.raises(SpecError, match="no number of queries"):
        width_factors({4: 1}, 0.95)
    with pytest.raises(SpecError, match="confidence level"):
        width_factors({4: 9}, 95)


def test_costs_and_their_intervals() -> None:
    v = ((1e-4, 0.0), (0.0, 1e-3))
    tasks = {q: 2000 // (5 + q) for q in range(1, 31)}
    found = choose(estimate(0.05, 0.3, v=v), 5, tasks, 0.95)
    assert found.ratio.low is not None
    assert found.ratio.high is not None
    assert found.low is not None
    assert found.high is not None
    factors = width_factors(tasks, 0.95)

    def cost(query: int, ratio: float) -> float:
        widths = {q: f * math.sqrt(1 + ratio / q) for q, f in factors.items()}
        return widths[query] / min(widths.values()) - 1

    for query in (1, 3, 7, 15, 30):
        it = found.cost_of(query)
        all_of_them = [cost(query, r) for r in np.linspace(found.ratio.low, found.ratio.high, 400)]
        assert it.cost == pytest.approx(cost(query, 0.3 / 0.05))
        assert it.high == pytest.approx(max(all_of_them))
        assert it.low is not None
        assert it.low <= min(all_of_them) + 1e-12
        assert min(all_of_them) - it.low < 0.002
    with pytest.raises(SpecError, match="was not tried"):
        found.cost_of(31)


def ends(found: QueryChoice) -> tuple[int | None, int | None, int | None]:
    return found.best, found.low, found.high


def test_undetermined_is_said() -> None:
    tasks = {q: 600 // (5 + q) for q in range(1, 16)}
    noise = ((1e-4, 0.0), (0.0, 1e-6))
    # α not sure to be above 0: no upper end, but costs are bounded over the Q tried
    found = choose(estimate(0.01, 0.05, v=noise), 5, tasks)
    assert found.best is not None
    assert found.low is not None
    assert found.high is None
    assert found.root.high is None
    assert found.cost_of(1).high is not None
    # α^ <= 0: no estimate either
    found = choose(estimate(-0.001, 0.05, v=noise), 5, tasks)
    assert (found.best, found.high, found.root.value) == (None, None, None)
    assert found.low is not None
    assert found.cost_of(3).cost is None
    # α^ below 0 by more than noise: nothing fits
    assert ends(choose(estimate(-1.0, 0.05, v=noise), 5, tasks)) == (None, None, None)


def test_degenerate_results() -> None:
    tasks = {q: 600 // (5 + q) for q in range(1, 16)}
    # every query of every task right: nothing varies, and no Q is better
    flat = estimate_set(np.full((20, 5), 4), 4)
    assert (flat.alpha, flat.w) == (0.0, 0.0)
    assert ends(choose(flat, 5, tasks)) == (None, None, None)
    # classes all right or all wrong: more queries of a class tell nothing, so few; no upper end
    saturated = estimate_set(np.array([[4, 4], [4, 0], [0, 0], [4, 4]]), 4)
    assert saturated.w == 0.0
    assert ends(choose(saturated, 5, tasks)) == (1, 1, None)
    # the same accuracy in all tasks, of varying answers: α^ = -w^/Q, and no Q* to tell
    balanced = estimate_set(np.array([[3, 1], [1, 3], [2, 2], [4, 0]]), 4)
    assert balanced.variance == 0.0
    assert balanced.alpha == -balanced.w / 4 < 0
    found = choose(balanced, 5, tasks)
    assert (found.best, found.high) == (None, None)


# ---- simulation: the truth is known --------------------------------------------------------------


@pytest.mark.slow
def test_estimates_are_unbiased(example: ModuleType) -> None:
    """Means over 200 times 1000 new images, within 4 standard errors, at S = 1, 5, 20."""
    for shot in (1, 5, 20):
        model, found = example.exact(shot), example.simulate(shot, 200)
        for name in ("alpha", "w"):
            values = [getattr(each, name) for each in found.estimates]
            assert abs(np.mean(values) - getattr(model, name)) < 4 * stats.sem(values)


def test_coverage() -> None:
    """A single set of 166 tasks: 95 % within 4 standard errors of simulation, 2.8 points.

    ``python -m studies.checks query_intervals`` has 5000 sets of six designs.
    """
    for held in check_module("query_intervals").coverage(1, 2, 1000):
        assert abs(held - 0.95) < 0.028


@pytest.mark.slow
def test_a_jackknife_over_images_sees_what_new_images_change(example: ModuleType) -> None:
    """The jackknife's standard error of w, whose seeds' error is small, against the true one."""
    rng = np.random.default_rng(4)
    part = np.arange(example.PER_CLASS) % 10
    model = example.exact(1)

    def fit(images: Any) -> Any:
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


SIMULATED = (
    "mean of estimates",
    "their sd",
    "jackknife's sd",
    "interval holds the best Q",
    "has an upper end",
    "observed ±",
)


def exact_columns(lines: list[str]) -> list[list[str]]:
    """Leave out what is simulated of a table of Markdown."""
    cells = [line.strip("| ").split(" | ") for line in lines]
    kept = [at for at, name in enumerate(cells[0]) if name not in SIMULATED]
    return [[row[at] for at in kept] for row in (cells[0], *cells[2:])]


def test_the_page_has_the_exact_numbers(example: ModuleType, root: Path) -> None:
    """Three draws in place of 1000; ``python -m studies.checks printed_pages`` has all."""
    page = (root / "studies/query_size/model.md").read_text(encoding="utf-8")
    tables = "\n".join(example.tables(3)).split("\n\n")
    assert len(tables) == 3
    for table in tables:
        heading, *rows = table.splitlines()
        at = page.index(f"{heading}\n")
        there = page[at:].partition("\n\n")[0].splitlines()
        assert exact_columns([heading, *rows]) == exact_columns(there)
