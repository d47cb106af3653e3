"""Student's tails for very many numbers, against scipy's."""

import numpy as np
import pytest
from scipy.special import stdtr

from analysis_sql.intervals.student import student_tail


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
