"""The excess of the level: by hand, against enumeration, by the jackknife, by simulation."""

import itertools
from collections.abc import Callable
from functools import partial
from math import comb, exp, pi, sqrt
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import integrate, optimize
from scipy.special import expit

from analysis_sql.bias import (
    AtLevel,
    ClassSpread,
    contrast,
    excess,
    expectations,
    expectations_if_unequal,
    step_score,
    worst_class,
)
from analysis_sql.intervals.counts import RunTerms, for_new_runs

Counts = np.ndarray[Any, Any]


def _class(queries: int, spread: float, accuracy: float) -> list[float]:
    """How often a class has 0..Q queries right, by scipy's quadrature."""

    def mean(of: Callable[[float], float], centre: float) -> float:
        def weighted(z: float) -> float:
            return of(1 / (1 + exp(-centre - spread * z))) * exp(-z * z / 2) / sqrt(2 * pi)

        return float(integrate.quad(weighted, -10, 10, epsabs=1e-12, limit=200)[0])

    centre = optimize.brentq(lambda mu: mean(lambda p: p, mu) - accuracy, -40, 40, xtol=1e-13)
    return [mean(partial(_chance, right, queries), centre) for right in range(queries + 1)]


def _chance(right: int, queries: int, p: float) -> float:
    return comb(queries, right) * p**right * (1 - p) ** (queries - right)


def test_the_spread_of_two_classes_of_two_queries_by_hand() -> None:
    counts = np.array([[0, 2], [1, 1], [1, 2], [2, 2], [2, 2]])
    spread = ClassSpread.of(counts, 2)
    assert spread is not None  # one each in half of the tasks that have two right
    none, one, both = _class(2, spread.variance**0.5, 15 / 20)
    assert one**2 / (one**2 + 2 * none * both) == pytest.approx(1 / 2, rel=1e-6)


@pytest.mark.parametrize(("spread", "accuracy"), [(0.5, 0.9), (1.3, 0.6), (4.0, 0.3)])
def test_it_is_that_of_all_counts(spread: float, accuracy: float) -> None:
    way, queries = 3, 4
    classes = _class(queries, spread, accuracy)
    lowest, often = np.zeros((2, way * queries + 1))
    for counts in itertools.product(range(queries + 1), repeat=way):
        chance = np.prod([classes[right] for right in counts])
        often[sum(counts)] += chance
        lowest[sum(counts)] += chance * min(counts) / queries
    found = expectations_if_unequal(way, queries, spread, accuracy)
    np.testing.assert_allclose(found, lowest / often, rtol=1e-8)


def test_without_spread_it_is_that_of_equally_hard_classes() -> None:
    for way, queries, accuracy in ((5, 5, 0.8), (20, 5, 0.99), (4, 128, 0.976)):
        found = expectations_if_unequal(way, queries, 0.0, accuracy)
        np.testing.assert_allclose(found, expectations(way, queries), rtol=1e-10, atol=1e-14)


def _step(rng: np.random.Generator, logits: Counts, accuracy: float, queries: int) -> Counts:
    by = optimize.brentq(lambda by: expit(logits + by).mean() - accuracy, -20, 20)
    return np.asarray(rng.binomial(queries, expit(logits + by)))


@pytest.mark.parametrize("queries", [5, 15])
def test_where_the_level_falls_and_nothing_else_it_is_the_excess(queries: int) -> None:
    """Classes differ and there is no bias: the excess grows tenfold, all of it the level's."""
    rng = np.random.default_rng(0)
    logits = 1.2 * rng.standard_normal((20_000, 5))
    first, then = (_step(rng, logits, accuracy, queries) for accuracy in (0.976, 0.61))
    spread = ClassSpread.of(first, queries)
    assert spread.variance**0.5 == pytest.approx(1.2, abs=0.1)
    score = step_score(then, queries, "closed", at_level=spread.at(then))
    assert score.excess.mean > 9 * 100 * excess(first, queries).mean()
    assert score.of_level == pytest.approx(score.excess.mean, abs=score.beyond_level.halfwidth)
    assert score.beyond_level.halfwidth < 2
    assert score.of_level + score.beyond_level.mean == pytest.approx(score.excess.mean)
    logits[:, 0] -= 2.5  # a class of each task loses more
    unfair = step_score(then := _step(rng, logits, 0.61, queries), queries, "closed",
                        at_level=spread.at(then))  # fmt: skip
    assert unfair.beyond_level.low > 2


