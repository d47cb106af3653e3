"""Worst-class accuracy: by hand, against enumeration, against simulation, and the known figures."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.bias import (
    excess,
    expectations,
    expected_if_equal,
    expected_if_independent,
    worst_class,
)
from benchmark_spec.errors import SpecError


def test_by_hand() -> None:
    correct = np.array([[2, 1], [0, 2], [2, 2]])
    assert worst_class(correct, 2).tolist() == [0.5, 0.0, 1.0]
    # 3 of 4 right: one class has both, the other one
    # 2 of 4: C(4,2) = 6 ways, in 4 of them one each
    assert expected_if_equal(correct, 2).tolist() == [0.5, (4 / 6) / 2, 1.0]
    assert excess(correct, 2).tolist() == [0.0, 1 / 3, 0.0]


@pytest.mark.parametrize(("way", "queries"), [(2, 2), (3, 2), (2, 4), (4, 3), (3, 4)])
def test_the_conditional_expectation_is_that_of_all_arrangements(way: int, queries: int) -> None:
    sums = np.zeros(way * queries + 1)
    for right in itertools.product((0, 1), repeat=way * queries):
        classes = np.array(right).reshape(way, queries).sum(axis=1)
        sums[sum(right)] += classes.min() / queries
    ways = [comb(way * queries, n) for n in range(way * queries + 1)]
    np.testing.assert_allclose(expectations(way, queries), sums / ways, rtol=1e-14)


@given(st.integers(2, 6), st.integers(2, 12), st.floats(0.01, 0.99, allow_nan=False))
def test_averaged_over_binomial_totals_it_is_the_independent_one(
    way: int, queries: int, p: float
) -> None:
    total = way * queries
    weights = stats.binom.pmf(np.arange(total + 1), total, p)
    mean = float(weights @ expectations(way, queries))
    assert mean == pytest.approx(expected_if_independent(p, way, queries), rel=1e-9, abs=1e-12)


def test_simulation_of_tasks_whose_difficulty_varies() -> None:
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
def test_refusals(correct: object, queries: int, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        expected_if_equal(np.array(correct), queries)
