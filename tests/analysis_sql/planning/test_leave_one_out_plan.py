"""Plans of sets that reuse images: by hand, against tasks drawn at the planned B, and in order."""

from math import comb, log, sqrt
from typing import Any

import numpy as np
import pytest
from leave_one_out_tasks import uniform_tasks, values_on
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from analysis_sql.leave_one_out.design import LEFT_OUT, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences
from analysis_sql.planning.leave_one_out_plan import (
    LeftOutPilot,
    LeftOutPlan,
    Part,
    PlannedWidth,
    plan_left_out,
)
from benchmark_spec.errors import SpecError

CLASSES, SIZE, WAY, PER_CLASS = 24, 50, 5, 10
SUPERCLASS = np.arange(CLASSES) // 3
Z = -float(ndtri(0.025))


def by_hand(**parts: Part) -> LeftOutPilot:
    sizes = np.full(CLASSES, SIZE)
    used = 600 * WAY * PER_CLASS / (CLASSES * SIZE)
    return LeftOutPilot(600, 0.006, sizes, WAY, PER_CLASS, True, used, parts, {})


IMAGES = Part(2e-5, 3e-5, 0.05, CLASSES * SIZE)
OF_CLASSES = Part(9e-5, 8e-6, sqrt(2 / (CLASSES - 1)), CLASSES, 0.5, 1 - WAY / CLASSES)
OF_SUPERCLASSES = Part(1.5e-4, 1e-5, sqrt(2 / 7), 8, None, 0.4)
ALL = {"images": IMAGES, "classes": OF_CLASSES, "superclasses": OF_SUPERCLASSES}


def row_of(plan: LeftOutPlan, kind: str, tasks: int | None) -> PlannedWidth:
    (row,) = (row for row in plan.rows if row.kind == kind and row.tasks == tasks)
    return row


def test_a_class_width_by_hand() -> None:
    row = row_of(plan_left_out(by_hand(**ALL), [2400]), "classes", 2400)
    whole = 9e-5 + 0.006 / 2400
    tau = sqrt(2 / 23) * 8e-6 / 4
    t = -float(stdtrit(1 / (1 / 23 + 2.5 / 48), 0.025))
    expected = t * sqrt(whole + (Z**2 + 1) / 4 * tau**2 / (whole + 2 * tau))
    assert row.halfwidth == pytest.approx(100 * expected, rel=1e-12)
    assert row.monte_carlo_share == pytest.approx(0.006 / 2400 / whole, rel=1e-12)
    d, h, sd = row.detectable / 100, row.halfwidth / 100, sqrt(whole)
    assert ndtr((d - h) / sd) + ndtr((-d - h) / sd) == pytest.approx(0.8, abs=1e-9)


def test_a_superclass_width_by_hand() -> None:
    plan = plan_left_out(by_hand(**ALL), [1200, 300], level=0.99)
    assert [row.tasks for row in plan.rows[::3]] == [300, 1200, None]
    whole, tau, z = 1.5e-4 + 0.006 / 1200, sqrt(2 / 7) * 1e-5 / 2, float(ndtri(0.995))
    expected = sqrt(whole + (z**2 + 1) / 4 * tau**2 / (whole + 2 * tau))
    row = row_of(plan, "superclasses", 1200)
    assert row.halfwidth == pytest.approx(-100 * float(stdtrit(7, 0.005)) * expected, rel=1e-12)


def test_an_image_width_by_hand() -> None:
    chance = WAY * PER_CLASS / (CLASSES * SIZE)

    def chances(tasks: int) -> NDArray[Any]:
        ways = [log(comb(tasks, k)) for k in range(2, 300)]
        n = np.arange(2, 300)
        return np.exp(ways + n * log(chance) + (tasks - n) * log(1 - chance))

    def noise(tasks: int) -> float:
        p, n = chances(tasks), np.arange(2, 300)
        left = (p / n).sum() / p.sum() - CLASSES / (tasks * WAY)
        return float((1 - CLASSES / tasks) * left)

    p, n = chances(2400), np.arange(2, 300)
    effective = CLASSES * SIZE * (p / n).sum() ** 2 / (p / n**2).sum() * (1 - 1 / SIZE)
    whole = 2e-5 + 0.006 / 2400
    tau = sqrt(2 / effective) * (2e-5 + 3e-5 * noise(2400) / noise(600))
    expected = Z * sqrt(whole + (Z**2 + 1) / 4 * tau**2 / (whole + 2 * tau))
    row = row_of(plan_left_out(by_hand(**ALL), [2400]), "images", 2400)
    assert row.halfwidth == pytest.approx(100 * expected, rel=1e-9)
    # where images are in many tasks, chance leaves a share that falls as 1/B, but for C/B of it
    assert noise(4800) / noise(2400) == pytest.approx(0.5, rel=0.03)


