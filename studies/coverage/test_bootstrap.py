import numpy as np
import pytest
from scipy import stats

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SpecError
from studies.coverage.bootstrap import BootstrapInterval, bca_intervals


def bca_interval(
    values: np.ndarray, queries: int, *rest: float, **options: int
) -> BootstrapInterval:
    """The interval of one mean."""
    return bca_intervals(np.asarray(values)[None], queries, *rest, **options)[0]


def _plain(
    x: np.ndarray, unit: int, level: float, seed: int, resamples: int
) -> tuple[float, float]:
    """BCa as in the textbook, jackknife and all, from the same resamples."""
    tasks = x.size
    drawn = Stream("bootstrap", seed, tasks).integers(np.full((resamples, tasks), tasks))
    means = (x[drawn] / unit).mean(axis=1)
    mean = (x / unit).mean()
    below = np.mean(means < mean - 1e-12) + np.mean(np.abs(means - mean) <= 1e-12) / 2
    z0 = stats.norm.ppf(below)
    left_out = np.array([np.delete(x / unit, i).mean() for i in range(tasks)])
    gaps = left_out.mean() - left_out
    a = (gaps**3).sum() / (6 * (gaps**2).sum() ** 1.5)
    z = stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    at = stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z)))
    low, high = 100 * np.quantile(means, at)
    return float(low), float(high)


@pytest.mark.parametrize(("tasks", "level"), [(2, 0.9), (7, 0.95), (40, 0.95), (200, 0.99)])
def test_is_the_textbooks(tasks: int, level: float) -> None:
    x = np.random.default_rng(tasks).binomial(25, 0.9, tasks)
    x[0] = 3
    found = bca_interval(x, 25, level, seed=4, resamples=1500)
    assert (found.low, found.high) == pytest.approx(_plain(x, 25, level, 4, 1500), abs=1e-9)
    assert found.mean == pytest.approx(4 * x.mean())


def test_agrees_with_scipy_within_monte_carlo_error() -> None:
    rng = np.random.default_rng(1)
    for x in (rng.binomial(25, 0.95, 60), rng.integers(-9, 10, 30), rng.binomial(1, 0.1, 100) * 20):
        other = stats.bootstrap(
            (4.0 * x,),
            np.mean,
            n_resamples=19_999,
            method="BCa",
            random_state=np.random.default_rng(2),
        ).confidence_interval
        found = bca_interval(x, 25, seed=0, resamples=19_999)
        # an end has a Monte Carlo error of sqrt(.025 · .975 / B) / density: 0.02 standard errors,
        # and means of counts lie on a lattice of 4/T points
        tolerance = 6 * 0.02 * 4.0 * x.std() / np.sqrt(x.size) + 4.0 / x.size
        assert found.low == pytest.approx(other.low, abs=tolerance)
        assert found.high == pytest.approx(other.high, abs=tolerance)


def test_golden() -> None:
    # the same on every platform: whole sums from raw words, up to the last bits of a normal law
    found = bca_interval(np.array([25, 24, 25, 20, 25, 23, 25, 25, 18, 25]), 25, seed=0)
    assert (found.low, found.high) == pytest.approx((85.6, 98.4), abs=1e-9)


def test_rows_are_resampled_alike_and_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from studies.coverage import bootstrap

    x = np.random.default_rng(0).binomial(25, 0.6, (4, 50))
    x[2] = 7
    together = bca_intervals(x, 25, seed=5, resamples=500)
    assert together == [bca_interval(row, 25, seed=5, resamples=500) for row in x]
    monkeypatch.setattr(bootstrap, "_DRAWS_AT_ONCE", 333)
    assert together == bca_intervals(x, 25, seed=5, resamples=500)
    # another seed is another interval, of about the same ends
    other = bca_intervals(x, 25, seed=6, resamples=500)
    assert other[0].low != together[0].low
    # a change of sign mirrors it (up to the rounding of quantiles)
    mirrored = bca_interval(-x[0], 25, seed=5, resamples=500)
    assert mirrored.low == pytest.approx(-together[0].high)  # type: ignore[operator]


def test_what_cannot_be_resampled() -> None:
    one = bca_interval(np.array([5]), 10, seed=0)
    assert (one.mean, one.low, one.high, one.constant) == (50.0, None, None, True)
    same = bca_interval(np.full(9, -5), 10, seed=0)
    assert (same.mean, same.low, same.high, same.constant) == (-50.0, -50.0, -50.0, True)
    with pytest.raises(SpecError, match="resamples"):
        bca_interval(np.array([1, 2]), 10, seed=0, resamples=50)
    with pytest.raises(SpecError, match="float64"):
        bca_interval(np.array([0.5, 2]), 10, seed=0)


def test_coverage() -> None:
    """1,500 sets of skewed tasks: near 95 % at T = 100, short of it at T = 10, as documented."""
    rng = np.random.default_rng(0)
    for tasks, least, most in ((100, 0.93, 0.97), (10, 0.80, 0.93)):
        x = rng.binomial(25, rng.beta(9, 1, (1500, tasks)))
        found = bca_intervals(x, 25, seed=1, resamples=1999)
        covered = np.mean([i.low <= 90 <= i.high for i in found])  # type: ignore[operator]
        assert least < covered < most, (tasks, covered)
