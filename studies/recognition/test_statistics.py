"""Recognition: against the score of class_likelihood and full enumeration, by hand, simulated."""

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from analysis_sql.class_aware.design import ClassDesign
from studies.checks import recognition as worlds
from studies.recognition.statistics import (
    Answered,
    BlockOrders,
    ClassSums,
    Finding,
    Recognition,
    blocks,
    recognise,
)


def _one(ids: Any, values: Any, reference: Any = None, **options: int) -> Recognition:
    answer = Answered("mine", "cats", "open", np.array(ids), np.array(values), reference)
    return recognise([answer], **{"seed": 0, **options}).each[0]


# ---- the statistic -------------------------------------------------------------------------------


def test_alone_it_is_the_score_of_the_class_variance() -> None:
    rng = np.random.default_rng(1)
    ids, values = worlds.drawn(rng, worlds.SIZES, 10), rng.integers(0, 26, 200)
    values = values[: len(ids)]
    order = BlockOrders(seed=1, count=20).of(len(ids))
    answer = Answered("mine", "cats", "open", ids, values)
    found = ClassSums([answer], 20).score(answer, order)
    design, permuted = ClassDesign.of(ids), values[order]
    norm2 = ((permuted - values.mean()) ** 2).sum(axis=1)
    # (T-1)/2 times it is the derivative of ln L at g = 0, less a constant
    score = np.square(design.coordinates(permuted)) @ design.eigenvalues / norm2
    assert found == pytest.approx(len(ids) * score)


def test_beside_another_task_set_by_hand() -> None:
    # y = (1, -1) and (-1, 1) once standardised; sums by class a, b: with Z centred
    first = Answered("mine", "cats", "one", np.array([[0], [1]]), np.array([5, 3]))
    second = Answered("mine", "cats", "two", np.array([[0], [1]]), np.array([1, 2]))
    sums = ClassSums([first, second], 1)
    order = np.array([[0, 1], [1, 0]], np.int32)
    # Z'y = (1, -1), a = (-1, 1): |Z'y|² + 2 a·Z'y = 2 - 4, and 2 + 4 the other way round
    assert sums.score(first, order).tolist() == [-2.0, 6.0]
    assert sums.score(second, order).tolist() == [-2.0, 6.0]
    assert sums.joint.tolist() == [0.0, 0.0]


def test_p_values_are_those_of_all_orders() -> None:
    rng = np.random.default_rng(2)
    ids = worlds.drawn(rng, (100,) * 7, 10)[:8]  # blocks of 2, 2, 2, 2
    values, reference = rng.integers(0, 26, 8), rng.random(8)
    parts = [list(permutations(range(block.start, block.stop))) for block in blocks(8)]
    order = np.array([sum(each, ()) for each in product(*parts)], np.int32)
    answer = Answered("mine", "cats", "open", ids, values)
    score = ClassSums([answer], len(order) - 1).score(answer, order)
    correlation = values[order] @ (reference - reference.mean())
    # too few orders for a verdict of its own
    found = recognise([Answered("mine", "cats", "open", ids, values, reference)], seed=0).task_sets[
        "cats", "open"
    ]
    assert found.by_classes == pytest.approx((score >= score[0] - 1e-9).mean(), abs=0.02)
    expected = (correlation >= correlation[0] - 1e-9).mean()
    assert found.by_references == pytest.approx(expected, abs=0.02)
    assert found.p is not None
    assert found.p >= min(found.by_classes, found.by_references)


def test_units_and_names_of_classes_are_of_no_matter() -> None:
    rng = np.random.default_rng(3)
    ids = worlds.drawn(rng, worlds.SIZES, 10)
    values = rng.integers(0, 26, len(ids))
    first = _one(ids, values, permutations=199)
    assert _one(15 - ids, values / 25, permutations=199) == first
    assert _one(ids[:, ::-1], 100 * values, permutations=199) == first


# ---- what is concluded ---------------------------------------------------------------------------