def test_a_class_width_is_at_least_that_of_images() -> None:
    small = Part(0.0, 8e-6, sqrt(2 / 23), CLASSES, 0.0, 0.8)
    plan = plan_left_out(by_hand(images=IMAGES, classes=small), [4000])
    assert row_of(plan, "classes", None).halfwidth == row_of(plan, "images", None).halfwidth


def test_half_the_width_takes_about_four_times_the_units() -> None:
    pilot = by_hand(**ALL)
    half = {one.kind: one for one in plan_left_out(pilot, [600]).half}
    assert half["images"].units == CLASSES * SIZE
    assert half["images"].needed == pytest.approx((4 * (SIZE - 1) + 1) * CLASSES, rel=0.01)
    # more classes bring more degrees of freedom, too
    assert 3 < half["classes"].needed / CLASSES < 4
    assert 2 < half["superclasses"].needed / 8 < 4
    larger = by_hand(images=Part(5e-6, 3e-5, 0.05, CLASSES * SIZE))
    assert row_of(plan_left_out(larger, [600]), "images", None).halfwidth == pytest.approx(
        row_of(plan_left_out(pilot, [600]), "images", None).halfwidth / 2, rel=1e-2
    )


def test_twice_the_images_halve_the_variance() -> None:
    """Of means over a class's images, also where a task has half of them."""
    rng, variance = np.random.default_rng(0), {20: 0.0, 40: 0.0}
    for images in 16 * [*variance]:
        ids = np.argsort(rng.random((1500, 10)), axis=1)[:, :5]
        own = np.argpartition(rng.random((1500, 5, images)), 10, axis=2)[..., :10]
        tasks = TaskDesign.of(ids, ids[..., None] * images + own, np.repeat(np.arange(10), images))
        value = rng.normal(size=10 * images)[ids[..., None] * images + own].mean(axis=(1, 2))
        pilot = LeftOutPilot.of(tasks, value)
        variance[images] += pilot.parts["images"].variance
        factor = pilot.less(40 / images)
        assert factor == pytest.approx(1 if images == 40 else 19 / 39)
    assert variance[40] / variance[20] == pytest.approx(19 / 39, rel=0.1)


def test_what_cannot_be_planned_says_why() -> None:
    plan = plan_left_out(by_hand(**ALL), [4, 60], power=None)
    assert row_of(plan, "images", 4).why.startswith("images are in 0.17 of 4 tasks")
    grouped = plan_left_out(replace(by_hand(**ALL), unit="groups"), [4])
    assert row_of(grouped, "classes", 4).why.startswith("groups are in 0.17 of 4 tasks")
    assert row_of(plan, "classes", 4).halfwidth is None
    assert row_of(plan, "images", 60).halfwidth
    assert not row_of(plan, "images", 60).why
    assert row_of(plan, "images", 60).detectable is None
    assert "24 of 60 tasks are without" in row_of(plan, "superclasses", 60).why
    lost = plan_left_out(by_hand(images=Part(0.0, 3e-5, 0.05, 1200)), [600])
    assert row_of(lost, "images", 600).halfwidth
    assert (row_of(lost, "images", None).halfwidth, lost.half[0].needed) == (None, None)


def test_a_variance_within_two_standard_errors_is_uncertain_in_more_tasks() -> None:
    """By hand: of 1,200 images V = 4e-5, and τ = .25 (V + 4e-5) = 2e-5 in the pilot's tasks."""
    for variance, uncertain in ((3.9e-5, True), (4.1e-5, False)):
        pilot = replace(by_hand(images=Part(variance, 4e-5, 0.25, 1200)), one_each=False)
        plan = plan_left_out(pilot, [pilot.tasks, pilot.tasks + 1, 4 * pilot.tasks])
        found = [row_of(plan, "images", own.tasks).uncertain for own in plan.rows]
        assert found == [False, uncertain, uncertain, uncertain]


