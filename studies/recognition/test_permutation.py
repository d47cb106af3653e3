"""Permutations within blocks: their law by hand and by counting, p-values by hand."""

import hashlib
from itertools import permutations
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.recognition.statistics import (
    BLOCK,
    BlockOrders,
    blocks,
    either,
    is_constant,
    log_orders,
    p_value,
    standardised,
    tails,
    together,
)


def _sizes(tasks: int) -> list[int]:
    return [block.stop - block.start for block in blocks(tasks)]


def test_blocks_by_hand() -> None:
    assert _sizes(1) == [1]
    assert _sizes(5) == [2, 2, 1]
    assert _sizes(22) == [4, 3, 3, 2, 2, 2, 2, 2, 2]
    assert _sizes(773)[:34] == [20] * 34  # until fewer than 100 are left
    assert _sizes(773)[34] == 18  # 93 are left


@given(st.integers(1, 2000))
def test_each_task_is_in_one_block(tasks: int) -> None:
    found = blocks(tasks)
    assert [found[0].start, *(block.stop for block in found)] == [
        *(block.start for block in found),
        tasks,
    ]
    assert max(_sizes(tasks)) <= BLOCK


def test_orders_permute_within_blocks() -> None:
    orders = BlockOrders(seed=1, count=50).of(130)
    assert orders[0].tolist() == list(range(130))
    assert (orders[1:] != orders[0]).any(axis=1).all()
    for block in blocks(130):
        assert (np.sort(orders[:, block], axis=1) == np.arange(block.start, block.stop)).all()


def test_all_orders_of_a_block_are_equally_likely() -> None:
    count = 24_000
    found = BlockOrders(seed=2, count=count).of(22)[1:, :4]
    _, seen = np.unique(found, axis=0, return_counts=True)
    assert seen.size == 24
    assert ((seen - 1000) ** 2 / 1000).sum() < 49.7  # chi square of 23 degrees at .999


def test_permutations_are_common_to_task_sets() -> None:
    orders = BlockOrders(seed=3, count=30)
    assert (orders.of(773)[:, :680] == orders.of(2000)[:, :680]).all()
    # where the blocks differ, two tasks that are in a block of both sets stand in one order
    short, long = orders.of(22)[1:, :4], orders.of(200)[1:, :20]
    assert (long[long < 4].reshape(-1, 4) == short).all()


def test_orders_depend_on_the_seed_alone() -> None:
    first = BlockOrders(seed=4, count=9)
    kept = first.of(40).copy()
    for tasks in (30, 31, 32, 33, 34):
        first.of(tasks)
    assert (first.of(40) == kept).all()
    assert (BlockOrders(seed=5, count=9).of(40) != kept).any()
    found = hashlib.sha256(BlockOrders(seed=0, count=99).of(200).astype("<i4").tobytes())
    assert found.hexdigest()[:16] == "737a8ae091e16512"


def test_p_values_by_hand() -> None:
    assert p_value(np.array([3.0, 1.0, 2.0, 3.0])) == 2 / 4
    assert p_value(np.array([5.0, 1.0, 2.0, 3.0])) == 1 / 4
    assert p_value(np.array([0.0, 1.0, 2.0, 3.0])) == 1.0
    assert tails(np.array([3.0, 1.0, 2.0, 3.0])).tolist() == [0.5, 1.0, 0.75, 0.5]


def test_rounding_does_not_part_equal_statistics() -> None:
    values = np.array([0.3, 0.1 + 0.2, 0.1, 0.2])
    assert values[0] != values[1]
    assert p_value(values) == 2 / 4


def test_combinations_by_hand() -> None:
    a = np.array([2.0, 0.0, 0.0, 0.0])
    b = np.array([0.0, 0.0, 1.0, 1.0])
    assert together([a, b]) == pytest.approx([3**0.5 - 1, -1 - 3**-0.5, 1 - 3**-0.5, 1 - 3**-0.5])
    assert either([a, b]).tolist() == [-0.25, -1.0, -0.5, -0.5]
    assert p_value(either([a, b])) == 0.25


def test_the_smaller_p_value_is_no_p_value_but_either_is() -> None:
    rng = np.random.default_rng(1)
    found = [p_value(either(list(rng.normal(size=(3, 400))))) for _ in range(1000)]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.02)


def test_what_never_changes_is_constant() -> None:
    assert is_constant(np.zeros(5))
    assert is_constant(1e6 + np.array([0.0, 1e-7, -1e-7]))
    assert not is_constant(np.array([0.0, 1e-30]))
    assert standardised(np.full(4, 7.0)).tolist() == [0.0] * 4


@pytest.mark.parametrize("values", [[1, 1, 1, 1], [1, 2, 1, 3, 3, 2, 1, 1], [5, 4, 3, 2, 1]])
def test_how_many_orders_differ(values: list[int]) -> None:
    expected = 1
    for block in blocks(len(values)):
        expected *= len(set(permutations(values[block])))
    assert exp(log_orders(np.array(values))) == pytest.approx(expected)
