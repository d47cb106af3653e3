"""Superclasses: counted and weighed by hand, from dense matrices, and by simulation."""

import numpy as np
import pytest
from scipy import linalg, optimize, stats

from analysis_sql.class_aware.intervals import mixtures_of, relative_halfwidths, tails
from analysis_sql.class_aware.likelihood import grid, points
from analysis_sql.class_aware.superclasses import Grid, SuperclassDesign, weighted

SIX = np.repeat(np.arange(6), 2)


def test_uses_are_counted():
    ids = np.array([[0, 1, 4], [2, 8, 0], [5, 4, 10], [6, 3, 1]])
    design = SuperclassDesign.of(ids, [f"superclass {s}" for s in SIX])
    assert (design.superclasses, design.uses.tolist()) == (6, [4, 2, 3, 1, 1, 1])
    assert (design.concentration, design.disjoint_tasks) == ((16 + 4 + 9 + 3) / 16, 2)
    assert (design.disjoint, design.obstacle) == (False, None)


@pytest.mark.parametrize(
    ("ids", "superclasses", "obstacle"),
    [
        (np.arange(12).reshape(1, 12), SIX, "fewer than 2 tasks"),
        (np.arange(10).reshape(2, 5), SIX, "superclasses: 6 are needed"),
        (np.array([[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]]), SIX, "the same superclasses"),
        (np.array([[0, 2, 4, 6, 8, 10], [1, 0, 5, 7, 9, 11]]), SIX, None),
    ],
)
def test_what_stands_in_the_way(ids, superclasses, obstacle):
    found = SuperclassDesign.of(ids, superclasses).obstacle
    assert found is None if obstacle is None else found is not None and obstacle in found


def test_a_prefix_is_the_design_of_its_tasks():
    ids = np.array([np.random.default_rng(task).permutation(12)[:3] for task in range(15)])
    part, alone = SuperclassDesign.of(ids, SIX).prefix(7), SuperclassDesign.of(ids[:7], SIX)
    assert part.members.tolist() == alone.members.tolist()
    assert part.classes.members.tolist() == alone.classes.members.tolist()


@pytest.mark.parametrize(("last", "disjoint"), [(7, 3), (0, 2)])
def test_tasks_that_share_nothing_are_disjoint(last, disjoint):
    own = np.array([0, 0, 1, 2, 3, 4, 4, 4, 5, 6, 7, last])
    design = SuperclassDesign.of(np.arange(12).reshape(3, 4), own)
    assert (design.disjoint, design.disjoint_tasks) == (disjoint == 3, disjoint)
    assert design.classes.disjoint


def superclass_grid(design):
    return points(design.spectra.moved, design.tasks - 1, -10.125, 14.125)


def values(y):
    """Values (P, T) and their |y - ȳ|² (P,)."""
    y = np.atleast_2d(y)
    return y, y.var(axis=1) * y.shape[1]


def on_the_whole_grid(design, coordinates, norm2):
    """Weights, rows of sum 1, and se by |y - ȳ|: both (P, B, A)."""
    weights, log_errors = weighted(design, coordinates, norm2, Grid.of(design))
    weights /= weights.sum(axis=(0, 2), keepdims=True)
    return weights.swapaxes(0, 1), np.exp(log_errors.swapaxes(0, 1))


SUPERCLASS = np.repeat(np.arange(7), [1, 1, 1, 2, 3, 4, 6])


def unequal(seed, tasks):
    """Classes (T, 4) of 18, of which 7 superclasses have 1, 1, 1, 2, 3, 4 and 6."""
    rng = np.random.default_rng(seed)
    ids = np.array([rng.permutation(18)[:4] for _ in range(tasks)])
    return ids, SuperclassDesign.of(ids, SUPERCLASS)