def test_what_has_no_variance_cannot_be_planned() -> None:
    ids, images, owner = uniform_tasks([SIZE] * CLASSES, 300, WAY, PER_CLASS, 0)
    with pytest.raises(SpecError, match="nothing varies"):
        LeftOutPilot.of(TaskDesign.of(ids, images, owner), np.full(300, 0.5))
    some = TaskDesign.of(ids, images, owner).prefix(20)
    with pytest.raises(SpecError, match=r"0\.83 tasks on average|in . tasks, fewer than 3"):
        LeftOutPilot.of(some, np.arange(20) / 20)


def test_the_pilots_own_number_of_tasks_is_its_own_width() -> None:
    ids, images, owner = uniform_tasks([SIZE] * CLASSES, 900, WAY, PER_CLASS, 3)
    design = TaskDesign.of(ids, images, owner, None, SUPERCLASS)
    y = values_on(ids, images, 1, 3)
    own = Influences(design, y).own(0.95)
    plan = plan_left_out(LeftOutPilot.of(design, y[0]), [900])
    for kind in LEFT_OUT:
        width = 100 * getattr(own, kind).halfwidth[0, 0]
        # that of images by the expected number of an image's tasks, not by what it was
        assert row_of(plan, kind, 900).halfwidth == pytest.approx(width, rel=2e-3)


def drawn(seed: int, tasks: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Classes, images and the class of each image, and two methods' values with effects of all."""
    rng = np.random.default_rng(seed)
    ids = np.argsort(rng.random((tasks, CLASSES)), axis=1)[:, :WAY]
    images = np.argsort(rng.random((tasks, WAY, SIZE)), axis=2)[:, :, :PER_CLASS]
    images = images + SIZE * ids[..., None]
    of_class = rng.normal(size=(2, CLASSES)) + rng.normal(size=(2, 8))[:, SUPERCLASS]
    of_image = 3.0 * rng.normal(size=(2, CLASSES * SIZE))
    of_image[1] = 0.7 * of_image[0] + 0.7 * of_image[1]
    y = of_class[:, ids].mean(2) + of_image[:, images].mean((2, 3))
    y = y + 0.3 * rng.normal(size=y.shape)
    return ids, images, np.repeat(np.arange(CLASSES), SIZE), 0.7 + 0.05 * y


@pytest.mark.parametrize("paired", [False, True])
def test_planned_widths_are_those_of_tasks_drawn_then(paired: bool) -> None:
    planned, realised = [], []
    for seed in range(10):
        ids, images, owner, y = drawn(seed, 3000)
        values = y[0] - y[1] if paired else y[0]
        first, then = (
            TaskDesign.of(ids[part], images[part], owner, None, SUPERCLASS)
            for part in (slice(600), slice(600, None))
        )
        plan = plan_left_out(LeftOutPilot.of(first, values[:600]), [2400])
        planned.append([row_of(plan, kind, 2400).halfwidth for kind in LEFT_OUT])
        own = Influences(then, values[None, 600:]).own(0.95)
        realised.append([100 * getattr(own, kind).halfwidth[0, 0] for kind in LEFT_OUT])
    ratio = np.mean(planned, axis=0) / np.mean(realised, axis=0)
    assert np.abs(ratio - 1).max() < 0.1, ratio


def test_groups_are_planned_as_more_of_the_pilots_tasks() -> None:
    planned, realised = [], []
    bursts = np.arange(CLASSES * SIZE) // 2
    for seed in range(5):
        ids, images, owner, y = drawn(seed, 3000)
        first, then = (
            TaskDesign.of(ids[part], images[part], owner, bursts)
            for part in (slice(1000), slice(1000, None))
        )
        pilot = LeftOutPilot.of(first, y[0, :1000])
        assert not pilot.one_each
        plan = plan_left_out(pilot, [2000])
        planned.append(row_of(plan, "images", 2000).halfwidth)
        own = Influences(then, y[:1, 1000:]).own(0.95)
        realised.append(100 * own.images.halfwidth[0, 0])
        assert 3.5 < plan.half[0].needed / plan.half[0].units < 4.1
    assert np.mean(planned) == pytest.approx(np.mean(realised), rel=0.1)
