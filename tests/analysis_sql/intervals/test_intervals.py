"""Moments in exact fractions; intervals by hand and against scipy."""

from fractions import Fraction
from statistics import stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import interval
from benchmark_spec.errors import SpecError


def test_by_hand() -> None:
    # 3, 5, 4 of 5 queries: mean 80, sd 20, T = 3
    moments = Moments(tasks=3, total=12, squares=50, queries_per_task=5)
    closed = interval(moments, "closed", 0.95)
    opened = interval(moments, "open", 0.95)
    # 1.959964 · 20 / √3 = 22.6317; t(2) at 97.5 % is 4.302653: 4.302653 · 20 / √3 = 49.6827
    assert closed.mean == opened.mean == 80.0
    assert closed.halfwidth == pytest.approx(22.6317, abs=1e-4)
    assert opened.halfwidth == pytest.approx(49.6827, abs=1e-4)
    assert (closed.low, closed.high) == pytest.approx((57.3683, 102.6317), abs=1e-4)
    assert (opened.kind, opened.level, opened.tasks) == ("open", 0.95, 3)


counts = st.lists(st.integers(0, 25), min_size=2, max_size=80).filter(lambda x: len(set(x)) > 1)


@given(counts, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_open_is_scipys_t_interval_and_closed_its_normal_one(x: list[int], level: float) -> None:
    values = 100 * np.array(x) / 25
    for kind, law in (("open", stats.t(len(x) - 1)), ("closed", stats.norm())):
        found = interval(Moments.of(np.array(x), 25), kind, level)
        ends = values.mean() + stats.sem(values) * np.array(law.interval(level))
        assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-9, abs=1e-9)


def test_one_task_has_no_interval() -> None:
    found = interval(Moments(1, 4, 16, 5), "open", 0.95)
    assert (found.mean, found.halfwidth, found.low, found.high) == (80.0, None, None, None)


def test_equal_tasks_are_marked() -> None:
    found = interval(Moments.of(np.full(7, 5), 5), "open", 0.95)
    assert found.constant
    assert found.halfwidth == 0.0


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95.0, float("nan"), 1e-17, 0.9999999999999999])
def test_levels_that_are_none(level: float) -> None:
    with pytest.raises(SpecError, match="confidence level"):
        interval(Moments(3, 12, 50, 5), "open", level)


@given(st.lists(st.integers(-35, 35), min_size=2, max_size=50), st.integers(1, 35))
def test_moments_against_exact_fractions(counts: list[int], unit: int) -> None:
    moments = Moments.of(np.array(counts, np.int16), unit)
    values = [Fraction(100 * x, unit) for x in counts]
    assert moments.mean == pytest.approx(float(sum(values) / len(values)), abs=1e-12)
    assert moments.deviation == pytest.approx(stdev(values), rel=1e-12)
    assert moments.constant == (len(set(counts)) == 1)
    assert moments.all_zero == (set(counts) == {0})
    if moments.constant:
        assert moments.deviation == 0.0  # exactly


def test_small_integers_do_not_overflow() -> None:
    moments = Moments.of(np.full(40_000, 30_000, np.int16), 32_000)
    assert moments.squares == 40_000 * 30_000**2
