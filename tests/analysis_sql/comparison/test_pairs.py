"""All pairs at once: the same as one pair at a time, in exact fractions."""

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis_sql.comparison.pairs import pair_arrays, pair_differences, primary_pairs
from analysis_sql.comparison.verdicts import VERDICTS, Verdict, paired_verdicts
from analysis_sql.intervals.counts import Counts, Moments
from analysis_sql.intervals.intervals import halfwidths

Array = np.ndarray[Any, Any]
LEVEL = 0.95
ONE = np.array([1])


def _counts(x: Array, tasks: list[int] | None = None, unit: Any = 25) -> Counts:
    m, t = x.shape
    answered = np.array([t] * m if tasks is None else tasks)
    x = np.where(np.arange(t) < answered[:, None], x, 0).astype(np.int32)
    return Counts(x, answered.astype(np.int64), unit)


def _difference(counts: Counts, i: int, j: int) -> Moments:
    return pair_differences(counts.some([i, j]), np.array([0]), np.array([1]))


matrices = hnp.arrays(
    np.int32, st.tuples(st.integers(1, 6), st.integers(1, 12)), elements=st.integers(0, 25)
)


@given(matrices, st.data())
def test_every_pair_is_the_pair_alone_in_the_units_of_its_two_methods(
    x: Array, data: st.DataObject
) -> None:
    m, t = x.shape
    some = st.lists(st.integers(25, 10**6), min_size=m, max_size=m)
    units = np.array(data.draw(st.just([25] * m) | some))
    tasks = data.draw(st.lists(st.integers(1, t), min_size=m, max_size=m))
    first = data.draw(st.integers(1, m))
    kind = data.draw(st.sampled_from(["open", "closed"]))
    counts = _counts(x, tasks, units)
    arrays = pair_arrays(counts, np.ones((first, m), bool), kind, LEVEL)
    everything = pair_differences(counts, *np.indices((m, m)))
    for i in range(first):
        of_row = primary_pairs(counts, kind, LEVEL).columns(i, np.arange(m)).intervals()
        for j in range(m):
            common, unit = min(tasks[i], tasks[j]), lcm(int(units[i]), int(units[j]))
            d = [
                Fraction(int(a), int(units[i])) - Fraction(int(b), int(units[j]))
                for a, b in zip(x[i, :common], x[j, :common], strict=True)
            ]
            moments = (common, unit * sum(d), unit**2 * sum(v * v for v in d), unit)
            own = _difference(counts, i, j)
            assert (own.tasks, own.total, own.squares, own.queries_per_task) == moments
            assert (everything.total[i, j], everything.squares[i, j]) == moments[1:3]
            exact = Moments.of(np.array([int(unit * v) for v in d]), unit)
            width = float(halfwidths(exact, kind, LEVEL))
            verdict = VERDICTS[int(paired_verdicts(exact, width, kind, LEVEL))]
            one = primary_pairs(counts.some([i, j]), kind, LEVEL).columns(0, ONE).intervals()[0]
            assert (one.difference.mean, one.verdict) == (exact.mean, verdict)
            assert one.mean.mean == Moments.of(x[i, :common], int(units[i])).mean
            assert of_row[j] == one
            assert arrays.tasks[i, j] == common
            assert arrays.difference[i, j] == one.difference.mean
            assert VERDICTS[arrays.verdict[i, j]] is one.verdict
            assert VERDICTS[arrays.direct[i, j]] is one.verdict_direct
            if verdict not in (Verdict.IDENTICAL, Verdict.NOT_ESTIMABLE):
                assert one.difference.halfwidth == width
            if one.difference.halfwidth is not None and common > 1:
                assert arrays.halfwidth[i, j] == one.difference.halfwidth


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
            one = primary_pairs(counts, "open", LEVEL).columns(i, np.array([j]))
            assert arrays.halfwidth[i, j] == one.halfwidth[2, 0]


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
