"""Student's tails for very many numbers, against scipy's."""

import numpy as np
import pytest
from scipy.special import stdtr

from analysis_sql.intervals.student import (
    NODE,
    mixture_quantiles,
    node_quantiles,
    student_tail,
)


@pytest.mark.parametrize("freedom", [2, 3, 8, 60, 1999, 10**6])
def test_it_agrees_with_scipy_as_far_as_numbers_go(freedom: int) -> None:
    x = np.concatenate([[0.0], np.linspace(0, 45, 20011), np.geomspace(1e-9, 1e12, 3011)])
    expected = stdtr(freedom, -x)
    told = expected > 1e-290
    np.testing.assert_allclose(student_tail(freedom, x)[told], expected[told], rtol=1e-12)
    np.testing.assert_allclose(student_tail(freedom, x)[~told], expected[~told], atol=1e-289)


def test_each_depends_on_its_own_x_alone() -> None:
    x = np.random.default_rng(0).gamma(1.0, 2.0, (300, 129))
    whole = student_tail(27, x)
    assert whole.shape == x.shape
    assert all((student_tail(27, x[i]) == whole[i]).all() for i in (0, 7, 299))
    assert student_tail(27, x[3, :1])[0] == whole[3, 0]


@pytest.mark.parametrize("freedom", [1, 4, 60, 1999])
@pytest.mark.parametrize("alpha", [0.99, 0.5, 0.05, 1e-6])
def test_quantiles_of_mixtures_leave_as_much_outside(freedom: int, alpha: float) -> None:
    """On nodes and off them, of one law and of laws far apart, alone as in company."""
    rng = np.random.default_rng(freedom)
    weights = rng.dirichlet(np.full(700, 0.02), 40)
    weights[:2] = np.eye(700)[[0, 699]]
    weights[2] = weights[:2].sum(axis=0) / 2
    errors = rng.gamma(2.0, 1.0, (40, 1)) * np.exp(NODE * np.arange(700))
    for quantiles in (node_quantiles, mixture_quantiles):
        h = quantiles(weights, errors, freedom, alpha)
        outside = (weights * 2 * stdtr(freedom, -h[:, None] / errors)).sum(axis=1)
        assert outside == pytest.approx(alpha, rel=1e-8)
        alone = [quantiles(weights[i : i + 1], errors[i : i + 1], freedom, alpha) for i in (0, 9)]
        assert np.concatenate(alone) == pytest.approx(h[[0, 9]], rel=1e-12)
