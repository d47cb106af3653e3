"""Variances of all pairs of methods at once are those of their differences one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.all_ways import (
    AllWayDesign,
    AllWaySums,
    Cells,
    of_each,
    of_pairs,
)

OWNER = np.random.default_rng(1).permutation(np.repeat(np.arange(5), [7, 9, 4, 12, 2]))


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("draws", [1, 4])
def test_all_pairs_at_once(draws: int, alike: bool) -> None:
    rng = np.random.default_rng(0)
    there = rng.random((draws, OWNER.size)) < 0.9
    there[0] = True
    cells = Cells(there, OWNER, alike, 0.2)
    chance = np.linspace(0.4, 0.9, 6)[:, None, None]
    x = (rng.random((6, draws, OWNER.size)) < chance).astype(float)
    found = cells.variances([*x.swapaxes(0, 1)], of_pairs)
    for i, j in zip(*np.triu_indices(6, 1), strict=True):
        apart = cells.variances([(x[i] - x[j])[[r]] for r in range(draws)], of_each)
        assert_allclose([v[i, j] for v in found[:4]], [v[0] for v in apart[:4]], rtol=1e-12)


def test_of_methods_that_hardly_differ() -> None:
    """Rounding takes nothing from them, nor gives to those that answer alike."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(4), 5000)
    queries = np.tile(np.arange(owner.size), (3, 1))
    design = AllWayDesign.of(queries, owner, 0.1)
    answers = (rng.random(queries.shape) < 0.7).astype(np.int8)
    other = answers.copy()
    other[1, 17] ^= 1
    right = [RightQueries(a, 1) for a in (answers, answers.copy(), other)]
    rows = np.arange(3)
    sums = AllWaySums(design, [*right, None])
    whole, df, *_ = sums.block(rows, np.arange(4))

    def of(x: np.ndarray) -> list[float]:
        return [v[0] for v in design.cells.variances(x[:, None].astype(float), of_each)[:2]]

    assert whole[0, 1] == 0
    assert_allclose((whole[0, 2], df[0, 2]), of(answers.astype(int) - other), rtol=1e-10)
    assert_allclose((whole[0, 0], df[0, 0]), of(answers), rtol=1e-12)
    assert_allclose([v[0] for v in sums.own[:2]], of(answers), rtol=1e-12)
    assert np.isnan(whole[:, 3]).all()
    assert np.isnan(sums.own[0][3])
    assert_allclose(whole[:, :3], whole[:, :3].T)
    again = sums.block(np.array([2]), np.array([0, 1]))
    assert_allclose(again[:2], (whole[2:, :2], df[2:, :2]))
