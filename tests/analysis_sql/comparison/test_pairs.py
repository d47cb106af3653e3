"""All pairs at once: the same as one pair at a time, as scipy, and as SQL."""

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from analysis_sql.comparison.pairs import carried_pairs, pair_arrays, pair_differences
from analysis_sql.comparison.verdicts import VERDICTS, PairInterval, Verdict, paired_verdicts
from analysis_sql.intervals.counts import Counts, Moments
from analysis_sql.intervals.intervals import halfwidths
from benchmark_spec.protocol import IntervalKind

Array = np.ndarray[Any, Any]
LEVEL = 0.95


def _counts(x: Array, tasks: list[int] | None = None, unit: int = 25) -> Counts:
    m, t = x.shape
    answered = np.array([t] * m if tasks is None else tasks)
    x = np.where(np.arange(t) < answered[:, None], x, 0).astype(np.int32)
    return Counts(x, answered.astype(np.int64), unit)


def _alone(counts: Counts, i: int, j: int, kind: IntervalKind = "open") -> PairInterval:
    return carried_pairs(counts.some([i, j]), kind, LEVEL).columns(0, np.array([1])).intervals()[0]


def _difference(counts: Counts, i: int, j: int) -> Moments:
    return pair_differences(counts.some([i, j]), np.array([0]), np.array([1]))


def test_by_hand() -> None:
    # differences 1, 2, 3 of 10
    counts = _counts(np.array([[5, 7, 9], [4, 5, 6]]), unit=10)
    own = counts.moments()
    assert (own.total.tolist(), own.squares.tolist()) == ([21, 15], [155, 77])
    difference = _difference(counts, 0, 1)
    assert (difference.total, difference.squares, difference.queries_per_task) == (6, 14, 10)
    arrays = pair_arrays(counts, np.ones((1, 2), bool), "open", LEVEL)
    assert arrays.difference.tolist() == [[0.0, 20.0]]
    assert arrays.halfwidth[0, 1] == pytest.approx(24.8414, abs=1e-4)
    assert [VERDICTS[code] for code in arrays.verdict[0]] == [
        Verdict.IDENTICAL,
        Verdict.INCONCLUSIVE,
    ]


matrices = hnp.arrays(
    np.int32, st.tuples(st.integers(1, 6), st.integers(1, 12)), elements=st.integers(0, 25)
)


@given(matrices, st.data())
def test_every_pair_is_the_pair_alone(x: Array, data: st.DataObject) -> None:
    m, t = x.shape
    tasks = data.draw(st.lists(st.integers(1, t), min_size=m, max_size=m))
    first = data.draw(st.integers(1, m))
    kind = data.draw(st.sampled_from(["open", "closed"]))
    counts = _counts(x, tasks)
    arrays = pair_arrays(counts, np.ones((first, m), bool), kind, LEVEL)
    for i in range(first):
        of_row = carried_pairs(counts, kind, LEVEL).columns(i, np.arange(m)).intervals()
        for j in range(m):
            common = min(tasks[i], tasks[j])
            one = _alone(counts, i, j, kind)
            d = Moments.of(x[i, :common] - x[j, :common], 25)
            width = float(halfwidths(d, kind, LEVEL))
            verdict = VERDICTS[int(paired_verdicts(d, width, kind, LEVEL))]
            assert (one.difference.mean, one.verdict) == (d.mean, verdict)
            assert one.mean.mean == Moments.of(x[i, :common], 25).mean
            if verdict not in (Verdict.IDENTICAL, Verdict.NOT_ESTIMABLE):
                assert one.difference.halfwidth == width
            assert of_row[j] == one
            assert VERDICTS[arrays.verdict[i, j]] is one.verdict
            assert VERDICTS[arrays.direct[i, j]] is one.verdict_direct
            assert arrays.tasks[i, j] == common
            assert arrays.difference[i, j] == one.difference.mean
            if one.difference.halfwidth is not None and common > 1:
                assert arrays.halfwidth[i, j] == one.difference.halfwidth


