from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis_sql.intervals.arrays import AnyInts
from analysis_sql.intervals.sign_flip import sign_flips


def sign_flip(differences: AnyInts) -> float:
    return float(sign_flips(differences[None])[0])


def test_by_hand() -> None:
    # sums of ±1 ±2 ±3: 6 4 2 0 0 -2 -4 -6; observed 1 + 2 - 3 = 0, 1 - 2 + 3 = 2, 1 + 2 + 3 = 6
    assert sign_flip(np.array([1, 2, -3])) == 1.0
    assert sign_flip(np.array([1, -2, 3])) == 6 / 8
    assert sign_flip(np.array([-1, -2, -3])) == 2 / 8
    assert sign_flip(np.array([0, 2, 0, 2])) == 0.5


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=11))
def test_against_a_list_of_all_flips(differences: list[int]) -> None:
    d = np.array(differences)
    sums = np.array(list(product([1, -1], repeat=len(d)))) @ d
    assert sign_flip(d) == np.mean(np.abs(sums) >= abs(d.sum()))  # to the last bit


def _count(differences: list[int]) -> Fraction:
    """The p-value in integers: the polynomial Π (1 + z^|d|) in one huge number."""
    width = len(differences) + 1
    packed = 1
    for step in map(abs, differences):
        packed += packed << (width * step)
    whole, observed = sum(map(abs, differences)), abs(sum(differences))
    last = (whole - observed) // 2
    tail = [packed >> (width * w) & ((1 << width) - 1) for w in range(last + 1)]
    return min(Fraction(2 * sum(tail), 2 ** len(differences)), Fraction(1))


@pytest.mark.parametrize(("tasks", "unit", "mean"), [(53, 25, 0.03), (60, 5, 0.1), (400, 35, 0.01)])
def test_against_exact_integers(tasks: int, unit: int, mean: float) -> None:
    rng = np.random.default_rng(tasks)
    d = np.rint(unit * rng.normal(mean, 0.1, tasks)).astype(int)
    exact, unequal = _count(d.tolist()), int(np.count_nonzero(d))
    error = Fraction(unequal, 2**52) if unequal > 53 else 0
    assert abs(Fraction(sign_flip(d)) - exact) <= error * exact


def test_what_too_many_values_would_be_kept_of() -> None:
    few = np.full(49, 32_767) - 2 * (np.arange(49) % 2)
    assert sign_flip(few) < 1e-9
    assert np.isnan(sign_flip(np.array([10**7, -3 * 10**6, 7])))


@pytest.mark.parametrize(("tasks", "most"), [(2, 3), (19, 6), (30, 40), (49, 3), (49, 500)])
def test_many_pairs_as_each(tasks: int, most: int) -> None:
    d = np.random.default_rng(1).integers(-most, most + 1, (300, tasks))
    d[:3] = [[0] * tasks, [6] * tasks, [-4] * tasks]  # nothing differs, and a common unit
    assert sign_flips(d).tolist() == [sign_flip(each) for each in d]
