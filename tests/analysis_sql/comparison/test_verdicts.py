"""Verdicts of pairs by hand; p-values against scipy's; Holm's adjustment by hand and by steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.comparison.pairs import primary_pairs
from analysis_sql.comparison.verdicts import (
    VERDICTS,
    PairInterval,
    Verdict,
    direct_verdicts,
    holm,
    paired_p,
    paired_verdicts,
)
from analysis_sql.intervals.counts import Counts, Moments
from analysis_sql.intervals.intervals import halfwidths

nan = float("nan")


def _compare(a: list[int], b: list[int], unit: int = 10, level: float = 0.95) -> PairInterval:
    x, y = np.array(a), np.array(b)
    counts = Counts(np.stack([x, y]), np.full(2, x.size), unit)
    return primary_pairs(counts, "open", level).columns(0, np.array([1])).intervals()[0]


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


def test_holm_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    # sorted 0.005 0.01 0.03 0.04: Holm 4, 3, 2, 1 times: 0.02 0.03 0.06 and 0.04, raised to 0.06
    assert holm(p).p == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(p).significant(0.95).tolist() == [True, False, False, True]


def test_what_cannot_be_compared_is_no_member_of_the_family() -> None:
    p = np.array([[nan, 0.01], [0.02, nan]])
    found = holm(p)
    assert found.size == 2
    assert found.p[[0, 1], [1, 0]] == pytest.approx([0.02, 0.02])
    assert np.isnan(found.p[[0, 1], [0, 1]]).all()
    assert found.significant(0.95).tolist() == [[False, True], [True, False]]
    assert holm(np.array([nan])).size == 0
    assert holm(np.empty(0)).p.size == 0


families = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


@given(families, st.sampled_from([0.01, 0.05, 0.2]))
def test_adjusted_values_reject_what_stepping_down_rejects(p: np.ndarray, a: float) -> None:
    n, rejected = p.size, set()
    for i, at in enumerate(np.argsort(p, kind="stable").tolist()):
        if (n - i) * p[at] > a:
            break
        rejected.add(at)
    assert set(np.flatnonzero(holm(p).p <= a)) == rejected


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=40), st.sampled_from(["open", "closed"]))
def test_p_values_are_scipys_and_agree_with_the_verdicts(d: list[int], kind: str) -> None:
    moments = Moments.of(np.array(d), 25)
    p = float(paired_p(moments, kind))
    if len(set(d)) > 1:
        score = np.mean(d) / stats.sem(d)
        law = stats.t(len(d) - 1) if kind == "open" else stats.norm()
        assert p == pytest.approx(2 * law.sf(abs(score)), rel=1e-9)
    for level in (0.5, 0.9, 0.95, 0.99):
        widths = halfwidths(moments, kind, level)
        verdict = VERDICTS[paired_verdicts(moments, widths, kind, level)]
        if abs(p - (1 - level)) > 1e-9:
            assert (p < 1 - level) == (verdict in (Verdict.BETTER, Verdict.WORSE))
