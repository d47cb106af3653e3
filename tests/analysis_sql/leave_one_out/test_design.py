"""What tasks must be, and for which nothing can be said."""

import numpy as np
import pytest
from leave_one_out_tasks import uniform_tasks

from analysis_sql.leave_one_out.design import TaskDesign
from benchmark_spec.errors import SpecError


def design(sizes: list[int], tasks: int, way: int, per_class: int, **more) -> TaskDesign:
    return TaskDesign.of(*uniform_tasks(sizes, tasks, way, per_class, 0), **more)


@pytest.mark.parametrize(
    ("made", "kinds", "reason"),
    [
        (((6,) * 8, 300, 4, 6), "images", "class 0 has 6 images, of which"),
        (((600,) * 8, 90, 4, 2), "images", "images are in 0.15 tasks on"),
        (((40,) * 40, 8, 4, 2), "images classes", "is in 0 tasks, fewer than 3"),
        (((20,) * 5, 100, 4, 4), "classes", "tasks are without class"),
        (((20,) * 9, 300, 4, 4), "", ""),
    ],
)
def test_reasons_why_there_is_a_bound_alone(made, kinds: str, reason: str) -> None:
    found = design(list(made[0]), *made[1:])
    assert " ".join(found.bounded) == kinds
    assert all(reason in text for text in found.bounded.values())
    assert dict(found.why) == {"superclasses": "classes have no superclasses"}
    assert not {*found.bounded} & {*found.jackknives}


def test_reasons_why_there_is_no_interval() -> None:
    why = design([20] * 4, 300, 4, 4).why
    assert dict(why) == dict.fromkeys(("classes", "superclasses"), "every task has all 4 classes")
    whole = design([4] * 4, 300, 4, 4)  # every task has all images, too
    assert {*whole.why} == {"images", "classes", "superclasses"}
    assert not whole.bounded


def test_bounds_by_hand() -> None:
    # 600 tasks of 4 of 8 classes with 2 of 20 images each: rho = 4·2/(8·20) and 4/8
    made = design([20] * 8, 600, 4, 2)
    assert made.bound("images") == pytest.approx(1 + 600 / 19)
    assert made.bound("classes") == pytest.approx(1 + 600)
    assert (made.bound_freedom("images"), made.bound_freedom("classes")) == (599.0, 7.0)
    # of the class with the fewest; bursts of s count as (Σs)²/Σs²
    assert design([20] * 7 + [10], 600, 4, 2).bound("images") == pytest.approx(1 + 600 / 9)
    ids, images, owner = uniform_tasks([20] * 8, 600, 4, 2, 0)
    groups = np.where(np.arange(owner.size) % 20 < 10, 100 * owner, 100 * owner + 1)
    grouped = TaskDesign.of(ids, images, owner, groups)  # two bursts of ten
    assert grouped.bound("images") == pytest.approx(1 + 600 * 0.5 / 0.5)


def test_groups_must_lie_within_classes() -> None:
    """Leaving out a part of a group at a time would take its parts as independent."""
    ids, images, owner = uniform_tasks([20] * 9, 300, 4, 6, 0)
    groups = np.arange(owner.size) // 4
    assert "images" not in TaskDesign.of(ids, images, owner, groups).why
    groups[owner == 8] = groups[owner == 7]
    why = TaskDesign.of(ids, images, owner, groups).why
    assert set(why) == {"images", "classes", "superclasses"}
    assert all(text.startswith("groups have images of several classes") for text in why.values())
    alone = np.where(owner >= 7, -1, groups)
    assert "images" not in TaskDesign.of(ids, images, owner, alone).why


@pytest.mark.parametrize(
    ("superclasses", "reason"),
    [
        ([0, 0, 1, 1, 2, 2, 3, 3, 4], "5 superclasses: 6 are needed"),
        ([0, 0, 1, 1, 2, 2, 3, 4, -1], "classes have no superclasses"),
        ([0, 1, 2, 3, 4, 5, 5, 1, 0], ""),
    ],
)
def test_superclasses_must_be_six_and_of_every_class(superclasses: list[int], reason: str) -> None:
    made = design([20] * 9, 600, 4, 4, superclass_of_class=np.array(superclasses))
    assert made.why.get("superclasses", "") == reason
    assert ("superclasses" in made.jackknives) == (not reason)


def test_classes_that_cannot_be_drawn_do_not_count() -> None:
    ids, images, owner = uniform_tasks([20] * 9, 300, 4, 6, 0)
    more = np.concatenate([owner, np.repeat([9, 10], [5, 3])])  # fewer than 6 images
    assert TaskDesign.of(ids, images, more).membership.class_names.size == 9


def test_a_task_that_uses_nearly_all_of_a_class_is_warned_of() -> None:
    assert not design([40] * 9, 300, 4, 6).warnings
    (text,) = design([8] * 9, 300, 4, 6).warnings
    assert text.startswith("a task uses 6 of the 8 images of class 0, nearly as much of 8 others")


@pytest.mark.parametrize(
    ("place", "other", "text"),
    [
        ((3, 1, 2), (3, 0, 0), "task 3 uses image"),
        ((4, 0, 1), (4, 0, 0), "task 4 has an image twice"),
        ((5, 1), (5, 0), "task 5 has a class twice"),
    ],
)
def test_tasks_that_cannot_be_are_refused(place, other, text: str) -> None:
    ids, images, owner = uniform_tasks([20] * 9, 50, 4, 6, 0)
    images[place] = images[other]
    if len(place) == 2:
        ids[place] = ids[other]
    with pytest.raises(SpecError, match=text):
        TaskDesign.of(ids, images, owner)