def test_right_tasks_are_recognised_and_others_are_not() -> None:
    rng = np.random.default_rng(4)
    ids, other = worlds.drawn(rng, (400,) * 20, 10), worlds.drawn(rng, (400,) * 20, 10)
    values = worlds.hard_classes(rng, ids)
    assert _one(ids, values) == Recognition(Finding.RECOGNISED, 1e-4, 1e-4, None)
    for wrong in (ids[::-1], other, rng.permutation(ids)):
        found = _one(wrong[: len(values)], values[: len(wrong)])
        assert found.finding is Finding.CANNOT_TELL
        assert found.p is not None
        assert found.p > 0.001


def test_references_tell_where_classes_cannot() -> None:
    rng = np.random.default_rng(5)
    ids = np.tile(np.arange(5), (60, 1))
    reference = rng.random(60)
    found = _one(ids, reference + 0.3 * rng.random(60), reference)
    assert found == Recognition(Finding.RECOGNISED, 1e-4, None, 1e-4)
    assert _one(ids, -reference, reference).p == 1.0
    assert _one(ids, reference, np.ones(60)).finding is Finding.NOT_TESTABLE


@pytest.mark.parametrize(
    ("ids", "values", "said"),
    [
        (np.tile(np.arange(5), (40, 1)), np.arange(40), "all tasks have the same classes"),
        (np.arange(200).reshape(40, 5), np.arange(40), "equally many classes, or none"),
        (np.tile(np.arange(6), 40).reshape(40, 6)[:, :5], np.ones(40), "the same accuracy"),
        (np.arange(200).reshape(40, 5) % 12, [1] + [0] * 39, "only 8 orders"),
        (np.array([[0, 1]]), [3], "the same accuracy"),
    ],
)
def test_not_testable(ids: Any, values: Any, said: str) -> None:
    found = _one(ids, values)
    assert (found.finding, found.p) == (Finding.NOT_TESTABLE, None)
    assert said in found.reason


def test_another_task_set_of_the_data_tells_of_the_classes() -> None:
    large, small = worlds.two_sets(np.random.default_rng(6), wrong=False)
    assert recognise([small], seed=0).each[0].finding is Finding.NOT_TESTABLE
    found = recognise([large, small], seed=0, permutations=1999)
    assert [each.finding for each in found.each] == [Finding.RECOGNISED] * 2
    assert found.together.finding is Finding.RECOGNISED
    assert recognise([small, large], seed=0, permutations=1999).each == found.each[::-1]


@pytest.mark.slow
def test_a_wrong_task_set_beside_a_right_one_is_not_recognised() -> None:
    worlds.hold("wrong", [of.p for of in worlds.beside_a_right_one(40, 99, 120)], {0.05: 0.0})


def test_methods_that_agree_are_no_more_than_one() -> None:
    # the same wrong results thirty times over: their sum has the p-value of one
    rng = np.random.default_rng(8)
    ids = worlds.drawn(rng, worlds.SIZES, 10)
    values = rng.random(len(ids))
    many = [Answered(f"m{i}", "cats", "open", ids, values) for i in range(30)]
    found = recognise(many, seed=0, permutations=999)
    assert found.task_sets["cats", "open"] == found.each[0]
    assert found.together.p == found.each[0].p


# ---- the null hypothesis -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("world", ["other seed", "shuffled in blocks", "noise that drifts"])
def test_other_tasks_are_seldom_recognised(world: str) -> None:
    """At 5 %; ``python -m studies.checks recognition`` has ten times as many, and at 0.1 %."""
    found = worlds.others(world, 10, 200, 99)
    worlds.hold(world, [of.p for of in found], {0.05: 0.01})
    worlds.hold(world, [of.by_classes for of in found], {0.05: 0.01})


def test_a_reversed_order_is_seldom_recognised() -> None:
    worlds.hold("reversed", [of.p for of in worlds.reversed_orders(60, 99)], {0.05: 0.01})
