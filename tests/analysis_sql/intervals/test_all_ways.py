"""Variances of all pairs of methods at once are those of their differences one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from analysis_sql.intervals.all_ways import Cells, Coordinates
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.all_ways import AllWayDesign

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
    whole, df = cells.variances_of_pairs([*x.swapaxes(0, 1)])
    each = [cells.coordinates(own) for own in x]
    for i, j in zip(*np.triu_indices(6, 1), strict=True):
        apart = Coordinates(*(a - b for a, b in zip(each[i], each[j], strict=True)))
        found = cells.variance(apart)
        assert_allclose((whole[i, j], df[i, j]), found[:2], rtol=1e-12)


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
    whole, df = design.variances([*right, None], rows, np.arange(4))
    cells = design.cells
    own, others = (cells.coordinates(some.astype(float)) for some in (answers, other))
    apart = cells.variance(Coordinates(*(a - b for a, b in zip(own, others, strict=True))))
    assert whole[0, 1] == 0
    assert_allclose((whole[0, 2], df[0, 2]), apart[:2], rtol=1e-10)
    assert_allclose((whole[0, 0], df[0, 0]), cells.variance(own)[:2], rtol=1e-12)
    assert np.isnan(whole[:, 3]).all()
    assert_allclose(whole[:, :3], whole[:, :3].T)