def test_a_balanced_nested_set_has_a_closed_form():
    """One class a task, 3 tasks a class, 4 classes a superclass: the sums of squares of ANOVA."""
    superclasses, classes, repeats = 6, 4, 3
    ids = np.repeat(np.arange(superclasses * classes), repeats)[:, None]
    rng = np.random.default_rng(0)
    y = (
        np.repeat(rng.normal(0, 2, superclasses), classes * repeats)
        + np.repeat(rng.normal(0, 1, superclasses * classes), repeats)
        + rng.normal(0, 1, ids.size)
    )
    design = SuperclassDesign.of(ids, np.repeat(np.arange(superclasses), classes))
    both, norm2 = values(y)
    weights, errors = on_the_whole_grid(design, design.coordinates(both), norm2)
    table = y.reshape(superclasses, classes, repeats)
    means = table.mean(axis=2)
    between = classes * repeats * ((means.mean(axis=1) - y.mean()) ** 2).sum()
    nested = repeats * ((means - means.mean(axis=1, keepdims=True)) ** 2).sum()
    within = ((table - means[:, :, None]) ** 2).sum()
    # a class moves `repeats` g_b, a superclass `classes` times `repeats` g_a; every λ is `repeats`
    of_class = 1 + grid(design.classes).shares[:, None]
    x, of_x = superclass_grid(design)
    of_superclass = of_class * (1 + x)
    scale = between / of_superclass + nested / of_class + within
    se = np.sqrt(scale / (y.size - 1) * of_superclass / y.size / norm2[0])
    assert errors[0] == pytest.approx(se, rel=1e-9)
    log_weights = (
        -(y.size - 1) / 2 * np.log(scale)
        - (superclasses - 1) / 2 * np.log(of_superclass)
        - superclasses * (classes - 1) / 2 * np.log(of_class)
        + np.log(grid(design.classes).prior)[:, None]
        + np.log(of_x)
    )
    expected = np.exp(log_weights - log_weights.max())
    assert weights[0] == pytest.approx(expected / expected.sum(), rel=1e-7, abs=1e-14)


@pytest.mark.parametrize(("seed", "tasks"), [(0, 40), (1, 12), (2, 5)])
def test_weights_are_those_of_dense_matrices(seed, tasks):
    """Normal densities of all contrasts, by scipy, of the covariance written out."""
    ids, design = unequal(seed, tasks)
    rng = np.random.default_rng(seed)
    y = rng.normal(size=tasks) + rng.normal(size=18)[ids].sum(axis=1)
    y, norm2 = values(y + rng.normal(0, 2, 7)[SUPERCLASS[ids]].sum(axis=1))
    weights, errors = on_the_whole_grid(design, design.coordinates(y), norm2)
    z = (ids[:, :, None] == np.arange(18)).sum(axis=1).astype(float)
    s = (SUPERCLASS[ids][:, :, None] == np.arange(7)).sum(axis=1).astype(float)
    contrasts = linalg.null_space(np.ones((1, tasks)))
    left = contrasts.T @ y[0]
    moved = np.linalg.eigvalsh(contrasts.T @ z @ z.T @ contrasts)[-design.classes.rank :]
    of_classes = grid(design.classes).shares / moved.mean()
    assert (design.spectra.rank == tasks - 1) == (tasks == 5)
    x, of_x = superclass_grid(design)
    of_g = grid(design.classes).prior
    differences = []
    for b, a in ((0, 0), (2, 0), (10, 20), (20, 30), (20, 2), (15, 15), (5, 10)):
        class_part = np.eye(tasks) + of_classes[b] * z @ z.T
        of_superclasses = contrasts.T @ s @ s.T @ contrasts
        moved = linalg.eigvalsh(of_superclasses, contrasts.T @ class_part @ contrasts)
        whole = class_part + x[a] / moved[-design.spectra.rank :].mean() * s @ s.T
        inner = contrasts.T @ whole @ contrasts
        variance = left @ np.linalg.solve(inner, left) / (tasks - 1)
        density = stats.multivariate_normal(cov=variance * inner, allow_singular=True)
        weight = density.logpdf(left) + np.log(of_g[b] * of_x[a])
        differences.append(np.log(weights[0, b, a]) - weight)
        se = np.sqrt(variance * whole.sum() / tasks**2 / norm2[0])
        assert errors[0, b, a] == pytest.approx(se, rel=1e-7)
    assert differences == pytest.approx([differences[0]] * len(differences), abs=1e-6)


def test_half_widths_are_those_of_all_weights():
    ids, design = unequal(3, 30)
    y = np.random.default_rng(3).normal(size=(6, 30))
    y[3:] += np.random.default_rng(4).normal(size=(3, 7))[:, SUPERCLASS[ids]].sum(axis=2)
    y, norm2 = values(y)
    coordinates = design.coordinates(y)
    weights, errors = on_the_whole_grid(design, coordinates, norm2)
    mixtures = mixtures_of(design, coordinates, norm2)
    for level in (0.9, 0.95, 0.99):
        widths = relative_halfwidths(mixtures, level)
        for w, se, width in zip(weights, errors, widths, strict=True):

            def excess(h, level=level, w=w, se=se):
                return float((w * 2 * stats.t.sf(h / se, 29)).sum()) - (1 - level)

            exact = optimize.brentq(excess, 1e-3, 10, xtol=1e-12)
            assert exact < width < exact * (1 + 2e-4)  # what nodes divide can only widen
    assert tails(mixtures, widths * np.sqrt(norm2)) == pytest.approx(0.005, rel=1e-9)


