from fractions import Fraction
from statistics import stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis_sql.intervals.counts import Moments


@given(st.lists(st.integers(-35, 35), min_size=2, max_size=50), st.integers(1, 35))
def test_against_exact_fractions(counts: list[int], unit: int) -> None:
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
