"""The weights of class and superclass ratios: by hand, from dense matrices, and by simulation."""

from typing import Any

import numpy as np
import pytest
from scipy import linalg, optimize, stats

from analysis_sql.class_aware.intervals import mixtures_of, relative_halfwidths, tails
from analysis_sql.class_aware.likelihood import grid, points
from analysis_sql.class_aware.superclasses import Grid, SuperclassDesign, weighted

Array = np.ndarray[Any, Any]


def superclass_grid(design: SuperclassDesign) -> tuple[Array, Array]:
    """The x of the grid and their prior weights."""
    return points(design.spectra.moved, design.tasks - 1, -10.125, 14.125)


def values(y: Array) -> tuple[Array, Array]:
    """Values (P, T) and their |y - ȳ|² (P,)."""
    y = np.atleast_2d(y)
    return y, y.var(axis=1) * y.shape[1]


def on_the_whole_grid(
    design: SuperclassDesign, coordinates: Array, norm2: Array
) -> tuple[Array, Array]:
    """Weights, rows of sum 1, and se by |y - ȳ|: both (P, B, A)."""
    weights, log_errors = weighted(design, coordinates, norm2, Grid.of(design))
    weights /= weights.sum(axis=(0, 2), keepdims=True)
    return weights.swapaxes(0, 1), np.exp(log_errors.swapaxes(0, 1))


def unequal(seed: int, tasks: int, way: int = 4) -> tuple[Array, Array]:
    """Classes of each task, and 7 superclasses of 1, 1, 1, 2, 3, 4 and 6 of 18 classes."""
    rng = np.random.default_rng(seed)
    return (
        np.array([rng.permutation(18)[:way] for _ in range(tasks)]),
        np.repeat(np.arange(7), [1, 1, 1, 2, 3, 4, 6]),
    )


def test_a_balanced_nested_set_has_a_closed_form() -> None:
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
def test_weights_are_those_of_dense_matrices(seed: int, tasks: int) -> None:
    """Normal densities of all contrasts, by scipy, of the covariance written out."""
    ids, superclass_of_class = unequal(seed, tasks)
    design = SuperclassDesign.of(ids, superclass_of_class)
    rng = np.random.default_rng(seed)
    y, norm2 = values(
        rng.normal(size=tasks)
        + rng.normal(size=18)[ids].sum(axis=1)
        + rng.normal(0, 2, 7)[superclass_of_class[ids]].sum(axis=1)
    )
    weights, errors = on_the_whole_grid(design, design.coordinates(y), norm2)
    z = (ids[:, :, None] == np.arange(18)).sum(axis=1).astype(float)
    s = (superclass_of_class[ids][:, :, None] == np.arange(7)).sum(axis=1).astype(float)
    contrasts = linalg.null_space(np.ones((1, tasks)))
    left = contrasts.T @ y[0]
    of_classes = (
        grid(design.classes).shares
        / np.linalg.eigvalsh(contrasts.T @ z @ z.T @ contrasts)[-design.classes.rank :].mean()
    )
    full = design.spectra.rank == tasks - 1
    assert full == (tasks == 5)
    x, of_x = superclass_grid(design)
    of_g = grid(design.classes).prior
    differences = []
    for b, a in ((0, 0), (2, 0), (10, 20), (20, 30), (20, 2), (15, 15), (5, 10)):
        class_part = np.eye(tasks) + of_classes[b] * z @ z.T
        of_superclasses = contrasts.T @ s @ s.T @ contrasts
        moved = linalg.eigvalsh(of_superclasses, contrasts.T @ class_part @ contrasts)
        ratio = x[a] / moved[-design.spectra.rank :].mean()
        whole = class_part + ratio * s @ s.T
        inner = contrasts.T @ whole @ contrasts
        variance = left @ np.linalg.solve(inner, left) / (tasks - 1)
        density = stats.multivariate_normal(cov=variance * inner, allow_singular=True)
        weight = density.logpdf(left) + np.log(of_g[b] * of_x[a])
        differences.append(np.log(weights[0, b, a]) - weight)
        se = np.sqrt(variance * whole.sum() / tasks**2 / norm2[0])
        assert errors[0, b, a] == pytest.approx(se, rel=1e-7)
    assert differences == pytest.approx([differences[0]] * len(differences), abs=1e-6)


