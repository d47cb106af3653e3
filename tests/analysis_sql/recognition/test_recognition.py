"""Recognition: against the score of class_likelihood and full enumeration, by hand, simulated."""

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from score_statistic import score_statistic

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.recognition.permutation import BlockOrders, blocks
from analysis_sql.recognition.recognition import Finding, Recognition, recognise
from analysis_sql.recognition.statistics import Answered, ClassSums

SIZES = [250, 180, 120, 120, 90, 90, 70, 60, 60, 50, 50, 45, 45, 40, 40, 40]
"""Images of classes that run out one after another, as vgg_flower's do."""


def _draw(
    rng: np.random.Generator, sizes: list[int], per_task: int, cap: int = 2000
) -> NDArray[np.int64]:
    """Classes (T, 5) of an open set."""
    left, found = np.array(sizes), []
    while (eligible := np.flatnonzero(left >= per_task)).size >= 5 and len(found) < cap:
        found.append(rng.permutation(eligible)[:5])
        left[found[-1]] -= per_task
    return np.array(found)


def _one(ids: Any, values: Any, reference: Any = None, **options: int) -> Recognition:
    answer = Answered("mine", "cats", "open", np.array(ids), np.array(values), reference)
    return recognise([answer], **{"seed": 0, **options}).each[0]


# ---- the statistic -------------------------------------------------------------------------------


def test_alone_it_is_the_score_of_the_class_variance() -> None:
    rng = np.random.default_rng(1)
    ids, values = _draw(rng, SIZES, 10), rng.integers(0, 26, 200)
    values = values[: len(ids)]
    order = BlockOrders(seed=1, count=20).of(len(ids))
    answer = Answered("mine", "cats", "open", ids, values)
    found = ClassSums([answer], 20).score(answer, order)
    design, permuted = ClassDesign.of(ids), values[order]
    norm2 = ((permuted - values.mean()) ** 2).sum(axis=1)
    score = score_statistic(design, design.coordinates(permuted), norm2)
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
    ids = _draw(rng, [100] * 7, 10)[:8]  # blocks of 2, 2, 2, 2
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
    ids = _draw(rng, SIZES, 10)
    values = rng.integers(0, 26, len(ids))
    first = _one(ids, values, permutations=199)
    assert _one(15 - ids, values / 25, permutations=199) == first
    assert _one(ids[:, ::-1], 100 * values, permutations=199) == first


# ---- what is concluded ---------------------------------------------------------------------------


def _hard_classes(rng: np.random.Generator, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    effect = rng.normal(size=ids.max() + 1)
    return np.asarray(effect[ids].sum(axis=1) + rng.normal(size=len(ids)))


def test_right_tasks_are_recognised_and_others_are_not() -> None:
    rng = np.random.default_rng(4)
    ids, other = _draw(rng, [400] * 20, 10), _draw(rng, [400] * 20, 10)
    values = _hard_classes(rng, ids)
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


def _two_sets(rng: np.random.Generator, *, wrong: bool) -> list[Answered]:
    """A large task set, and a small one in which each class is once; effects are the same."""
    effect = 2 * rng.normal(size=300)
    large = np.stack([rng.permutation(300)[:5] for _ in range(1200)])
    small = rng.permutation(300).reshape(60, 5)
    of = rng.permutation(300).reshape(60, 5) if wrong else small
    return [
        Answered("mine", "cats", name, ids, effect[made].sum(axis=1) + rng.normal(size=len(ids)))
        for name, ids, made in (("large", large, large), ("small", small, of))
    ]


def test_another_task_set_of_the_data_tells_of_the_classes() -> None:
    large, small = _two_sets(np.random.default_rng(6), wrong=False)
    assert recognise([small], seed=0).each[0].finding is Finding.NOT_TESTABLE
    found = recognise([large, small], seed=0)
    assert [each.finding for each in found.each] == [Finding.RECOGNISED] * 2
    assert found.together.finding is Finding.RECOGNISED
    assert recognise([small, large], seed=0).each == found.each[::-1]


@pytest.mark.slow
@pytest.mark.simulation
def test_a_wrong_task_set_beside_a_right_one_is_not_recognised() -> None:
    rng = np.random.default_rng(7)
    found = [
        recognise(_two_sets(rng, wrong=True), seed=i, permutations=199).each[1].p
        for i in range(150)
    ]
    assert _false_rate(found, 0.05) <= _at_most(0.05, 150)


def test_methods_that_agree_are_no_more_than_one() -> None:
    # the same wrong results thirty times over: their sum has the p-value of one
    rng = np.random.default_rng(8)
    ids = _draw(rng, SIZES, 10)
    values = rng.random(len(ids))
    many = [Answered(f"m{i}", "cats", "open", ids, values) for i in range(30)]
    found = recognise(many, seed=0, permutations=999)
    assert found.task_sets["cats", "open"] == found.each[0]
    assert found.together.p == found.each[0].p


# ---- the null hypothesis -------------------------------------------------------------------------


def _false_rate(ps: list[float | None], level: float) -> float:
    return float(np.mean([p <= level for p in ps if p is not None]))


def _at_most(level: float, number: int) -> float:
    """As many as would be seen of a valid test but once in a thousand times."""
    return level + 3.1 * (level * (1 - level) / number) ** 0.5


@pytest.mark.slow
@pytest.mark.simulation
@pytest.mark.parametrize("per_task", [10, 2])
@pytest.mark.parametrize("kind", ["other seed", "shuffled in blocks", "noise that drifts"])
def test_other_tasks_are_seldom_recognised(kind: str, per_task: int) -> None:
    # large classes are easier, so that all tasks become easier along the set
    rng = np.random.default_rng(9)
    number = 2000 if per_task == 10 else 800
    size = np.argsort(np.argsort(SIZES)) / len(SIZES)
    found = []
    for i in range(number):
        ids, other = _draw(rng, SIZES, per_task), _draw(rng, SIZES, per_task)
        tasks = min(len(ids), len(other))
        effect = rng.normal(size=len(SIZES)) + 1.5 * size
        noise = rng.normal(size=tasks)
        if kind == "other seed":
            values = effect[other[:tasks]].sum(axis=1) + noise
        elif kind == "noise that drifts":
            values = noise + np.linspace(0, 3, tasks)
        else:
            order = np.concatenate([rng.permutation(np.arange(tasks)[b]) for b in blocks(tasks)])
            values = effect[ids[:tasks][order]].sum(axis=1) + noise
        reference = effect[ids[:tasks]].sum(axis=1) + rng.normal(size=tasks)
        found.append(_one(ids[:tasks], values, reference, seed=i, permutations=1999))
    for ps in ([f.p for f in found], [f.by_classes for f in found]):
        assert _false_rate(ps, 0.05) <= _at_most(0.05, number) + 0.01
        assert _false_rate(ps, 0.01) <= _at_most(0.01, number) + 0.004
        assert _false_rate(ps, 0.001) <= _at_most(0.001, number)


@pytest.mark.slow
@pytest.mark.simulation
def test_a_reversed_order_is_seldom_recognised() -> None:
    rng = np.random.default_rng(10)
    found = []
    for i in range(800):
        ids = _draw(rng, [400] * 10 + [100] * 20, 10)
        values = _hard_classes(rng, ids)
        found.append(_one(ids, values[::-1], seed=i, permutations=999).p)
    assert _false_rate(found, 0.05) <= _at_most(0.05, 800) + 0.01
    assert _false_rate(found, 0.001) <= _at_most(0.001, 800)
