"""Smallest detectable differences against scipy."""

import numpy as np
import pytest
from scipy import stats

from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.power import detectable_difference, detectable_factor


@pytest.mark.parametrize("tasks", [2, 3, 5, 12, 31, 600, 2000])
@pytest.mark.parametrize(("level", "power"), [(0.95, 0.8), (0.99, 0.9), (0.5, 0.6)])
def test_the_power_is_that_of_the_noncentral_t(tasks: int, level: float, power: float) -> None:
    factor = detectable_factor(tasks, level, power)
    critical = stats.t.isf((1 - level) / 2, tasks - 1)
    above = stats.nct.sf(critical, tasks - 1, factor)
    below = stats.nct.cdf(-critical, tasks - 1, factor)
    assert above + below == pytest.approx(power, abs=1e-5)


def test_differences_of_many_pairs_at_once() -> None:
    x = np.array([[1, 3, -2, 0], [2, 2, 2, 2], [5, 0, 0, 0]])
    tasks = np.array([4, 4, 1])
    moments = Moments(tasks, x.sum(axis=1), (x * x).sum(axis=1), 10)
    found = detectable_difference(moments)
    sd = 10 * np.std([1, 3, -2, 0], ddof=1)  # percentage points of 10 queries
    assert found[0] == pytest.approx(detectable_factor(4) * sd / 2)
    assert np.isnan(found[1:]).all()  # equal on every task; a single task
    one = detectable_difference(Moments.of(x[0], 10), 0.95, 0.8)
    assert one == pytest.approx(found[0])
    assert detectable_difference(Moments.of(x[0], 10), 0.95, 0.9) > one
    assert detectable_difference(Moments(tasks[:2], np.array([[1], [2]]), 9, 10)).shape == (2, 2)
