"""New images by few tasks, and methods each of which is as often right in every task."""

import numpy as np
import pytest
from leave_one_out_tasks import uniform_tasks
from scipy import stats

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out


def _design(tasks: int, seed: int = 0, size: int = 60) -> TaskDesign:
    return TaskDesign.of(*uniform_tasks([size] * 5, tasks, 5, 4, seed))


def test_few_tasks_do_not_tell_equal_methods_apart() -> None:
    rng = np.random.default_rng(5)
    p = []
    for seed in range(400):
        design = _design(5, seed)
        if "images" in design.bounded:
            continue
        images = leave_one_out(design, rng.normal(size=(1, 5)) * 0.1, 0.95).images
        assert images is not None
        p.append(float(images.p[0, 0]))
    assert len(p) > 200
    assert np.mean(np.array(p) < 0.05) < 0.06
    assert np.mean(np.array(p) < 0.01) < 0.02


@pytest.mark.parametrize(("two_valued", "most"), [(False, 0.07), (True, 0.1)])
def test_few_classes_do_not_tell_equal_methods_apart(two_valued: bool, most: float) -> None:
    """By the bound for new classes, where they are all that tasks differ by; with B - 1 .14."""
    rng, false = np.random.default_rng(0), []
    for seed in range(300):
        ids, images, owner = uniform_tasks([60] * 7, 100, 5, 4, seed)
        design = TaskDesign.of(ids, images, owner)
        assert "classes" in design.bounded
        effects = rng.choice([-1.0, 1.0], 7) if two_valued else rng.normal(size=7)
        found = leave_one_out(design, effects[ids].mean(axis=1)[None], 0.95).classes
        assert found is not None
        false.append(found.p[0, 0] < 0.05)
    assert np.mean(false) < most


@pytest.mark.parametrize(("tasks", "law"), [(29, stats.t(28)), (30, stats.norm)])
def test_the_quantile_is_students_below_thirty_tasks(tasks: int, law: stats.rv_continuous) -> None:
    design, y = _design(tasks), np.random.default_rng(1).normal(size=(1, tasks))
    wide, narrow = (leave_one_out(design, y, level).images for level in (0.99, 0.9))
    assert wide is not None
    assert narrow is not None
    assert wide.df[0, 0] == (28 if tasks < 30 else np.inf)
    at_p = leave_one_out(design, y, 1.0 - float(wide.p[0, 0])).images
    assert at_p is not None
    assert at_p.halfwidth[0, 0] == pytest.approx(abs(y.mean()), rel=1e-6)
    z = stats.norm.ppf([0.995, 0.95])
    least = law.ppf([0.995, 0.95]) / z  # beside what τ widens by
    assert wide.halfwidth[0, 0] / narrow.halfwidth[0, 0] > (least * z)[0] / (least * z)[1]


def test_constants_that_rounding_tells_apart_have_no_width() -> None:
    design = _design(120)
    values = np.repeat(np.arange(10.0)[:, None] / 9.0, 120, axis=1)  # most are not their means
    found = leave_one_out(design, values, 0.95).images
    assert found is not None
    assert np.isinf(found.halfwidth).all()
    assert (found.p == 1.0).all()  # the sign test of disjoint tasks is what decides