def test_on_the_first_step_it_is_the_excess_and_nothing_lies_beyond() -> None:
    rng = np.random.default_rng(1)
    first = _step(rng, rng.standard_normal((200, 5, 1)) + np.zeros(3), 0.7, 5)
    spread = ClassSpread.of(first, 5)
    at = spread.at(first)
    assert at.excess == pytest.approx(excess(first, 5).mean())
    np.testing.assert_allclose(at.beyond, 0, atol=1e-8)


def test_the_error_is_the_jackknifes() -> None:
    """Each task left out of both steps, all of it computed anew."""
    rng = np.random.default_rng(2)
    logits = 1.2 * rng.standard_normal((60, 5))
    first, then = (_step(rng, logits, accuracy, 5) for accuracy in (0.8, 0.5))

    def beyond(of: Counts) -> float:
        spread = ClassSpread.of(first[of], 5)
        return float(spread.at(then[of]).beyond.mean())

    left = [beyond(np.arange(60) != task) for task in range(60)]
    error = np.sqrt(59 * np.var(left))
    spread = ClassSpread.of(first, 5)
    values = spread.at(then).beyond
    assert values.std(ddof=1) / np.sqrt(60) == pytest.approx(error, rel=0.1)
    assert values.mean() == pytest.approx(excess(then, 5).mean() - spread.at(then).excess)


def test_runs_and_fewer_tasks() -> None:
    rng = np.random.default_rng(3)
    logits = rng.standard_normal((80, 4, 1)) + np.zeros(2)
    first, then = (_step(rng, logits, accuracy, 6) for accuracy in (0.8, 0.6))
    spread = ClassSpread.of(first[:50], 6)
    at = spread.at(then)
    assert at.beyond.shape == (50,)
    known = expectations_if_unequal(4, 6, spread.variance**0.5, then[:50].mean() / 6)
    expected = known[then[:50].sum(axis=1)].mean() - worst_class(then[:50], 6).mean()
    assert at.beyond.mean() == pytest.approx(expected)
    # by another way: each run's own σ² of its first step, at its own second one
    runs = [ClassSpread.of(first[:50, :, run], 6).at(then[:, :, run]) for run in range(2)]
    apart = runs[1].beyond.mean() - runs[0].beyond.mean()
    assert at.of_runs[1] - at.of_runs[0] == pytest.approx(apart, rel=0.05)
    fixed = [spread.at(then[:, :, run]).beyond.mean() for run in range(2)]
    assert abs(fixed[1] - fixed[0] - apart) > 0.2 * abs(apart)  # σ² of each run counts
    longer = rng.standard_normal(70)
    other = AtLevel(0.0, longer, np.zeros(1))
    parts = [(1, then[:60]), (-1, first[:60])]
    found = contrast(parts, 6, "open", beyond=[at, other])
    alone = contrast(parts, 6, "open", beyond=[replace(at, of_runs=np.zeros(1)), other])
    assert found.beyond_level.tasks == 50
    assert found.beyond_level.mean == pytest.approx(100 * (at.beyond - longer[:50]).mean())
    v = (100 * at.of_runs).var(ddof=1) / 2
    width = for_new_runs(alone.beyond_level.halfwidth, RunTerms(v, v**2), 0.95)
    assert found.beyond_level.halfwidth == pytest.approx(width)


@pytest.mark.parametrize(
    ("counts", "queries"),
    [
        ([[1, 0], [1, 1]], 1),  # one query a class
        ([[3, 3], [3, 3]], 3),  # all right
        ([[3, 2], [3, 3]], 3),  # at most one error a task, whose class is all that it says
        ([[0, 9], [9, 0], [0, 9]], 9),  # further apart than any spread
    ],
)
def test_where_the_first_step_leaves_it_open(counts: list[list[int]], queries: int) -> None:
    assert ClassSpread.of(np.array(counts), queries) is None


def test_equal_classes_have_no_spread_and_an_error_all_the_same() -> None:
    first = np.full((40, 3), 2)
    spread = ClassSpread.of(first, 4)
    assert spread.variance == 0
    rng = np.random.default_rng(4)
    mixed = np.concatenate([first, rng.binomial(4, 0.5, (40, 3))])
    spread = ClassSpread.of(mixed, 4)
    assert spread.variance == 0
    assert spread.influence.std() > 0
    assert spread.at(mixed).excess == pytest.approx(0, abs=1e-12)