def test_classes_used_once_are_noise():
    """Then the model has one ratio, of superclasses: here with one class a task, ANOVA again."""
    superclass_of_class = np.repeat(np.arange(6), 4)
    design = SuperclassDesign.of(np.arange(24)[:, None], superclass_of_class)
    y, norm2 = values(np.random.default_rng(5).normal(size=24) + superclass_of_class)
    weights, errors = on_the_whole_grid(design, design.coordinates(y), norm2)
    x, of_x = superclass_grid(design)
    assert weights.shape == (1, 1, x.size)
    means = y.reshape(6, 4).mean(axis=1)
    between = 4 * ((means - y.mean()) ** 2).sum()
    scale = between / (1 + x) + norm2[0] - between
    se = np.sqrt(scale / 23 * (1 + x) / 24 / norm2[0])
    assert errors[0, 0] == pytest.approx(se, rel=1e-9)
    log_weights = -11.5 * np.log(scale) - 2.5 * np.log1p(x) + np.log(of_x)
    expected = np.exp(log_weights - log_weights.max())
    assert weights[0, 0] == pytest.approx(expected / expected.sum(), rel=1e-7)


def test_results_that_superclasses_determine_have_a_finite_width():
    ids, design = unequal(7, 40)
    y, norm2 = values([SUPERCLASS[ids].sum(axis=1), np.full(40, 3)])
    mixtures = mixtures_of(design, design.coordinates(y), norm2)
    assert np.isfinite(relative_halfwidths(mixtures, 0.95)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("tasks", "classes", "way"), [(60, 12, 3), (300, 60, 5), (60, 100, 5), (600, 100, 1)]
)
def test_superclasses_that_determine_everything_count_as_so_many(tasks, classes, way):
    """As classes do: the half-width is that of Student's law with as many degrees as they move."""
    rng = np.random.default_rng(tasks + classes)
    ids = np.array([rng.permutation(classes)[:way] for _ in range(tasks)])
    design = SuperclassDesign.of(ids, np.arange(classes) % 8)
    y, norm2 = values(-(ids % 8 == 0).sum(axis=1))
    rank = design.spectra.rank
    effects = np.linalg.lstsq(design.members - design.members.mean(axis=0), y[0] - y.mean())[0]
    error = np.sqrt(design.concentration * (effects @ effects) / rank / norm2[0])
    widths = relative_halfwidths(mixtures_of(design, design.coordinates(y), norm2), 0.95)
    assert widths[0] == pytest.approx(error * stats.t.isf(0.025, rank), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "classes", "common", "least"), [(8, 40, 0.9, 91), (20, 60, 0.5, 93), (8, 40, 0, 95)]
)
def test_new_superclasses_are_covered(groups, classes, common, least):
    """As often as the level says, less two Monte Carlo errors; for new classes, far less often."""
    rng = np.random.default_rng([8, groups, classes])
    ids = np.array([rng.permutation(classes)[:5] for _ in range(60)])
    superclass_of_class = np.arange(classes) % groups
    design = SuperclassDesign.of(ids, superclass_of_class)
    effects = np.sqrt(1 - common) * rng.normal(size=(1000, classes))
    effects += np.sqrt(common) * rng.normal(size=(1000, groups))[:, superclass_of_class]
    y, norm2 = values(effects[:, ids].sum(axis=2) + rng.normal(size=(1000, 60)))
    error = np.abs(y.mean(axis=1)) / np.sqrt(norm2)
    widths, narrow = (
        relative_halfwidths(mixtures_of(each, each.coordinates(y), norm2), 0.95)
        for each in (design, design.classes)
    )
    assert 100 * (error <= widths).mean() >= least
    of_classes = 100 * (error <= narrow).mean()
    assert of_classes < 85 if common else of_classes > 93
    assert widths.mean() < 1.7 * narrow.mean() or common > 0
