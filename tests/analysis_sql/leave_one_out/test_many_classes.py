"""New images where a set has few tasks for its classes: their fit would take away the images."""

from typing import Any

import numpy as np
import pytest
from leave_one_out_tasks import uniform_tasks
from numpy.typing import NDArray

from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import FITTED, TaskDesign
from analysis_sql.leave_one_out.episodes import EpisodeDesign
from analysis_sql.leave_one_out.leave_one_out import Influences

CLASSES, SIZE, WAY, SHOTS, PER_CLASS, TASKS = 60, 8, 10, 1, 2, 100
RUNS = 60


def _effects(seed: int, groups_of: int = 1) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Effects of images as support and as query, and of classes."""
    rng = np.random.default_rng(seed)
    each = rng.normal(size=(2, CLASSES * SIZE // groups_of))
    support, query = np.repeat(each, groups_of, axis=1)
    return support, query, 0.3 * rng.normal(size=CLASSES)


def _estimates(seed: int, kind: str) -> tuple[float, float]:
    """V of one draw of tasks, and that of all tasks, where effects of images add up."""
    groups_of = 2 if kind == "groups" else 1
    support, query, of_class = _effects(seed, groups_of)
    ids, images, owner = uniform_tasks([SIZE] * CLASSES, TASKS, WAY, PER_CLASS, seed)
    asked = query[images[:, :, SHOTS:]] + of_class[ids][:, :, None]
    right = asked + support[images[:, :, :SHOTS]].mean(axis=2, keepdims=True)
    design: Any
    if kind == "episodes":
        design = EpisodeDesign.of(ids, images, owner, shots=np.full(ids.shape, SHOTS))
    else:
        groups = np.arange(owner.size) // groups_of if kind == "groups" else None
        design = TaskDesign.of(ids, images, owner, groups, shots=SHOTS)
    known = RightQueries(right.reshape(TASKS, -1), 1) if kind in ("queries", "episodes") else None
    influences = Influences(design, right.mean(axis=(1, 2))[None], [known])
    found = influences.own(0.95).images
    assert found is not None
    share, noise = found.monte_carlo_share[0, 0], np.var(right.mean(axis=(1, 2)), ddof=1) / TASKS
    units = (support + query).reshape(CLASSES, -1, groups_of)[:, :, 0]
    truth = units.var(axis=1, ddof=0).sum() / CLASSES**2 / (units.shape[1] - 1)
    shown = noise / share - noise  # V, where it is above 0
    whole = influences.variance("images")[0] if known is None else shown
    return float(whole), float(truth)


@pytest.mark.parametrize("kind", ["images", "groups", "queries", "episodes"])
def test_the_variance_of_images_is_not_fitted_away(kind: str) -> None:
    assert CLASSES > FITTED * TASKS
    found, truth = np.transpose([_estimates(seed, kind) for seed in range(RUNS)])
    error = found.std(ddof=1) / np.sqrt(RUNS)
    assert abs(found.mean() - truth.mean()) < 3.5 * error
    assert found.mean() > 0.75 * truth.mean()


def test_with_many_tasks_classes_are_fitted() -> None:
    ids, images, owner = uniform_tasks([SIZE] * 8, 200, 4, PER_CLASS, 1)
    design = TaskDesign.of(ids, images, owner)
    of_class = np.arange(8.0)
    assert np.abs(design.residuals(of_class[ids].mean(axis=1)[None])).max() < 1e-9
    first = design.prefix(70)
    y = of_class[ids[:70]].mean(axis=1)
    assert first.residuals(y[None])[0] == pytest.approx(y - y.mean())