@given(matrices, st.data())
def test_every_pair_is_in_the_units_of_its_two_methods(x: Array, data: st.DataObject) -> None:
    m, t = x.shape
    units = np.array(data.draw(st.lists(st.integers(25, 10**6), min_size=m, max_size=m)))
    tasks = np.array(data.draw(st.lists(st.integers(1, t), min_size=m, max_size=m)))
    x = np.where(np.arange(t) < tasks[:, None], x, 0)
    counts = Counts(x, tasks, units)
    arrays = pair_arrays(counts, np.ones((m, m), bool), "open", LEVEL)
    everything = pair_differences(counts, *np.indices((m, m)))
    for i in range(m):
        for j in range(m):
            common = min(tasks[i], tasks[j])
            unit = lcm(int(units[i]), int(units[j]))
            d = [
                Fraction(int(a), int(units[i])) - Fraction(int(b), int(units[j]))
                for a, b in zip(x[i, :common], x[j, :common], strict=True)
            ]
            moments = (common, unit * sum(d), unit**2 * sum(v * v for v in d), unit)
            own = _difference(counts, i, j)
            assert (own.tasks, own.total, own.squares, own.queries_per_task) == moments
            assert (everything.total[i, j], everything.squares[i, j]) == moments[1:3]
            one = _alone(counts, i, j)
            assert arrays.difference[i, j] == one.difference.mean
            assert VERDICTS[arrays.verdict[i, j]] is one.verdict
            assert VERDICTS[arrays.direct[i, j]] is one.verdict_direct
            if one.difference.halfwidth is not None and common > 1:
                assert arrays.halfwidth[i, j] == one.difference.halfwidth


def test_against_scipy_on_many_methods() -> None:
    rng = np.random.default_rng(0)
    x = rng.binomial(25, rng.uniform(0.5, 0.7, (20, 1)), (20, 200))
    arrays = pair_arrays(_counts(x), np.ones((20, 20), bool), "open", LEVEL)
    for i in range(20):
        for j in range(20):
            if i != j:
                test = stats.ttest_rel(4.0 * x[i], 4.0 * x[j])
                low, high = test.confidence_interval(0.95)
                assert arrays.difference[i, j] == pytest.approx((low + high) / 2, abs=1e-9)
                assert arrays.halfwidth[i, j] == pytest.approx((high - low) / 2, rel=1e-9)
                conclusive = VERDICTS[arrays.verdict[i, j]] in (Verdict.BETTER, Verdict.WORSE)
                assert conclusive == (test.pvalue < 0.05)


@pytest.mark.parametrize("largest", [35, 5_000, 2**20])
def test_products_are_exact_whatever_their_size(largest: int) -> None:
    # float32, float64 and integer products in turn
    rng = np.random.default_rng(0)
    x = rng.integers(largest - 5, largest + 1, (3, 20_000)).astype(np.int32)
    counts = _counts(x, unit=largest)
    arrays = pair_arrays(counts, np.ones((3, 3), bool), "open", LEVEL)
    for i in range(3):
        for j in range(3):
            difference = (x[i].astype(object) - x[j].astype(object)) ** 2
            assert _difference(counts, i, j).squares == sum(difference)
            one = _alone(counts, i, j)
            assert arrays.halfwidth[i, j] == one.difference.halfwidth


def test_blocks_of_rows_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    from analysis_sql.comparison import pairs

    x = np.random.default_rng(0).integers(0, 26, (7, 30))
    asked = np.triu(np.ones((5, 7), bool), 1)
    whole = pair_arrays(_counts(x), np.ones((5, 7), bool), "open", LEVEL)
    monkeypatch.setattr(pairs, "_PAIRS_AT_ONCE", 14)
    parts = pair_arrays(_counts(x), asked, "open", LEVEL)
    for name in ("tasks", "difference", "halfwidth", "verdict", "direct"):
        np.testing.assert_array_equal(getattr(parts, name)[asked], getattr(whole, name)[asked])
    assert np.isnan(parts.difference[4, :4]).all()
    assert (parts.verdict[4, :4] == -1).all()
