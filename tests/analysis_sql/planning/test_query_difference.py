"""Variances of a paired difference: by hand, by plain formulas, by simulation."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.planning.query_size import estimate_difference, estimate_set
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


def test_estimates_of_correlated_methods_are_unbiased() -> None:
    """Rates at which only one method is right are Dirichlet, alike in all classes of a task.

    Then α = Var(p - q) and w = (E[p + q] - E[(p - q)²])/K, within 4 standard errors of 3000 sets.
    """
    a = np.array([2.0, 1.0, 9.0])
    total, way, query = a.sum(), 3, 4
    mean = a / total
    cov = (np.diag(mean) - np.outer(mean, mean)) / (total + 1)
    alpha = cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]
    w = (mean[0] + mean[1] - alpha - (mean[0] - mean[1]) ** 2) / way
    rng = np.random.default_rng(1)
    found = []
    for _ in range(3000):
        p = rng.dirichlet(a, 10)
        counts = np.stack([rng.multinomial(query, p) for _ in range(way)], axis=1)
        sums, squares = counts[..., 0] - counts[..., 1], counts[..., 0] + counts[..., 1]
        each = estimate_difference(sums, squares, query)
        found.append((each.alpha, each.w))
    for values, true in zip(np.array(found).T, (alpha, w), strict=True):
        assert abs(values.mean() - true) < 4 * stats.sem(values)


def test_what_is_no_difference() -> None:
    ones = np.ones((5, 2), int)
    for sums in (2 * ones, 0 * ones, ones[:, :1], 1.0 * ones):
        with pytest.raises(SpecError, match="differences of two methods"):
            estimate_difference(sums, ones, 3)
    with pytest.raises(SpecError, match="cannot be told apart"):
        estimate_difference(ones, ones, 1)
