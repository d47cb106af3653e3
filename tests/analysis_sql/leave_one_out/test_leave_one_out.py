"""All pairs against one by one, against plain loops over the formulas, and what cannot be told."""

import numpy as np
import pytest
from leave_one_out_tasks import uniform_tasks, values_on
from scipy.stats import norm, t

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences, leave_one_out

KINDS = ("images", "classes", "superclasses")
SUPERCLASSES = np.repeat(np.arange(6), 2)


@pytest.fixture(scope="module")
def drawn():
    return uniform_tasks([20, 30] * 6, 300, 4, 6, 0)


@pytest.fixture(scope="module")
def design(drawn) -> TaskDesign:
    return TaskDesign.of(*drawn, superclass_of_class=SUPERCLASSES)


@pytest.fixture(scope="module")
def y(drawn) -> np.ndarray:
    ids, images, _ = drawn
    y = values_on(ids, images, 8, 1)
    y[1] = y[0] + 1e-5 * (y[2] - 0.7)  # hardly differs
    y[5], y[6], y[7] = y[0], y[0] + 0.1, 0.5
    return y


def test_all_pairs_are_pairs_one_by_one(design: TaskDesign, y: np.ndarray) -> None:
    whole = leave_one_out(design, y, 0.95)
    for i in range(len(y)):
        for j in range(len(y)):
            one = leave_one_out(design, (y[i] if i == j else y[i] - y[j])[None], 0.95)
            assert whole.mean[i, j] == pytest.approx(one.mean[0, 0], abs=1e-14)
            for kind in KINDS:
                pair, alone = getattr(whole, kind), getattr(one, kind)
                if (i, j) not in ((0, 5), (5, 0)):  # identical only as a pair
                    width = alone.halfwidth[0, 0]
                    assert pair.halfwidth[i, j] == pytest.approx(width, rel=1e-8, abs=1e-12)
                    assert pair.p[i, j] == pytest.approx(alone.p[0, 0], abs=1e-8)
                    assert pair.df[i, j] == pytest.approx(alone.df[0, 0], rel=1e-6)


def test_pairs_that_hardly_differ_by_class_keep_their_digits() -> None:
    """Sums of fourth powers of what classes add to them are a millionth of a method's own."""
    ids, images, owner = uniform_tasks([40] * 15, 300, 5, 10, 0)
    y = values_on(ids, images, 1, 0)
    y = np.concatenate([y, y + 5e-4 * np.random.default_rng(1).normal(size=y.shape)])
    design = TaskDesign.of(ids, images, owner)
    pair = leave_one_out(design, y, 0.95).classes
    one = leave_one_out(design, y[:1] - y[1:], 0.95).classes
    assert pair.df[0, 1] == pytest.approx(one.df[0, 0], rel=1e-9)
    assert pair.halfwidth[0, 1] == pytest.approx(one.halfwidth[0, 0], rel=1e-9)


def test_a_block_is_a_part_of_the_whole(design: TaskDesign, y: np.ndarray) -> None:
    rows, columns = np.array([1, 4]), np.array([0, 1, 3])
    whole, block = leave_one_out(design, y, 0.9), Influences(design, y).block(rows, columns, 0.9)
    at = np.ix_(rows, columns)
    np.testing.assert_allclose(block.mean, whole.mean[at], atol=1e-15)
    for kind in KINDS:
        part, all_of_it = getattr(block, kind), getattr(whole, kind)
        np.testing.assert_allclose(part.halfwidth, all_of_it.halfwidth[at], rtol=1e-10)
        np.testing.assert_allclose(part.p, all_of_it.p[at], atol=1e-12)


