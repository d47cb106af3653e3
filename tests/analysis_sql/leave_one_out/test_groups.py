"""Where the unit is a group of images."""

import numpy as np
import pytest
from leave_one_out_tasks import uniform_tasks, values_on

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences, leave_one_out

SIZES = [30, 24, 36, 30, 27, 33]


def _groups(owner: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(5)
    starts = rng.random(owner.size) < 0.5
    starts[np.flatnonzero(np.diff(owner, prepend=-1))] = True
    return np.cumsum(starts) - 1


@pytest.fixture(scope="module")
def drawn():
    return uniform_tasks(SIZES, 400, 3, 5, 3)


def test_groups_of_one_are_images(drawn) -> None:
    """By the one-each formulas exactly; a group for itself may be said with -1."""
    ids, images, owner = drawn
    y = values_on(ids, images, 3, 4)
    plain = leave_one_out(TaskDesign.of(ids, images, owner), y, 0.95)
    for groups in (np.arange(owner.size), np.full(owner.size, -1)):
        same = leave_one_out(TaskDesign.of(ids, images, owner, groups), y, 0.95)
        np.testing.assert_allclose(same.images.halfwidth, plain.images.halfwidth, rtol=1e-12)


def test_groups_by_the_formulas_one_sum_at_a_time(drawn) -> None:
    ids, images, owner = drawn
    groups = _groups(owner)
    x = values_on(ids, images, 1, 4)[0]
    design = TaskDesign.of(ids, images, owner, groups)
    assert design.unit == "groups"
    assert not design.membership.one_each
    tasks, way, m, classes = *images.shape, len(SIZES)
    member = np.zeros((tasks, classes))
    np.put_along_axis(member, ids, 1.0, axis=1)
    u = x - member @ np.linalg.lstsq(member, x, rcond=None)[0]
    v = tot = 0.0
    for c in range(classes):
        inside = np.flatnonzero(member[:, c])
        own = np.unique(groups[owner == c])
        k = np.stack([(groups[images[inside]] == g).sum((1, 2)) for g in own])
        mu = m * np.array([(groups == g).sum() for g in own]) / SIZES[c]
        e = k - k.mean(1, keepdims=True)
        used = (k > 0).sum(1) >= 2
        s2, s4 = (e**2).sum(1), (e**4).sum(1)
        factor = (way / classes) ** 2 * (own.size - 1) / own.size
        w = factor * mu**2 * (mu**2).sum() / (mu[used] ** 2).sum()
        slope = e @ u[inside]
        p = (slope**2 - (e**2) @ u[inside] ** 2) / (s2**2 - s4)
        chi = ((mu / s2)[:, None] * e)[used].sum(0)
        rest = (chi @ u[inside]) ** 2 - (chi**2) @ u[inside] ** 2
        v += (w * p)[used].sum() - factor / own.size * rest
        tot += (w * slope**2 / s2**2)[used].sum()
    influences = Influences(design, x[None])
    assert influences.variance("images")[0] == pytest.approx(v, rel=1e-9)
    assert influences.total("images")[0] == pytest.approx(tot, rel=1e-9)
