"""Against the jackknife by literal deletion, on a pool whose tasks are all listed."""

from itertools import combinations, product

import numpy as np
import pytest

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences

CLASSES, IMAGES, WAY, PER_CLASS = 5, 5, 2, 2
OWNER = np.repeat(np.arange(CLASSES), IMAGES)


@pytest.fixture(scope="module")
def pool() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All tasks of the pool, and values with effects of classes, of images and of their pairs."""
    rows = [
        (chosen, images)
        for chosen in combinations(range(CLASSES), WAY)
        for images in product(
            *(combinations(range(c * IMAGES, (c + 1) * IMAGES), PER_CLASS) for c in chosen)
        )
    ]
    ids, images = (np.array(part) for part in zip(*rows, strict=True))
    rng = np.random.default_rng(0)
    of_image, of_class = rng.normal(size=OWNER.size), rng.normal(size=CLASSES)
    of_pair = rng.normal(size=(OWNER.size, OWNER.size))
    y = of_image[images].sum((1, 2)) + 2 * of_class[ids].sum(1) + 0.2 * rng.normal(size=len(ids))
    y += 0.3 * (
        of_pair[images[:, 0, 0], images[:, 1, 1]] + of_pair[images[:, 0, 1], images[:, 1, 0]]
    )
    return ids, images, 0.5 + 0.03 * y


def _without_image(pool, image: int) -> float:
    """The mean without an image, every set of classes counted equally often."""
    ids, images, y = pool
    kept = ~(images == image).any((1, 2))
    sets = ids[:, 0] * CLASSES + ids[:, 1]
    return float(np.mean([y[kept & (sets == one)].mean() for one in np.unique(sets)]))


def literal(pool, kind: str) -> float:
    """Leave out one image or class after another."""
    ids, _, y = pool
    if kind == "images":
        means = np.array([_without_image(pool, i) for i in range(OWNER.size)])
        by_class = means.reshape(CLASSES, IMAGES)
        squares = (by_class - by_class.mean(1, keepdims=True)) ** 2
        return float((IMAGES - 1) / IMAGES * squares.sum())
    means = np.array([y[~(ids == c).any(1)].mean() for c in range(CLASSES)])
    return float((CLASSES - 1) / CLASSES * ((means - means.mean()) ** 2).sum())


def variance(pool, kind: str, tasks: np.ndarray) -> float:
    """V of some tasks of the pool, by the package."""
    ids, images, y = pool
    design = TaskDesign.of(ids[tasks], images[tasks], OWNER)
    return float(Influences(design, y[tasks][None]).variance(kind)[0])


@pytest.mark.parametrize("kind", ["images", "classes"])
def test_all_tasks_fifty_times_give_the_literal_jackknife(pool, kind: str) -> None:
    everything = np.tile(np.arange(len(pool[0])), 50)
    assert variance(pool, kind, everything) == pytest.approx(literal(pool, kind), rel=2e-3)


@pytest.mark.parametrize("kind", ["images", "classes"])
def test_few_tasks_are_unbiased(pool, kind: str) -> None:
    rng = np.random.default_rng(1)
    draws = [variance(pool, kind, rng.integers(len(pool[0]), size=400)) for _ in range(200)]
    error = np.std(draws, ddof=1) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - literal(pool, kind)) < 3 * error
    assert error < 0.1 * literal(pool, kind)  # so that this could fail
