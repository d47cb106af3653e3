"""Confidence sequences: by hand, one task at a time, and how often they err."""

import numpy as np
import pytest
from first_conclusive import first_conclusive
from full_checks import check_module
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis_sql.intervals.stopping import GRID, ConfidenceSequence, SequenceInterval


def confidence_sequence(
    differences: np.ndarray, queries: int, level: float = 0.95
) -> list[SequenceInterval]:
    sequence = ConfidenceSequence(queries, level)
    return [sequence.update(value) for value in differences.tolist()]


def _capital(y: list[float], m: float) -> float:
    """The module's formula, factor by factor."""
    bets = [63 / 64 * 2.0**-j for j in range(8)]
    weights = [c / sum(bets) for c in bets]
    factors = [[1 - c + c * (1 + each) / (1 + m) for each in y] for c in bets]
    return float(sum(w * np.prod(f) for w, f in zip(weights, factors, strict=True)))


def test_by_hand() -> None:
    # every task a whole +1: one bet of 63/64 against 0 doubles, nearly, with every task
    one = [1.0] * 7
    capital = _capital(one[:1], 0.0)
    # Σ w (1 + c) with w in proportion to c: 1 + Σc²/Σc, about 1 + 2/3 · 63/64
    assert capital == pytest.approx(1 + 63 / 64 * (2 / 3) * (1 + 2.0**-8), rel=1e-12)
    found = confidence_sequence(np.full(7, 5), 5)
    at = next(t for t in range(1, 8) if _capital(one[:t], 1 / GRID) >= 40)
    assert found[-1].conclusive_at == at == 7
    assert (found[-1].sign, found[-1].mean, found[-1].high) == (1, 100.0, 100.0)
    # after one task 1 + Σwc (2/(1+m) - 1) is 40 at m = 2/(1 + 39/Σwc) - 1 with Σwc = 0.65885
    assert found[0].low == pytest.approx(-96.6775, abs=0.0016)
    assert (found[0].high, found[0].conclusive_at, found[0].sign) == (100.0, None, 0)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_ends_are_where_the_capital_is_enough(level: float) -> None:
    rng = np.random.default_rng(0)
    d = rng.integers(-2, 8, 25)
    y = (d / 10).tolist()
    low, high = -1.0, 1.0
    for t, found in enumerate(confidence_sequence(d, 10, level), 1):
        enough = 2 / (1 - level)
        # what is outside is rejected by some interval so far; inside, by none
        for m, limit in ((found.low / 100, low), (found.high / 100, high)):
            if m == limit:
                continue
            side = 1 if m == found.low / 100 else -1
            seen = [side * each for each in y[:t]]
            assert _capital(seen, side * m) >= enough * (1 - 1e-9)
            assert _capital(seen, side * m + 1 / GRID) < enough * (1 + 1e-9)
        assert low <= found.low / 100 <= found.mean / 100 <= found.high / 100 <= high
        low, high = found.low / 100, found.high / 100
        assert found.tasks == t
        assert found.mean == pytest.approx(10 * d[:t].mean())


@settings(max_examples=60)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=60))
def test_one_by_one_all_at_once_and_mirrored(d: list[int]) -> None:
    sequence = ConfidenceSequence(4, 0.9)
    stepwise = [sequence.update(each) for each in d]
    assert stepwise == confidence_sequence(np.array(d), 4, 0.9)
    last = stepwise[-1]
    assert (last.conclusive_at or 0) == first_conclusive(np.array(d), 4, 0.9)
    for one, other in zip(stepwise, confidence_sequence(-np.array(d), 4, 0.9), strict=True):
        assert (one.low, one.high) == (-other.high, -other.low)
        assert (one.conclusive_at, one.sign) == (other.conclusive_at, -other.sign)
        assert (one.conclusive_at is not None) == (one.low > 0 or one.high < 0)
    assert (last.sign == 1) <= (last.low > 0)


def test_a_drift_may_leave_nothing_in_common() -> None:
    found = confidence_sequence(np.repeat([5, -5], [30, 300]), 5)[-1]
    assert found.low > found.high
    assert (found.conclusive_at, found.sign) == (7, 1)  # the first verdict stays


def test_zero_is_seldom_ever_excluded() -> None:
    """``python -m studies.checks stopping`` has 4000 sequences of 2000."""
    check = check_module("stopping")
    check.hold(check.errors(300, 400), 300)
