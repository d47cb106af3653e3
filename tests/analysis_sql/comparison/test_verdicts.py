import numpy as np
import pytest

from analysis_sql.comparison.pairs import carried_pairs
from analysis_sql.comparison.verdicts import (
    VERDICTS,
    PairInterval,
    Verdict,
    direct_verdicts,
)
from analysis_sql.intervals.counts import Counts


def _compare(a: list[int], b: list[int], unit: int = 10, level: float = 0.95) -> PairInterval:
    x, y = np.array(a), np.array(b)
    counts = Counts(np.stack([x, y]), np.full(2, x.size), unit)
    return carried_pairs(counts, "open", level).columns(0, np.array([1])).intervals()[0]


def test_by_hand() -> None:
    # differences 1, 2, 3 of 10: 10, 20, 30 points; mean 20, sd 10; t(2) · 10 / √3 = 24.8414
    found = _compare([5, 7, 9], [4, 5, 6])
    assert found.difference.mean == 20.0
    assert found.difference.halfwidth == pytest.approx(24.8414, abs=1e-4)
    assert found.verdict is Verdict.INCONCLUSIVE
    # at 80 %, t(2) is 1.885618: half-width 10.8866
    assert _compare([5, 7, 9], [4, 5, 6], level=0.8).verdict is Verdict.BETTER
    assert _compare([4, 5, 6], [5, 7, 9], level=0.8).verdict is Verdict.WORSE
    # equal means are not identical tasks
    assert _compare([3, 5], [5, 3]).verdict is Verdict.INCONCLUSIVE


def test_pairing_sees_what_separate_intervals_do_not() -> None:
    # tasks vary by 80 points, the difference hardly
    a = [1, 3, 5, 7, 9, 2, 4, 6, 8, 9]
    b = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    found = _compare(a, b)
    assert found.verdict is Verdict.BETTER
    assert found.verdict_direct is Verdict.INCONCLUSIVE


def test_separate_intervals_that_touch_overlap() -> None:
    found = direct_verdicts(
        np.array([50, 50, 54, 54]),
        np.array([2, 1.9, 2, np.nan]),
        np.array([54, 54, 50, 50]),
        np.array([2, 2, 1.9, 1.9]),
    )
    assert [VERDICTS[code] for code in found.tolist()] == [
        Verdict.INCONCLUSIVE,
        Verdict.WORSE,
        Verdict.BETTER,
        Verdict.NOT_ESTIMABLE,
    ]