def test_half_widths_are_those_of_all_weights() -> None:
    ids, superclass_of_class = unequal(3, 30)
    design = SuperclassDesign.of(ids, superclass_of_class)
    y, norm2 = values(np.random.default_rng(3).normal(size=(6, 30)))
    y[3:] += np.random.default_rng(4).normal(size=(3, 7))[:, superclass_of_class[ids]].sum(axis=2)
    y, norm2 = values(y)
    coordinates = design.coordinates(y)
    weights, errors = on_the_whole_grid(design, coordinates, norm2)
    for level in (0.9, 0.95, 0.99):
        widths = relative_halfwidths(mixtures_of(design, coordinates, norm2), level)
        for w, se, width in zip(weights, errors, widths, strict=True):

            def outside(h: float, w: Array = w, se: Array = se) -> float:
                return float((w * 2 * stats.t.sf(h / se, 29)).sum())

            def excess(h: float, level: float = level, w: Array = w, se: Array = se) -> float:
                return outside(h, w, se) - (1 - level)

            exact = optimize.brentq(excess, 1e-3, 10, xtol=1e-12)
            assert width == pytest.approx(exact, rel=2e-4)
            assert width > exact  # what is divided between nodes can only widen
    half = tails(mixtures_of(design, coordinates, norm2), widths * np.sqrt(norm2))
    assert half == pytest.approx(0.005, rel=1e-9)


def test_classes_used_once_are_noise() -> None:
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


def test_results_that_superclasses_determine_have_a_finite_width() -> None:
    ids, superclass_of_class = unequal(7, 40)
    design = SuperclassDesign.of(ids, superclass_of_class)
    y, norm2 = values(superclass_of_class[ids].sum(axis=1))
    widths = relative_halfwidths(mixtures_of(design, design.coordinates(y), norm2), 0.95)
    assert np.isfinite(widths).all()
    constant = np.full((1, 40), 3)
    none = relative_halfwidths(mixtures_of(design, design.coordinates(constant), np.zeros(1)), 0.95)
    assert np.isnan(none).all()


@pytest.mark.parametrize(
    ("tasks", "classes", "way"), [(60, 12, 3), (300, 60, 5), (60, 100, 5), (600, 100, 1)]
)
def test_superclasses_that_determine_everything_count_as_so_many(
    tasks: int, classes: int, way: int
) -> None:
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
def test_new_superclasses_are_covered(
    groups: int, classes: int, common: float, least: float
) -> None:
    """As often as the level says, less two Monte Carlo errors; for new classes, far less often."""
    rng = np.random.default_rng([8, groups, classes])
    sets, tasks = 1000, 60
    ids = np.array([rng.permutation(classes)[:5] for _ in range(tasks)])
    superclass_of_class = np.arange(classes) % groups
    design = SuperclassDesign.of(ids, superclass_of_class)
    effects = np.sqrt(1 - common) * rng.normal(size=(sets, classes))
    effects += np.sqrt(common) * rng.normal(size=(sets, groups))[:, superclass_of_class]
    y, norm2 = values(effects[:, ids].sum(axis=2) + rng.normal(size=(sets, tasks)))
    error = np.abs(y.mean(axis=1)) / np.sqrt(norm2)
    widths = relative_halfwidths(mixtures_of(design, design.coordinates(y), norm2), 0.95)
    covered = 100 * (error <= widths).mean()
    assert covered >= least
    classes = design.classes
    narrow = relative_halfwidths(mixtures_of(classes, classes.coordinates(y), norm2), 0.95)
    of_classes = 100 * (error <= narrow).mean()
    assert of_classes < 85 if common else of_classes > 93
    assert widths.mean() < 1.7 * narrow.mean() or common > 0
