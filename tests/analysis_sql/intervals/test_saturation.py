from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.intervals.bounds import disjoint_tasks, zero_bound


def test_by_hand() -> None:
    # 1 - 0.05^(1/30) = 9.50 %; one task: 95 %
    assert zero_bound(30) == pytest.approx(9.5034, abs=1e-4)
    assert zero_bound(1) == pytest.approx(95.0)
    assert zero_bound(10_000) == pytest.approx(300 / 10_000, rel=0.002)  # the rule of three


@pytest.mark.parametrize("trials", [1, 7, 235])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_is_clopper_and_pearsons(trials: int, level: float) -> None:
    high = stats.binomtest(0, trials, alternative="less").proportion_ci(level, "exact").high
    assert zero_bound(trials, level) == pytest.approx(100 * high, rel=1e-9)
    # with that probability, none in so many has chance 1 - level
    assert (1 - zero_bound(trials, level) / 100) ** trials == pytest.approx(1 - level)


def _largest(classes: np.ndarray) -> int:
    sets = [set(row) for row in classes.tolist()]
    for size in range(len(sets), 0, -1):
        for chosen in combinations(sets, size):
            if len(set().union(*chosen)) == size * classes.shape[1]:
                return size
    return 0


@settings(max_examples=60)
@given(st.integers(1, 9), st.integers(1, 3), st.integers(3, 9), st.integers(0, 999))
def test_disjoint_tasks_against_all_choices(tasks: int, way: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = np.stack([rng.permutation(n)[:way] for _ in range(tasks)])
    found = disjoint_tasks(classes)
    assert len(found) == _largest(classes)
    few = disjoint_tasks(classes, steps=0)
    for choice in (found, few):
        chosen = classes[list(choice)]
        assert np.unique(chosen).size == chosen.size
        assert list(choice) == sorted(set(choice))
    assert 1 <= len(few) <= len(found)


def test_a_large_set_gives_a_lower_bound() -> None:
    rng = np.random.default_rng(0)
    classes = np.stack([rng.permutation(200)[:5] for _ in range(500)])
    found = disjoint_tasks(classes)
    assert 25 <= len(found) <= 40
    assert np.unique(classes[list(found)]).size == 5 * len(found)
    assert found == disjoint_tasks(classes)
    # the names of the classes, and repeated tasks, change nothing
    assert disjoint_tasks(classes * 7 - 3) == found
    assert disjoint_tasks(np.concatenate([classes, classes])) == found
