"""Which superclasses tasks have: counted by hand, and what cannot be said."""

import numpy as np
import pytest

from analysis_sql.class_aware.superclasses import SuperclassDesign

SIX = np.repeat(np.arange(6), 2)


def test_uses_are_counted() -> None:
    ids = np.array([[0, 1, 4], [2, 8, 0], [5, 4, 10], [6, 3, 1]])
    design = SuperclassDesign.of(ids, SIX)
    assert (design.tasks, design.superclasses) == (4, 6)
    assert design.uses.tolist() == [4, 2, 3, 1, 1, 1]
    assert design.members.tolist() == [
        [2, 0, 1, 0, 0, 0],
        [1, 1, 0, 0, 1, 0],
        [0, 0, 2, 0, 0, 1],
        [1, 1, 0, 1, 0, 0],
    ]
    assert design.concentration == (16 + 4 + 9 + 3) / 16
    assert design.disjoint_tasks == 2
    assert not design.disjoint
    assert design.obstacle is None
    named = SuperclassDesign.of(ids, [f"superclass {s}" for s in SIX])
    assert named.members.tolist() == design.members.tolist()


@pytest.mark.parametrize(
    ("ids", "superclasses", "obstacle"),
    [
        (np.arange(12).reshape(1, 12), SIX, "fewer than 2 tasks"),
        (np.arange(10).reshape(2, 5), SIX, "superclasses: 6 are needed"),
        (np.array([[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]]), SIX, "the same superclasses"),
        (np.array([[0, 2, 4, 6, 8, 10], [1, 0, 5, 7, 9, 11]]), SIX, None),
    ],
)
def test_what_stands_in_the_way(ids: np.ndarray, superclasses: object, obstacle: str) -> None:
    found = SuperclassDesign.of(ids, superclasses).obstacle
    assert found is None if obstacle is None else found is not None and obstacle in found


def test_a_prefix_is_the_design_of_its_tasks() -> None:
    ids = np.array([np.random.default_rng(task).permutation(12)[:3] for task in range(15)])
    part, alone = SuperclassDesign.of(ids, SIX).prefix(7), SuperclassDesign.of(ids[:7], SIX)
    assert part.members.tolist() == alone.members.tolist()
    assert part.classes.members.tolist() == alone.classes.members.tolist()


def test_tasks_that_share_nothing_are_disjoint() -> None:
    ids = np.arange(12).reshape(3, 4)
    apart = SuperclassDesign.of(ids, np.array([0, 0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 7]))
    assert apart.disjoint
    assert apart.disjoint_tasks == 3
    shared = SuperclassDesign.of(ids, np.array([0, 0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 0]))
    assert not shared.disjoint
    assert shared.disjoint_tasks == 2
    assert shared.classes.disjoint