def test_what_cannot_be_estimated_is_never_nan(design: TaskDesign, y: np.ndarray) -> None:
    result = leave_one_out(design, y, 0.95)
    for kind in KINDS:
        spread = getattr(result, kind)
        for array in (spread.halfwidth, spread.p, spread.df, spread.monte_carlo_share):
            assert not np.isnan(array).any()
        assert spread.halfwidth[0, 5] == 0
        assert spread.p[0, 5] == 1
        assert np.isinf(spread.halfwidth[0, 6])
        assert spread.p[0, 6] == 1
        assert np.isinf(spread.halfwidth[7, 7])
        assert spread.p[7, 7] == 1
        assert 0 < spread.halfwidth[0, 1] < 1e-4
    assert result.mean[0, 5] == 0
    assert result.mean[6, 0] == pytest.approx(0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_p_is_where_the_interval_just_touches_zero(design, y: np.ndarray, kind: str) -> None:
    p = getattr(leave_one_out(design, y, 0.95), kind).p
    for i, j in ((2, 3), (3, 4), (0, 4)):
        if not 1e-5 < p[i, j] < 0.98:
            continue
        at = leave_one_out(design, y, 1 - p[i, j])
        assert abs(at.mean[i, j]) == pytest.approx(getattr(at, kind).halfwidth[i, j], rel=1e-8)


def _plain(drawn, x: np.ndarray, level: float) -> dict[str, float]:
    """The formulas one sum at a time, for one row of values."""
    ids, images, owner = drawn
    tasks, way = ids.shape
    m, classes = images.shape[2], int(owner.max()) + 1
    z = norm.ppf((1 + level) / 2)
    noise = ((x - x.mean()) ** 2).sum() / (tasks * (tasks - 1))
    member = np.zeros((tasks, classes))
    np.put_along_axis(member, ids, 1.0, axis=1)
    u = x - member @ np.linalg.lstsq(member, x, rcond=None)[0]
    v = tot = s1 = s2 = 0.0
    for c in range(classes):
        own = np.flatnonzero(owner == c)
        f = (way / classes) ** 2 * m**2 * (own.size - 1) / (own.size - m) ** 2
        of_class = u[member[:, c] == 1]
        p_c = (of_class.sum() ** 2 - (of_class**2).sum()) / (of_class.size * (of_class.size - 1))
        terms, totals = [], []
        for i in own.tolist():
            inside = u[(images == i).any((1, 2))]
            n = inside.size
            if n >= 2:
                terms.append((inside.sum() ** 2 - (inside**2).sum()) / (n * (n - 1)) - p_c)
                totals.append((inside.sum() / n) ** 2)
                s1, s2 = s1 + f / (own.size * n), s2 + (f / (own.size * n)) ** 2
        v, tot = v + f * np.mean(terms), tot + f * np.mean(totals)
    tau = tot * np.sqrt(2 / (s1**2 / s2 * (1 - classes / owner.size)))
    whole = max(v, 0) + noise
    widths = {"images": z * np.sqrt(whole + (z * z + 1) / 4 * tau**2 / (whole + 2 * tau))}
    for kind, labels in (("classes", np.arange(classes)), ("superclasses", SUPERCLASSES)):
        units = labels.max() + 1
        inside = np.stack([(labels[ids] == g).any(1) for g in range(units)], axis=1)
        share = ~inside / (~inside).sum(0)
        without = share.T @ x
        tot = (units - 1) / units * ((without - without.mean()) ** 2).sum()
        chance = (share - share.mean(1, keepdims=True)) ** 2
        v = tot - (units - 1) / units * (((x - x.mean()) ** 2) @ chance.sum(1))
        tau, whole = (tot - v) * np.sqrt(2 / (units - 1)), max(v, 0) + noise
        d = without - without.mean()
        g2 = (d**4).mean() / (d**2).mean() ** 2 - 3
        k = (units - 1) / ((units - 2) * (units - 3)) * ((units + 1) * g2 + 6)
        df = 1 / (1 / (units - 1) + (max(k, 0) + 2) / (2 * units))
        q = t.ppf((1 + level) / 2, units - 1 if kind == "superclasses" else df)
        h = q * np.sqrt(whole + (z * z + 1) / 4 * tau**2 / (whole + 2 * tau))
        widths[kind] = max(h, *widths.values())
    return widths


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_the_formulas_one_sum_at_a_time(drawn, design, y: np.ndarray, level: float) -> None:
    result = leave_one_out(design, y, level)
    for i, j in ((2, 2), (3, 3), (2, 3), (4, 0)):
        for kind, width in _plain(drawn, y[i] if i == j else y[i] - y[j], level).items():
            assert getattr(result, kind).halfwidth[i, j] == pytest.approx(width, rel=1e-9)
