"""Variances of a paired difference: by hand, by plain formulas, by simulation."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.planning.query_size import (
    Estimate,
    choose,
    choose_for_comparisons,
    estimate_difference,
    estimate_set,
)
from benchmark_spec.errors import SpecError

Array = np.ndarray[Any, Any]


def test_by_hand() -> None:
    # K = 2, Q = 2; d of the queries: (1,-1 | 0,0), (1,1 | 0,-1), (0,0 | 1,0).
    # Differences 0/4, 1/4, 1/4: mean 1/6, s² = (1/36 + 1/144 + 1/144)/2 = 1/48.
    # m1 = share of d² = 2+0+2+1+0+1 of 12 = 1/2; D² - E is 0-2, 0, 4-2, 1-1, 0, 1-1: sum 0, m2 = 0.
    # w = (1/2 - 0)/2 = 1/4, α = 1/48 - 1/8 = -5/48.
    sums, squares = np.array([[0, 0], [2, -1], [0, 1]]), np.array([[2, 0], [2, 1], [0, 1]])
    found = estimate_difference(sums, squares, 2)
    assert (found.m1, found.m2, found.w) == (0.5, 0.0, 0.25)
    assert found.variance == pytest.approx(1 / 48)
    assert found.alpha == pytest.approx(-5 / 48)


def plain(d: Array) -> tuple[float, float]:
    """α^ and w^ of answers d (T, K, Q) by sums over pairs of different queries."""
    tasks, way, query = d.shape
    rate = float((d * d).mean())
    both = [d[t, k, i] * d[t, k, j] for t in range(tasks) for k in range(way)
            for i in range(query) for j in range(query) if i != j]  # fmt: skip
    w = (rate - float(np.mean(both))) / way
    return float(d.mean(axis=(1, 2)).var(ddof=1)) - w / query, w


@st.composite
def answers(draw: st.DrawFn) -> Array:
    shape = (draw(st.integers(3, 8)), draw(st.integers(1, 3)), draw(st.integers(2, 4)))
    size = int(np.prod(shape))
    values = draw(st.lists(st.integers(-1, 1), min_size=size, max_size=size))
    return np.array(values).reshape(shape)


@given(answers())
def test_is_the_plain_formulas_and_a_brute_force_jackknife(d: Array) -> None:
    found = estimate_difference(d.sum(axis=2), (d * d).sum(axis=2), d.shape[2])
    assert (found.alpha, found.w) == pytest.approx(plain(d), abs=1e-12)
    n = len(d)
    if n > 3:
        out = np.array([plain(np.delete(d, t, axis=0)) for t in range(n)])
        expected = (n - 1) ** 2 / n * np.cov(out.T, ddof=1)
        assert np.asarray(found.covariance) == pytest.approx(expected, abs=1e-12)


def test_an_accuracy_is_the_special_case() -> None:
    x = np.random.default_rng(0).binomial(6, 0.8, (20, 5))
    assert estimate_difference(x, x, 6) == estimate_set(x, 6)
    against_nothing = estimate_difference(-x, x, 6)
    assert against_nothing.alpha == pytest.approx(estimate_set(x, 6).alpha)


def test_what_is_no_difference() -> None:
    ones = np.ones((5, 2), int)
    for sums in (2 * ones, 0 * ones, ones[:, :1], 1.0 * ones):
        with pytest.raises(SpecError, match="differences of two methods"):
            estimate_difference(sums, ones, 3)
    with pytest.raises(SpecError, match="variance"):
        estimate_difference(ones, ones, 1)


def of(alpha: float, w: float, variance: float = 0.0) -> Estimate:
    return Estimate(5, alpha, w, ((variance, 0.0), (0.0, variance)), 60.0)


def test_the_choice_for_comparisons_by_hand() -> None:
    # T of Q = 1, 2, 4 as 4 : 3 : 2, and so many that t is the same for all. (α + w/Q)/T is
    # for α = w = 1: 2/4, 1.5/3, 1.25/2, so widths over the least are 1, 1, sqrt(5/4) = 1.1180;
    # for α = 0, w = 1: 1/4, .5/3, .25/2, so they are sqrt(2) = 1.4142, sqrt(4/3) = 1.1547, 1.
    # Means: 1.2071, 1.0774, 1.0590. With the first pair twice: 1.1381, 1.0516, 1.0787.
    tasks = {1: 4e9, 2: 3e9, 4: 2e9}
    first, second, never = of(1.0, 1.0), of(0.0, 1.0, 1e-6), of(0.0, 0.0)
    found = choose_for_comparisons([first, second, never], tasks)
    assert found.best == 4
    assert [one.cost for one in found.costs] == pytest.approx([0.2071, 0.0774, 0.0590], abs=1e-4)
    found = choose_for_comparisons([first, first, second], tasks)
    assert found.best == 2
    assert [one.cost for one in found.costs] == pytest.approx([0.1381, 0.0516, 0.0787], abs=1e-4)
    assert choose_for_comparisons([never], tasks).best is None


variances = st.tuples(st.floats(1e-5, 1e-2), st.floats(1e-4, 1e-1))


@given(st.lists(variances, min_size=1, max_size=4), st.integers(1, 10), st.integers(60, 2000))
def test_the_choice_for_comparisons_is_the_brute_force(
    pairs: list[tuple[float, float]], shot: int, images: int
) -> None:
    tasks = {q: [images // (shot + q), images // (shot + q) + 1] for q in range(1, 20)}
    mean = dict.fromkeys(tasks, 0.0)
    factor = {q: np.mean([stats.t.ppf(0.975, t - 1) / t**0.5 for t in tasks[q]]) for q in tasks}
    for alpha, w in pairs:
        widths = {q: factor[q] * (alpha + w / q) ** 0.5 for q in tasks}
        for q in tasks:
            mean[q] += (widths[q] / min(widths.values()) - 1) / len(pairs)
    found = choose_for_comparisons([of(alpha, w) for alpha, w in pairs], tasks)
    assert [one.cost for one in found.costs] == pytest.approx(list(mean.values()), abs=1e-9)
    assert mean[found.best or 0] == pytest.approx(min(mean.values()), abs=1e-9)


def test_one_pair_is_chosen_for_as_one_method() -> None:
    tasks = {q: [200 // (5 + q)] for q in range(1, 30)}
    one = of(0.002, 0.03, 1e-7)
    single, found = choose(one, 5, tasks), choose_for_comparisons([one], tasks)
    assert (found.best, found.low, found.high) == (single.best, single.low, single.high)
    assert found.costs == single.costs
