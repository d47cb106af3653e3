"""Variance components against a plain restricted likelihood."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.likelihood import Shares, grid, points, variance_components

Array = np.ndarray[Any, Any]


def example(
    seed: int, tasks: int = 40, classes: int = 9, spread: float = 1.0
) -> tuple[Array, Array]:
    """Classes of each task (T, 3), and values with class effects."""
    rng = np.random.default_rng(seed)
    ids = np.array([rng.permutation(classes)[:3] for _ in range(tasks)])
    return ids, rng.normal(0, spread, classes)[ids].sum(axis=1) + rng.normal(size=tasks)


def entered(ids: Array, y: Array) -> tuple[ClassDesign, Array, Array]:
    design = ClassDesign.of(ids)
    y = np.atleast_2d(y)
    return design, design.coordinates(y), y.var(axis=1) * y.shape[1]


def membership(ids: Array) -> Array:
    return (ids[:, :, None] == np.unique(ids)).sum(axis=1).astype(float)


def dense(ids: Array, y: Array, g: float) -> tuple[float, float]:
    """ln of the restricted likelihood by |V|, |X'V^-1 X| and the GLS residual, and its σ_e²."""
    v = np.eye(len(y)) + g * membership(ids) @ membership(ids).T
    inverse = np.linalg.inv(v)
    ones = np.ones(len(y))
    information = ones @ inverse @ ones
    residual = y - ones @ inverse @ y / information
    q = residual @ inverse @ residual
    spread = np.linalg.slogdet(v)[1] + np.log(information)
    return float(-0.5 * ((len(y) - 1) * np.log(q) + spread)), float(q / (len(y) - 1))


def test_components_maximise_the_plain_likelihood() -> None:
    """Of many at once; where tasks stand in random order, about half show no effect at all."""
    ids, y = example(1)
    rows = np.vstack(
        [
            y,
            np.random.default_rng(0).permuted(np.tile(y, (11, 1)), axis=1),
            example(1, spread=3.0)[1],
        ]
    )
    found = variance_components(*entered(ids, rows))
    for row, between, within in zip(rows, found.between, found.within, strict=True):
        best = optimize.minimize_scalar(
            lambda s, row=row: -dense(ids, row, float(np.exp(s)))[0],
            bounds=(-18, 8),
            method="bounded",
            options={"xatol": 1e-10},
        )
        if between > 0:
            assert between / within == pytest.approx(np.exp(best.x), rel=1e-5)
            likelihood, scale = dense(ids, row, between / within)
            assert likelihood == pytest.approx(-best.fun, abs=1e-7)
            assert within == pytest.approx(scale, rel=1e-9)
        else:
            assert best.x < -16
    assert 0.3 < (found.between == 0).mean() < 0.9


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_against_statsmodels(seed: int) -> None:
    """MixedLM with all tasks in one group and the classes as a variance component."""
    pytest.importorskip("statsmodels")
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    ids, y = example(seed)
    z = membership(ids)
    names = [f"class{c}" for c in range(z.shape[1])]
    components = VCSpec(["class"], [[names]], [[z]])
    model = MixedLM(y, np.ones((len(y), 1)), groups=np.zeros(len(y), int), exog_vc=components)
    fit = model.fit(reml=True, method=["powell", "bfgs"])
    found = variance_components(*entered(ids, y))
    assert found.within[0] == pytest.approx(fit.scale, rel=1e-3)
    assert found.between[0] == pytest.approx(fit.vcomp[0], rel=2e-3)
    # the restricted likelihood itself, at our estimates and elsewhere
    shares = Shares.of(*entered(ids, y))

    def theirs(g: float) -> float:
        params = fit.params_object.copy()
        params.vcomp = np.array([g])
        return float(model.loglike(params, profile_fe=True))

    places = [2, 8, 20]
    ours = shares.log_likelihoods()[0][places]
    other = [theirs(g) for g in grid(shares.design).ratios[places]]
    assert np.diff(ours) == pytest.approx(np.diff(other), abs=1e-6)


@pytest.mark.parametrize("rest", [0, 1, 900])
@pytest.mark.parametrize(("classes", "at"), [(8, 0.3), (8, 30.0), (660, 3.0), (660, 300.0)])
def test_the_grid_sums_as_the_prior_of_ln_x_integrates(classes: int, at: float, rest: int) -> None:
    """Times the likelihood of what is expected where x = `at`, with so many coordinates of rest."""
    eigenvalues, freedom = np.linspace(0.5, 1.5, classes), classes + rest
    x, weight = points(eigenvalues, freedom)

    def log_likelihood(x: Array) -> Array:
        grown = 1 + np.multiply.outer(x, eigenvalues)
        scale = ((1 + at * eigenvalues) / grown).sum(axis=-1) + rest
        return -freedom / 2 * np.log(scale) - np.log(grown).sum(axis=-1) / 2

    highest = log_likelihood(np.array(at))

    def height(ln_x: Array) -> Array:
        s = np.exp(ln_x / 2)
        prior = s / np.sqrt(1 + s**2) if rest else s / (1 + s**2 / 16)
        return prior * np.exp(log_likelihood(s**2) - highest)

    ends = np.linspace(-16.125, 16.125, 130)
    exact = sum(integrate.quad(height, a, b)[0] for a, b in pairwise(ends))
    dt = np.arcsinh(np.sqrt(x[1]))
    summed = 2 * dt * (weight @ np.exp(log_likelihood(x) - highest))
    assert summed == pytest.approx(exact, rel=1e-5)


def test_what_cannot_be_estimated() -> None:
    same = ClassDesign.of(np.array([[0, 1], [1, 0], [0, 1]]))
    found = variance_components(same, np.zeros((1, 0)), np.ones(1))
    assert np.isnan([found.between, found.within]).all()
    design, u, norm2 = entered(*example(0))
    u, norm2 = np.vstack([u, 0 * u]), np.append(norm2, 0.0)
    found = variance_components(design, u, norm2)
    assert np.isnan(found.between).tolist() == [False, True]


def test_full_rank_may_leave_nothing_within() -> None:
    """With k = T - 1 the likelihood has a limit as g grows; the grid's end stands for it."""
    ids = np.array([[0, 1, 2], [0, 3, 4], [5, 6, 7], [5, 8, 9]])
    # exactly what two tasks of a shared class would have in common
    found = variance_components(*entered(ids, np.array([1.0, 1.0, -1.0, -1.0])))
    assert found.between[0] > 0
    assert np.isfinite(found.between[0])
    assert found.within[0] >= 0
