"""Rankings under two metrics: by hand, by scipy, by simulation."""

import numpy as np
import pytest
from scipy import stats

from analysis_sql.bias import rank_correlation
from benchmark_spec.errors import SpecError


def test_by_hand() -> None:
    means = np.array([[3.0], [1.0], [2.0]])
    same = rank_correlation(means, means)
    assert (same.value, same.low, same.high) == (1.0, None, None)
    # ranks 3 1 2 against 1 3 2: 1 - 6 (4 + 4 + 0) / (3 * 8)
    assert rank_correlation(means, -means).value == pytest.approx(-1.0)
    other = np.array([[2.0], [1.0], [3.0]])  # 1 - 6 (1 + 0 + 1) / 24
    assert rank_correlation(means, other).value == pytest.approx(0.5)
    assert rank_correlation(means, np.ones((3, 1))).value is None


@pytest.mark.parametrize("seed", range(5))
def test_it_is_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, (8, 30)).astype(float)
    b = rng.integers(0, 4, (8, 30)) + 0.3 * a
    found = rank_correlation(a, b, resamples=50)
    means = a.mean(axis=1).round(9), b.mean(axis=1).round(9)  # rounding makes no ranking
    assert found.value == pytest.approx(stats.spearmanr(*means).statistic)
    assert found == rank_correlation(a, b, resamples=50)
    assert -1 <= found.low <= found.high <= 1
    wider = rank_correlation(a, b, 0.99, resamples=50)
    assert wider.low <= found.low


def test_what_is_sure_and_what_is_not() -> None:
    """Methods far apart keep their ranking; equal methods have any."""
    rng = np.random.default_rng(0)
    far = np.arange(6)[:, None] + 0.1 * rng.normal(size=(6, 200))
    sure = rank_correlation(far, far + 0.1 * rng.normal(size=far.shape))
    assert (sure.value, sure.low, sure.high) == (1.0, 1.0, 1.0)
    noise = rank_correlation(rng.normal(size=(6, 200)), rng.normal(size=(6, 200)))
    assert noise.high - noise.low > 1.0


def test_other_tasks() -> None:
    """The same methods on tasks of two captioners: resampled apart."""
    rng = np.random.default_rng(0)
    skill = np.arange(6)[:, None]
    a, b = skill + rng.normal(size=(6, 300)), skill + rng.normal(size=(6, 50))
    found = rank_correlation(a, b, same_tasks=False)
    assert (found.value, found.tasks, found.other_tasks) == (1.0, 300, 50)
    assert found.low > 0.8
    values = rng.normal(size=(5, 40))
    apart = rank_correlation(values, values, same_tasks=False)
    assert apart.low < 0.9  # chance orders near ties anew
    assert rank_correlation(values, values).low == 1.0  # one and the same in every resample
    with pytest.raises(SpecError, match="same three methods"):
        rank_correlation(a, b)


@pytest.mark.parametrize(
    "shapes", [((2, 5), (2, 5)), ((3, 5), (3, 4)), ((3,), (3,)), ((3, 0), (3, 0))]
)
def test_refusals(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(SpecError, match="same three methods or more"):
        rank_correlation(*(np.zeros(shape) for shape in shapes))
