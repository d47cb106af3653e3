"""Bounds near 100 %: by hand, against Clopper and Pearson's, and by coverage."""

import numpy as np
import pytest
from scipy import stats

from analysis_sql.intervals.bounds import near_perfect
from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import Interval, halfwidths, interval


def test_of_queries_that_are_worth_no_less_it_is_clopper_and_pearsons() -> None:
    """Three errors in three of 30 tasks of 50: tasks differ less than chance would have it."""
    x = np.full(30, 50)
    x[:3] = 49
    found = near_perfect(interval(Moments.of(x, 50), "open", 0.95), 50)
    worth = found.effective
    assert worth < 1500  # what T tasks know of their spread counts too
    exact = stats.beta.ppf(
        [0.025, 0.975],
        [0.002 * worth, 0.002 * worth + 1],
        [worth - 0.002 * worth + 1, worth - 0.002 * worth],
    )
    assert [found.high, found.low] == pytest.approx((100 * (1 - exact)).tolist())
    many = near_perfect(Interval("open", 0.95, 10**6, 99.0, 1e-5, False), 25)
    assert many.effective == 25 * 10**6  # no more than there are
    test = stats.binomtest(25 * 10**4, 25 * 10**6).proportion_ci(0.95, "exact")
    assert (many.low, many.high) == pytest.approx((100 * (1 - test.high), 100 * (1 - test.low)))


@pytest.mark.parametrize(
    "given",
    [
        Interval("open", 0.95, 30, 97.9, 1.0, False),
        Interval("open", 0.95, 30, 100.0, 0.0, True),
        Interval("open", 0.95, 30, 99.0, 0.0, True),
        Interval("open", 0.95, 1, 99.0, None, False),
        Interval("closed", 0.95, 600, 99.0, 0.1, False),
    ],
)
def test_where_there_are_none(given: Interval) -> None:
    assert near_perfect(given, 25) is None


@pytest.mark.parametrize("tasks", [13, 100])
@pytest.mark.parametrize(("accuracy", "query"), [(0.985, 25), (0.99, 50), (0.995, 25), (0.999, 25)])
@pytest.mark.parametrize("overdispersion", [0.0, 0.02])
def test_coverage(tasks: int, accuracy: float, query: int, overdispersion: float) -> None:
    """4000 sets: at least 92 % of those above 98 %, and never less than Student's by 3 points.

    An interval is asked for wherever some task has an error and the mean is above 98 %; a set that
    is told to be below has the open interval.  Overdispersed tasks are beta-binomial.
    """
    rng = np.random.default_rng([tasks, int(1e4 * accuracy), query])
    p: float | np.ndarray = accuracy
    if overdispersion:
        many = 1 / overdispersion - 1
        p = rng.beta(accuracy * many, (1 - accuracy) * many, (4000, tasks))
    x = rng.binomial(query, p, (4000, tasks))
    moments = Moments(np.full(4000, tasks), x.sum(axis=1), (x * x).sum(axis=1), query)
    widths = halfwidths(moments, "open", 0.95)
    held, student = [], []
    for mean, width, constant in zip(moments.mean, widths, moments.constant, strict=True):
        if constant:
            continue
        found = near_perfect(Interval("open", 0.95, tasks, mean, width, False), query)
        ends = (mean - width, mean + width) if found is None else (found.low, found.high)
        held.append(ends[0] <= 100 * accuracy <= ends[1])
        student.append(abs(mean - 100 * accuracy) <= width)
    assert np.mean(held) > 0.92
    assert np.mean(held) > np.mean(student) - 0.03
